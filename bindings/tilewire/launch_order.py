"""The order in which ranks of a virtual world launch what all of them launch."""

from __future__ import annotations

from typing import Any

from tilewire.errors import HangError


class LaunchOrder:
    """Checks that all ranks make the same two-sided launches in the same order."""

    def __init__(self, size: int) -> None:
        self._counts = [0] * size
        self._has_failed = False
        self._first: dict[int, tuple[int, Any, str]] = {}  # by number; until all ranks have made it

    def add(self, rank: int, protocol: Any, described: str) -> None:
        """The next launch of `rank`. HangError where another rank's of that number differs."""
        number = self._counts[rank]
        self._counts[rank] += 1
        first_rank, first_protocol, first = self._first.setdefault(
            number, (rank, protocol, described)
        )
        if protocol != first_protocol:
            self._has_failed = True
            raise HangError(
                f"ranks launch different things: rank {first_rank} {first}, rank {rank} {described}"
            )
        if min(self._counts) > number:
            del self._first[number]

    def require_complete(self) -> None:
        """HangError where a rank has left out what another one launched."""
        for number, (rank, _, described) in () if self._has_failed else self._first.items():
            missing = next(r for r, count in enumerate(self._counts) if count <= number)
            raise HangError(
                f"ranks launch different things: rank {rank} {described}, rank {missing} returned "
                f"without launching it"
            )
