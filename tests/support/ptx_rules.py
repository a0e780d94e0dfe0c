"""The rules of memory order on the hardware, over the PTX of a generated kernel.

Strong accesses (`relaxed`, `acquire`, …) say in a comment what they are for:

    arrive            tells others that this instance is here, orders nothing
    arrive released   the same; a fence of its scope or a wider one covers what was written before
    arrive released here   the same for instances of this rank, whose fence has the GPU's scope: the
                      word is one that peers arrive at too
    poll              looks for what others arrive at
    own phase         reads this instance's or rank's own state, or counts it up
    atomic            the user's: its order is fences around it
    packet            data that is its own flag
    single copy       a narrow element of what goes to all copies; its neighbours go by multimem
    stop word, report, launch log     book-keeping that orders nothing

Accesses that are `release` or `acquire` by themselves need to say nothing.

What goes over the network is NCCL's code, in functions of its own (templates/tilewire/network.cuh):
those say nothing, and have rules of their own.
"""

from __future__ import annotations

import re

from ptx import Instruction
from ptx_addresses import (
    multicast_addresses_are_fenced_from_others,
    only_constants_go_through_the_read_only_path,
)
from ptx_kernel import (
    BOOK_KEEPING,
    CALLING,
    NETWORK,
    POST,
    RELEASED,
    RELEASING,
    SILENT,
    WATCHED,
    Kernel,
    is_bulk_load,
    is_bulk_store,
    is_bulk_wait,
    is_copy_to_slot,
    is_copy_wait,
    is_fence,
    is_meeting,
    is_strong,
    is_wait,
    reads_slot,
    releases,
    role,
)


def violations(source: str, ptx: str) -> list[str]:
    """What breaks a rule, in words; empty: nothing."""
    kernel = Kernel(source, ptx)
    found: list[str] = []
    for rule in RULES:
        found += [f"{rule.__name__}: {each}" for each in rule(kernel)]
    return found


def strong_accesses_say_what_they_are_for(kernel: Kernel):
    for function in kernel.own_functions:
        for each in function.instructions:
            if not is_strong(each) or each.is_a("shared") or "shared::cta" in each.name:
                continue
            if each.is_a("volatile") and "report" not in role(each):
                continue  # inside of reports and of swaps until nobody came between
            ordered = each.is_a("acquire") or each.is_a("release") or each.is_a("acq_rel")
            if not ordered and role(each) not in SILENT | RELEASED:
                yield f"{function.name}: {each.text} has the comment {role(each)!r}"


def arrivals_that_release_stand_behind_a_fence(kernel: Kernel):
    """On every way to it, with no store of data between; as many as the text asks for."""
    count = 0
    for function in kernel.own_functions:
        for index, each in enumerate(function.instructions):
            if role(each) not in RELEASED:
                continue
            count += 1
            scopes = ("fence.acq_rel.sys",)
            if each.is_a("gpu") or role(each) == "arrive released here":
                scopes = ("fence.acq_rel.sys", "fence.acq_rel.gpu")

            def is_cover(other: Instruction, scopes=scopes) -> bool:
                return other.text in scopes

            def is_uncovered(other: Instruction) -> bool:
                return is_bulk_store(other) or other.name.startswith(("red.relaxed", "st.global.v"))

            def stops(other: Instruction) -> bool:
                return is_uncovered(other) and role(other) not in SILENT | RELEASED

            if not function.every_way_back_meets(index, is_cover, stops):
                yield f"{function.name}: {each.text}"
    wanted = len(kernel.statements(r"\w*barrier\.sync<tw::Order::(kAcqRel|kRelease)>"))
    if count < wanted:
        yield f"{wanted} barriers of the text release, {count} arrivals of the PTX do"


def nothing_is_fenced_without_need(kernel: Kernel):
    """No fence where the text's barriers release nothing."""
    if kernel.statements(r"Order::(kAcqRel|kRelease|kAcquire)>|launch_counters|tw::atomic"):
        needed = len(kernel.statements(r"Order::(kAcqRel|kRelease)>"))
    else:
        needed = 0
    if kernel.statements(
        r"launch_counters|atomic|arrive_last|signal|set\(|leave|flag|send|exchange|recv|network"
    ):
        return
    for function in kernel.own_functions:
        if not function.is_entry:
            continue
        fences = [each for each in function.instructions if is_fence(each)]
        if len(fences) > needed:
            yield f"{len(fences)} fences where {needed} statements release"


