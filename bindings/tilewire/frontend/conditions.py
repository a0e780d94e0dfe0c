"""`and`, `or` and `a if c else b`: what isn't needed isn't computed where that can be noticed.

Arithmetic on scalars can't be noticed, so that both sides of a choice between such are computed. A
side that calls something or reads memory is computed only where Python would.
"""

from __future__ import annotations

import ast
from typing import Any

from tilewire._tilewire import Value
from tilewire.frontend.branches import Branches
from tilewire.frontend.operators import Operators
from tilewire.frontend.values import describe, is_operand, is_static

# Calls that only compute.
_CHEAP_CALLS = (
    "abs",
    "cdiv",
    "is_lsa",
    "len",
    "max",
    "maximum",
    "min",
    "minimum",
    "num_programs",
    "program_id",
    "rank",
    "to",
    "world_size",
)


class Conditions(Branches, Operators):
    def evaluate_boolop(self, node: ast.BoolOp) -> Any:
        """Operands that Python knows decide or drop out."""
        return self._boolop(node, list(node.values), isinstance(node.op, ast.And))

    def _boolop(self, node: ast.BoolOp, operands: list[ast.expr], is_and: bool) -> Any:
        first, *rest = operands
        value = self.evaluate(first)
        if is_static(value):
            return value if bool(value) != is_and or not rest else self._boolop(node, rest, is_and)
        self.require_logical(first, value, *(("and", "&") if is_and else ("or", "|")))
        if not rest:
            return value
        if any(_is_noticed(each) for each in rest):
            other = self.choose(
                node,
                value,
                lambda: self._rest(node, rest, is_and) if is_and else True,
                lambda: False if is_and else self._rest(node, rest, is_and),
            )
            return other
        second = self._rest(node, rest, is_and)
        if is_static(second):
            return value if bool(second) == is_and else bool(second)
        return self.binary(node, "and" if is_and else "or", value, second)

    def _rest(self, node: ast.BoolOp, operands: list[ast.expr], is_and: bool) -> Any:
        value = self._boolop(node, operands, is_and)
        return bool(value) if is_static(value) else value

    def evaluate_ifexp(self, node: ast.IfExp) -> Any:
        condition = self.evaluate(node.test)
        if is_static(condition):
            return self.evaluate(node.body if condition else node.orelse)
        if isinstance(condition, Value) and condition.type.is_tile:
            self.fail(node, "`… if … else …` takes a bool scalar: use tw.where for tiles")
        self.require_bool_scalar(node.test, condition)
        if _is_noticed(node.body) or _is_noticed(node.orelse):
            return self._choose_side(node, condition)
        sides = (self.evaluate(node.body), self.evaluate(node.orelse))
        if all(is_operand(side) for side in sides) and not any(
            isinstance(side, Value) and not side.type.is_scalar for side in sides
        ):
            return self.build(node, "where", condition, *sides)
        return self.choose(node, condition, lambda: sides[0], lambda: sides[1])

    def _choose_side(self, node: ast.IfExp, condition: Any) -> Any:
        return self.choose(
            node, condition, lambda: self.evaluate(node.body), lambda: self.evaluate(node.orelse)
        )

    def require_bool_scalar(self, node: ast.AST, condition: Any, what: str = "if") -> None:
        if isinstance(condition, Value) and condition.type.is_tile:
            instead = "use tw.where" if what == "if" else "reduce it, as with tw.max"
            self.fail(node, f"`{what}` needs a scalar, found {describe(condition)}: {instead}")
        if isinstance(condition, Value) and condition.type.is_view:
            self.fail(
                node,
                f"`{what}` needs a bool scalar, found {describe(condition)}: read it with tw.load",
            )
        if not isinstance(condition, Value) or not condition.type.is_scalar:
            self.fail(node, f"`{what}` needs a bool scalar, found {describe(condition)}")
        if condition.type.dtype.is_float:
            self.fail(
                node, f"`{what}` needs a bool scalar, found {describe(condition)}: compare it"
            )


def _is_noticed(node: ast.expr) -> bool:
    """Whether computing it reads memory, waits, or calls what may."""
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            name = each.func.attr if isinstance(each.func, ast.Attribute) else ""
            name = each.func.id if isinstance(each.func, ast.Name) else name
            if name not in _CHEAP_CALLS:
                return True
    return False
