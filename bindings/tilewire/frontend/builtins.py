"""All functions of `tw` for kernels: those with code of their own, and the table's others."""

from __future__ import annotations

import math
from typing import Any

from tilewire._tilewire import Value, op_table
from tilewire.frontend import builtins_atomics as builtins_atomics
from tilewire.frontend import builtins_channels as builtins_channels
from tilewire.frontend import builtins_control as builtins_control
from tilewire.frontend import builtins_flags as builtins_flags
from tilewire.frontend import builtins_inline as builtins_inline
from tilewire.frontend import builtins_matmul as builtins_matmul
from tilewire.frontend import builtins_moves as builtins_moves
from tilewire.frontend import builtins_numbers as builtins_numbers
from tilewire.frontend import builtins_put as builtins_put
from tilewire.frontend import builtins_reports as builtins_reports
from tilewire.frontend import builtins_semaphores as builtins_semaphores
from tilewire.frontend import builtins_tiles as builtins_tiles
from tilewire.frontend import builtins_views as builtins_views
from tilewire.frontend import builtins_work as builtins_work
from tilewire.frontend import records as records
from tilewire.frontend.registry import BUILTINS, Builtin, Call
from tilewire.frontend.values import is_number


def _extremum(name: str, a: int | float, b: int | float) -> int | float:
    """Of two numbers that Python knows, by the rule of the op: NaN wins, -0.0 is below 0.0."""
    if math.isnan(a) or math.isnan(b):
        return math.nan
    sides = (a, b) if a != b else (math.copysign(1, a), math.copysign(1, b))
    a_is_less = sides[0] < sides[1]
    return a if a_is_less == (name == "minimum") else b


def _elementwise(name: str, operands: int, summary: str) -> None:
    def unary(call: Call, x: Any) -> Value:
        return call.build("unary", name, x)

    def binary(call: Call, a: Any, b: Any) -> Any:
        if is_number(a) and is_number(b) and name in ("minimum", "maximum"):
            return _extremum(name, a, b)
        return call.build("binary", name, a, b)

    BUILTINS[name] = Builtin(name, unary if operands == 1 else binary, summary)


# Element-wise ops need no code of their own: the table has their names and operands.
for _info in op_table():
    _plain = not _info.attributes and _info.effect == "pure" and _info.stage == "any"
    _fixed = _info.min_operands == _info.max_operands and _info.max_operands in (1, 2)
    if _plain and _fixed and _info.name not in BUILTINS:
        _elementwise(_info.name, _info.max_operands, _info.summary)
