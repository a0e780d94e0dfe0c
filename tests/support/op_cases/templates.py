"""Cases of ops that work element by element, from one expression."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tilewire as tw
from kernel_source import kernel_of_source

from op_cases.case import FLOATS, Case, Maker, add_case

UNARY = """\
@tw.kernel
def {name}(x: tw.Tensor["T", "H"], y: tw.Tensor["T", "H"], *, H: tw.const):
    for row in tw.persistent(T):
        a = tw.load(x[row, :])
        tw.store(y[row, :], {expression})
"""
BINARY = """\
@tw.kernel
def {name}(x: tw.Tensor["T", "H"], y: tw.Tensor["T", "H"], z: tw.Tensor["T", "H"], *, H: tw.const):
    for row in tw.persistent(T):
        a = tw.load(x[row, :])
        b = tw.load(y[row, :])
        tw.store(z[row, :], {expression})
"""
Values = Callable[[Maker], Any]


def any_values(make: Maker) -> Any:
    return make.values()


def unary(
    op: str,
    expression: str,
    reference: Callable[[Any], Any],
    *,
    values: Values = any_values,
    result: tw.DType | None = None,
    name: str | None = None,
    **fields: Any,
) -> Case:
    """`expression` of the tile `a`. `values`: its elements; `result`: the output's dtype, if not
    the operand's; `reference`: of float64 or exact integers."""
    name = name or f"{op.rstrip('_')}_of_rows"
    return add_case(
        kernel_of_source(UNARY.format(name=name, expression=expression), name, f"{name}.py"),
        [op],
        inputs=lambda make: {"x": values(make), "y": make.output(dtype=result)},
        reference=lambda x: reference(x),
        **fields,
    )


def binary(
    op: str,
    expression: str,
    reference: Callable[[Any, Any], Any],
    *,
    values: Values = any_values,
    right: Values | None = None,
    result: tw.DType | None = None,
    name: str | None = None,
    dtypes: Any = FLOATS,
    **fields: Any,
) -> Case:
    """`expression` of the tiles `a` and `b`; `right`: the elements of `b`, if not like `a`'s."""
    name = name or f"{op}_of_rows"
    return add_case(
        kernel_of_source(BINARY.format(name=name, expression=expression), name, f"{name}.py"),
        [op],
        inputs=lambda make: {
            "x": values(make),
            "y": (right or values)(make),
            "z": make.output(dtype=result),
        },
        reference=lambda x, y: reference(x, y),
        dtypes=dtypes,
        **fields,
    )
