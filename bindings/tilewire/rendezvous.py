"""Where the ranks of `tw.spawn` meet for collective calls."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from tilewire.errors import HangError, UserError


class Ended(BaseException):
    """Ends a rank's function after another rank has failed; never seen by users."""


@dataclass
class _Arrival:
    what: str  # how messages call it
    request: Any
    carry_out: Callable[[list[Any]], list[Any]]
    allow_missing: bool


@dataclass
class _Failure:
    error: Exception


class Launches(Protocol):
    """What runs the launches under way."""

    def run_until_one_ends(self) -> int:
        """Gives its rank."""
        ...

    def run_for_a_while(self) -> None:
        """What they get done while a rank's function runs."""
        ...

    def end(self) -> None:
        """Ends them, and later ones, from another thread than theirs."""
        ...


class Rendezvous:
    """Lets one rank run at a time, in rank order, and carries collective calls out for all.

    A rank whose launch waits for others stands still until that launch has ended, and goes on then,
    wherever the others' launches are.
    """

    def __init__(self, size: int, launches: Launches) -> None:
        self.size = size
        self._launches = launches
        self._condition = threading.Condition()
        self._turn = 0  # the rank that runs
        self._is_stopped = False
        self.has_failed = False  # a launch or a collective call, whoever has handled that
        self._arrivals: dict[int, _Arrival] = {}
        self._under_way: set[int] = set()  # ranks whose launch is
        self._results: dict[int, Any] = {}
        self._ended: set[int] = set()
        # Of which rank (None: from outside), the first one.
        self._error: tuple[int | None, BaseException] | None = None

    def begin(self, rank: int) -> None:
        """Waits for this rank's first turn."""
        with self._condition:
            self._wait_for_turn(rank)

    def end(self, rank: int, error: BaseException | None) -> None:
        """The rank's function has returned or raised."""
        with self._condition:
            self._ended.add(rank)
            if error is not None and self._error is None:
                self._error = (rank, error)
            self._pass_turn()

    def require_turn(self, rank: int, what: str) -> None:
        """UserError where it isn't `rank` that runs."""
        with self._condition:
            self._require_turn(rank, what)

    def stop(self, error: BaseException) -> None:
        """From outside of the ranks: ends their launches, and them at the next collective call."""
        if self._error is None:
            self._error = (None, error)
        self._launches.end()  # whoever runs them holds the lock
        with self._condition:
            self._is_stopped = True
            self._arrivals.clear()
            self._under_way.clear()
            self._condition.notify_all()

    def meet(
        self,
        rank: int,
        what: str,
        request: Any,
        carry_out: Callable[[list[Any]], list[Any]],
        *,
        allow_missing: bool = False,
    ) -> Any:
        """Waits until all ranks have come, then gives this rank's item of `carry_out(requests)`.

        Ranks that have ended already have the request None, where `allow_missing`; else they are a
        HangError. A rank that came with another `what` is a UserError. An error is raised in every
        rank.
        """
        with self._condition:
            self._require_turn(rank, what)
            self._arrivals[rank] = _Arrival(what, request, carry_out, allow_missing)
            self._pass_turn()
            self._wait_for_turn(rank)
            result = self._results.pop(rank)
        if isinstance(result, _Failure):
            raise copy.copy(result.error)
        return result

    def launch(self, rank: int, what: str, begin: Callable[[], None]) -> None:
        """`begin()` begins this rank's launch; returns when it has ended. An error in one launch is
        raised in the ranks of all that are under way."""
        with self._condition:
            self._require_turn(rank, what)
            begin()
            self._under_way.add(rank)
            self._pass_turn()
            self._wait_for_turn(rank)
            result = self._results.pop(rank, None)
        if isinstance(result, _Failure):
            raise copy.copy(result.error)

    def raise_error(self) -> None:
        """Raises what the first rank to fail raised, with its number as a note."""
        if self._error is None:
            return
        rank, error = self._error
        if rank is not None and hasattr(error, "add_note"):
            error.add_note(f"raised in rank {rank} of the virtual world")
        raise error

    def _require_turn(self, rank: int, what: str) -> None:
        if self._turn not in (rank, -1) and not self._is_stopped:
            raise UserError(
                f"{what}: this communicator or window is rank {rank}'s, but rank {self._turn} "
                f"runs: use its own"
            )
        if rank in self._ended:
            raise UserError(
                f"{what}: the function of rank {rank} has returned, and its communicator ended "
                f"with it: use it inside of tw.spawn"
            )

    def _wait_for_turn(self, rank: int) -> None:
        self._condition.wait_for(lambda: self._turn == rank or self._is_stopped)
        if self._error is not None:
            raise Ended

    def _pass_turn(self) -> None:
        """To the next rank that can run; where all wait, to one that need not any more."""
        if self._error is None and self._under_way:
            self._run_launches()
        elif self._error is None and not self._runnable() and self._arrivals:
            self._complete()
        if self._error is not None:
            self._arrivals.clear()
            self._under_way.clear()
        self._turn = next(iter(self._runnable()), -1)
        self._condition.notify_all()

    def _runnable(self) -> list[int]:
        waiting = self._ended | self._arrivals.keys() | self._under_way
        return [rank for rank in range(self.size) if rank not in waiting]

    def _run_launches(self) -> None:
        try:
            if self._runnable():
                self._launches.run_for_a_while()
            else:
                self._under_way.remove(self._launches.run_until_one_ends())
        except Exception as error:
            if isinstance(error, HangError) and hasattr(error, "add_note"):
                for rank, arrival in self._arrivals.items():
                    error.add_note(f"rank {rank} is in {arrival.what}")
            self.has_failed = True
            self._results.update({rank: _Failure(error) for rank in self._under_way})
            self._under_way.clear()

    def _complete(self) -> None:
        arrivals = self._arrivals
        first = min(arrivals)
        try:
            self._check(first)
            requests = [
                arrivals[rank].request if rank in arrivals else None for rank in range(self.size)
            ]
            results = arrivals[first].carry_out(requests)
            self._results.update({rank: results[rank] for rank in arrivals})
        except Exception as error:
            self.has_failed = True
            self._results.update({rank: _Failure(error) for rank in arrivals})
        self._arrivals = {}

    def _check(self, first: int) -> None:
        what = self._arrivals[first].what
        for rank, arrival in self._arrivals.items():
            if arrival.what != what:
                raise UserError(
                    f"ranks meet at different calls: rank {first} is in {what}, rank {rank} in "
                    f"{arrival.what}"
                )
        missing = [rank for rank in range(self.size) if rank in self._ended]
        if missing and not self._arrivals[first].allow_missing:
            ranks = ", ".join(map(str, missing))
            raise HangError(
                f"rank {first} waits in {what} for rank {ranks}, which returned without calling it"
            )
