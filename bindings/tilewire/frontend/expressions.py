"""Expressions: what Python knows is folded, the rest is built."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from tilewire._tilewire import DType, Value
from tilewire.frontend.calls import Calls
from tilewire.frontend.subscripts import Subscripts
from tilewire.frontend.values import (
    Method,
    TargetPlaceholder,
    describe,
    is_operand,
    is_static,
)

# Python operator → (op of the table, how Python folds it).
BINARY: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("sub", operator.sub),
    ast.Mult: ("mul", operator.mul),
    ast.Div: ("div", operator.truediv),
    ast.FloorDiv: ("floordiv", operator.floordiv),
    ast.Mod: ("mod", operator.mod),
    ast.BitAnd: ("and", operator.and_),
    ast.BitOr: ("or", operator.or_),
    ast.BitXor: ("xor", operator.xor),
    ast.LShift: ("shift_left", operator.lshift),
    ast.RShift: ("shift_right", operator.rshift),
    ast.Pow: ("pow", operator.pow),
}
COMPARE: dict[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Eq: ("eq", operator.eq),
    ast.NotEq: ("ne", operator.ne),
    ast.Lt: ("lt", operator.lt),
    ast.LtE: ("le", operator.le),
    ast.Gt: ("gt", operator.gt),
    ast.GtE: ("ge", operator.ge),
}
UNARY: dict[type[ast.unaryop], tuple[str, Callable[[Any], Any]]] = {
    ast.USub: ("neg", operator.neg),
    ast.Invert: ("not", operator.invert),
    ast.Not: ("not", operator.not_),
}
# Operators that fold only: the table has no op for them.
STATIC_ONLY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}


class Expressions(Subscripts, Calls):
    """One method per kind of expression; each returns a Python value or an IR value."""

    def evaluate(self, node: ast.expr) -> Any:
        method = getattr(self, f"evaluate_{type(node).__name__.lower()}", None)
        if method is None:
            self.unsupported(node)
        return method(node)

    def evaluate_constant(self, node: ast.Constant) -> Any:
        return node.value

    def evaluate_name(self, node: ast.Name) -> Any:
        return self.resolve(self.lookup(node))

    def evaluate_tuple(self, node: ast.Tuple) -> Any:
        return tuple(self.evaluate(each) for each in node.elts)

    def evaluate_list(self, node: ast.List) -> Any:
        return tuple(self.evaluate(each) for each in node.elts)

    def resolve(self, found: Any) -> Any:
        """`tw.target` is the target that is compiled for."""
        return self.target if isinstance(found, TargetPlaceholder) else found

    def evaluate_attribute(self, node: ast.Attribute) -> Any:
        base = self.evaluate(node.value)
        if isinstance(base, Value):
            return self.value_attribute(node, base)
        try:
            return self.resolve(getattr(base, node.attr))
        except AttributeError:
            self.fail(node, f"`{ast.unparse(node.value)}` has no attribute `{node.attr}`")

    def value_attribute(self, node: ast.Attribute, base: Value) -> Any:
        if node.attr == "dtype":
            return base.type.dtype
        if node.attr == "shape":
            return tuple(self.extent(node, base, axis) for axis in range(base.type.rank))
        if node.attr == "T" and base.type.is_tile:
            return self.build(node, "transpose", base)
        if node.attr in ("to", "at"):
            return Method(base, node.attr)
        self.fail(node, f"{describe(base)} has no attribute `{node.attr}`")

    def evaluate_binop(self, node: ast.BinOp) -> Any:
        left = self.evaluate(node.left)
        return self.apply_binary(node, node.op, left, self.evaluate(node.right))

    def apply_binary(self, node: ast.AST, op: ast.operator, left: Any, right: Any) -> Any:
        if is_static(left) and is_static(right):
            known = BINARY.get(type(op))
            fold = known[1] if known else STATIC_ONLY.get(type(op))
            if fold is None:
                self.unsupported(op, at=node)
            return self.fold(node, fold, left, right)
        if isinstance(op, ast.Pow) and right == 2 and isinstance(left, Value):
            return self.build(node, "binary", "mul", left, left)
        if type(op) not in BINARY:
            self.unsupported(op, at=node)
        return self.binary(node, BINARY[type(op)][0], left, right)

    def binary(self, node: ast.AST, op: str, left: Any, right: Any) -> Any:
        for each in (left, right):
            if not is_operand(each):
                self.fail(node, f"{describe(each)} is neither tile, scalar nor number")
        return self.build(node, "binary", op, left, right)

    def fold(self, node: ast.AST, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Computes with Python what Python knows; its errors are the user's."""
        try:
            return function(*args, **kwargs)
        except Exception as error:
            self.fail(node, f"`{ast.unparse(node)}`: {error}")

    def evaluate_unaryop(self, node: ast.UnaryOp) -> Any:
        value = self.evaluate(node.operand)
        if isinstance(node.op, ast.UAdd):
            return value
        op, fold = UNARY[type(node.op)]
        if is_static(value):
            return self.fold(node, fold, value)
        if isinstance(node.op, ast.Not):
            self.require_logical(node, value, "not", "~")
        return self.build(node, "unary", op, value)

    def require_logical(self, node: ast.AST, value: Any, word: str, instead: str) -> None:
        """`and`, `or`, `not` take bool scalars; tiles have the bitwise operators."""
        if isinstance(value, Value) and value.type.is_tile:
            self.fail(node, f"`{word}` takes scalars, found {describe(value)}: use `{instead}`")
        if isinstance(value, Value) and value.type.dtype != DType.bool:
            self.fail(node, f"`{word}` takes bool, found {describe(value)}: compare it")
        if not is_operand(value):
            self.fail(node, f"`{word}` takes bool scalars, found {describe(value)}")

    def evaluate_boolop(self, node: ast.BoolOp) -> Any:
        """Operands that Python knows decide or drop out; the others are all evaluated."""
        is_and = isinstance(node.op, ast.And)
        result: Any = None
        for operand in node.values:
            value = self.evaluate(operand)
            if is_static(value):
                if bool(value) != is_and:
                    return value if result is None else not is_and
                last_static = value
                continue
            self.require_logical(operand, value, *(("and", "&") if is_and else ("or", "|")))
            if result is None:
                result = value
            else:
                result = self.binary(node, "and" if is_and else "or", result, value)
        return last_static if result is None else result

    def evaluate_compare(self, node: ast.Compare) -> Any:
        left = self.evaluate(node.left)
        result: Any = True
        for op, comparator in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(comparator)
            step = self.compare(node, op, left, right)
            if is_static(result):
                result = step if result else result
            elif not is_static(step):
                result = self.binary(node, "and", result, step)
            elif not step:
                result = step
            left = right
        return result

    def compare(self, node: ast.Compare, op: ast.cmpop, left: Any, right: Any) -> Any:
        if is_static(left) and is_static(right):
            known = COMPARE.get(type(op))
            return self.fold(node, known[1] if known else STATIC_ONLY[type(op)], left, right)
        if type(op) not in COMPARE:
            if isinstance(op, ast.Is | ast.IsNot) and None in (left, right):
                return isinstance(op, ast.IsNot)
            self.unsupported(op, at=node)
        return self.binary(node, COMPARE[type(op)][0], left, right)

    def evaluate_ifexp(self, node: ast.IfExp) -> Any:
        """Both sides are evaluated where the condition is known only at run time."""
        condition = self.evaluate(node.test)
        if is_static(condition):
            return self.evaluate(node.body if condition else node.orelse)
        if isinstance(condition, Value) and condition.type.is_tile:
            self.fail(node, "`… if … else …` takes a bool scalar: use tw.where for tiles")
        sides = (self.evaluate(node.body), self.evaluate(node.orelse))
        for side in sides:
            if not is_operand(side):
                self.fail(node, f"{describe(side)} is neither tile, scalar nor number")
        return self.build(node, "where", condition, *sides)
