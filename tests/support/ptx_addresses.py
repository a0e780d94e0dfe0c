"""Rules about which memory an access reaches, and by which kind of address: where addresses come
from is followed through registers, back to the kernel's parameters."""

from __future__ import annotations

import re

from ptx import Function, Instruction
from ptx_kernel import Kernel, is_wait, releases

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


def reaches_a_window(
    each: Instruction, origins: dict[str, set[Origin]], parameters: list[str]
) -> bool:
    """By a rank's own address."""
    is_access = each.name.split(".")[0] in ("ld", "st", "red", "atom")
    if not is_access or not each.is_a("global") or each.is_a("nc"):
        return False
    address = re.search(r"\[(%\w+)", each.text)
    if each.comment or address is None:  # book-keeping; single copies, which are their own
        return False
    come = origins.get(address.group(1), set())
    numbers = {number for number, _, _ in come if number != TABLE}
    return any("tw::WindowHandle" in parameters[number] for number in numbers)


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
            return reaches_a_window(each, origins, parameters)

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
