"""`tilewire doctor`: what this machine has, and what the ranks of a world have together."""

from __future__ import annotations

import json
import os
import socket
import sys
import textwrap
from dataclasses import asdict, dataclass, field
from typing import Any

from tilewire import _tilewire
from tilewire._tilewire import Target
from tilewire.errors import Error, UserError

# Without one of these a rank can't communicate.
_NEEDED = ("CUDA driver", "NVRTC", "NCCL library", "NCCL headers")


@dataclass
class Line:
    """One thing that a rank or a world has, or why not."""

    name: str
    has: bool
    reason: str = ""
    used_for: str = ""
    remedy: str = ""


@dataclass
class Rank:
    """What one rank says of itself."""

    who: str
    lines: list[Line] = field(default_factory=list)


def report_machine() -> None:
    """Prints what this machine has of what tilewire stands on."""
    reports = _tilewire.report_components()
    width = max(len(each.name) for each in reports)
    print(_title())
    for each in reports:
        version = textwrap.shorten(each.version, 40, placeholder=" …")
        head = "  ".join(filter(None, (version, each.found_path)))
        print(f"  {'--' if each.problem else 'ok'}  {each.name:{width}} {head}".rstrip())
        remedy = "" if each.remedy in each.problem else each.remedy
        for label, text in (("for ", each.usable_for), ("", each.problem), ("do: ", remedy)):
            for line in (label + text).splitlines() if text else ():
                print(textwrap.indent(line, " " * (width + 7)))


def report_ranks() -> None:
    """Collective over the processes that torchrun started, or this one alone: rank 0 prints what
    each rank has, in rank order. Where a rank can't communicate, it says what is missing there."""
    from tilewire.share_bytes import gather_bytes, share_bytes

    place = _Place.read()
    own = json.dumps(asdict(_look_around(place.local_rank))).encode()
    meeting = (place.rank, place.size, place.address, place.port)
    texts = gather_bytes(own, *meeting)
    ranks = [_rank_from(text) for text in texts]
    if any(rank.lines for rank in ranks):
        _print_on_rank_0(place, table(f"{_ranks(len(ranks))}, no communicator", ranks))
        return
    try:
        made = _tilewire.Communicator.new_unique_id() if place.rank == 0 else None
        unique_id = share_bytes(made, *meeting)
        world = _tilewire.Communicator.create(unique_id, place.rank, place.size, place.local_rank)
    except UserError as error:  # the same on all ranks
        _print_on_rank_0(place, f"{_title()}: no communicator\n{error}")
    except Error as error:
        print(f"{_title()}: rank {place.rank} has no communicator\n{error}", file=sys.stderr)
    else:
        _print_on_rank_0(place, table_of_world(world))
        world.close()


def _print_on_rank_0(place: _Place, text: str) -> None:
    if place.rank == 0:
        print(text)


def report_virtual(world: str, device: str = "cpu") -> None:
    """Prints the same of virtual ranks, which this process drives."""
    if device == "cpu":
        print(table_of_cpu(Target(f"cpu:world={world}")))
        return
    from tilewire.init import init

    with init(virtual=world, device=device) as comm:
        print(table_of_world(comm._world))  # type: ignore[attr-defined]


@dataclass
class _Place:
    rank: int = 0
    size: int = 1
    local_rank: int = 0
    address: str = ""
    port: int = 0

    @staticmethod
    def read() -> _Place:
        if "RANK" not in os.environ:
            return _Place()
        from tilewire.init import _integer

        place = _Place(_integer("RANK"), _integer("WORLD_SIZE"), _integer("LOCAL_RANK"))
        if not 0 <= place.rank < place.size:
            raise UserError(f"RANK={place.rank} isn't below WORLD_SIZE={place.size}")
        if place.size > 1:
            place.address = os.environ.get("MASTER_ADDR", "")
            place.port = _integer("MASTER_PORT")
        return place


def _look_around(local_rank: int) -> Rank:
    """Who this rank is, and what keeps it from communicating."""
    rank = Rank(socket.gethostname())
    for each in _tilewire.report_components():
        if each.name in _NEEDED and each.problem:
            # `tilewire doctor` there lists the places looked in.
            problem = each.problem.partition("\n")[0]
            rank.lines.append(Line(each.name, False, problem, remedy=each.remedy))
    if rank.lines:
        return rank
    count = _tilewire.device_count()
    if local_rank >= count:
        reason = f"LOCAL_RANK={local_rank}, but this process sees {count} GPUs"
        rank.lines.append(Line("GPU", False, reason))
    return rank


def _rank_from(text: bytes) -> Rank:
    described = json.loads(text)
    return Rank(described["who"], [Line(**line) for line in described["lines"]])


def table_of_world(world: Any) -> str:
    """Of a `_tilewire.GpuWorld`."""
    found, together = world.capabilities
    ranks = []
    for each in found:
        who = f"{each['host']}, {each['gpu']}, {_team(each['first_of_team'], each['lsa_size'])}"
        ranks.append(Rank(who, [Line(*answer) for answer in each["answers"]]))
    shared = Rank(str(world.target), [Line(*answer) for answer in together])
    return table(f"{_ranks(len(ranks))}, NCCL {found[0]['nccl']}", ranks, shared)


def table_of_cpu(target: Target) -> str:
    """Of virtual ranks on the CPU, which emulate what GPUs have."""
    team = target.lsa_size
    network = team < target.world_size
    lines = [
        Line("native atomics", True, "emulated"),
        Line("multimem", target.multimem, "emulated" if target.multimem else "not in the target"),
        Line(
            "network (GIN)",
            network,
            "emulated" if network else "not needed: loads and stores reach all ranks",
        ),
        Line("CUDA graphs", False, "there is no GPU"),
    ]
    ranks = [
        Rank(f"virtual, on the CPU, {_team(rank // team * team, team)}", lines)
        for rank in range(target.world_size)
    ]
    return table(f"{len(ranks)} virtual ranks on the CPU", ranks, Rank(str(target), lines))


def table(title: str, ranks: list[Rank], together: Rank | None = None) -> str:
    """The ranks in order with what each has, then what the world has."""
    parts = [*(ranks if together is None else [*ranks, together])]
    width = max((len(line.name) for part in parts for line in part.lines), default=0)
    text = [f"{_title()}: {title}"]
    for number, rank in enumerate(ranks):
        text += [f"  rank {number}  {rank.who}", *_lines(rank.lines, width)]
    if together is not None:
        text += [f"  together  {together.who}", *_lines(together.lines, width)]
    return "\n".join(text)


def _lines(lines: list[Line], width: int) -> list[str]:
    if not lines:
        return ["      ok  nothing is missing here"]
    text = []
    for line in lines:
        remedy = "" if line.remedy in line.reason else f"do: {line.remedy}"
        used_for = f"for {line.used_for}" if line.used_for else ""
        notes = [part for note in (line.reason, used_for, remedy) for part in note.splitlines()]
        head = f"      {'ok' if line.has else '--'}  {line.name:{width}}  "
        text.append((head + (notes[0] if notes else "")).rstrip())
        text += [" " * len(head) + note for note in notes[1:]]
    return text


def _team(first: int, size: int) -> str:
    return f"LSA team of rank {first}" if size == 1 else f"LSA team {first} to {first + size - 1}"


def _ranks(count: int) -> str:
    return "1 rank" if count == 1 else f"{count} ranks"


def _title() -> str:
    return f"tilewire {_tilewire.__version__}, Python {sys.version.split()[0]}"
