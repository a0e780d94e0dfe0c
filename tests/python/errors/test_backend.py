"""Libraries that are missing, and defects: one Python exception for each culprit."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import tilewire as tw
from tilewire import _tilewire

ROOT = Path(__file__).parents[3]


def has_gpu():
    try:
        return _tilewire.device_count() > 0
    except tw.BackendError:
        return False


def test_exceptions_have_one_base():
    for kind in (tw.UserError, tw.BackendError, tw.HangError, tw.InternalError):
        assert issubclass(kind, tw.Error)
        assert not any(issubclass(kind, other) for other in kind.__subclasses__())


def test_internal_error_of_cpp_is_python_s():
    with pytest.raises(tw.InternalError, match="no op 'nothing'"):
        _tilewire.Builder("f", "f.py", tw.Target("cpu")).emit("nothing", [])


@pytest.mark.skipif(has_gpu(), reason="this machine has a GPU")
def test_no_gpu_where_the_world_needs_one(monkeypatch):
    for name, value in {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(tw.BackendError) as caught:
        tw.init()
    message = str(caught.value)
    assert "CUDA driver" in message
    assert 'tw.init(virtual="2") makes a world of 2 ranks on the CPU' in message


def test_no_nvrtc(tmp_path):
    """Says where it was looked for; and nothing is left in the cache."""
    program = """
import tilewire as tw
from tilewire import _tilewire
_tilewire.set_site_packages([])

@tw.kernel
def f(x: tw.Tensor["N"]):
    tw.store(x[0], 1.0)

try:
    f.compile("sm_90a", f.specialise_text({"x": "f32[?]"}))
except tw.BackendError as error:
    print("BackendError", error)
"""
    file = tmp_path / "program.py"
    file.write_text(program)
    cache = tmp_path / "cache"
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "bindings"),
        "TILEWIRE_CACHE_DIR": str(cache),
        "TILEWIRE_CUDA_HOME": str(tmp_path / "nowhere"),
    }
    result = subprocess.run(
        [sys.executable, str(file)], env=environment, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr
    if not result.stdout:
        pytest.skip("the loader's path has an NVRTC, which can't be hidden")
    assert "NVRTC not found" in result.stdout
    assert not [each for each in cache.rglob("*") if each.is_file()]


@pytest.mark.parametrize("seed", ["x", "-1"])
def test_bad_environment(seed):
    result = subprocess.run(
        [sys.executable, "-c", "import tilewire as tw; tw.init(virtual='2')"],
        env={**os.environ, "PYTHONPATH": str(ROOT / "bindings"), "TILEWIRE_SEED": seed},
        capture_output=True,
        text=True,
    )
    assert result.returncode != 0
    assert "tilewire.errors.UserError" in result.stderr and "TILEWIRE_SEED" in result.stderr


def test_message_shows_line_and_column(tmp_path):
    file = tmp_path / "source.py"
    file.write_text("\n    value = f(x)  # here\n")
    error = tw.UserError("wrong", str(file), 2, 13, 17)
    assert str(error) == f"{file}:2: wrong\n    value = f(x)  # here\n            ^^^^"
    assert (error.message, error.line, error.column) == ("wrong", 2, 13)
