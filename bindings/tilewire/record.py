"""Records: several fields together as the element type of a window, or of a tensor of bytes."""

from __future__ import annotations

import functools
import keyword
import math
from dataclasses import dataclass
from typing import Any

import numpy

from tilewire._tilewire import DType, RecordType
from tilewire.errors import UserError
from tilewire.types import to_numpy_dtype


@dataclass(frozen=True)
class FieldType:
    """`tw.e4m3[128]`: so many elements of a dtype as a field of a record."""

    dtype: DType
    shape: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"{self.dtype}{list(self.shape)}" if self.shape else str(self.dtype)


def field_type(dtype: DType, shape: Any) -> FieldType:
    """What `tw.f32[4]` and `tw.f32[2, 8]` mean."""
    items = shape if isinstance(shape, tuple) else (shape,)
    for each in items:
        if not isinstance(each, int) or isinstance(each, bool) or each < 1:
            raise UserError(f"{dtype}[{shape!r}]: a field's extents are positive integers")
    if not 1 <= len(items) <= 3:
        raise UserError(f"{dtype}[{shape!r}]: a field has rank 0 to 3")
    if math.prod(items) > _MAX_ELEMENTS:
        raise UserError(f"{dtype}[{shape!r}]: a field has {_MAX_ELEMENTS} elements at most")
    return FieldType(dtype, items)


DType.__getitem__ = field_type

# What a tile may hold, which a field is loaded into.
_MAX_ELEMENTS = 1 << 20


@dataclass(frozen=True)
class Record:
    """What `tw.record(…)` returns. Fields lie in the order in which they are named, each at the
    next multiple of its alignment: the largest power of two that divides its size, 16 bytes at
    most. The record's size is rounded up to the largest alignment of its fields, so that records
    lie behind each other without losing theirs.
    """

    fields: tuple[tuple[str, FieldType], ...]

    @functools.cached_property
    def _layout(self) -> RecordType:
        return RecordType([(name, kind.dtype, list(kind.shape)) for name, kind in self.fields])

    @functools.cached_property
    def offsets(self) -> dict[str, int]:
        """Field → bytes from the record's start."""
        return {name: self._layout.offset(i) for i, (name, _) in enumerate(self.fields)}

    @property
    def alignment(self) -> int:
        """In bytes."""
        return self._layout.alignment

    @property
    def num_bytes(self) -> int:
        """Of one record, with the gaps in it and behind it."""
        return self._layout.num_bytes

    @functools.cached_property
    def numpy_dtype(self) -> numpy.dtype:
        """The same record for NumPy: a structured dtype."""
        return numpy.dtype(
            {
                "names": [name for name, _ in self.fields],
                "formats": [(to_numpy_dtype(kind.dtype), kind.shape) for _, kind in self.fields],
                "offsets": [self.offsets[name] for name, _ in self.fields],
                "itemsize": self.num_bytes,
            }
        )

    @property
    def name(self) -> str:
        """As `DType.name`: how messages call it."""
        return str(self)

    def __str__(self) -> str:
        return f"tw.record({', '.join(f'{name}={kind}' for name, kind in self.fields)})"

    def __repr__(self) -> str:
        return str(self)


def record(**fields: Any) -> Record:
    """An element type of several fields: `tw.record(q=tw.e4m3[128], scale=tw.f32, id=tw.i32)`."""
    if not fields:
        raise UserError("tw.record() has no fields: name at least one")
    kinds = []
    for name, kind in fields.items():
        kind = FieldType(kind) if isinstance(kind, DType) else kind
        if not isinstance(kind, FieldType):
            raise UserError(
                f"tw.record: field `{name}` must be a dtype like tw.f32 or tw.f32[4], "
                f"found {kind!r}"
            )
        if not name.isidentifier() or keyword.iskeyword(name):
            raise UserError(
                f"tw.record: `{name}` can't be written as an attribute: rename the field"
            )
        if name in ("at", "shape"):
            raise UserError(f"tw.record: a field can't be called `{name}`: views have that name")
        kinds.append((name, kind))
    return Record(tuple(kinds))
