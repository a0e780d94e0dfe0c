"""Lanes: the synchronisation state that launches share, as Python holds it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilewire.creation import Creation
from tilewire.errors import UserError

if TYPE_CHECKING:
    from tilewire.communicator import Communicator
    from tilewire.objects import Request

MAX_LANES = 64


class Lane(Creation):
    """A lane of a communicator, numbered alike on all ranks; made by `comm.lane(i)`.

    Its windows and objects are made by `lane.window(…)`, `lane.flag(…)` and so on, collectively.
    A launch that communicates runs on the lane of its arguments, else on the one that
    `kernel.on(lane=lane)` says, else on lane 0. Two-sided launches of one lane take turns,
    whichever streams they are on; those of two lanes may run at once.
    """

    def __init__(
        self, comm: Communicator, number: int, sms: int | None, exclusive: bool, identity: int
    ) -> None:
        self.comm = comm
        self.number = number
        self.sms = sms
        """How many multiprocessors its grids may take together; None: all."""
        self.exclusive = exclusive
        self.identity = identity
        """What windows and objects of this lane have as `lane`."""
        self.launchers: dict[Any, Any] = {}
        """Of kernels that were told to launch here."""

    def __repr__(self) -> str:
        return f"<lane {self.number}: sms={self.sms}, exclusive={self.exclusive}>"

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return self.comm.size

    @property
    def lsa_size(self) -> int:
        """How many ranks reach each other's memory by loads and stores."""
        return self.comm.lsa_size

    def _make(self, request: Request) -> Any:
        call = request.what.replace("comm.", f"comm.lane({self.number}).", 1)
        return self.comm._make_on(self, replace(request, what=call))


def call_of(number: Any, sms: Any, exclusive: Any) -> str:
    """`comm.lane(…)` as messages say it; UserError where it asks for what no lane is."""
    call = f"comm.lane({number!r}, sms={sms!r}, exclusive={exclusive!r})"
    if not isinstance(number, int) or isinstance(number, bool) or not 0 <= number < MAX_LANES:
        raise UserError(f"{call}: a lane's number is 0 to {MAX_LANES - 1}")
    check_sms(call, sms)
    if not isinstance(exclusive, bool):
        raise UserError(f"{call}: exclusive is True or False")
    return call


def check_sms(call: str, sms: Any) -> None:
    """UserError where `sms` is no budget."""
    if sms is not None and (not isinstance(sms, int) or isinstance(sms, bool) or sms < 1):
        raise UserError(f"{call}: sms is a number of multiprocessors, at least 1, or None")


class Lanes:
    """The lanes that a communicator has made, by number."""

    def __init__(self, first: Lane) -> None:
        self._lanes = {0: first}

    def add(self, lane: Lane) -> Lane:
        self._lanes[lane.number] = lane
        return lane

    def get(self, number: int) -> Lane:
        """UserError where it wasn't made."""
        if number not in self._lanes:
            raise UserError(f"there is no lane {number!r}: make it first, with comm.lane({number})")
        return self._lanes[number]

    def find(self, number: Any, sms: Any, exclusive: Any) -> Lane | None:
        """The lane of this number, if it was made; without options it is meant as it is. UserError
        where it was made with others."""
        call = call_of(number, sms, exclusive)
        lane = self._lanes.get(number)
        if lane is None or (sms is None and not exclusive):
            return lane
        if (lane.sms, lane.exclusive) != (sms, exclusive):
            raise UserError(
                f"{call}: lane {number} was made with sms={lane.sms}, exclusive={lane.exclusive}; "
                f"a lane keeps its options: ask for it with these, or for another number"
            )
        return lane

    def check_budgets(self, call: str, sms: int | None, capacity: int) -> None:
        """UserError where the budgets of all lanes, with a new one, exceed `capacity`."""
        others = sum(lane.sms or 0 for lane in self._lanes.values())
        if sms is not None and others + sms > capacity:
            raise UserError(
                f"{call}: the other lanes' budgets are {others} multiprocessors of the {capacity} "
                f"that a rank has: ask for at most {capacity - others}"
            )
