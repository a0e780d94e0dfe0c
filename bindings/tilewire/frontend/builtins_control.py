"""Loops, program ids, ranks and barriers."""

from __future__ import annotations

from typing import Any

from tilewire._tilewire import Value
from tilewire.frontend.builtins_work import Work
from tilewire.frontend.registry import TEAMS, Call, builtin
from tilewire.frontend.values import LoopRange, Unroll, describe, is_static

MAX_UNROLLED = 4096


@builtin
def range_(call: Call, start: Any, stop: Any = None, step: Any = 1) -> LoopRange:
    """As Python's, in a `for`: a loop in the kernel, not unrolled. It may count down."""
    first, last = (0, start) if stop is None else (start, stop)
    if is_static(step) and (not isinstance(step, int) or step == 0):
        call.fail(f"the step must be an integer other than 0, found {describe(step)}")
    return LoopRange("range", first, last, step, "range(…)")


@builtin
def persistent(call: Call, count: Any, *, schedule: Any = "static") -> LoopRange:
    """The indices below `count` that belong to this program instance: id, id + n, …; or the tiles
    of `tw.tiles` and `tw.ragged`. `schedule="dynamic"`: each instance takes the next one that
    nobody has taken."""
    if schedule not in ("static", "dynamic"):
        call.fail(f'the schedule is "static" or "dynamic", found {describe(schedule)}')
    work = count if isinstance(count, Work) else None
    upper = count if work is None else work.count
    return LoopRange("persistent", 0, upper, 1, "tw.persistent(…)", work=work, schedule=schedule)


@builtin
def ranks(call: Call, *, team: Any = "world") -> LoopRange:
    """All ranks of the team in rank order; unrolled up to 8."""
    return LoopRange("ranks", 0, None, 1, "tw.ranks()", team=_team(call, team))


@builtin
def peers(call: Call, *, team: Any = "world", start: Any = 0) -> LoopRange:
    """All ranks of the team but this one, in rank order from `start` on and around; unrolled up to
    8."""
    return LoopRange("peers", start, None, 1, "tw.peers()", team=_team(call, team))


@builtin
def unroll(call: Call, start: Any, stop: Any = None, step: Any = 1) -> Unroll:
    """Repeats a `for`'s body at compile time, for the items of a tuple or for a range of ints."""
    if isinstance(start, LoopRange) and stop is None:
        if start.iterate != "range":
            call.fail(f"takes a tuple, a range or integers, found {describe(start)}")
        start, stop, step = start.lower, start.upper, start.step
    if isinstance(start, tuple) and stop is None:
        return Unroll(start)
    first, last = (0, start) if stop is None else (start, stop)
    bounds = [call.static_int(each, "a bound") for each in (first, last, step)]
    if bounds[2] == 0:
        call.fail("the step is 0")
    indices = range(*bounds)
    if len(indices) > MAX_UNROLLED:
        call.fail(
            f"would repeat the body {len(indices)} times, {MAX_UNROLLED} is the most: use range(…)"
        )
    return Unroll(tuple(indices))


@builtin
def program_id(call: Call, axis: Any = 0) -> Value:
    """The number of this program instance along an axis of the grid."""
    return call.build("program_id", call.static_int(axis, "axis"))


@builtin
def num_programs(call: Call, axis: Any = 0) -> Value:
    """How many program instances there are along an axis of the grid."""
    return call.build("num_programs", call.static_int(axis, "axis"))


@builtin
def cdiv(call: Call, a: Any, b: Any) -> Any:
    """`a / b`, rounded up."""
    if isinstance(a, int) and isinstance(b, int):
        if b <= 0:
            call.fail(f"the divisor must be positive, found {b}")
        return -(-a // b)
    return call.build("cdiv", a, b)


@builtin
def rank(call: Call, team: Any = "world") -> Value:
    """This rank's number in the team."""
    return call.build("rank", _team(call, team))


@builtin
def world_size(call: Call, team: Any = "world") -> int:
    """How many ranks the team has; known at compile time."""
    return call.build("team_size", _team(call, team))


@builtin
def is_lsa(call: Call, r: Any) -> Any:
    """Whether loads and stores reach rank `r`'s memory; known at compile time where all do. Under
    `if tw.is_lsa(r):`, `x.at(r)` is legal."""
    reached = call.build("is_lsa", r)
    return True if call.builder.lsa_size() == call.builder.world_size() else reached


@builtin
def barrier(
    call: Call, *, team: Any = "world", scope: Any = "instance", order: Any = "acq_rel"
) -> None:
    """The instances with the same program id on every rank of the team meet: `"world"`, `"lsa"`,
    `"rail"`, or `"local"`, this rank alone. With `scope="grid"` all instances of all its ranks do.
    What each wrote before is then seen by the others; `order="acquire"`, `"release"` or
    `"relaxed"` promises less."""
    for value in (team, scope, order):
        if not isinstance(value, str):
            call.fail(f"team, scope and order are names, found {describe(value)}")
    call.build("barrier", team, scope, order)


def _team(call: Call, team: Any) -> str:
    if team not in TEAMS:
        call.fail(f"the team must be one of {', '.join(TEAMS)}, found {describe(team)}")
    return team
