"""The operations as plain functions, on objects that are kept per communicator."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Any

import tilewire as tw
from tilewire.ops.all_gather import AllGatherGemm
from tilewire.ops.all_reduce import GemmAllReduce
from tilewire.ops.arrays import matrix, per_rank
from tilewire.ops.epilogue import NOTHING, Epilogue
from tilewire.ops.fused_product import FusedProduct
from tilewire.ops.reduce_scatter import GemmReduceScatter
from tilewire.types import as_dtype

_kept: weakref.WeakKeyDictionary[tw.Communicator, dict[Hashable, FusedProduct]]
_kept = weakref.WeakKeyDictionary()


def _large_enough(
    comm: tw.Communicator, key: Hashable, M: int, make: Callable[[int], FusedProduct]
) -> FusedProduct:
    """One for M rows; where that of this key is for fewer, a new one for the next power of two.
    Calls with equal shapes on all ranks make it on all of them."""
    objects = _kept.setdefault(comm, {})
    found = objects.get(key)
    if found is None or found.max_m < M:
        found = objects[key] = make(max(1 << (M - 1).bit_length(), 128))
    return found


def _first(comm: tw.Communicator, value: Any, what: str) -> Any:
    return matrix(per_rank(comm, value, what)[0], what)


def gemm_reduce_scatter(
    comm: tw.Communicator,
    a: Any,
    b: Any,
    out: Any = None,
    *,
    dtype: Any = None,
    epilogue: Epilogue = NOTHING,
) -> Any:
    """`GemmReduceScatter` for any M; `dtype` is that of a, unless it is given. The first call for
    an N, and one for more rows than any before it, is collective and makes windows."""
    left, right = _first(comm, a, "`a`"), _first(comm, b, "`b`")
    dtype = left.dtype if dtype is None else as_dtype(dtype)

    def make(max_m: int) -> GemmReduceScatter:
        return GemmReduceScatter(comm, dtype, max_m=max_m, max_n=right.rows)

    key = ("gemm_reduce_scatter", dtype, right.rows)
    return _large_enough(comm, key, left.rows, make)(a, b, out, epilogue=epilogue)


def gemm_all_reduce(
    comm: tw.Communicator,
    a: Any,
    b: Any,
    out: Any = None,
    *,
    dtype: Any = None,
    epilogue: Epilogue = NOTHING,
) -> Any:
    """`GemmAllReduce` for any M, as `gemm_reduce_scatter` above. Without `out`, the result stays
    until the next call of the same N and dtype."""
    left, right = _first(comm, a, "`a`"), _first(comm, b, "`b`")
    dtype = left.dtype if dtype is None else as_dtype(dtype)

    def make(max_m: int) -> GemmAllReduce:
        return GemmAllReduce(comm, dtype, max_m=max_m, max_n=right.rows)

    key = ("gemm_all_reduce", dtype, right.rows)
    return _large_enough(comm, key, left.rows, make)(a, b, out, epilogue=epilogue)


def all_gather_gemm(
    comm: tw.Communicator,
    a: Any,
    b: Any,
    out: Any = None,
    *,
    m: int | None = None,
    dtype: Any = None,
    epilogue: Epilogue = NOTHING,
) -> Any:
    """`AllGatherGemm` for any M, as `gemm_reduce_scatter` above, by K instead of N."""
    left = _first(comm, a, "`a`")
    dtype = left.dtype if dtype is None else as_dtype(dtype)
    M = left.rows * comm.size if m is None else m

    def make(max_m: int) -> AllGatherGemm:
        return AllGatherGemm(comm, dtype, max_m=max_m, k=left.columns, operand_dtype=left.dtype)

    key = ("all_gather_gemm", dtype, left.dtype, left.columns)
    return _large_enough(comm, key, M, make)(a, b, out, m=M, epilogue=epilogue)
