"""`tw.matmul`."""

from __future__ import annotations

from typing import Any

from tilewire._tilewire import Value
from tilewire.frontend.registry import Call, builtin
from tilewire.frontend.values import describe, is_number


@builtin
def matmul(
    call: Call,
    a: Any,
    b: Any,
    acc: Any = None,
    *,
    precision: Any = "tf32",
    block_k: Any = None,
    stages: Any = None,
    other: Any = None,
    transpose_a: Any = False,
    transpose_b: Any = False,
) -> Value:
    """`acc + a · b` of tiles [M, K] and [K, N], of views whose K may be a run-time extent, or of a
    tile and a view, which is loaded. The result is f32; f64 of f64, i32 of 8-bit integers.
    `precision`: of f32 "tf32" or "ieee"; "fast" allows sums of 14 bits of fp8, as Hopper's tensor
    cores have them."""
    for each in (a, b) if acc is None else (a, b, acc):
        if not isinstance(each, Value):
            call.fail(f"takes tiles or views, found {describe(each)}")
    if precision not in ("tf32", "ieee", "fast"):
        found = repr(precision) if isinstance(precision, str) else describe(precision)
        call.fail(f'precision is "tf32", "ieee" or "fast", found {found}')
    if other is not None and not (is_number(other) or isinstance(other, Value)):
        call.fail(f"other= takes a number or a scalar, found {describe(other)}")
    block = 0 if block_k is None else call.static_int(block_k, "block_k")
    if block_k is not None and block <= 0:
        call.fail(f"block_k must be positive, found {block}")
    flight = 0 if stages is None else call.static_int(stages, "stages")
    if stages is not None and flight <= 0:
        call.fail(f"stages must be positive, found {flight}")
    for flag in (transpose_a, transpose_b):
        if not isinstance(flag, bool):
            call.fail(f"transpose_a and transpose_b are True or False, found {describe(flag)}")
    return call.build(
        "matmul", a, b, acc, precision, block, flight, other, transpose_a, transpose_b
    )
