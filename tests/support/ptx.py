"""PTX as a graph of instructions, for rules about what stands before and behind what."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field


@dataclass
class Instruction:
    text: str  # without a predicate
    comment: str
    is_predicated: bool
    successors: list[int] = field(default_factory=list)
    predecessors: list[int] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.text.split()[0]

    def is_a(self, *parts: str) -> bool:
        """Whether all of these are among the parts of its name, as in `ld` `sys`."""
        return set(parts) <= set(self.name.split("."))


@dataclass
class Function:
    name: str
    is_entry: bool
    instructions: list[Instruction]

    def every_way_back_meets(
        self,
        start: int,
        wanted: Callable[[Instruction], bool],
        stops: Callable[[Instruction], bool] = lambda _: False,
        at_start: bool = False,
    ) -> bool:
        """Whether each path that leads to an instruction passes one that is wanted, and none that
        stops it after that one. `at_start`: whether the function's start is as good."""
        return self._every_way(start, wanted, stops, lambda each: each.predecessors, at_start)

    def every_way_on_meets(
        self,
        start: int,
        wanted: Callable[[Instruction], bool],
        stops: Callable[[Instruction], bool],
    ) -> bool:
        """Whether no path from an instruction comes to one that stops it before a wanted one."""
        return self._every_way(start, wanted, stops, lambda each: each.successors, at_end=True)

    def _every_way(self, start, wanted, stops, neighbours, at_end: bool) -> bool:
        seen: set[int] = set()
        waiting = list(neighbours(self.instructions[start]))
        if not waiting:
            return at_end
        while waiting:
            index = waiting.pop()
            if index in seen:
                continue
            seen.add(index)
            each = self.instructions[index]
            if wanted(each):
                continue
            if stops(each):
                return False
            following = neighbours(each)
            if not following and not at_end:
                return False
            waiting.extend(following)
        return True


def functions_of(ptx: str) -> list[Function]:
    """Those with a body."""
    return list(_functions(ptx))


def _functions(ptx: str) -> Iterator[Function]:
    pattern = r"^(?:\.visible |\.weak )?\.(entry|func)\b[^;{]*?([\w$]+)\s*\([^;{]*?\)[^;{]*\{"
    for match in re.finditer(pattern, ptx, re.MULTILINE):
        depth, end = 1, match.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(ptx[end], 0)
            end += 1
        yield _function(match.group(2), match.group(1) == "entry", ptx[match.end() : end - 1])


def _function(name: str, is_entry: bool, body: str) -> Function:
    instructions: list[Instruction] = []
    labels: dict[str, list[int]] = {}
    for line, comment in _lines(body):
        if line.endswith(":"):
            labels.setdefault(line[:-1], []).append(len(instructions))
        elif line and not line.startswith("."):
            predicate = re.match(r"@!?%?\w+\s+", line)
            text = line[predicate.end() :] if predicate else line
            instructions.append(Instruction(text, comment, predicate is not None))
    for index, each in enumerate(instructions):
        _link(instructions, labels, index, each)
    return Function(name, is_entry, instructions)


def _lines(body: str) -> Iterator[tuple[str, str]]:
    """Instructions and labels, with the comment behind them. A line may hold several, and a call
    several lines."""
    open_text = ""
    for line in body.splitlines():
        code, _, comment = line.partition("//")
        label = re.match(r"\s*([\w$]+:)(?!:)", code)
        if label and not open_text:
            yield label.group(1), ""
            code = code[label.end() :]
        *whole, rest = code.split(";")
        for part in whole:
            yield (open_text + part).strip().lstrip("{}").strip(), comment.strip()
            open_text = ""
        open_text = (open_text + rest).strip().lstrip("{}").strip()
        if open_text:
            open_text += " "


def _link(
    instructions: list[Instruction], labels: dict[str, list[int]], index: int, each: Instruction
) -> None:
    is_branch = each.text.startswith("bra")
    ends = each.text.split()[0] in ("ret", "exit", "trap") and not each.is_predicated
    if is_branch:
        places = labels[each.text.split()[-1]]
        # A label of inline PTX is that of its own block, the last one before.
        before = [place for place in places if place <= index]
        each.successors.append(before[-1] if len(places) > 1 and before else places[0])
    if not ends and not (is_branch and not each.is_predicated) and index + 1 < len(instructions):
        each.successors.append(index + 1)
    each.successors = [place for place in each.successors if place < len(instructions)]
    for place in each.successors:
        instructions[place].predecessors.append(index)
