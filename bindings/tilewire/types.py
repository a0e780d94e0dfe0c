"""Element types and the annotations of kernel parameters."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy

from tilewire._tilewire import DType, all_dtypes
from tilewire.errors import UserError

_NUMPY_NAMES = {
    "bool": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
    "u16": "uint16",
    "u32": "uint32",
    "u64": "uint64",
    "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2",
    "f16": "float16",
    "bf16": "bfloat16",
    "f32": "float32",
    "f64": "float64",
}
_DTYPES = {_NUMPY_NAMES[dtype.name]: dtype for dtype in all_dtypes()}


def to_numpy_dtype(dtype: DType) -> numpy.dtype:
    """The NumPy dtype with these elements; bf16 and fp8 come from `ml_dtypes`."""
    name = _NUMPY_NAMES[dtype.name]
    if dtype.name in ("bf16", "e4m3", "e5m2"):
        import ml_dtypes

        return numpy.dtype(getattr(ml_dtypes, name))
    return numpy.dtype(name)


def dtype_of_numpy(dtype: numpy.dtype) -> DType | None:
    """The element type of a NumPy dtype (or of its name); None where tilewire has none."""
    return _DTYPES.get(str(dtype))


def as_dtype(value: Any) -> DType:
    """A `tw` dtype, or a NumPy or PyTorch one of the same elements."""
    if isinstance(value, DType):
        return value
    name = str(value).removeprefix("torch.")
    found = _DTYPES.get(name)
    if found is None:
        try:
            # NumPy takes None for float64.
            found = None if value is None else dtype_of_numpy(numpy.dtype(value))
        except TypeError:
            found = None
    if found is None:
        known = ", ".join(str(dtype) for dtype in all_dtypes())
        raise UserError(f"{value!r} is not an element type; there are {known}")
    return found


@dataclass(frozen=True)
class ArrayAnnotation:
    """`tw.Tensor["M", "K"]`, `tw.Window["T", 8192]`. Dimensions None: any rank."""

    kind: str  # "tensor", "window", "semaphore", "flag" or "channel"
    dimensions: tuple[str | int, ...] | None = None
    is_constant: bool = False  # `tw.constant(…)`

    @property
    def is_object(self) -> bool:
        """An array of synchronisation objects, whose extents are known at compile time."""
        return self.kind in ("semaphore", "flag", "channel")

    def __str__(self) -> str:
        text = f"tw.{self.kind.capitalize()}"
        if self.dimensions is not None:
            text += f"[{', '.join(repr(each) for each in self.dimensions)}]"
        return f"tw.constant({text})" if self.is_constant else text


def make_array_annotation(kind: str, dimensions: Any) -> ArrayAnnotation:
    """What stands behind `tw.Tensor[…]`: names of dimensions, or fixed extents."""
    if not isinstance(dimensions, tuple):
        dimensions = (dimensions,)
    for each in dimensions:
        named = isinstance(each, str) and each.isidentifier()
        fixed = isinstance(each, int) and not isinstance(each, bool) and each >= 0
        if not named and not fixed:
            raise UserError(
                f"{each!r} is not a dimension of tw.{kind.capitalize()}[…]: write a name in "
                f'quotes, like "M", or a fixed extent'
            )
    return ArrayAnnotation(kind, dimensions)


class Tensor:
    """Annotation of a kernel parameter: this rank's own memory, strided, any shape."""

    annotation_kind = "tensor"

    def __class_getitem__(cls, dimensions: Any) -> ArrayAnnotation:
        return make_array_annotation("tensor", dimensions)


def constant(annotation: Any) -> ArrayAnnotation:
    """`w: tw.constant(tw.Tensor["N"])`: nobody writes this tensor during a launch, so that its
    loads may move above waits and out of loops."""
    if annotation is Tensor:
        annotation = ArrayAnnotation("tensor")
    if not isinstance(annotation, ArrayAnnotation) or annotation.kind != "tensor":
        raise UserError(
            f"tw.constant takes a tw.Tensor, found {annotation}: peers may write a window at any "
            f"time"
        )
    return dataclasses.replace(annotation, is_constant=True)


class Constant:
    """Type of `tw.const`, the annotation of a compile-time parameter."""

    def __repr__(self) -> str:
        return "tw.const"


const = Constant()
