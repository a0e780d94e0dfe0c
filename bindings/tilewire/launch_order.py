"""The order in which ranks of a virtual world launch what all of them launch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewire.errors import HangError

if TYPE_CHECKING:
    from tilewire.kernel import Kernel


def how_kernels_differ(first: Kernel, other: Kernel) -> str:
    """Of two kernels of one name, whose launches look alike."""
    if first is other or first.name != other.name:
        return ""
    names = [{each.name for each in kernel.signature.parameters} for kernel in (first, other)]
    only = [", ".join(sorted(a - b)) for a, b in (names, reversed(names))]
    if only == ["", ""]:
        return f"; these are two kernels `{first.name}`, which close over different things"
    return f"; these are two kernels `{first.name}`, of which " + " and ".join(
        f"the {which} alone has {each}"
        for which, each in zip(("first", "second"), only, strict=True)
        if each
    )


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
                f"{how_kernels_differ(first_protocol[0], protocol[0])}"
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
