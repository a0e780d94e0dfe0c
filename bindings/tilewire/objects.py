"""Synchronisation objects and windows as a communicator is asked for them, and as Python holds
them."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewire import _tilewire
from tilewire._tilewire import ChannelType, DType
from tilewire.copies import Fill
from tilewire.errors import UserError
from tilewire.record import FieldType, Record
from tilewire.types import ArrayAnnotation, as_dtype, make_array_annotation
from tilewire.window import Symmetric, Window, check_shape, num_bytes

if TYPE_CHECKING:
    from tilewire.communicator import Communicator
    from tilewire.lane import Lane

MAX_COUNT = 2**31 - 1  # counters are compared by signed differences
MAX_ELEMENTS = 2**31 - 1
EMPTY = ChannelType.empty()


class SyncObject(Symmetric):
    """An array of synchronisation objects: the same on every rank. Kernels take it as an argument,
    and only they touch what lies in it."""

    comm: Communicator
    lane: Lane
    """Which launches that take it run on."""
    memory: Any
    of_ranks: list[SyncObject]
    record: Record | None = None

    reshaped: Callable[[tuple[int, ...]], Any]
    """The same memory as an array of another shape."""

    def __repr__(self) -> str:
        return f"<{self.kind} {list(self.shape)}>"

    def require_kept(self) -> None:
        """UserError where its memory was given back."""
        if self.is_retired:
            raise UserError(f"this {self.kind} was given back by `comm.free`: make a new one")

    def at(self, rank: int) -> ObjectsAt:
        """Rank `rank`'s, for calls of the host that take one of them: `sem.at(r)[i]`."""
        size = self.comm.size
        if not isinstance(rank, int) or isinstance(rank, bool) or not 0 <= rank < size:
            raise UserError(f"there is no rank {rank!r}: {self.kind}.at takes 0 to {size - 1}")
        return ObjectsAt(self, rank)

    def __getitem__(self, index: Any) -> Element:
        """One of this rank's, for calls of the host that take one."""
        return Element(self, None, self._number(index))

    def _number(self, index: Any) -> int:
        """The element's number in row-major order."""
        items = index if isinstance(index, tuple) else (index,)
        shape = tuple(self.shape)
        if len(items) != len(shape):
            raise UserError(f"{len(items)} indices into {self!r}: give one for each dimension")
        number = 0
        for each, extent in zip(items, shape, strict=True):
            if not isinstance(each, int) or isinstance(each, bool):
                raise UserError(f"{each!r} can't index {self!r} on the host: use an integer")
            if not -extent <= each < extent:
                raise UserError(f"index {each} is outside of {self!r}")
            number = number * extent + each % extent
        return number


@dataclass(frozen=True)
class ObjectsAt:
    """`sem.at(r)` on the host."""

    objects: SyncObject
    rank: int

    def __getitem__(self, index: Any) -> Element:
        return Element(self.objects, self.rank, self.objects._number(index))


@dataclass(frozen=True)
class Element:
    """`sem[i]`, `sem.at(r)[i]` on the host."""

    objects: SyncObject
    rank: int | None  # None: the calling rank's
    number: int


class Semaphore(SyncObject):
    """An array of counting semaphores; made by `comm.semaphore(shape)`.

    As an annotation, `tw.Semaphore["N"]` is a kernel's parameter that takes one. Its extents are
    known when the kernel is compiled.
    """

    annotation_kind = "semaphore"

    def __class_getitem__(cls, dimensions: Any) -> ArrayAnnotation:
        return make_array_annotation("semaphore", dimensions)


class Flag(SyncObject):
    """An array of flags; made by `comm.flag(shape)`. `tw.Flag["W", "R"]` is a parameter's
    annotation."""

    annotation_kind = "flag"
    fill_order: Any = None
    """On GPUs: keeps fills in order that are on different streams."""

    def fill(self, stream: Any = None) -> Fill:
        """`with flag.fill(stream=s) as f:` the next fill by copy engines. The n-th fill belongs to
        the n-th launch that takes the flag, whenever either runs: kernels that wait for a flag
        which `comm.copy(…, then=f[i])` raises go on when the data is there."""
        from tilewire.launch import stream_handle

        return Fill(self, stream_handle(stream))

    def __class_getitem__(cls, dimensions: Any) -> ArrayAnnotation:
        return make_array_annotation("flag", dimensions)


