"""The command `tilewire`, as the shell calls it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tilewire.cli import main

ROOT = Path(__file__).parents[2]
EXAMPLE = str(ROOT / "examples/01_allreduce_rmsnorm.py")
KERNEL = f"{EXAMPLE}:allreduce_rmsnorm"
SPECS = ["--arg", "x=window:bf16[?,1024]", "--arg", "gain=bf16[1024]", "--arg", "y=bf16[?,1024]"]


def emit(*arguments):
    return main(["emit", KERNEL, *SPECS, *arguments])


def test_runs_as_a_program():
    result = subprocess.run(
        [sys.executable, "-m", "tilewire.cli", "emit", KERNEL, *SPECS, "--target", "cpu:world=2"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "bindings")},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("program @allreduce_rmsnorm")


@pytest.mark.parametrize(
    ("target", "stage", "start"),
    [
        ("sm_90a:world=2", "ir", b"program @allreduce_rmsnorm"),
        ("sm_90a:world=2", "lowered", b"program @allreduce_rmsnorm"),
        ("sm_90a:world=2", "cuda", b"//"),
        ("sm_90a:world=2", "ptx", b"//"),
        ("sm_90a:world=2", "cubin", b"\x7fELF"),
        ("sm_100a:world=8", "cubin", b"\x7fELF"),
        ("cpu:world=4", "lowered", b"program @allreduce_rmsnorm"),
        ("cpu:world=4", "llvm", b""),
        ("cpu:world=4", "object", b"\x7fELF"),
    ],
)
def test_stages(target, stage, start, tmp_path):
    output = tmp_path / "output"
    assert emit("--target", target, "--stage", stage, "-o", str(output)) == 0
    assert len(output.read_bytes()) > 100
    assert output.read_bytes().startswith(start)


def test_arguments_are_ordinary_unless_they_may_be_any(capfdbinary):
    texts = []
    for options in ([], ["--general"]):
        assert emit("--target", "sm_90a:world=2", "--stage", "lowered", *options) == 0
        texts.append(capfdbinary.readouterr().out.decode())
    ordinary, general = texts
    known = "{alignment = 16, contiguous = true, local_only = true, mappable = true}"
    assert f"tensor %gain: bf16[1024] {known}" in ordinary
    assert "strides = [-1]" not in ordinary
    assert "mappable = true" not in general
    assert "strides = [-1], vector = 1" in general


def test_emission_is_deterministic(tmp_path):
    for name in ("first", "second"):
        assert (
            emit("--target", "sm_90a:world=2", "--stage", "cuda", "-o", str(tmp_path / name)) == 0
        )
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    assert str(ROOT) not in (tmp_path / "first").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "sm_9"], "sm_9"),
        (["--target", "cpu", "--stage", "cuda"], "cuda"),
        (["--target", "cpu", "--arg", "z=f32"], "has no parameter `z`; it has x, gain, y, eps, H"),
        (["--target", "cpu", "--arg", "y=bf16"], "array `y`: 'bf16'; an array is written like"),
        (["--target", "cpu", "--arg", "y=f31[?,8]"], "no dtype 'f31'; there are bool, i8"),
        (["--target", "cpu", "--arg", "y=f32[a]"], "extent 'a'"),
        (["--target", "cpu", "--arg", "y=bf16[?,8]"], "must have extent 1024 in dimension 1"),
        (["--target", "cpu", "--arg", "eps=f64"], "`eps` is annotated tw.f32, found 'f64'"),
        (["--target", "cpu", "--arg", "eps"], "write NAME=SPEC"),
    ],
)
def test_messages(arguments, message, capsys):
    assert emit(*arguments) == 1
    error = capsys.readouterr().err
    assert error.startswith("tilewire: ")
    assert message in error


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("nothing", "write FILE:KERNEL"),
        ("missing.py:f", "there is no file 'missing.py'"),
        (f"{EXAMPLE}:f", "has no kernel 'f'; it has allreduce_rmsnorm"),
    ],
)
def test_kernels_that_are_not_there(kernel, message, capsys):
    assert main(["emit", kernel, "--target", "cpu"]) == 1
    assert message in capsys.readouterr().err


def test_missing_array(capsys):
    assert main(["emit", KERNEL, "--target", "cpu", *SPECS[:2]]) == 1
    assert "array `gain` is missing" in capsys.readouterr().err


def test_file_that_fails_to_import(tmp_path, capsys):
    file = tmp_path / "broken.py"
    file.write_text("import nothing_of_this_name\n")
    assert main(["emit", f"{file}:f", "--target", "cpu"]) == 1
    assert "can't be imported: ModuleNotFoundError" in capsys.readouterr().err


def test_error_in_a_kernel_shows_the_line(tmp_path, capsys):
    file = tmp_path / "kernel.py"
    file.write_text(
        "import tilewire as tw\n\n\n"
        "@tw.kernel\ndef f(x: tw.Tensor['N']):\n"
        "    try:\n        pass\n    finally:\n        pass\n"
    )
    assert main(["emit", f"{file}:f", "--target", "cpu", "--arg", "x=f32[?]"]) == 1
    error = capsys.readouterr().err
    assert f"{file}:6: a try statement can't be used in a kernel" in error
    assert "    try:\n    ^\n" in error


def test_doctor(capsys):
    assert main(["doctor"]) == 0
    output = capsys.readouterr().out
    for name in ("CUDA driver", "NVRTC", "NCCL library", "NCCL headers", "LLVM", "cache"):
        assert name in output


@pytest.mark.parametrize("place", ["/", "/dev/full"])
def test_output_that_cannot_be_written(place, capsys):
    assert emit("--target", "cpu:world=2", "-o", place) == 1
    assert capsys.readouterr().err.startswith(f"tilewire: -o {place}: ")


def test_standard_output_that_is_full():
    with open("/dev/full", "wb") as full:
        result = subprocess.run(
            [sys.executable, "-m", "tilewire.cli", "emit", KERNEL, *SPECS, "--target", "cpu"],
            env={**os.environ, "PYTHONPATH": str(ROOT / "bindings")},
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert result.returncode == 1
    assert result.stderr == "tilewire: standard output: No space left on device\n"


def test_extent_that_is_no_ascii_number(capsys):
    assert main(["emit", KERNEL, "--target", "cpu", "--arg", "x=window:bf16[²]"]) == 1
    assert "extent '²'; an array is written like" in capsys.readouterr().err


def test_channel_that_is_carried_in_no_way(tmp_path, capsys):
    program = tmp_path / "program.py"
    program.write_text(
        "import tilewire as tw\n@tw.kernel\ndef f(ch: tw.Channel):\n    tw.send(ch[0], 1.0)\n"
    )
    argument = "--arg", "ch=channel[1]:tag:1:f32[]"
    assert main(["emit", f"{program}:f", "--target", "cpu:world=2", *argument]) == 1
    assert 'carried "tag"; one of: tagged' in capsys.readouterr().err


def test_file_that_exits(tmp_path, capsys):
    (tmp_path / "script.py").write_text("raise SystemExit(0)")
    assert main(["emit", f"{tmp_path}/script.py:f", "--target", "cpu"]) == 1
    assert "can't be imported: SystemExit: 0" in capsys.readouterr().err
