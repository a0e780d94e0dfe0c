"""What every kind of communicator has in common, and which one is current."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any

from tilewire import objects
from tilewire._tilewire import Target
from tilewire.copies import (
    Fill,
    FilledElement,
    check_copy,
    copy_on_host,
    count_on_host,
    of_rank,
    raise_on_host,
)
from tilewire.creation import Creation
from tilewire.errors import Error, UserError
from tilewire.host_view import Rows, ranks_of
from tilewire.lane import Lane, Lanes
from tilewire.precompile import planned_here

if TYPE_CHECKING:
    from tilewire.kernel import Grid, Kernel
    from tilewire.objects import Element
    from tilewire.place import Place
    from tilewire.precompile import Precompilation
    from tilewire.window import Symmetric


class Communicator(Creation):
    """The ranks that work together, as this process (or this rank's function) sees them."""

    rank: int | None
    """This rank's number; None where one controller drives all ranks."""
    target: Target
    """What kernels are compiled for."""
    _lanes: Lanes

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

    def lane(self, number: int, sms: int | None = None, exclusive: bool = False) -> Lane:
        """The lane of this number; collective where it is made, at its first call. Lane 0 is there.

        `sms` is its budget of multiprocessors: its grids have at most as many program instances,
        and the budgets of all lanes fit the device together. `exclusive` is your promise that
        nothing else waits on this GPU while its kernels do: their launches then carry no
        cooperative attribute. A lane keeps its options: asking for others is a UserError.
        """
        found = self._lanes.find(number, sms, exclusive)
        if found is not None:
            return found
        identity = self._make_lane(number, sms, exclusive)
        return self._lanes.add(Lane(self, number, sms, exclusive, identity))

    def get_lane(self, number: int) -> Lane:
        """The lane of this number; UserError where it wasn't made."""
        return self._lanes.get(number)

    def _make_lane(self, number: int, sms: int | None, exclusive: bool) -> int:
        """Collective: makes it on all ranks; its identity."""
        raise NotImplementedError

    def reserve(self, num_bytes: int) -> None:
        """Collective: memory of every rank for windows and objects that are made later, registered
        at once. Making them then registers nothing."""
        raise NotImplementedError

    def trim(self) -> None:
        """Collective: gives the memory back to the device in which no window lies."""
        raise NotImplementedError

    def free(self, window: Symmetric) -> None:
        """Collective: gives the memory of a window or of objects back, for later ones; nothing may
        use it any more. What Python collects is given back as well, as soon as that has happened
        on all ranks, when they next make something."""
        raise NotImplementedError

    def stream_wait(
        self, element: Element, n: int = 1, *, timeout: Any = ..., stream: Any = None
    ) -> None:
        """What is launched on the current stream (or `stream`) afterwards runs when semaphore
        `sem[i]` of this rank's has `n` signals, which are taken: a kernel waits for them. Where one
        controller drives all ranks, `sem[i]` is every rank's and `sem.at(r)[i]` rank r's.
        `timeout=None`: it waits for however long it takes."""
        from tilewire.stream_wait import stream_wait

        stream_wait(self, element, n, timeout, stream)

    def copy(self, to: Any, source: Any, *, then: Any = None, stream: Any = None) -> None:
        """Copies `source` to `to`: windows (this rank's copy), views of them like `full[r]` and
        `shard.at(r)`, or arrays, of equal shapes and dtypes, contiguous or with contiguous rows. On
        GPUs a copy engine does it on `stream`, which may be captured. `then=f[i]`, of an open
        `flag.fill()`: on the fill's stream, and then raises that flag. Where one controller drives
        all ranks, each may be a list with an item for every rank."""
        self._require_open()
        for rank in ranks_of(self):
            own_to, own_source, raised = (of_rank(self, each, rank) for each in (to, source, then))
            sides = check_copy(self, own_to, own_source, raised, rank)
            if planned_here() is None:
                self._copy(rank, *sides, raised, stream)

    def _copy(
        self, rank: int, to: Rows, source: Rows, then: FilledElement | None, stream: Any
    ) -> None:
        """One copy of rank `rank`."""
        if stream is not None:
            raise UserError("comm.copy: the CPU has no streams")
        copy_on_host(to, source)
        if then is not None:
            raise_on_host(then, rank)
            self._tell(then.key(rank))

    def _begin_fill(self, fill: Fill) -> None:
        """Counts a fill."""
        self._require_open()
        fill.flag.require_kept()
        if fill.stream is not None:
            raise UserError("flag.fill: the CPU has no streams")
        fill.flag.is_filled = True
        for rank in ranks_of(self) if planned_here() is None else ():
            count_on_host(fill.flag, rank)

    def _tell(self, key: int) -> None:
        """On the CPU: looks again at what waits for memory at this address."""
        raise NotImplementedError

    def _make(self, request: objects.Request) -> Any:
        plain = request.kind == "window" and request.rotate == 0
        return self._make_on(None if plain else self._lanes.get(0), request)

    def _make_on(self, lane: Lane | None, request: objects.Request) -> Any:
        """Collective: what was asked for, on this lane or on none."""
        raise NotImplementedError

    def _require_open(self) -> None:
        """UserError where it was closed or aborted."""
        raise NotImplementedError

    def _require_own(self, window: Any, call: str) -> None:
        if getattr(window, "comm", None) is not self:
            raise UserError(f"{call} takes a window or objects of this communicator")
        if window.is_retired:
            raise UserError(f"{call}: this {window.kind} was given back already")

    def barrier(self) -> None:
        """Collective: returns when all ranks have called it and have done what they launched."""
        raise NotImplementedError

    def check(self) -> None:
        """HangError where a wait of an earlier launch has given up."""
        raise NotImplementedError

    def close(self) -> None:
        """Gives windows and lanes back; collective on GPUs. May be called twice."""
        raise NotImplementedError

    def abort(self) -> None:
        """Makes all waiting kernels leave; afterwards only `close` is useful."""
        raise NotImplementedError

    def launch(
        self, kernel: Kernel, grid: Grid, place: Place, bound: dict[str, Any], launcher: Any
    ) -> None:
        """Compiles where needed and launches; `bound` maps parameters to arguments."""
        raise NotImplementedError

    def plan(
        self,
        planned: Precompilation,
        kernel: Kernel,
        grid: Grid,
        place: Place,
        bound: dict[str, Any],
    ) -> None:
        """Adds what such a launch would compile."""
        from tilewire.launch import Call

        call = Call(kernel, bound)
        planned.add(self, kernel, call.specialisation, call.facts)

    def with_reason(self, error: UserError) -> Error:
        """An error of the compiler, with why this communicator lacks what it asks for."""
        return error

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
