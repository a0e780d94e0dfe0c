"""`for` loops: loops of the IR, and loops that the frontend unrolls."""

from __future__ import annotations

import ast
from typing import Any

from tilewire.frontend.assigned import assigned_names
from tilewire.frontend.values import (
    LoopRange,
    Poison,
    Unroll,
    describe,
    flatten,
    is_carriable,
    same_structure,
    unflatten,
)
from tilewire.frontend.visitor import Visitor


class Loops(Visitor):
    def run_for(self, node: ast.For) -> None:
        if node.orelse:
            self.fail(node, "`else` of a for loop can't be used in a kernel: remove it")
        over = self.evaluate(node.iter)
        if isinstance(over, Unroll):
            self._unroll(node, over)
        elif isinstance(over, LoopRange):
            self._loop(node, over)
        else:
            self.fail(
                node.iter,
                f"can't loop over {describe(over)}: use range(…), tw.persistent(…), tw.ranks(), "
                f"tw.peers() or tw.unroll(…)",
            )

    def _unroll(self, node: ast.For, over: Unroll) -> None:
        self.loop_depth += 1
        for item in over.items:
            self.assign(node.target, item)
            self.run(node.body)
        self.loop_depth -= 1

    def _loop(self, node: ast.For, over: LoopRange) -> None:
        if not isinstance(node.target, ast.Name):
            self.fail(node.target, f"{over.spelling} gives one index: write one name")
        before = self.scope
        assigned = [name for name in assigned_names(node.body) if name != node.target.id]
        carried = [name for name in assigned if is_carriable(before.names.get(name, Poison("")))]
        initial = [before.names[name] for name in carried]
        index, values = self.build(
            node,
            "begin_for",
            over.iterate,
            over.lower,
            over.upper,
            over.step,
            flatten(tuple(initial)),
        )
        self.scope = before.copy()
        self.bind(node.target.id, index)
        for name in assigned:
            if name not in carried and name in before.names:
                self.scope.names[name] = Poison(
                    f"`{name}` can't be carried through this loop, which assigns it: "
                    f"{describe(before.names[name])} is neither tile nor scalar"
                )
        self._take(carried, initial, list(values))
        self.loop_depth += 1
        self.run(node.body)
        self.loop_depth -= 1
        after = [self._carry(node, name, like) for name, like in zip(carried, initial, strict=True)]
        results = self.build(node, "end_for", flatten(tuple(after)))
        self.scope = before
        self._leave(node, [node.target.id, *assigned])
        self._take(carried, initial, list(results))

    def _carry(self, node: ast.For, name: str, like: Any) -> Any:
        value = self.scope.names[name]
        if isinstance(value, Poison):
            self.fail(node, value.message)
        if not is_carriable(value) or not same_structure(like, value):
            self.fail(
                node,
                f"`{name}` enters this loop as {describe(like)} and ends it as {describe(value)}",
            )
        return value

    def _take(self, names: list[str], like: list[Any], leaves: list[Any]) -> None:
        """Binds `names` to values that a loop hands in or out."""
        for name, shape in zip(names, like, strict=True):
            value = unflatten(shape, leaves)
            for leaf in flatten(value):
                self.builder.name(leaf, name)
            self.scope.names[name] = value

    def _leave(self, node: ast.For, names: list[str]) -> None:
        line = self.source.line(node)
        for name in names:
            self.scope.names[name] = Poison(
                f"`{name}` exists only inside the loop at line {line}: give it a value (a tile or "
                f"a scalar) before the loop"
            )
