"""What the PTX of a generated kernel is made of: its functions, and which instructions release,
wait for or move what. tests/support/ptx_rules.py says how accesses are marked."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ptx import Function, Instruction, functions_of

SILENT = {"arrive", "poll", "own phase", "atomic", "packet", "stop word", "report", "launch log"}
BOOK_KEEPING = {"stop word", "report"}
RELEASED = {"arrive released", "arrive released here"}
WAIT_CALL = re.compile(r"\d(wait|await|take|poll|receive)_\w+")  # in a mangled name
NETWORK = re.compile(  # functions that hold NCCL's code
    r"\dnetwork_(put_bytes|put_word|put_message|add_signal|flush_puts|read_signal|get_runs)"
)
POST = re.compile(r"\dnetwork_put_(bytes|word)")  # whose caller has fenced
WATCHED = re.compile(r"\dnetwork_(put_(bytes|word|message)|add_signal)")  # by whose caller
CALLING = re.compile(r"\dnetwork_(flush_puts|get_runs)")  # which see to that themselves
RELEASING = re.compile(r"\dnetwork_(put_message|add_signalILb1|get_runs)")  # which fence themselves


@dataclass
class Kernel:
    """A generated text, and the PTX that became of it."""

    source: str
    ptx: str
    functions: list[Function] = field(init=False)

    def __post_init__(self) -> None:
        self.functions = functions_of(self.ptx)

    @property
    def own_functions(self) -> list[Function]:
        """Those of tilewire's code."""
        return [each for each in self.functions if not NETWORK.search(each.name)]

    @property
    def world(self) -> int:
        return int(re.search(r"target .*?world=(\d+)", self.source).group(1))

    def statements(self, pattern: str) -> list[str]:
        """Statements of the kernel's text in which the pattern occurs."""
        body = self.source[self.source.index('extern "C"') :]
        return [each for each in body.split(";") if re.search(pattern, each)]


def role(each: Instruction) -> str:
    return each.comment


def is_strong(each: Instruction) -> bool:
    return each.name.split(".")[0] in ("ld", "st", "red", "atom", "multimem") and bool(
        {"relaxed", "acquire", "release", "acq_rel", "volatile"} & set(each.name.split("."))
    )


def is_fence(each: Instruction) -> bool:
    return each.name.startswith(("fence.acq_rel", "fence.sc", "membar"))


def releases(each: Instruction) -> bool:
    by_itself = each.is_a("release") or each.is_a("acq_rel")
    return is_strong(each) and (by_itself or role(each) == "arrive released")


def is_wait(each: Instruction) -> bool:
    """What acquires: a poll, or the call of a function that polls."""
    if each.name.startswith("call"):
        return bool(WAIT_CALL.search(each.text))
    return each.name.startswith(("ld.acquire", "atom.acquire", "atom.acq_rel"))


def is_bulk_load(each: Instruction) -> bool:
    return each.name.startswith("cp.async.bulk") and each.is_a("mbarrier::complete_tx::bytes") | (
        "complete_tx" in each.name
    )


def is_bulk_store(each: Instruction) -> bool:
    return (
        each.name.startswith("cp.async.bulk")
        and "bulk_group" in each.name
        and (".global.shared" in each.name or "cp.reduce" in each.name)
    )


def is_bulk_wait(each: Instruction) -> bool:
    return each.name == "cp.async.bulk.wait_group" and each.text.split()[-1] == "0"


def is_copy_to_slot(each: Instruction) -> bool:
    return each.name.startswith(("cp.async.ca", "cp.async.cg"))


def is_copy_wait(each: Instruction) -> bool:
    return each.name.startswith("cp.async.wait_group")


def is_meeting(each: Instruction) -> bool:
    """All threads of the CTA that run the program."""
    return each.name.startswith(("bar.sync", "barrier.sync"))


def reads_slot(each: Instruction) -> bool:
    return each.name.startswith("ldmatrix")
