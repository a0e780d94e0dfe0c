"""The productions of `Expressions`, by the kind of what they make."""

from __future__ import annotations

import tilewire as tw
from op_cases.case import FP8

from fuzz import arithmetic
from fuzz.expressions import Expressions, Shape
from fuzz.nodes import Node, literal


def float_arithmetic(make: Expressions, shape: Shape, depth: int) -> Node:
    other = make.random.choice(["float", "float", "integer"])
    a, b = make.pair(shape, "float", depth, other)
    if make.random.random() < 0.3:
        return make.called(make.random.choice(["minimum", "maximum"]), a, b)
    return make.binary(make.random.choice(["add", "sub", "mul"]), a, b)


def float_division(make: Expressions, shape: Shape, depth: int) -> Node:
    """By something of at least 1."""
    a, b = make.tile(shape, "float", depth), make.tile(make.narrow(shape), "float", depth)
    size = make.unary(f"tw.abs({b.text})", b, arithmetic.absolute)
    return make.binary("div", a, make.binary("add", size, literal(1.0, b.dtype)))


def float_function(make: Expressions, shape: Shape, depth: int) -> Node:
    """In the part of its domain where it is well conditioned."""
    name = make.random.choice(list(arithmetic.FUNCTIONS))
    x = make.tile(shape, "float", depth)
    if name in ("exp", "exp2"):
        x = make.called("minimum", x, literal(3.0, x.dtype))
    if name in ("log", "log2", "sqrt", "rsqrt"):
        size = make.unary(f"tw.abs({x.text})", x, arithmetic.absolute)
        x = make.binary("add", size, literal(1.0, x.dtype))
    return make.unary(f"tw.{name}({x.text})", x, lambda value: arithmetic.function(name, value))


def float_part(make: Expressions, shape: Shape, depth: int) -> Node:
    x = make.tile(shape, "float", depth)
    name = make.random.choice(["abs", "floor", "ceil", "neg"])
    if name == "neg":
        return make.unary(f"(-{x.text})", x, arithmetic.negate)
    if name == "abs":
        return make.unary(f"tw.abs({x.text})", x, arithmetic.absolute)
    return make.unary(f"tw.{name}({x.text})", x, lambda v: arithmetic.floor_or_ceil(name, v))


def to_float(make: Expressions, shape: Shape, depth: int) -> Node:
    x = make.tile(shape, make.random.choice(["float", "integer", "bool"]), depth)
    if make.random.random() < 0.3:
        x = make.converted(x, "float", make.random.choice(FP8))
    return make.converted(x, "float", make.dtype("float"))


def integer_arithmetic(make: Expressions, shape: Shape, depth: int) -> Node:
    a, b = make.pair(shape, "integer", depth, "integer")
    op = make.random.choice(
        ["add", "sub", "mul", "floordiv", "mod", "minimum", "maximum", "and", "or", "xor"]
    )
    if op in ("minimum", "maximum"):
        return make.called(op, a, b)
    return make.binary(op, a, b)


def integer_part(make: Expressions, shape: Shape, depth: int) -> Node:
    x = make.tile(shape, "integer", depth)
    if make.random.random() < 0.5:
        return make.unary(f"(~{x.text})", x, arithmetic.invert)
    return make.unary(f"(-{x.text})", x, arithmetic.negate)


def to_integer(make: Expressions, shape: Shape, depth: int) -> Node:
    x = make.tile(shape, make.random.choice(["float", "integer", "bool"]), depth)
    return make.converted(x, "integer", make.dtype("integer"))


def comparison(make: Expressions, shape: Shape, depth: int) -> Node:
    kind = make.random.choice(["float", "integer"])
    a, b = make.pair(shape, kind, depth, make.random.choice([kind, "integer"]))
    return make.binary(make.random.choice(list(arithmetic.COMPARISONS)), a, b)


def logic(make: Expressions, shape: Shape, depth: int) -> Node:
    a, b = make.tile(shape, "bool", depth), make.tile(make.narrow(shape), "bool", depth)
    if make.random.random() < 0.3:
        return make.unary(f"(~{a.text})", a, arithmetic.invert)
    return make.binary(make.random.choice(["and", "or", "xor"]), a, b)


def to_bool(make: Expressions, shape: Shape, depth: int) -> Node:
    return make.converted(make.tile(shape, "number", depth), "bool", tw.bool)


def select_of(kind: str):
    return lambda make, shape, depth: make.selected(kind)(make, shape, depth)


def moved_of(kind: str):
    return lambda make, shape, depth: make.moved(shape, kind, depth)


def reduced_of(kind: str):
    return lambda make, shape, depth: make.reduced(shape, kind, depth)


PRODUCTIONS = {
    "float": [
        *(float_arithmetic,) * 5,
        float_division,
        *(float_function,) * 2,
        float_part,
        to_float,
        select_of("float"),
        *(moved_of("float"),) * 2,
        *(reduced_of("float"),) * 2,
    ],
    "integer": [
        *(integer_arithmetic,) * 5,
        integer_part,
        to_integer,
        select_of("integer"),
        *(moved_of("integer"),) * 2,
        reduced_of("integer"),
    ],
    "bool": [*(comparison,) * 3, *(logic,) * 2, to_bool, select_of("bool"), moved_of("bool")],
}
