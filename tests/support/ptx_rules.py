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


def violations(source: str, ptx: str) -> list[str]:
    """What breaks a rule, in words; empty: nothing."""
    kernel = Kernel(source, ptx)
    found: list[str] = []
    for rule in RULES:
        found += [f"{rule.__name__}: {each}" for each in rule(kernel)]
    return found


def only_constants_go_through_the_read_only_path(kernel: Kernel):
    """`ld.global.nc` reads only what a tw.constant parameter leads to, and NCCL's own structs."""
    signature = kernel.source[kernel.source.index("_kernel(") :].partition(") {")[0]
    parameters = [each.split() for each in signature.partition("(")[2].split(",")]
    constants = set()
    for statement in kernel.statements(r"Cache::kConstant"):
        constants |= set(re.findall(r"\w+", statement.split("kConstant", 1)[1]))
    for name in list(constants):  # an address under a name of its own
        for value in re.findall(rf"\b{name} =\s*([^;]*);", kernel.source):
            constants |= set(re.findall(r"\w+", value))

    def is_constant(number: int, offset: int, depth: int) -> bool:
        if number == TABLE:
            return True
        *kind, name = parameters[number]
        if "ncclDevComm" in kind:
            return depth == 0
        if "tw::WindowHandle" in kind or "tw::Lane" in kind:
            place = WINDOW_OF_LANE if "tw::Lane" in kind else 0
            return offset == place and depth == 0  # where NCCL says how its window lies
        return name in constants

    tables = re.findall(r"^\.(?:weak |visible )*global .*?(\w+)\[\d*\] = ", kernel.ptx, re.M)
    for function in kernel.own_functions:
        origins = origins_of(function, tables)
        for each in function.instructions:
            if not each.name.startswith("ld.global.nc"):
                continue
            address = re.search(r"\[(%\w+)", each.text)
            come = origins.get(address.group(1), set()) if address else set()
            if not any(is_constant(*origin) for origin in come):
                names = sorted({parameters[number][-1] for number, _, _ in come if number >= 0})
                yield f"{each.text}, which leads to {names or 'nobody knows what'}"


Origin = tuple[int, int, int]
"""A parameter's number, the bytes from its start, and how many loads lie between."""
WINDOW_OF_LANE = 96  # offsetof(Lane, window)
TABLE = -1  # a table of the module's own, as the sine has one


def origins_of(function: Function, tables: list[str]) -> dict[str, set[Origin]]:
    """Register → where its value may come from."""
    origins: dict[str, set[Origin]] = {}
    changed = True
    while changed:
        changed = False
        for each in function.instructions:
            operands = re.findall(r"%\w+", each.text)
            if not operands or each.name.startswith(("st", "bra", "setp", "call")):
                continue
            come = {
                (int(number), int(offset or 0), 0)
                for number, offset in re.findall(r"_param_(\d+)(?:\+(\d+))?", each.text)
            }
            if each.name.startswith("mov") and each.text.split()[-1] in tables:
                come.add((TABLE, 0, 0))
            address = re.search(r"\[(%\w+)", each.text)
            results = operands[: operands.index(address.group(1))] if address else operands[:1]
            depth = 1 if each.name.startswith(("ld.global", "ld.relaxed", "ld.acquire")) else 0
            for operand in operands[len(results) :]:
                come |= {(n, o, min(d + depth, 2)) for n, o, d in origins.get(operand, set())}
            for result in results:
                if not come <= origins.get(result, set()):
                    origins.setdefault(result, set()).update(come)
                    changed = True
    return origins


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
        r"launch_counters|atomic|signal|set\(|leave|flag|send|exchange|recv|network"
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
    has_local = bool(kernel.statements(r"local_grid_barrier\.sync|Scope::kGpu"))
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


def multicast_addresses_are_fenced_from_others(kernel: Kernel):
    """The PTX ISA takes two addresses of the same memory for two proxies: between an access through
    a multicast address and one through a rank's own stands `fence.proxy.alias`, whatever else does.
    It is asked for at the side of the multicast access: behind plain writes of windows, by this
    instance or heard of, and in front of plain accesses, by this instance or told of. At barriers
    the others run this same program."""
    tables = re.findall(r"^\.(?:weak |visible )*global .*?(\w+)\[\d*\] = ", kernel.ptx, re.M)
    signature = kernel.source[kernel.source.index("_kernel(") :].partition(") {")[0]
    parameters = signature.partition("(")[2].split(",")
    meets_others = bool(kernel.statements(r"tw::(wait|signal|set|send|recv|exchange)|\bchannel"))
    for function in kernel.own_functions:
        if not any(each.name.startswith("multimem") for each in function.instructions):
            continue
        origins = origins_of(function, tables)

        def is_plain(each: Instruction, origins=origins) -> bool:
            kind = each.name.split(".")[0]
            if (
                kind not in ("ld", "st", "red", "atom")
                or not each.is_a("global")
                or each.is_a("nc")
            ):
                return False
            address = re.search(r"\[(%\w+)", each.text)
            if each.comment or address is None:  # book-keeping; single copies, which are their own
                return False
            come = origins.get(address.group(1), set())
            numbers = {number for number, _, _ in come if number != TABLE}
            return any("tw::WindowHandle" in parameters[number] for number in numbers)

        def is_plain_write(each: Instruction, is_plain=is_plain) -> bool:
            return is_plain(each) and not each.name.startswith("ld")

        def is_fenced(each: Instruction) -> bool:
            return each.name == "fence.proxy.alias"

        heard = {
            id(each)
            for index, each in enumerate(function.instructions)
            if is_wait(each)
            and (
                meets_others
                or not function.every_way_back_meets(
                    index, lambda _: False, is_plain_write, at_start=True
                )
            )
        }
        for index, each in enumerate(function.instructions):
            if not each.name.startswith("multimem"):
                continue

            def is_dirty(other: Instruction, heard=heard) -> bool:
                return is_plain_write(other) or id(other) in heard

            if not function.every_way_back_meets(index, is_fenced, is_dirty, at_start=True):
                yield f"{function.name}: {each.text} sees what others wrote"

            def tells(other: Instruction) -> bool:
                return is_plain(other) or (meets_others and releases(other))

            is_write = not each.name.startswith("multimem.ld")
            if is_write and not function.every_way_on_meets(index, is_fenced, tells):
                yield f"{function.name}: {each.text} is seen by others"


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


RULES = (
    only_constants_go_through_the_read_only_path,
    strong_accesses_say_what_they_are_for,
    arrivals_that_release_stand_behind_a_fence,
    nothing_is_fenced_without_need,
    polls_acquire,
    scopes_reach_who_looks,
    bulk_stores_are_over_before_a_release,
    bulk_loads_see_what_was_acquired,
    multicast_addresses_are_fenced_from_others,
    kernels_that_communicate_keep_nothing_in_local_memory,
    puts_stand_behind_a_system_fence,
    signals_of_the_network_are_acquired,
)
