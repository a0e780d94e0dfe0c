"""Cuts a failing program down: drops statements, and puts the body of an `if` in its place, while
it fails in the same way."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator

from fuzz.programs import Program
from fuzz.statements import For, If, Statement, While

Block = list[Statement]
FIELDS = {For: ("body",), While: ("body",), If: ("then_body", "else_body")}


def shrink(program: Program, failure_of: Callable[[Program], str], seconds: float = 20) -> Program:
    """`failure_of` names the way in which a program fails, and is empty where it doesn't."""
    wanted, end = failure_of(program), time.monotonic() + seconds
    is_smaller = bool(wanted)
    while is_smaller:
        is_smaller = False
        for candidate in smaller(program):
            if time.monotonic() > end:
                return program
            if failure_of(candidate) == wanted:
                program, is_smaller = candidate, True
                break
    return program


def smaller(program: Program) -> Iterator[Program]:
    """Every program with one step less; the last statements go first, since others need the first
    ones."""
    for path in list(blocks(program.body)):
        for index in reversed(range(len(block_at(program.body, path)))):
            for replacement in replacements(block_at(program.body, path)[index]):
                candidate = copy.copy(program)
                candidate.body = replaced(program.body, path, index, replacement)
                yield candidate


def replacements(statement: Statement) -> Iterator[Block]:
    yield []
    if isinstance(statement, If):
        yield statement.then_body
        if statement.else_body:
            yield statement.else_body


Path = tuple[tuple[int, str], ...]


def blocks(body: Block, path: Path = ()) -> Iterator[Path]:
    """The way to each block: index and field of the statement that holds it, from outside."""
    yield path
    for index, statement in enumerate(body):
        names = {For: ["body"], While: ["body"], If: ["then_body", "else_body"]}.get(
            type(statement), []
        )
        for name in names:
            yield from blocks(getattr(statement, name), (*path, (index, name)))


def block_at(body: Block, path: Path) -> Block:
    for index, name in path:
        body = getattr(body[index], name)
    return body


def replaced(body: Block, path: Path, index: int, replacement: Block) -> Block:
    """A copy in which a statement of the block at `path` gave way to `replacement`."""
    if not path:
        return [*body[:index], *replacement, *body[index + 1 :]]
    (outer, name), *rest = path
    changed = copy.copy(body[outer])
    inner = replaced(getattr(changed, name), tuple(rest), index, replacement)
    setattr(changed, name, inner)
    return [*body[:outer], changed, *body[outer + 1 :]]
