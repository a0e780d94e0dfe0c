"""`tw.inline_cuda`."""

from __future__ import annotations

import ast
from typing import Any

from tilewire._tilewire import DType, Value
from tilewire.frontend.registry import Builtin, Call, builtin
from tilewire.frontend.values import describe, is_number, is_operand


@builtin
def inline_cuda(
    call: Call,
    code: Any,
    *inputs: Any,
    dtype: Any = None,
    shape: Any = None,
    reference: Any = None,
) -> Value:
    """CUDA text on each element: an expression or statements that `return`, `{0}` being the first
    input. `reference`: a `@tw.function` or function of `tw` that the CPU target takes instead."""
    if not isinstance(code, str):
        call.fail(f"the CUDA text must be known at compile time, found {describe(code)}")
    for each in inputs:
        if not is_operand(each) or (isinstance(each, Value) and each.type.is_view):
            call.fail(f"takes tiles, scalars and numbers, found {describe(each)}")
    dtype = None if dtype is None else call.dtype(dtype)
    result = None
    if reference is not None:
        result = _reference(call, reference, inputs, dtype)
    return call.build(
        "inline_cuda",
        code,
        list(inputs),
        dtype,
        [] if shape is None else call.shape(shape),
        result,
        _line(call),
    )


def _reference(call: Call, reference: Any, inputs: tuple[Any, ...], dtype: DType | None) -> Value:
    """What the reference gives for the same inputs; of constants that may be a number."""
    if isinstance(reference, Builtin):
        result = reference.lower(call, inputs, {})
    elif hasattr(call.visitor, "inline") and hasattr(reference, "returns_value"):
        result = call.visitor.inline(call.node, reference, inputs, {})
    else:
        call.fail(f"reference= is a @tw.function or a function of tw, found {describe(reference)}")
    if is_number(result):
        return call.build("cast", result, DType.f32 if dtype is None else dtype)
    if not isinstance(result, Value):
        call.fail(f"the reference gives {describe(result)}, not a tile or a scalar")
    return result


def _line(call: Call) -> int:
    """Where the text begins in the user's file: a literal's own line, else the call's."""
    first = call.node.args[0] if call.node.args else call.node
    literal = first if isinstance(first, ast.Constant) else call.node
    return call.visitor.source.line(literal)
