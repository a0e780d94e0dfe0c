"""What every kind of communicator has in common, and which one is current."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tilewire._tilewire import DType, Target

if TYPE_CHECKING:
    from tilewire.kernel import Grid, Kernel
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

    def window(self, shape: Any, dtype: DType | Record) -> Window:
        """Collective: symmetric memory of `shape` on every rank, cleared on the CPU only. `dtype`
        may be a `tw.record(…)`."""
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
