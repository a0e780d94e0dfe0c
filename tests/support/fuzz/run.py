"""Ways of a generated program: to a kernel, on the CPU target, through NVRTC, on a GPU."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import tilewire as tw
from kernel_source import kernel_of_source
from op_cases.run import to_numpy, to_torch
from tilewire import _tilewire
from tilewire.frontend.signature import ArrayArgument
from tilewire.launch import read
from tilewire.types import dtype_of_numpy

from fuzz.programs import Program, mismatch


def kernel_of(program: Program) -> Any:
    return kernel_of_source(program.text, "program", f"<program {program.seed}>")


def grid_of(program: Program) -> Any:
    return random.Random(program.seed).choice([1, 2, 7, tw.auto]) if program.rows else 1


def run_on_cpu(program: Program) -> dict[str, Any]:
    arguments = program.arguments()
    kernel_of(program)[grid_of(program)](**arguments)
    return arguments


def run_on_torch(program: Program, device: str) -> dict[str, Any]:
    arguments = program.arguments()
    given = {
        name: to_torch(value, device) if isinstance(value, np.ndarray) else value
        for name, value in arguments.items()
    }
    kernel_of(program)[grid_of(program)](**given)
    return {
        name: to_numpy(given[name], value) if isinstance(value, np.ndarray) else value
        for name, value in arguments.items()
    }


def check(program: Program, arguments: dict[str, Any]) -> None:
    """AssertionError, with the whole program, where an array isn't what it must be."""
    for name, expected in program.expected().items():
        message = mismatch(arguments[name], expected)
        assert not message, f"seed {program.seed}: {name}: {message}\n\n{described(program)}"


def described(program: Program) -> str:
    arrays = [f"# {each.name}: {each.values.dtype}{each.values.shape}" for each in program.arrays]
    scalars = [f"# {name} = {value}" for name, (_, value) in program.scalars.items()]
    return "\n".join([*arrays, *scalars, program.text])


def emit(program: Program, architecture: str, stage: str) -> bytes:
    """`cuda` or `cubin`, for what a launch with the program's arguments would compile; every second
    one as if nothing were known of them."""
    kernel, values = kernel_of(program), program.arguments()
    arguments = {
        name: ArrayArgument("tensor", dtype_of_numpy(value.dtype), value.shape)
        for name, value in values.items()
        if isinstance(value, np.ndarray)
    }
    made = kernel.program(architecture, kernel.specialise(arguments))
    if program.seed % 2:
        known = [read(kernel, name, value) for name, value in values.items()]
        made.set_facts(_tilewire.facts_of(known))
    return _tilewire.emit_stage(made, tw.Target(architecture), stage)


def known_fraction(program: Program) -> float:
    """How much of the outputs is compared."""
    outputs = [e for name, e in program.expected().items() if name[0] == "y" and e.error.size]
    if not outputs:
        return 1.0
    return float(np.mean(np.concatenate([np.isfinite(e.error).reshape(-1) for e in outputs])))