def polls_acquire(kernel: Kernel):
    """Each poll acquires, unless the text has barriers that don't; and polls are there."""
    may_be_relaxed = bool(kernel.statements(r"Order::(kRelaxed|kRelease)>"))
    has_waits = bool(kernel.statements(r"barrier\.sync<tw::Order::(kAcqRel|kAcquire)>"))
    polls = [each for f in kernel.own_functions for each in f.instructions if role(each) == "poll"]
    for each in polls:
        if not each.is_a("acquire") and not may_be_relaxed:
            yield each.text
    if has_waits and not any(each.is_a("acquire") for each in polls):
        yield "the text has barriers that acquire, and nothing polls so"


def scopes_reach_who_looks(kernel: Kernel):
    """System scope where peers look, the GPU's in a world of 1 and for this rank's own grid."""
    has_local = bool(kernel.statements(r"local_grid_barrier\.sync|Scope::kGpu|arrive_last"))
    gpu_atomics = bool(kernel.statements(r"Scope::kGpu"))
    system_atomics = bool(kernel.statements(r"Scope::kSystem|tw::multimem_reduce"))
    for function in kernel.own_functions:
        for each in function.instructions:
            if not is_strong(each) or role(each) in BOOK_KEEPING | {"launch log"}:
                continue
            if role(each) == "atomic":
                if each.is_a("sys") and not system_atomics:
                    yield f"{each.text}: no atomic of the text has system scope"
                if each.is_a("gpu") and not gpu_atomics:
                    yield f"{each.text}: no atomic of the text has the GPU's scope"
            elif each.is_a("sys") and kernel.world == 1:
                yield f"{each.text} in a world of 1"
            elif (
                not has_local
                and each.is_a("gpu")
                and role(each) in ("arrive", "arrive released", "poll")
            ):
                yield f"{each.text}: peers look at it"
    for statement in kernel.statements(r"Scope::k(Gpu|Cta)"):
        if "tw::at_rank<" in statement or re.search(r"_rank_\d", statement):
            yield f"an atomic at a peer has not system scope: {statement.strip()}"


def bulk_stores_are_over_before_a_release(kernel: Kernel):
    """`wait_group 0`, not `.read`, between each bulk store and whatever releases. A function that
    has any may leave them to who calls it."""
    storing = {
        function.name
        for function in kernel.own_functions
        if any(is_bulk_store(each) for each in function.instructions)
    }

    def may_store(each: Instruction) -> bool:
        calls = each.name.startswith("call") and storing & set(re.findall(r"[\w$]+", each.text))
        return is_bulk_store(each) or bool(calls)

    for function in kernel.own_functions:
        for index, each in enumerate(function.instructions):
            if may_store(each) and not function.every_way_on_meets(index, is_bulk_wait, releases):
                yield f"{function.name}: {each.text}"


def bulk_loads_see_what_was_acquired(kernel: Kernel):
    """A proxy fence between a wait and the bulk or TMA load behind it."""
    for function in kernel.own_functions:
        for index, each in enumerate(function.instructions):
            if is_bulk_load(each) and not function.every_way_back_meets(
                index,
                lambda other: other.name.startswith("fence.proxy.async"),
                is_wait,
                # A matmul's operands: its kernel doesn't write them itself.
                at_start=".tensor." in each.name,
            ):
                yield f"{function.name}: {each.text}"


def copies_to_slots_are_read_behind_their_wait(kernel: Kernel):
    """Before `ldmatrix`, each thread waits for its own copies, all but those of the slots behind,
    and then all meet."""
    ring = re.search(r"tw::CommonRing<(\d+),", kernel.source)
    for function in kernel.own_functions:
        if not any(is_copy_to_slot(each) for each in function.instructions):
            continue
        for index, each in enumerate(function.instructions):
            if is_copy_wait(each):
                if not function.every_way_on_meets(index, is_meeting, reads_slot):
                    yield f"{function.name}: nobody meets behind {each.text}"
                if ring is None or int(each.text.split()[-1]) > int(ring.group(1)) - 2:
                    yield f"{function.name}: {each.text} leaves the next slot's copies under way"
            if reads_slot(each) and not function.every_way_back_meets(index, is_copy_wait):
                yield f"{function.name}: nothing is waited for before {each.text}"


