"""What every kind of communicator has in common, and which one is current."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tilewire import objects
from tilewire._tilewire import DType, Target
from tilewire.errors import UserError

if TYPE_CHECKING:
    from tilewire.kernel import Grid, Kernel
    from tilewire.objects import Channel, Element, Flag, Semaphore
    from tilewire.record import Record
    from tilewire.window import Window


class Communicator:
    """The ranks that work together, as this process (or this rank's function) sees them."""

    rank: int | None
    """This rank's number; None where one controller drives all ranks."""
    target: Target
    """What kernels are compiled for."""

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return self.target.world_size

    @property
    def lsa_size(self) -> int:
        """How many consecutive ranks reach each other's memory by loads and stores."""
        return self.target.lsa_size

    @property
    def device(self) -> str:
        """Where windows lie and arguments must: `cpu`, `cuda:1`."""
        return "cpu"

    def window(self, shape: Any, dtype: DType | Record, rotate: int | None = None) -> Window:
        """Collective: symmetric memory of `shape` on every rank, cleared on the CPU only. `dtype`
        may be a `tw.record(…)`. With `rotate=k`, each launch that takes it sees the next of k
        copies, which are cleared everywhere: scratch that needs no barrier before refilling."""
        return self._make(objects.window_request(self.size, shape, dtype, rotate))

    def semaphore(self, shape: Any, init: int = 0) -> Semaphore:
        """Collective: an array of counting semaphores that have `init` signals on every rank."""
        return self._make(objects.semaphore_request(shape, init))

    def flag(self, shape: Any) -> Flag:
        """Collective: an array of flags, none of them set."""
        return self._make(objects.flag_request(self.size, shape))

    def channel(
        self,
        shape: Any,
        tile: Any = (),
        dtype: Any = None,
        depth: int = 1,
        exchange: bool = False,
        signed_zero: bool = True,
    ) -> Channel:
        """Collective: an array of slots, each for messages of one tile of `dtype`: a scalar where
        `tile` is (), a record's fields where `dtype` is a `tw.record(…)`. Up to `depth` messages
        of a slot may be unread. `exchange=True`: only `exchange` uses it. `signed_zero=False`: -0.0
        arrives as 0.0, and messages of an exchange take half the room."""
        if dtype is None:
            raise UserError("comm.channel: dtype= is missing: what its messages are made of")
        return self._make(
            objects.channel_request(self.size, shape, tile, dtype, depth, exchange, signed_zero)
        )

    def stream_wait(
        self, element: Element, n: int = 1, *, timeout: Any = ..., stream: Any = None
    ) -> None:
        """What is launched on the current stream (or `stream`) afterwards runs when semaphore
        `sem[i]` of this rank's has `n` signals, which are taken: a kernel waits for them. Where one
        controller drives all ranks, `sem[i]` is every rank's and `sem.at(r)[i]` rank r's.
        `timeout=None`: it waits for however long it takes."""
        from tilewire.stream_wait import stream_wait

        stream_wait(self, element, n, timeout, stream)

    def _make(self, request: objects.Request) -> Any:
        """Collective: what was asked for, holding its first content on all ranks."""
        raise NotImplementedError

    def barrier(self) -> None:
        """Collective: returns when all ranks have called it and have done what they launched."""
        raise NotImplementedError

    def check(self) -> None:
        """HangError where a wait of an earlier launch has given up."""
        raise NotImplementedError

    def close(self) -> None:
        """Gives windows and lanes back; collective on GPUs. May be called twice."""
        raise NotImplementedError

    def launch(
        self, kernel: Kernel, grid: Grid, stream: int | None, bound: dict[str, Any], launcher: Any
    ) -> None:
        """Compiles where needed and launches; `bound` maps parameters to arguments."""
        raise NotImplementedError

    def __enter__(self) -> Communicator:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


_default: Communicator | None = None
_of_thread = threading.local()


def set_default(comm: Communicator | None) -> None:
    """The communicator of launches that no window gives one; the last that was made."""
    global _default
    _default = comm


def forget(comm: Communicator) -> None:
    """Called by `close`."""
    if _default is comm:
        set_default(None)


def set_of_thread(comm: Communicator | None) -> None:
    """The same for one rank of `tw.spawn`, which has a thread of its own."""
    _of_thread.comm = comm


def current() -> Communicator | None:
    """The communicator that launches without windows belong to; None: this process alone."""
    return getattr(_of_thread, "comm", None) or _default
