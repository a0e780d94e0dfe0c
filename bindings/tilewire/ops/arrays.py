"""The arrays that fused products take and give: one of this rank's, or one of each rank that a
controller drives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from tilewire import _tilewire
from tilewire._tilewire import DType
from tilewire.errors import UserError
from tilewire.host_view import ranks_of
from tilewire.types import to_numpy_dtype

if TYPE_CHECKING:
    from tilewire.communicator import Communicator
    from tilewire.window import Window

_TORCH_NAMES = {
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
}


class Matrix(NamedTuple):
    """What is asked of an array of rank 2."""

    rows: int
    columns: int
    dtype: DType


def matrix(value: Any, what: str) -> Matrix:
    """UserError where `value` is no array of rank 2."""
    found = _tilewire.read_argument(value, what)
    if found.kind == "scalar" or len(found.shape) != 2:
        raise UserError(f"{what} is a matrix, found {value!r:.200}")
    return Matrix(*found.shape, found.dtype)


def per_rank(comm: Communicator, value: Any, what: str) -> list[Any]:
    """One item for each rank that this process drives: a list's, else the same for all."""
    ranks = ranks_of(comm)
    if comm.rank is not None or not isinstance(value, list):
        return [value] * len(ranks)
    if len(value) != len(ranks):
        raise UserError(
            f"{what} is a list of {len(value)}: give one item for each of {len(ranks)} ranks"
        )
    return value


def for_launch(comm: Communicator, values: list[Any]) -> Any:
    """`per_rank` undone."""
    return values[0] if comm.rank is not None else values


def share_of(total: int, size: int, rank: int) -> slice:
    """Rank `rank`'s part of `total` rows, divided as `torch.chunk` does: ceil(total / size) each,
    the last ones smaller or empty."""
    part = -(-total // size)
    return slice(min(rank * part, total), min((rank + 1) * part, total))


def is_torch(array: Any) -> bool:
    return type(array).__module__.partition(".")[0] == "torch"


def to_torch_dtype(dtype: DType) -> Any:
    import torch

    return getattr(torch, _TORCH_NAMES[dtype.name])


def empty(like: Any, shape: tuple[int, ...], dtype: DType, what: str) -> Any:
    """A new array of the library and on the device of `like`."""
    if is_torch(like):
        import torch

        return torch.empty(shape, dtype=to_torch_dtype(dtype), device=like.device)
    if _tilewire.read_argument(like, what).device != "cpu":
        raise UserError(f"{what}: only PyTorch's arrays can be made on GPUs: pass out=")
    return numpy.empty(shape, to_numpy_dtype(dtype))


def in_rows(array: Any, what: str) -> Any:
    """`array`, or where its rows aren't contiguous or overlap, a copy, made on the framework's
    current stream: what copy engines take."""
    found = _tilewire.read_argument(array, what)
    (rows, columns), (pitch, step) = found.shape, found.strides
    if (columns <= 1 or step == 1) and (rows <= 1 or pitch >= columns):
        return array
    return array.contiguous() if is_torch(array) else array.copy()


def host_view(window: Window, rank: int, like: Any) -> Any:
    """Rank `rank`'s copy of a window, which this process drives, as an array of the library of
    `like`: NumPy's or PyTorch's; else an object with DLPack."""
    if is_torch(like):
        import torch

        return torch.from_dlpack(_tilewire.Window.at(window, rank))
    return window.at(rank)
