"""A whole program: its text, its arguments, and what they must hold afterwards."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tilewire as tw
from op_cases.case import aligned
from tilewire.types import dtype_of_numpy

from fuzz.bounded import EPSILON, Bounded, exact
from fuzz.nodes import Environment, Memory
from fuzz.statements import JumpError, Statement, block_lines


@dataclass
class Array:
    """A parameter that is an array: names of its dimensions, its contents before the launch."""

    name: str
    dimensions: list[str]
    is_constant: list[bool]
    values: np.ndarray
    is_strided: bool = False

    def argument(self) -> np.ndarray:
        """A fresh one, with the strides of a transposed array, or of every second element."""
        if not self.is_strided:
            return aligned(self.values)
        if self.values.ndim == 1:
            return aligned(np.repeat(self.values, 2))[::2]
        return aligned(np.ascontiguousarray(self.values.T)).T

    def annotation(self) -> str:
        return f"{self.name}: tw.Tensor[{', '.join(repr(each) for each in self.dimensions)}]"


@dataclass
class Program:
    seed: int
    arrays: list[Array] = field(default_factory=list)
    scalars: dict[str, tuple[tw.DType, Any]] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    rows: str | None = None
    """The dimension over which the body is repeated, by `tw.persistent`."""
    body: list[Statement] = field(default_factory=list)

    @property
    def text(self) -> str:
        parameters = [each.annotation() for each in self.arrays]
        parameters += [f"{name}: {dtype}" for name, (dtype, _) in self.scalars.items()]
        constants = [
            f"{name}: tw.const"
            for array in self.arrays
            for name, is_constant in zip(array.dimensions, array.is_constant, strict=True)
            if is_constant
        ]
        head = ",\n    ".join([*parameters, "*", *constants] if constants else parameters)
        lines = list(block_lines(self.body))
        if self.rows:
            lines = [f"    for row in tw.persistent({self.rows}):", *(f"    {e}" for e in lines)]
        kernel = f"@tw.kernel\ndef program(\n    {head},\n):\n" + "\n".join(lines) + "\n"
        used = [text for name, text in self.functions.items() if f"{name}(" in kernel]
        return "\n\n".join([*used, kernel])

    def arguments(self) -> dict[str, Any]:
        """Fresh ones."""
        made: dict[str, Any] = {each.name: each.argument() for each in self.arrays}
        return made | {name: value for name, (_, value) in self.scalars.items()}

    def expected(self) -> dict[str, Bounded]:
        """What every array holds after the launch."""
        environment: Environment = {}
        for array in self.arrays:
            environment[array.name] = Memory(exact(array.values, dtype_of(array)))
            for name, extent in zip(array.dimensions, array.values.shape, strict=True):
                environment[name] = exact(np.asarray(extent), tw.i64)
        for name, (dtype, value) in self.scalars.items():
            environment[name] = exact(np.asarray(value), dtype)
        rows = int(environment[self.rows].value) if self.rows else 1
        for row in range(rows):
            local = dict(environment)
            if self.rows:
                local["row"] = exact(np.asarray(row), tw.i64)
            with contextlib.suppress(JumpError):
                for each in self.body:
                    each.execute(local)
        return {array.name: environment[array.name].elements for array in self.arrays}


def dtype_of(array: Array) -> tw.DType:
    return dtype_of_numpy(array.values.dtype)


def mismatch(got: np.ndarray, expected: Bounded) -> str:
    """Empty where every element that is known agrees."""
    known = np.isfinite(expected.error)
    if expected.dtype not in EPSILON:
        wrong = known & (got != expected.value)
    else:
        wide = got.astype(np.float64)
        with np.errstate(invalid="ignore"):
            close = np.abs(wide - expected.value) <= expected.error
        both_nan = np.isnan(wide) & np.isnan(expected.value)
        wrong = known & ~close & ~both_nan
    if not wrong.any():
        return ""
    place = tuple(int(each[0]) for each in np.nonzero(wrong))
    return (
        f"{int(wrong.sum())} of {wrong.size} elements differ; at {list(place)} got {got[place]!s}, "
        f"expected {expected.value[place]!s} with an error of at most {expected.error[place]:.3g}"
    )
