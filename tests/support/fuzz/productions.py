"""The productions of `Expressions`, by the kind of what they make."""

from __future__ import annotations

import tilewire as tw
from op_cases.case import FP8

from fuzz import arithmetic
from fuzz.bounded import Bounded, common_dtype
from fuzz.expressions import Expressions, Shape
from fuzz.functions import called_function
from fuzz.movement import MOVEMENT, of_kind
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
    if name in ("exp", "exp2", "sin", "cos"):
        x = make.called("minimum", x, literal(3.0, x.dtype))
    if name in ("sin", "cos"):
        x = make.called("maximum", x, literal(-9.0, x.dtype))
    if name in ("log", "log2", "sqrt", "rsqrt"):
        size = make.unary(f"tw.abs({x.text})", x, arithmetic.absolute)
        x = make.binary("add", size, literal(1.0, x.dtype))
    return make.unary(f"tw.{name}({x.text})", x, lambda value: arithmetic.function(name, value))


def float_part(make: Expressions, shape: Shape, depth: int) -> Node:
    x = make.tile(shape, "float", depth)
    name = make.random.choice(["abs", "neg", *arithmetic.ROUNDINGS])
    if name == "neg":
        return make.unary(f"(-{x.text})", x, arithmetic.negate)
    if name == "abs":
        return make.unary(f"tw.abs({x.text})", x, arithmetic.absolute)
    return make.unary(f"tw.{name}({x.text})", x, lambda v: arithmetic.rounding(name, v))


def to_float(make: Expressions, shape: Shape, depth: int) -> Node:
    x = make.tile(shape, make.random.choice(["float", "integer", "bool"]), depth)
    if make.random.random() < 0.3:
        x = make.converted(x, "float", make.random.choice(FP8))
    return make.converted(x, "float", make.dtype("float"))


def float_fused(make: Expressions, shape: Shape, depth: int) -> Node:
    """`tw.fma(a, b, c)` or `tw.clamp(x, low, high)`."""
    if make.random.random() < 0.5:
        x = make.tile(shape, "float", depth)
        low, high = literal(-0.75, x.dtype), literal(2.0, x.dtype)
        text = f"tw.clamp({x.text}, {low.text}, {high.text})"
        return make.unary(text, x, lambda v: clamp(v, low.run({}), high.run({})))
    a = make.tile(shape, "float", depth)
    b, c = (make.tile(make.narrow(shape), "float", depth) for _ in range(2))
    return Node(
        f"tw.fma({a.text}, {b.text}, {c.text})",
        common_dtype(common_dtype(a.dtype, b.dtype), c.dtype),
        shape,
        lambda env: arithmetic.fma(a.run(env), b.run(env), c.run(env)),
    )


def clamp(x: Bounded, low: Bounded, high: Bounded) -> Bounded:
    return arithmetic.binary("minimum", arithmetic.binary("maximum", x, low), high)


SAME_WIDTH = {tw.f32: tw.i32, tw.f16: tw.u16, tw.bf16: tw.i16, tw.f64: tw.i64}


def integer_bits(make: Expressions, shape: Shape, depth: int) -> Node:
    """Shifts, counts of bits, the bits of a float."""
    choice = make.random.choice(["shift_left", "shift_right", "popcount", "clz", "bitcast"])
    if choice == "bitcast":
        x = make.tile(shape, "float", 0)
        to = SAME_WIDTH[x.dtype]
        text = f"tw.bitcast({x.text}, {to})"
        return Node(text, to, shape, lambda env: arithmetic.bitcast(x.run(env), to))
    x = make.tile(shape, "integer", depth)
    if choice in ("popcount", "clz"):
        text = f"tw.{choice}({x.text})"
        return make.unary(text, x, lambda value: arithmetic.count_bits(choice, value))
    return make.binary(choice, x, make.tile(make.narrow(shape), "integer", depth))


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


ELEMENTWISE = {
    "float": [
        *(float_arithmetic,) * 5,
        float_division,
        *(float_function,) * 2,
        float_part,
        float_fused,
        to_float,
        select_of("float"),
        *(moved_of("float"),) * 2,
        *(reduced_of("float"),) * 2,
    ],
    "integer": [
        *(integer_arithmetic,) * 5,
        integer_part,
        integer_bits,
        to_integer,
        select_of("integer"),
        *(moved_of("integer"),) * 2,
        reduced_of("integer"),
    ],
    "bool": [*(comparison,) * 3, *(logic,) * 2, to_bool, select_of("bool"), moved_of("bool")],
}
PRODUCTIONS = {
    kind: [*makers, *MOVEMENT[kind], of_kind(called_function, kind)]
    for kind, makers in ELEMENTWISE.items()
}
