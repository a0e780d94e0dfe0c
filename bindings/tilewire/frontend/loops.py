"""`for` and `while`: loops of the IR, and loops that the frontend unrolls."""

from __future__ import annotations

import ast
import contextlib
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from tilewire._tilewire import DType, Value
from tilewire.frontend.assigned import assigned_names, only_indices
from tilewire.frontend.bundles import difference, flatten, is_carriable, leaf_at, unflatten
from tilewire.frontend.exits import RESULT, SKIP, STOP, LoopBody, loop_body
from tilewire.frontend.values import LoopRange, Poison, Scope, Unroll, describe, is_static
from tilewire.frontend.visitor import Visitor

_MAX_REPETITIONS = 16384  # of all unrolled loops of a nest together
_INDEX = ".index"  # of a `for` that a `break` can end
_EXISTS = ".exists"  # whether the tile of a `for` over `tw.tiles` does
_OWN = (STOP, SKIP, _INDEX)


@dataclass
class Carried:
    """What a loop of the IR hands from one iteration to the next."""

    before: Scope
    names: list[str]
    initial: list[Any]
    assigned: list[str]  # in the body, carried or not

    def leaves(self) -> list[Any]:
        return flatten(tuple(self.initial))


class Loops(Visitor):
    @contextlib.contextmanager
    def _own_names(self) -> Iterator[None]:
        """Hides the names with which a loop around this one keeps its own state."""
        scope = self.scope
        hidden = {name: scope.names.pop(name) for name in _OWN if name in scope.names}
        yield
        for name in _OWN:
            self.scope.names.pop(name, None)
        self.scope.names.update(hidden)

    def run_for(self, node: ast.For) -> None:
        if node.orelse:
            self.fail(node, "`else` of a for loop can't be used in a kernel: remove it")
        with self._own_names():
            self._for(node)

    def _for(self, node: ast.For) -> None:
        over = self.evaluate(node.iter)
        body = loop_body(node.body)
        if isinstance(over, Unroll | tuple | dict):
            self._unroll(node, over.items if isinstance(over, Unroll) else tuple(over), body)
        elif not isinstance(over, LoopRange):
            self.fail(
                node.iter,
                f"can't loop over {describe(over)}: use range(…), tw.persistent(…), tw.ranks(), "
                f"tw.peers() or tw.unroll(…)",
            )
        elif not isinstance(node.target, ast.Name):
            self.fail(node.target, f"{over.spelling} gives one index: write one name")
        elif body.stops and over.schedule == "dynamic":
            self.fail(
                node,
                'this loop takes its iterations one by one (schedule="dynamic"), and would lose '
                "those that it takes after a `break`: put the rest of its body under an `if`, or "
                'use schedule="static"',
            )
        elif body.stops and over.iterate == "range":
            self._while_in_range(node, node.target, over, body)
        else:
            self._loop(node, node.target, over, body)

    def run_while(self, node: ast.While) -> None:
        if node.orelse:
            self.fail(node, "`else` of a while loop can't be used in a kernel: remove it")
        with self._own_names():
            body = loop_body(node.body)
            self._while(node, body, lambda: self.evaluate(node.test), lambda: None)

    def _unroll(self, node: ast.For, items: tuple[Any, ...], body: LoopBody) -> None:
        """Repeats the body; a run-time `break` guards the repetitions behind it."""
        outside = self.repetitions
        self.repetitions *= max(len(items), 1)
        if self.repetitions > _MAX_REPETITIONS:
            self.fail(
                node.iter,
                f"the unrolled loops here would repeat the body {self.repetitions} times, "
                f"{_MAX_REPETITIONS} is the most: use range(…)",
            )
        if body.stops:
            self.scope.names[STOP] = False
        for item in items:
            stop = self.scope.names.get(STOP, False) if body.stops else False
            if self.returned or stop is True:
                break
            self.assign(node.target, item)
            self._run_unless_stopped(node, body, is_static(stop))
        self.repetitions = outside

    @staticmethod
    def _guarded(node: ast.For, body: LoopBody) -> LoopBody:
        """The same, of tiles that exist."""
        test = ast.Name(_EXISTS, ast.Load())
        guarded = ast.If(test, body.statements, [])
        for each in (guarded, test):
            ast.copy_location(each, node)
        return replace(body, statements=[guarded])

    def _run_unless_stopped(self, node: ast.For, body: LoopBody, goes_on: bool = False) -> None:
        if goes_on or not body.stops:
            return self.run(body.statements)
        test = ast.UnaryOp(ast.Not(), ast.Name(STOP, ast.Load()))
        guarded = ast.If(test, body.statements, [])
        for each in (guarded, test, test.op, test.operand):
            ast.copy_location(each, node)
        self.run([guarded])

    def _loop(self, node: ast.For, target: ast.Name, over: LoopRange, body: LoopBody) -> None:
        """A `for` of the IR. After a `break` its remaining iterations do nothing."""
        carried = self._enter(node, body, [target.id])
        index, values = self._begin(node, over, carried.leaves())
        self._begin_body(carried, list(values))
        if over.work is None:
            self.bind(target.id, index)
        else:
            item = over.work.item(functools.partial(self.build, node), index)
            self.bind(target.id, item)
            if item.exists is not None:
                self.scope.names[_EXISTS] = item.exists
                body = self._guarded(node, body)
        self._run_unless_stopped(node, body)
        self.scope.names.pop(_EXISTS, None)
        self._leave(node, carried, self.build(node, "end_for", self._next(node, carried)))

    def _begin(self, node: ast.For, over: LoopRange, initial: list[Any]) -> Any:
        if over.team is not None:
            return self.build(node, "begin_for_team", over.iterate, over.team, over.lower, initial)
        if over.schedule == "dynamic":
            return self.build(node, "begin_dynamic", over.upper, initial)
        bounds = (over.lower, over.upper, over.step)
        return self.build(node, "begin_for", over.iterate, *bounds, initial)

    def _while_in_range(
        self, node: ast.For, target: ast.Name, over: LoopRange, body: LoopBody
    ) -> None:
        """A `for` over a range that a `break` ends: a `while` that counts."""
        if not is_static(over.step):
            return self._while_counted(node, target, over, body)
        first = self.build(node, "cast", over.lower, DType.i64)
        compare = "lt" if over.step > 0 else "gt"
        self._while_index(node, target, body, (first, compare, over.upper, over.step), lambda i: i)

    def _while_counted(
        self, node: ast.For, target: ast.Name, over: LoopRange, body: LoopBody
    ) -> None:
        """Over the numbers of the iterations, since the step may lead upwards or downwards."""

        def binary(op: str, a: Any, b: Any) -> Any:
            return self.build(node, "binary", op, a, b)

        step = self.build(node, "cast", over.step, DType.i64)
        room = binary("sub", self.build(node, "cast", over.lower, DType.i64), over.upper)
        count = self.build(node, "unary", "neg", binary("floordiv", room, step))
        first = self.build(node, "constant", 0, DType.i64)
        self._while_index(
            node,
            target,
            body,
            (first, "lt", count, 1),
            lambda i: binary("add", over.lower, binary("mul", i, step)),
        )

    def _while_index(
        self,
        node: ast.For,
        target: ast.Name,
        body: LoopBody,
        counting: tuple[Value, str, Any, int],
        index_of: Callable[[Any], Any],
    ) -> None:
        """`counting`: from where, compared how, with what, and the step."""
        first, compare, end, step = counting
        self.scope.names[_INDEX] = first

        def condition() -> Any:
            return self.build(node, "binary", compare, self.scope.names[_INDEX], end)

        def start() -> None:
            self.bind(target.id, index_of(self.scope.names[_INDEX]))

        def advance() -> None:
            index = self.scope.names[_INDEX]
            self.scope.names[_INDEX] = self.build(node, "binary", "add", index, step)

        self._while(node, body, condition, start, advance, (target.id,))

    def _while(
        self,
        node: ast.For | ast.While,
        body: LoopBody,
        condition: Callable[[], Any],
        start: Callable[[], None],
        end: Callable[[], None] = lambda: None,
        inside: tuple[str, ...] = (),
    ) -> None:
        carried = self._enter(node, body, list(inside))
        values = self.build(node, "begin_while", carried.leaves())
        self._begin_body(carried, list(values))
        goes_on = self._goes_on(node, body, condition)
        if goes_on is False:  # the body is not looked at
            never = self.build(node, "constant", False, DType.bool)
            again = self.build(node, "begin_do", never)
            self._leave(node, carried, self.build(node, "end_while", list(again)))
            return
        if goes_on is True:
            goes_on = self.build(node, "constant", True, DType.bool)
        self._begin_body(carried, list(self.build(node, "begin_do", goes_on)))
        start()
        self.run(body.statements)
        if not self.returned:
            end()
        self._leave(node, carried, self.build(node, "end_while", self._next(node, carried)))

    def _goes_on(self, node: ast.For | ast.While, body: LoopBody, condition: Any) -> Any:
        """The condition, and that no `break` was met."""
        if body.stops:
            stop = self.scope.names[STOP]
            on = self.build(node, "unary", "not", stop)
            own = condition()
            if is_static(own):
                return on if own else False
            self.require_bool_scalar(getattr(node, "test", node), own, "while")
            return self.build(node, "binary", "and", own, on)
        own = condition()
        if is_static(own):
            return bool(own)
        self.require_bool_scalar(getattr(node, "test", node), own, "while")
        return own

    def _enter(self, node: ast.AST, body: LoopBody, inside: list[str]) -> Carried:
        """What the loop carries: names that exist before it and that its body assigns."""
        before = self.scope
        if body.stops:
            before.names[STOP] = self.build(node, "constant", False, DType.bool)
        assigned = [name for name in assigned_names(body.statements) if name not in inside]
        if _INDEX in before.names and inside:
            assigned.append(_INDEX)
        indices = only_indices(body.statements)
        names = [
            name
            for name in assigned
            if is_carriable(before.names.get(name, Poison(""))) and name not in indices
        ]
        return Carried(before, names, [before.names[name] for name in names], [*inside, *assigned])

    def _begin_body(self, carried: Carried, leaves: list[Any]) -> None:
        self.scope = carried.before.copy()
        for name in carried.assigned:
            if name not in carried.names and name in carried.before.names:
                self.scope.names[name] = Poison(self._why_not_carried(carried, name))
        self._take(carried, leaves)

    def _why_not_carried(self, carried: Carried, name: str) -> str:
        if name == RESULT:
            return (
                "a `return` in a run-time loop of a function has no value before it: assign to a "
                "variable that has one before the loop, `break`, and return it behind the loop"
            )
        found = carried.before.names[name]
        if is_carriable(found):
            return (
                f"`{name}` is the index of a loop inside this one, which doesn't keep it: give "
                f"what is read here another name"
            )
        advice = "give it another name inside"
        if found is None:
            advice = "begin it as a tile, like tw.zeros(shape), or as a number"
        elif isinstance(found, Value) and found.type.is_view:
            advice = "carry its indices, and slice with them inside"
        return (
            f"`{name}` can't be carried through this loop, which assigns it: {describe(found)} is "
            f"neither tile nor scalar; {advice}"
        )

    def _next(self, node: ast.AST, carried: Carried) -> list[Any]:
        """The leaves that the body hands on."""
        if self.returned:
            self.returned = False  # the loop may have run no iteration
            return []
        return flatten(
            tuple(
                self._carry(node, name, like)
                for name, like in zip(carried.names, carried.initial, strict=True)
            )
        )

    def _carry(self, node: ast.AST, name: str, like: Any) -> Any:
        value = self.scope.names[name]
        if isinstance(value, Poison):
            self.fail(node, value.message)
        place = difference(like, value, name) if is_carriable(value) else name
        if place is not None:
            at = place.removeprefix(name)
            entered, ended = leaf_at(like, at), leaf_at(value, at)
            self.fail(
                node,
                f"`{place}` enters this loop as {describe(entered)} and ends it as "
                f"{describe(ended)}: only tiles and scalars can change in a run-time loop",
            )
        return value

    def _take(self, carried: Carried, leaves: list[Any]) -> None:
        """Binds the carried names to what a loop hands in or out."""
        for name, like in zip(carried.names, carried.initial, strict=True):
            value = unflatten(like, leaves)
            for leaf in flatten(value):
                self.builder.name(leaf, name.lstrip("."))
            self.scope.names[name] = value

    def _leave(self, node: ast.AST, carried: Carried, results: Any) -> None:
        line = self.source.line(node)
        self.scope = carried.before
        for name in carried.assigned:
            self.scope.names[name] = Poison(
                f"`{name}` exists only inside the loop at line {line}: give it a value (a tile or "
                f"a scalar) before the loop"
            )
        if RESULT in carried.assigned:
            self.scope.names[RESULT] = Poison(
                "a `return` in a run-time loop of a function has no value before it: assign to a "
                "variable that has one before the loop, `break`, and return it behind the loop"
            )
        self._take(carried, list(results))
        self.scope.names.pop(STOP, None)
