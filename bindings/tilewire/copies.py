"""`comm.copy` and `flag.fill`: what copy engines move, and how kernels learn that it is there."""

from __future__ import annotations

import ctypes
import functools
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tilewire import _tilewire
from tilewire._tilewire import DType
from tilewire.errors import UserError
from tilewire.host_view import Rows, Side, ranks_of, rows_of

if TYPE_CHECKING:
    from tilewire.communicator import Communicator
    from tilewire.kernel import Kernel
    from tilewire.objects import Flag


class Fill:
    """One fill of an array of flags, open inside of `with flag.fill() as f:`. `f[i]` is what
    `comm.copy(…, then=f[i])` raises; `f.at(p)[i]` is rank p's."""

    def __init__(self, flag: Flag, stream: int | None, of_rank: int | None = None) -> None:
        self.flag = flag
        self.stream = stream
        self.of_rank = of_rank
        self.is_open = False

    def __enter__(self) -> Fill:
        self.flag.comm._begin_fill(self)
        self.is_open = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.is_open = False

    def at(self, rank: int) -> FillPart:
        """Rank `rank`'s flags, to be filled by copies to its memory."""
        if not isinstance(rank, int) or not 0 <= rank < self.flag.comm.size:
            raise UserError(f"there is no rank {rank!r} to fill flags of")
        return FillPart(self, rank)

    def __getitem__(self, index: Any) -> FilledElement:
        return FillPart(self, None)[index]


class FillPart:
    """The flags of one rank in a fill; None: this rank's."""

    def __init__(self, fill: Fill, rank: int | None) -> None:
        self.fill = fill
        self.rank = rank

    def __getitem__(self, index: Any) -> FilledElement:
        shape = self.fill.flag.shape
        items = index if isinstance(index, tuple) else (index,)
        if len(items) != len(shape):
            raise UserError(f"a fill names one flag: {len(shape)} indices, found {index!r}")
        element = 0
        for each, extent in zip(items, shape, strict=True):
            if not isinstance(each, int) or isinstance(each, bool) or not 0 <= each < extent:
                raise UserError(f"flag {index!r} is outside of an array of {list(shape)}")
            element = element * extent + each
        return FilledElement(self.fill, self.rank, element)


class FilledElement:
    """A flag that a copy raises when it is done."""

    def __init__(self, fill: Fill, rank: int | None, element: int) -> None:
        self.fill = fill
        self.rank = rank
        self.element = element

    def source(self, own_rank: int) -> int:
        """Where the fill's number is: this rank's count of fills."""
        return address_of(self.fill.flag, own_rank) + _tilewire.num_fills_offset

    def target(self, own_rank: int) -> int:
        rank = own_rank if self.rank is None else self.rank
        size = self.fill.flag.comm.size
        return address_of(self.fill.flag, rank) + _tilewire.filled_offset(size, self.element)

    def key(self, own_rank: int) -> int:
        """The address of the flag, by which the CPU world's kernels wait."""
        rank = own_rank if self.rank is None else self.rank
        size = self.fill.flag.comm.size
        return address_of(self.fill.flag, rank) + _tilewire.flag_offset(size, self.element)


def address_of(flag: Flag, rank: int) -> int:
    """Of a rank's part of an array of objects."""
    address = flag.copies[rank]
    if address == 0:
        raise UserError(f"rank {rank}'s flags can't be reached from this process")
    return address


def check_copy(
    comm: Communicator, to: Any, source: Any, then: FilledElement | None, rank: int
) -> tuple[Rows, Rows]:
    """Both sides of a copy of rank `rank`; UserError where they don't fit."""
    target = Side.of(to, rank, "comm.copy: to")
    origin = Side.of(source, rank, "comm.copy: from")
    if target.shape != origin.shape or target.dtype != origin.dtype:
        raise UserError(
            f"comm.copy takes equal shapes and dtypes, found {target} for the target and {origin} "
            f"for the source"
        )
    for each in (target, origin):
        if each.comm is not None and each.comm is not comm:
            raise UserError("comm.copy: a window of another communicator")
        if each.device.partition(":")[0] != comm.device.partition(":")[0]:
            raise UserError(f"comm.copy: {each} is on {each.device}, this world on {comm.device}")
    if target.read_only:
        raise UserError(f"comm.copy: {target} is read-only")
    if then is not None:
        if not isinstance(then, FilledElement):
            raise UserError(f"comm.copy: then= is an element of a fill, found {then!r}")
        if then.fill.flag.comm is not comm:
            raise UserError("comm.copy: then= is a flag of another communicator")
        if not then.fill.is_open:
            raise UserError(
                "comm.copy: this fill is over: write `with flag.fill() as f:` around the copies"
            )
    return rows_of(target, origin)


