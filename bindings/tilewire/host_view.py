"""The two sides of a `comm.copy`: where they lie, and the rows that are to be moved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewire import _tilewire
from tilewire._tilewire import DType
from tilewire.errors import UserError

if TYPE_CHECKING:
    from tilewire.communicator import Communicator


@dataclass(frozen=True)
class Side:
    """Elements of one rank's copy of a window, or of another array."""

    address: int
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in elements
    device: str
    read_only: bool
    comm: Communicator | None  # that of a window

    @classmethod
    def of(cls, value: Any, rank: int, what: str) -> Side:
        """A window or a part of one, which are rank `rank`'s own where no rank was named; or any
        array."""
        window = getattr(value, "window", value)
        comm = getattr(window, "comm", None) if isinstance(window, _tilewire.Window) else None
        array = value
        if isinstance(value, _tilewire.Window):
            array = _tilewire.Window.at(value, rank)
        elif isinstance(value, _tilewire.WindowView) and value.is_own:
            array = value.at(rank)
        read = _tilewire.read_argument(array, what)
        if read.kind == "scalar":
            raise UserError(f"{what} a window, a part of one or an array, found {value!r}")
        return cls(
            address=read.address,
            dtype=read.dtype,
            shape=tuple(read.shape),
            strides=tuple(read.strides),
            device=read.device,
            read_only=read.read_only,
            comm=comm,
        )

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}"


def ranks_of(comm: Communicator) -> list[int]:
    """The ranks that this process copies for: its own, or all that one controller drives."""
    return list(range(comm.size)) if comm.rank is None else [comm.rank]


@dataclass(frozen=True)
class Rows:
    """One side of a copy: rows of equal length at regular distances."""

    address: int
    row_bytes: int
    num_rows: int
    pitch: int


def rows_of(to: Side, source: Side) -> tuple[Rows, Rows]:
    """The same rows on both sides; UserError where one side needs more than that."""
    dimensions = [
        (extent, a, b)
        for extent, a, b in zip(to.shape, to.strides, source.strides, strict=True)
        if extent != 1
    ]
    length = 1  # elements that follow each other on both sides
    while dimensions and dimensions[-1][1:] == (length, length):
        length *= dimensions.pop()[0]
    count, to_pitch, source_pitch = 1, length, length
    if dimensions:
        count, to_pitch, source_pitch = dimensions.pop()
        while dimensions and dimensions[-1][1:] == (count * to_pitch, count * source_pitch):
            count *= dimensions.pop()[0]
    if 0 in to.shape:
        length = count = 0
    elif dimensions or min(to_pitch, source_pitch) < length:
        raise UserError(
            f"comm.copy takes contiguous memory, or rows of it at equal distances; {to} with "
            f"strides {list(to.strides)} and {list(source.strides)} are neither: copy it in parts"
        )
    size = to.dtype.num_bytes
    return (
        Rows(to.address, length * size, count, to_pitch * size),
        Rows(source.address, length * size, count, source_pitch * size),
    )