def kernels_that_communicate_keep_nothing_in_local_memory(kernel: Kernel):
    """32 bytes of stack cost 0.7 us at the start of a kernel, which others wait for."""
    if "tw::Lane lane" not in kernel.source:
        return
    is_nccl = False  # whose structs of bit fields the compiler leaves in local memory
    for line in kernel.ptx.splitlines():
        if re.match(r"\.(visible |weak )?(func|entry)", line):
            is_nccl = bool(NETWORK.search(line))
        if line.strip().startswith(".local") and not is_nccl:
            yield line.strip()


def is_system_fence(each: Instruction) -> bool:
    return each.text == "fence.acq_rel.sys"


def writes_globally(each: Instruction) -> bool:
    return each.name.split(".")[0] in ("st", "red", "atom") and not (
        each.is_a("shared") or each.is_a("local") or each.is_a("param")
    )


def puts_stand_behind_a_system_fence(kernel: Kernel):
    """On every way to a put, with no store of this kernel's between; in functions that put or
    signal by themselves, before anything that NCCL writes."""
    for function in kernel.functions:
        is_network = NETWORK.search(function.name)
        for index, each in enumerate(function.instructions):
            if is_network:
                posts = RELEASING.search(function.name) and writes_globally(each)
                barred = ()
            else:
                posts = each.name.startswith("call") and POST.search(each.text)
                barred = (writes_globally,)
            if posts and not function.every_way_back_meets(index, is_system_fence, *barred):
                yield f"{function.name}: {each.text}"


def signals_of_the_network_are_acquired(kernel: Kernel):
    """Each function that reads one does so by an acquire of the system's scope."""
    for function in kernel.functions:
        if "network_read_signal" not in function.name:
            continue
        loads = [each for each in function.instructions if each.name.startswith("ld.acquire")]
        if not any(each.is_a("sys") for each in loads):
            yield f"{function.name} acquires nothing"
        for each in function.instructions:
            if each.name.startswith(("ld.relaxed", "ld.volatile")):
                yield f"{function.name}: {each.text}"


def calls_of_nccl_are_watched(kernel: Kernel):
    """A lane that has called NCCL says so to the one that watches (network_watch.cuh) before it
    meets anybody: a call that doesn't return would else be waited for without a report."""

    def says_so(each: Instruction) -> bool:
        return each.name.startswith(("atom.shared", "red.shared"))

    def meets(each: Instruction) -> bool:
        return each.name.startswith(("bar", "ret", "exit"))

    for function in kernel.functions:
        if NETWORK.search(function.name) and not CALLING.search(function.name):
            continue
        calls = [each.text for each in function.instructions if each.name.startswith("call")]
        if CALLING.search(function.name) and not any("watch_calls" in each for each in calls):
            yield f"{function.name} calls NCCL unwatched"
        for index, each in enumerate(function.instructions):
            posts = each.name.startswith("call") and WATCHED.search(each.text)
            if posts and not function.every_way_on_meets(index, says_so, meets):
                yield f"{function.name}: {each.text}"


RULES = (
    only_constants_go_through_the_read_only_path,
    strong_accesses_say_what_they_are_for,
    arrivals_that_release_stand_behind_a_fence,
    nothing_is_fenced_without_need,
    polls_acquire,
    scopes_reach_who_looks,
    bulk_stores_are_over_before_a_release,
    bulk_loads_see_what_was_acquired,
    copies_to_slots_are_read_behind_their_wait,
    multicast_addresses_are_fenced_from_others,
    kernels_that_communicate_keep_nothing_in_local_memory,
    puts_stand_behind_a_system_fence,
    signals_of_the_network_are_acquired,
    calls_of_nccl_are_watched,
)
