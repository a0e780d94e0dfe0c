"""Symmetric memory as Python holds it."""

from __future__ import annotations

import math
import numbers
from typing import TYPE_CHECKING, Any

from tilewire import _tilewire
from tilewire._tilewire import DType
from tilewire.errors import UserError
from tilewire.record import Record
from tilewire.types import ArrayAnnotation, make_array_annotation

if TYPE_CHECKING:
    from tilewire.communicator import Communicator
    from tilewire.lane import Lane


Symmetric = _tilewire.Window
"""A window, or an array of synchronisation objects: the same on every rank."""


class Window(Symmetric):
    """The same shape and dtype on every rank; made by `comm.window(shape, dtype)`.

    As an annotation, `tw.Window["T", "H"]` is a kernel's parameter that takes one. On the host the
    window itself is this rank's copy (for `torch.from_dlpack`, `numpy.asarray`), unless it rotates.
    """

    annotation_kind = "window"
    comm: Communicator
    lane: Lane | None = None
    """Which launches that take it run on; None: any."""
    record: Record | None = None
    """Its element type, where that is a record: the last dimension holds the record's bytes. NumPy
    sees records, `window.numpy()["field"]`; DLPack, which has none, the bytes."""
    memory: Any
    """On GPUs: what `comm.free` gives back."""
    of_ranks: list[Window]
    """In a virtual world on a GPU: this window as each rank's kernel takes it."""

    def __class_getitem__(cls, dimensions: Any) -> ArrayAnnotation:
        return make_array_annotation("window", dimensions)

    def at(self, rank: int) -> Any:
        """Rank `rank`'s copy on the host: a NumPy array over the same memory on the CPU, else an
        object for `torch.from_dlpack`. UserError where this process can't reach it."""
        size = self.comm.size
        if not isinstance(rank, numbers.Integral) or not 0 <= rank < size:
            raise UserError(
                f"there is no rank {rank!r}: window.at takes a rank from 0 to {size - 1}"
            )
        copy = super().at(int(rank))
        return copy.numpy() if self.device == "cpu" else copy


def check_shape(shape: Any) -> tuple[int, ...]:
    """A window's shape as a tuple; UserError where it is none."""
    items = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    for each in items:
        if not isinstance(each, int) or isinstance(each, bool) or each < 0:
            raise UserError(f"a window's shape is a tuple of integers from 0 on, found {shape!r}")
    if not 1 <= len(items) <= 8:
        raise UserError(f"a window has 1 to 8 dimensions, found {shape!r}")
    return items


def num_bytes(dtype: DType, shape: tuple[int, ...]) -> int:
    """Of one rank's copy; UserError where no machine has as many."""
    total = math.prod(shape) * dtype.num_bytes
    if total >= 2**48:
        raise UserError(
            f"a window of {shape} {dtype} takes {total} bytes per rank: make it smaller"
        )
    return total
