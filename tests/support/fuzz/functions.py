"""Calls of `@tw.function`s that are made for them."""

from __future__ import annotations

import tilewire as tw

from fuzz import arithmetic
from fuzz.expressions import Expressions, Shape
from fuzz.nodes import Environment, Node, literal, variable

K = variable("k", tw.i32, ())  # a scalar parameter of every program


def called_function(make: Expressions, shape: Shape, kind: str, depth: int) -> Node:
    """A function of two operands, and of `k`, on which an early return depends."""
    if make.is_in_function:
        return make.tile(shape, kind, depth)
    operands = [make.tile(shape, kind, depth), make.tile(make.narrow(shape), "number", depth)]
    names = [variable(n, e.dtype, e.shape) for n, e in zip("ab", operands, strict=True)]
    scope, load = make.scope, make.load
    make.scope, make.load = [*names, variable("n", tw.i32, ())], lambda shape: None
    make.is_in_function = True
    result = make.tile(shape, kind, 1 + (depth > 0))
    early = None
    if make.random.random() < 0.5:
        early = make.converted(make.tile(shape, kind, 1), kind, result.dtype)
    make.scope, make.load, make.is_in_function = scope, load, False

    limit = literal(make.random.randint(-1, 6), tw.i32)
    name = f"function{len(make.functions) + 1}"
    lines = ["@tw.function", f"def {name}(a, b, n=0):"]
    if early:
        lines += [f"    if n < {limit.text}:", f"        return {early.text}"]
    lines += [f"    return {result.text}"]
    make.functions[name] = "\n".join(lines) + "\n"

    def run(environment: Environment):
        inner = dict(zip("ab", (each.run(environment) for each in operands), strict=True))
        inner["n"] = K.run(environment)
        if early and arithmetic.binary("lt", inner["n"], limit.run({})).value:
            return early.run(inner)
        return result.run(inner)

    call = f"{name}({operands[0].text}, {operands[1].text}, n=k)"
    return Node(call, result.dtype, shape, run)
