"""Where a launch runs: its communicator, lane and stream, by the arguments and `kernel.on`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewire.errors import UserError
from tilewire.lane import Lane
from tilewire.window import Symmetric

if TYPE_CHECKING:
    from tilewire._tilewire import Artifact
    from tilewire.communicator import Communicator
    from tilewire.kernel import Kernel


@dataclass(frozen=True)
class Place:
    """What a communicator is told of where to launch."""

    stream: int | None  # a handle; None: the framework's current one
    lane: Lane | None  # None: this process alone, which has none
    is_said: bool = False  # by `kernel.on(lane=)`
    conflict: str | None = None  # why a kernel that takes a lane can't be launched

    @property
    def lane_number(self) -> int:
        return 0 if self.lane is None else self.lane.number

    @property
    def serves_unnamed(self) -> bool:
        """Whether a call whose arguments are on no lane runs here too."""
        return self.is_said or self.lane is None or self.lane.number == 0

    def require_one_lane(self, artifact: Artifact) -> None:
        """UserError where the kernel takes a lane, and which is contradictory."""
        if self.conflict is not None and artifact.resources.lane:
            raise UserError(self.conflict)


def find_communicator(kernel: Kernel, bound: dict[str, Any], said: Any) -> Communicator | None:
    """That of the windows and objects among the arguments, and of the lane that was said, if any;
    UserError where two differ."""
    found: tuple[str, Any] | None = None
    channels: dict[int, str] = {}
    for name, value in _symmetric(kernel, bound):
        # A kernel keeps a slot's count while it runs: under two names it would have two of them.
        other = channels.setdefault(id(value), name) if value.kind == "channel" else name
        if other != name:
            raise UserError(
                f"kernel `{kernel.name}`: arguments `{other}` and `{name}` are one channel: make "
                f"it one parameter"
            )
        if found is not None and found[1].comm is not value.comm:
            raise UserError(
                f"kernel `{kernel.name}`: arguments `{found[0]}` and `{name}` are "
                f"{_kinds(found[1], value)} of two communicators: make both with one"
            )
        found = found or (name, value)
    if not isinstance(said, Lane):
        return found[1].comm if found is not None else None
    if found is not None and found[1].comm is not said.comm:
        raise UserError(
            f"kernel `{kernel.name}`: lane={said} is a lane of another communicator than argument "
            f"`{found[0]}`: launch on a lane of the one that made it"
        )
    return said.comm


def find_place(
    kernel: Kernel, bound: dict[str, Any], comm: Communicator, stream: int | None, said: Any
) -> Place:
    """On `comm`: the lane that was said, or that of the arguments; else lane 0. Where two of these
    are on different ones, or what was said differs, only a kernel without a lane can run."""
    named: tuple[str, Lane] | None = None
    conflict = None
    for name, value in _symmetric(kernel, bound):
        if value.lane is None:
            continue
        if named is not None and named[1] is not value.lane:
            conflict = conflict or (
                f"kernel `{kernel.name}`: argument `{named[0]}` is on lane {named[1].number}, "
                f"argument `{name}` on lane {value.lane.number}: a launch runs on one lane, make "
                f"both on it"
            )
        named = named or (name, value.lane)
    lane = comm.get_lane(said) if isinstance(said, int) else said
    if lane is None:
        lane = named[1] if named is not None else comm.get_lane(0)
        return Place(stream, lane, conflict=conflict)
    if named is not None and named[1] is not lane:
        conflict = (
            f"kernel `{kernel.name}`: argument `{named[0]}` is on lane {named[1].number}, but "
            f"kernel.on(lane=) says lane {lane.number}: leave it out, or make the argument there"
        )
    return Place(stream, lane, is_said=True, conflict=conflict)


def _symmetric(kernel: Kernel, bound: dict[str, Any]) -> list[tuple[str, Any]]:
    """The windows and objects among the arguments, with their names."""
    found = []
    for name, value in bound.items():
        if isinstance(value, list) and any(isinstance(each, Symmetric) for each in value):
            if any(each is not value[0] for each in value):
                raise UserError(
                    f"kernel `{kernel.name}`: argument `{name}` is a list of different "
                    f"{_kinds(*value)}: such an argument is the same on all ranks, pass it itself"
                )
            value = value[0]
        if isinstance(value, Symmetric):
            found.append((name, value))
    return found


def _kinds(*values: Any) -> str:
    kinds = list(dict.fromkeys(getattr(each, "kind", "window") + "s" for each in values))
    return " and ".join(kinds)
