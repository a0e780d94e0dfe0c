"""Operators and comparisons: folded where Python knows both sides, else ops of the IR."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from tilewire._tilewire import DType, Value
from tilewire.frontend.values import describe, is_operand, is_static
from tilewire.frontend.visitor import Visitor

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


_MAX_BITS = 4096  # of integers while compiling; those of a kernel have 64
_MAX_ITEMS = 65536


def grows_too_far(op: ast.operator, left: Any, right: Any) -> bool:
    """Whether Python would compute a number or sequence beyond use, for minutes or all memory."""
    if not isinstance(right, int):
        return isinstance(right, str | tuple) and grows_too_far(op, right, left)
    if isinstance(op, ast.Mult) and isinstance(left, str | tuple):
        return len(left) * right > _MAX_ITEMS
    if not isinstance(left, int) or not isinstance(op, ast.Pow | ast.LShift):
        return False
    bits = left.bit_length()
    if isinstance(op, ast.LShift):
        return right > _MAX_BITS - bits
    return bits > 1 and bits * right > _MAX_BITS


class Operators(Visitor):
    def evaluate_binop(self, node: ast.BinOp) -> Any:
        left = self.evaluate(node.left)
        return self.apply_binary(node, node.op, left, self.evaluate(node.right))

    def apply_binary(self, node: ast.AST, op: ast.operator, left: Any, right: Any) -> Any:
        if isinstance(left, tuple) and isinstance(op, ast.Add) and isinstance(right, tuple):
            return tuple(left) + tuple(right)  # their items may be tiles
        if isinstance(left, tuple) and isinstance(op, ast.Mult) and isinstance(right, int):
            if grows_too_far(op, left, right):
                self.fail(node, f"`{ast.unparse(node)}` is too large for a kernel")
            return tuple(left) * right
        if is_static(left) and is_static(right):
            known = BINARY.get(type(op))
            fold = known[1] if known else STATIC_ONLY.get(type(op))
            if fold is None:
                self.unsupported(op, at=node)
            if grows_too_far(op, left, right):
                self.fail(node, f"`{ast.unparse(node)}` is too large for a kernel")
            return self.fold(node, fold, left, right)
        if isinstance(op, ast.Pow) and right == 2 and isinstance(left, Value):
            return self.build(node, "binary", "mul", left, left)
        if type(op) not in BINARY:
            self.unsupported(op, at=node)
        return self.binary(node, BINARY[type(op)][0], left, right)

    def binary(self, node: ast.AST, op: str, left: Any, right: Any) -> Any:
        for each in (left, right):
            if isinstance(each, str):
                self.fail(
                    node,
                    f"text ({each!r}) can't meet a value that is known only at run time: kernels "
                    f"compute with tiles, scalars and numbers",
                )
            if not is_operand(each):
                self.fail(node, f"{describe(each)} is neither tile, scalar nor number")
        return self.build(node, "binary", op, left, right)

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

    def evaluate_compare(self, node: ast.Compare) -> Any:
        """Each operand of a chain is computed once; all of them are."""
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
