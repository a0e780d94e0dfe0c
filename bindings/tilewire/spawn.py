"""`tw.spawn`: a function per rank, as under torchrun, in one process on the CPU.

Ranks have a thread each, but only one runs at a time: rank 0 until its first collective call, then
rank 1, and so on; the last one to arrive carries the call out for all. As on GPUs, a rank goes on
as soon as its own part of a launch has ended, wherever the others are in theirs: the seed says
where. So every run with a seed is the same.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tilewire.communicator import Communicator, set_of_thread
from tilewire.errors import UserError
from tilewire.kernel import Auto
from tilewire.lane import Lane, Lanes, call_of
from tilewire.launch import Call
from tilewire.objects import Request, check_reserve
from tilewire.place import Place
from tilewire.rendezvous import Ended, Rendezvous
from tilewire.virtual import NUM_SMS, HostRequest, HostWorld, cpu_target, require_no_stream
from tilewire.window import Symmetric

if TYPE_CHECKING:
    from tilewire.kernel import Grid, Kernel


def spawn(
    function: Callable[[Communicator], Any],
    *,
    world: str = "1",
    seed: int | None = None,
    multimem: bool = False,
) -> list[Any]:
    """Runs `function(comm)` once per rank and returns what the ranks returned, in rank order.

    Under torchrun it calls `function(tw.init())`: this process is one rank, on its GPU. Else there
    are `world` virtual ranks on the CPU ("8"; "2x4": two LSA teams of four),
    with multicast addresses where `multimem` is true. An error in one rank
    ends the others at their next collective call and is raised here.
    """
    if "RANK" in os.environ and "WORLD_SIZE" in os.environ:
        from tilewire.init import init

        with init() as comm:
            return [function(comm)]
    host = HostWorld(cpu_target(world, multimem), seed)
    meeting = Rendezvous(host.target.world_size, host.world)
    comms = [RankCommunicator(host, meeting, rank) for rank in range(meeting.size)]
    results: list[Any] = [None] * meeting.size

    def run(rank: int) -> None:
        set_of_thread(comms[rank])
        error: BaseException | None = None
        try:
            meeting.begin(rank)
            results[rank] = function(comms[rank])
        except Ended:
            pass
        except BaseException as caught:
            error = caught
        meeting.end(rank, error)

    threads = [
        threading.Thread(target=run, args=(rank,), name=f"rank {rank}", daemon=True)
        for rank in range(meeting.size)
    ]
    started = []
    try:
        for thread in threads:
            started.append(thread)
            thread.start()
        for thread in threads:
            thread.join()
    except BaseException as interrupt:  # Ctrl-C; a second one doesn't wait for the ranks
        meeting.stop(interrupt)
        for thread in started:
            if thread.ident is not None:
                thread.join()
        raise
    host.world.drain_network()
    host.is_closed = True
    meeting.raise_error()
    if not meeting.has_failed:  # ranks that went on after an error may have left out anything
        host.order.require_complete()
    return results


class RankCommunicator(Communicator):
    """One virtual rank of `tw.spawn`."""

    def __init__(self, host: HostWorld, meeting: Rendezvous, rank: int) -> None:
        self.rank: int = rank
        self.target = host.target
        self._host = host
        self._meeting = meeting
        self._is_closed = False
        self._is_aborted = False
        self._lanes = Lanes(Lane(self, 0, None, False, host.lane_identity(0)))

    def _make_lane(self, number: int, sms: int | None, exclusive: bool) -> int:
        self._require_open()
        call = call_of(number, sms, exclusive)

        def make(_requests: list[Any]) -> list[Any]:
            self._lanes.check_budgets(call, sms, NUM_SMS)
            self._host.world.make_lane(number)
            return [self._host.lane_identity(number)] * self.size

        return self._meeting.meet(self.rank, call, None, make)

    def _make_on(self, lane: Lane | None, request: Request) -> Any:
        self._require_open()
        given = (self, lane, request)
        return self._meeting.meet(self.rank, request.what, given, self._make_all)

    def _make_all(self, given: list[Any]) -> list[Any]:
        comms, lanes, requests = zip(*given, strict=True)
        return self._host.make(list(comms), list(lanes), list(range(self.size)), requests[0])

    def reserve(self, num_bytes: int) -> None:
        self._require_open()
        self._meet_only(f"comm.reserve({check_reserve(num_bytes)})")

    def trim(self) -> None:
        self._require_open()
        self._meet_only("comm.trim()")

    def free(self, window: Symmetric) -> None:
        self._require_own(window, "comm.free")
        self._require_open()
        call = f"comm.free(a {window.kind} of {window.shape})"
        place = window.memory.copies[0]  # type: ignore[attr-defined]
        self._meeting.meet(self.rank, call, place, _require_one_window)
        window.retire()

    def abort(self) -> None:
        self._is_aborted = True

    def _meet_only(self, call: str) -> None:
        self._meeting.meet(self.rank, call, None, lambda requests: requests)

    def _tell(self, key: int) -> None:
        self._require_open()
        self._host.world.notify(key)

    def barrier(self) -> None:
        self._require_open()
        self._meeting.meet(self.rank, "comm.barrier()", None, self._drain)

    def _drain(self, requests: list[None]) -> list[None]:
        self._host.world.drain_network()
        return requests

    def check(self) -> None:
        self._require_open()

    def close(self) -> None:
        self._is_closed = True

    def _require_open(self) -> None:
        if self._is_closed:
            raise UserError("this communicator is closed")
        if self._is_aborted:
            raise UserError("this communicator was aborted: make a new one to go on")

    def launch(
        self, kernel: Kernel, grid: Grid, place: Place, bound: dict[str, Any], launcher: Any
    ) -> None:
        self._require_open()
        require_no_stream(kernel, place)
        what = f"the launch of {kernel.name}"
        self._meeting.require_turn(self.rank, what)
        request = HostRequest(self._host, kernel, grid, Call(kernel, bound), place.lane)
        place.require_one_lane(request.compiled.artifact)
        if not request.is_scheduled:
            requests: list[HostRequest | None] = [None] * self.size
            requests[self.rank] = request
            self._host.launch(requests)
            return
        limit = self._host.world.resident_limit
        size = request.auto_grid(limit)
        if request.is_two_sided:
            self._host.order.add(self.rank, request.protocol(), request.describe())
            if isinstance(grid, Auto) and not request.shares_auto_grid(limit):
                size = self._meeting.meet(self.rank, what, size, _least, allow_missing=True)
        launch = request.as_launch(size)
        self._meeting.launch(self.rank, what, lambda: self._host.world.begin(self.rank, launch))


def _require_one_window(places: list[int]) -> list[None]:
    for rank, place in enumerate(places):
        if place != places[0]:
            raise UserError(
                f"comm.free: ranks 0 and {rank} give back different windows: all ranks free the "
                f"same, in one order"
            )
    return [None] * len(places)


def _least(sizes: list[int | None]) -> list[int]:
    return [min(size for size in sizes if size is not None)] * len(sizes)