class Channel(SyncObject):
    """An array of slots that messages go through; made by `comm.channel(…)`. `tw.Channel["W", "N"]`
    is a parameter's annotation."""

    annotation_kind = "channel"

    def __class_getitem__(cls, dimensions: Any) -> ArrayAnnotation:
        return make_array_annotation("channel", dimensions)


@dataclass(frozen=True)
class Request:
    """Symmetric memory that a rank asks for: what must be the same on all of them."""

    what: str  # as the user wrote it, nearly
    kind: str
    dtype: DType
    shape: tuple[int, ...]
    num_bytes: int  # per rank
    image: bytes | None  # what it holds at first, before zeros; None: whatever was there
    rotate: int = 0
    channel: ChannelType | None = None
    record: Record | None = None
    signals: int = 0  # over the network, that it has where there is one

    @property
    def type(self) -> type[Symmetric]:
        return {"window": Window, "semaphore": Semaphore, "flag": Flag, "channel": Channel}[
            self.kind
        ]


def make_symmetric(
    comm: Communicator,
    request: Request,
    *,
    device: str,
    device_index: int,
    rank: int,
    copies: list[int],
    owner: Any,
    identity: int,
    lane: Lane | None,
    team_size: int = 0,
) -> Any:
    """What `comm` was asked for, over memory at `copies`. `identity` tells communicators apart.
    `team_size`: on the CPU, so many ranks of a team reach each other's memory; 0: all."""
    made = request.type(
        dtype=request.dtype,
        shape=list(request.shape),
        device=device,
        device_index=device_index,
        rank=rank,
        copies=copies,
        owner=owner,
        communicator=identity,
        lane=0 if lane is None else lane.identity,
        kind=request.kind,
        rotate=request.rotate,
        channel=request.channel or EMPTY,
        team_size=team_size,
    )
    made.comm = comm
    made.lane = lane
    made.record = request.record
    return made


def reshaped(made: SyncObject, shape: tuple[int, ...]) -> Any:
    """The same objects of every rank as an array of another shape; made once."""
    made.require_kept()
    cache = made.__dict__.setdefault("_reshaped", {})
    if shape not in cache:
        cache[shape] = made.reshaped(shape)
        others = getattr(made, "of_ranks", None)
        if others is not None:
            cache[shape].of_ranks = [each.reshaped(shape) for each in others]
    return cache[shape]


def window_request(
    world_size: int, shape: Any, dtype: Any, rotate: Any = None, start: int = 0
) -> Request:
    """`start`: launches that have taken it, for tests of large numbers."""
    turns = "" if rotate is None else f", rotate={rotate!r}"
    what = f"comm.window({shape!r}, {dtype!r}{turns})"
    items, record = check_shape(shape), dtype if isinstance(dtype, Record) else None
    if record is not None:
        items, dtype = check_shape((*items, record.num_bytes)), DType.u8
    dtype = as_dtype(dtype)
    total = num_bytes(dtype, items)
    if rotate is None:
        return Request(what, "window", dtype, items, total, None, record=record)
    _require(what, "rotate", rotate, 2, _tilewire.max_rotation)
    total = _tilewire.rotating_bytes(world_size, total, rotate)
    image = _tilewire.launch_state_image(world_size, start) if start else b""
    return Request(what, "window", dtype, items, total, image, rotate=rotate, record=record)


def semaphore_request(shape: Any, init: Any = 0, start: int = 0) -> Request:
    """`start`: what has been waited for already, for tests of counters that wrap around."""
    what = f"comm.semaphore({shape!r}, init={init!r})"
    items = _object_shape("semaphore", shape)
    _require(what, "init", init, 0, MAX_COUNT)
    cell = struct.pack("=II", (start + init) % 2**32, start % 2**32)
    count = math.prod(items)
    image = cell * count if any(cell) else b""
    total = _tilewire.semaphore_bytes(count)
    return Request(what, "semaphore", DType.u64, items, total, image, signals=count)


