"""What generated programs are made of: expressions, each with its text and its meaning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import tilewire as tw

from fuzz.bounded import Bounded, exact

Environment = dict[str, Any]
"""Name → `Bounded` (rank 0 for scalars), or `Memory` for parameters that are arrays."""


@dataclass(frozen=True)
class Node:
    """An expression of a known type. `run` computes it where the names of `Environment` hold."""

    text: str
    dtype: tw.DType
    shape: tuple[int, ...]
    run: Callable[[Environment], Bounded]

    def evaluate(self, environment: Environment) -> Bounded:
        made = self.run(environment)
        assert made.dtype == self.dtype and made.shape == self.shape, (
            f"{self.text} is {self.dtype}{self.shape}, was computed as {made.dtype}{made.shape}"
        )
        return made


def variable(name: str, dtype: tw.DType, shape: tuple[int, ...]) -> Node:
    return Node(name, dtype, shape, lambda environment: environment[name])


def literal(value: Any, dtype: tw.DType) -> Node:
    """A number in the text that takes `dtype` from what it meets."""
    return Node(repr(value), dtype, (), lambda _: exact(np.asarray(value), dtype))


def integer(node: Node) -> Callable[[Environment], int]:
    """The value of a scalar that is always known (indices, extents)."""

    def value(environment: Environment) -> int:
        made = node.run(environment)
        assert made.error == 0, node.text
        return int(made.value)

    return value


@dataclass
class Memory:
    """An array that the kernel takes: its elements with their bounds, which stores change."""

    elements: Bounded

    def gather(self, positions: list[np.ndarray], inside: np.ndarray, other: Bounded) -> Bounded:
        """Elements at the positions (one array per dimension), `other` where not inside."""
        extents = self.elements.shape
        place = np.ix_(*(np.clip(p, 0, n - 1) for p, n in zip(positions, extents, strict=True)))
        value = np.where(inside, self.elements.value[place], other.value)
        error = np.where(inside, self.elements.error[place], other.error)
        return Bounded(self.elements.dtype, value, error)

    def scatter(self, positions: list[np.ndarray], inside: Bounded, tile: Bounded) -> None:
        """Writes where `inside` holds; where that is unknown, the element is unknown."""
        extents = self.elements.shape
        kept = [np.flatnonzero((p >= 0) & (p < n)) for p, n in zip(positions, extents, strict=True)]
        among = np.ix_(*kept)
        inside, tile = inside.map(lambda array: array[among]), tile.map(lambda array: array[among])
        place = np.ix_(*(each[keep] for each, keep in zip(positions, kept, strict=True)))
        old_value, old_error = self.elements.value[place], self.elements.error[place]
        value = np.where(inside.value, tile.value, old_value)
        error = np.where(inside.value, tile.error, old_error) + inside.error
        self.elements.value[place], self.elements.error[place] = value, error