def of_rank(comm: Communicator, value: Any, rank: int) -> Any:
    """What a controller of all ranks passes for one: its item of a list, else the same."""
    if comm.rank is not None or not isinstance(value, list):
        return value
    if len(value) != comm.size:
        raise UserError(
            f"comm.copy: a list of {len(value)}, the world has {comm.size} ranks: give one item "
            f"for each"
        )
    return value[rank]


def copy_on_host(to: Rows, source: Rows) -> None:
    for row in range(to.num_rows):
        ctypes.memmove(
            to.address + row * to.pitch, source.address + row * source.pitch, to.row_bytes
        )


def raise_on_host(then: FilledElement, rank: int) -> None:
    """What the copy engine does with a fill's number."""
    ctypes.memmove(then.target(rank), then.source(rank), 8)


def count_on_host(flag: Flag, rank: int) -> None:
    word = ctypes.c_int64.from_address(address_of(flag, rank) + _tilewire.num_fills_offset)
    word.value += 1


def counter_of(flag: Flag, rank: int) -> Any:
    """Rank `rank`'s number of fills, as an array that a kernel takes."""
    kind, _, index = flag.device.partition(":")
    word = _tilewire.Window(
        dtype=DType.i64,
        shape=[1],
        device=kind,
        device_index=int(index or 0),
        rank=rank,
        copies=[each and each + _tilewire.num_fills_offset for each in flag.copies],
        owner=flag,
    )
    return word.at(rank)


@functools.cache
def _count_fill() -> Kernel:
    """The kernel of one thread that begins a fill."""
    from tilewire.count_fill import count_fill

    return count_fill


class CopyEngines:
    """Copies and fills of a communicator on one GPU."""

    _device: int
    _world: Any
    device: str
    rank: int | None
    size: int

    def _stream(self, stream: Any) -> int:
        from tilewire.launch import stream_handle

        handle = stream_handle(stream)
        return _tilewire.current_stream(self._device) if handle is None else handle

    def _copy(
        self, rank: int, to: Rows, source: Rows, then: FilledElement | None, stream: Any
    ) -> None:
        handle = self._stream(stream)
        if then is not None:
            if stream is not None and handle != then.fill.stream:
                raise UserError("comm.copy: then= runs on the fill's stream, leave out stream=")
            handle = then.fill.stream
        _tilewire.copy_memory(
            self._device,
            to.address,
            source.address,
            to.row_bytes,
            to.num_rows,
            to.pitch,
            source.pitch,
            handle,
        )
        if then is not None:
            count, flag = then.source(rank), then.target(rank)
            _tilewire.copy_memory(self._device, flag, count, 8, 1, 8, 8, handle)

    def _require_open(self) -> None:
        if self._world.is_closed:
            raise UserError("this communicator is closed")

    def _begin_fill(self, fill: Fill) -> None:
        """A kernel of one thread counts it, behind the copies of the fill before."""
        self._require_open()
        fill.flag.require_kept()
        flag = fill.flag
        fill.stream = self._stream(fill.stream)
        if flag.fill_order is None:
            flag.fill_order = _tilewire.StreamChain(self._device)
        flag.fill_order.next(fill.stream)
        for each in getattr(flag, "of_ranks", [flag]):
            each.is_filled = True
        for rank in ranks_of(self):  # type: ignore[arg-type]
            _count_fill().on(stream=fill.stream)[1](counter_of(flag, rank))
