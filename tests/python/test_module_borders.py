"""The compiled module stands alone: LLVM, zstd, Boost and libstdc++ are inside it and invisible."""

import importlib.util
import pathlib
import shutil
from importlib.machinery import SourceFileLoader

import pytest
import tilewire._tilewire

ROOT = pathlib.Path(__file__).resolve().parents[2]


def load_check_wheel():
    path = ROOT / ".ci" / "check-wheel"
    loader = SourceFileLoader("check_wheel", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_wheel", loader))
    loader.exec_module(module)
    return module


@pytest.mark.skipif(shutil.which("readelf") is None, reason="needs readelf (binutils)")
def test_module_needs_the_c_library_only_and_shows_one_symbol():
    problems = load_check_wheel().problems_of(pathlib.Path(tilewire._tilewire.__file__))
    # Size and symbol table are those of a development build.
    remaining = [p for p in problems if "bytes" not in p and "stripped" not in p]
    assert remaining == []


@pytest.mark.skipif(shutil.which("readelf") is None, reason="needs readelf (binutils)")
def test_check_finds_what_it_is_for():
    """Any shared library of the system breaks a rule of the check."""
    import _ctypes

    problems = load_check_wheel().problems_of(pathlib.Path(_ctypes.__file__))
    assert any("exports" in p for p in problems)