def flag_request(world_size: int, shape: Any, start: int = 0) -> Request:
    """`start`: launches that have taken it, and fills, for tests of large numbers."""
    items = _object_shape("flag", shape)
    total = _tilewire.flag_bytes(world_size, math.prod(items))
    image = _tilewire.launch_state_image(world_size, start) if start else b""
    return Request(f"comm.flag({shape!r})", "flag", DType.u32, items, total, image)


def channel_request(
    world_size: int,
    shape: Any,
    tile: Any,
    dtype: Any,
    depth: Any,
    exchange: Any,
    signed_zero: Any,
    start: int = 0,
    network: bool = False,
) -> Request:
    """`start`: messages that have gone through each slot, for tests of counts that wrap around.
    `network`: some ranks are out of reach of loads and stores."""
    what = (
        f"comm.channel({shape!r}, tile={tile!r}, dtype={dtype!r}, depth={depth!r}, "
        f"exchange={exchange!r}, signed_zero={signed_zero!r})"
    )
    items = _object_shape("channel", shape)
    extents = tuple(tile) if isinstance(tile, tuple | list) else (tile,)
    for each in extents:
        _require(what, "an extent of tile", each, 1, 2**20)
    _require(what, "depth", depth, 1, 2**20)
    for name, value in (("exchange", exchange), ("signed_zero", signed_zero)):
        if not isinstance(value, bool):
            raise UserError(f"{what}: {name} is True or False, found {value!r}")
    if not signed_zero and not exchange:
        raise UserError(
            f"{what}: signed_zero=False is for channels that only `exchange` uses: pass "
            f"exchange=True too"
        )
    if exchange and items[0] != world_size:
        raise UserError(
            f"{what}: the first dimension of a channel for exchanges is the {world_size} ranks"
        )
    record = dtype if isinstance(dtype, Record) else None
    fields = _message_fields(what, dtype, list(extents))
    carrying = "tagged" if not exchange else "exchange" if signed_zero else "reserved"
    channel = ChannelType(fields, depth, carrying)
    total = _tilewire.channel_bytes(channel, math.prod(items), world_size, network)
    if total >= 2**48:
        raise UserError(f"{what} takes {total} bytes per rank: make it smaller")
    image = b""
    if start:
        image = _tilewire.channel_image(channel, math.prod(items), world_size, start % 2**32)
    signals = _tilewire.channel_signals(channel, math.prod(items), world_size, network)
    return Request(
        what, "channel", DType.u8, items, total, image, 0, channel, record=record, signals=signals
    )


def _message_fields(what: str, dtype: Any, extents: list[int]) -> list[Any]:
    """The values of a message: a tile of a dtype, each field of a record, each item of a tuple."""
    if isinstance(dtype, Record):
        return [(kind.dtype, [*extents, *kind.shape]) for _, kind in dtype.fields]
    if not isinstance(dtype, tuple):
        return [(as_dtype(dtype), extents)]
    if extents:
        raise UserError(f"{what}: the items of dtype= have shapes of their own: leave out tile=")
    kinds = [each if isinstance(each, FieldType) else FieldType(as_dtype(each)) for each in dtype]
    return [(kind.dtype, list(kind.shape)) for kind in kinds]


def check_reserve(num_bytes: Any) -> int:
    """What `comm.reserve` takes; UserError where it is no size."""
    _require("comm.reserve", "its argument", num_bytes, 1, 2**48 - 1)
    return num_bytes


def _object_shape(kind: str, shape: Any) -> tuple[int, ...]:
    items = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    for each in items:
        if not isinstance(each, int) or isinstance(each, bool) or each < 1:
            raise UserError(f"a {kind}'s shape is a tuple of integers above 0, found {shape!r}")
    if not 1 <= len(items) <= 8 or math.prod(items) > MAX_ELEMENTS:
        raise UserError(
            f"a {kind} has 1 to 8 dimensions and fewer than 2**31 elements, found {shape!r}"
        )
    return items


def _require(what: str, name: str, value: Any, least: int, largest: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= largest:
        raise UserError(f"{what}: {name} is an integer from {least} to {largest}, found {value!r}")
