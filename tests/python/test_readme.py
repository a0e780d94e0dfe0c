"""What README.md shows is what there is."""

import pathlib
import re
import shlex
import subprocess

import pytest
from tilewire.cli import main

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def test_kernel_is_that_of_the_example():
    shown = re.search(r"@tw\.kernel\n.*?\n\n", README, re.S)[0].strip()
    assert shown in (ROOT / "examples/01_allreduce_rmsnorm.py").read_text()


@pytest.mark.parametrize("stage", ["ir", "lowered", "cuda"])
def test_emit_command_works(stage, capsys, monkeypatch):
    monkeypatch.chdir(ROOT)
    command = re.search(r"tilewire (emit .*?[^\\])\n(?:```|$)", README, re.S)[1]
    arguments = shlex.split(command.replace("\\\n", " "))
    arguments[arguments.index("--stage") + 1] = stage
    assert main(arguments) == 0
    assert "allreduce_rmsnorm" in capsys.readouterr().out


def test_folders_are_those_in_the_table():
    try:
        listing = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("needs git and a checkout: the source folder may hold anything else")
    paths = [pathlib.PurePath(line) for line in listing.stdout.decode().splitlines()]
    there = {path.parts[0] for path in paths if len(path.parts) > 1 and path.parts[0][0] != "."}
    assert there == set(re.findall(r"`([a-z]+)/`", README))
