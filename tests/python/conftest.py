"""Fixtures of the Python tests."""

import re
from pathlib import Path

import pytest
import tilewire as tw
from tilewire import _tilewire
from tilewire.frontend.signature import ArrayArgument


def described(spec):
    """`f32[?, 8]`, `window:bf16[?]`, `semaphore[8]`, or a constant as it is."""
    match = isinstance(spec, str) and re.fullmatch(r"(window:)?(\w+)\[(.*)\]", spec)
    if not match:
        return spec
    extents = [part.strip() for part in match[3].split(",") if part.strip()]
    shape = tuple(None if part == "?" else int(part) for part in extents)
    if match[2] in ("semaphore", "flag"):
        return ArrayArgument(match[2], tw.u64 if match[2] == "semaphore" else tw.u32, shape)
    return ArrayArgument("window" if match[1] else "tensor", getattr(tw, match[2]), shape)


def program_of(kernel, target="cpu", **arguments):
    specs = {name: described(spec) for name, spec in arguments.items()}
    return kernel.program(target, kernel.specialise(specs))


@pytest.fixture
def ir():
    """`ir(kernel, target, x="f32[?]", B=64)`: IR text without locations."""
    return lambda *args, **kwargs: program_of(*args, **kwargs).text(locations=False)


@pytest.fixture
def emitted():
    """`emitted(kernel, "sm_90a", "cuda", x="f32[?]", B=64)`: the text of one stage of the way."""

    def run(kernel, target, stage, **arguments):
        program = program_of(kernel, target, **arguments)
        return _tilewire.emit_stage(program, tw.Target(target), stage).decode()

    return run


@pytest.fixture
def lowered():
    """As `ir`, after the passes."""

    def run(kernel, target="cpu", **arguments):
        program = program_of(kernel, target, **arguments)
        return _tilewire.emit_stage(program, _tilewire.Target(target), "lowered").decode()

    return run


@pytest.fixture
def described_artifact():
    """`described_artifact(kernel, "sm_90a", x="f32[?]", B=64)`: the artifact without its code."""

    def run(kernel, target="sm_90a", **arguments):
        return _tilewire.describe(program_of(kernel, target, **arguments), tw.Target(target))

    return run


@pytest.fixture
def diagnose():
    """`diagnose(function, x="f32[?]", …)`: the UserError, checked to stand at the line of the
    function that ends in `# error`; returns its message and the text above the carets."""

    def run(function, target="cpu", **arguments):
        with pytest.raises(tw.UserError) as caught:
            program_of(tw.kernel(function), target, **arguments)
        error = caught.value
        assert error.file == file_of(function)
        lines = Path(error.file).read_text().splitlines()
        assert lines[error.line - 1].rstrip().endswith("# error"), str(error)
        text = str(error).splitlines()
        place = next(i for i, each in enumerate(text) if each.strip(" ^") == "" and "^" in each)
        shown, carets = text[place - 1 : place + 1]
        start = len(carets) - len(carets.lstrip())
        return error.message, shown[start : len(carets)]

    return run


def file_of(function):
    return function.__code__.co_filename
