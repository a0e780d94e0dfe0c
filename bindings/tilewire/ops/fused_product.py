"""What products fused with communication have in common: options, arguments, results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import tilewire as tw
from tilewire.errors import UserError
from tilewire.host_view import ranks_of
from tilewire.ops.arrays import empty, matrix, per_rank
from tilewire.ops.choice import Problem, check_mode, choose
from tilewire.ops.epilogue import HALF, Epilogue, Form
from tilewire.ops.products import has_library
from tilewire.ops.tiling import Tiling, choose_tiling
from tilewire.types import as_dtype

if TYPE_CHECKING:
    from tilewire._tilewire import DType
    from tilewire.communicator import Communicator
    from tilewire.lane import Lane


class FusedProduct:
    """An operation of `comm`'s ranks, which owns the memory that its launches share.

    - `dtype` is that of the result, `partial` (the same, unless it is given) that of what ranks
      send each other of sums.
    - `mode`: "fused" is one kernel, "unfused" the library's product (cuBLAS through PyTorch, NumPy
      on the CPU) and a collective, "auto" what `tilewire.ops.choice` says for the shape.
    - `precision` of f32 and fp8 operands, as `tw.matmul` has it.
    - `tiling`, `grid`: instead of those that are chosen for the shape. Alike on all ranks.
    - `lane`: launches run on it, instead of lane 0.
    """

    name: ClassVar[str]

    def __init__(
        self,
        comm: Communicator,
        dtype: DType,
        *,
        partial: DType | None = None,
        mode: str = "auto",
        precision: str = "tf32",
        tiling: Tiling | None = None,
        grid: Any = tw.auto,
        lane: Lane | None = None,
    ) -> None:
        check_mode(self.name, mode)
        if precision not in ("tf32", "ieee", "fast"):
            raise UserError(
                f'{self.name}: precision= is "tf32", "ieee" or "fast", found {precision!r}'
            )
        self.comm, self.maker = comm, lane or comm
        self.dtype = as_dtype(dtype)
        self.partial = self.dtype if partial is None else as_dtype(partial)
        self.mode, self.precision = mode, precision
        self.tiling, self.grid = tiling, grid

    def _choose(self, M: int, width: int, dtype: DType) -> str:
        """Fused or unfused, alike on all ranks: `width` is."""
        target = self.comm.target
        problem = Problem(self.name, M, width, self.comm.size, dtype, target.architecture)
        return choose(self.mode, problem, has_library(self.comm.device))

    def _tiling(self, M: int, N: int, dtype: DType, form: Form) -> Tiling:
        """Of a product of [M, N] whose rows the ranks share."""
        target, size = self.comm.target, self.comm.size
        tiling = self.tiling or choose_tiling(target, M, N, dtype, size, form.is_paired)
        if form.is_paired and tiling.BN % (2 * HALF) != 0:
            raise UserError(
                f'{self.name}: "silu_and_mul" takes tiles of a multiple of {2 * HALF} columns, '
                f"found {tiling}"
            )
        return tiling

    def _constants(self, tiling: Tiling) -> dict[str, Any]:
        """Of a kernel with a product."""
        return {**tiling.constants(), "PRECISION": self.precision}

    def _require_at_most(self, what: str, found: int, most: int) -> None:
        if found > most:
            raise UserError(
                f"{self.name}: {what} is {found}, and this was made for at most {most}: make one "
                f"for the largest shape"
            )


class Operands:
    """What each of this process's ranks gave: `a` [M, K] and `b` [N, K]."""

    def __init__(self, op: FusedProduct, a: Any, b: Any, epilogue: Epilogue) -> None:
        if not isinstance(epilogue, Epilogue):
            raise UserError(
                f"{op.name}: epilogue= takes a tilewire.ops.Epilogue, found {epilogue!r:.200}"
            )
        self.op, self.ranks = op, ranks_of(op.comm)
        self.a = per_rank(op.comm, a, f"{op.name}: `a`")
        self.b = per_rank(op.comm, b, f"{op.name}: `b`")
        self.left = [matrix(each, f"{op.name}: `a`") for each in self.a]
        self.right = [matrix(each, f"{op.name}: `b`") for each in self.b]
        for left, right in zip(self.left, self.right, strict=True):
            if left.columns != right.columns:
                raise UserError(
                    f"{op.name}: a is [M, K] and b is [N, K], found [{left.rows}, {left.columns}] "
                    f"and [{right.rows}, {right.columns}]"
                )
        self.dtype = self.left[0].dtype

    @property
    def num_rows(self) -> int:
        """Rows of a, where they are the same on all ranks."""
        return self._same("M", [each.rows for each in self.left])

    @property
    def num_columns(self) -> int:
        """Rows of b, where they are the same on all ranks."""
        return self._same("N", [each.rows for each in self.right])

    def _same(self, name: str, values: list[int]) -> int:
        if len(set(values)) > 1:
            raise UserError(f"{self.op.name}: {name} is the same on all ranks, found {values}")
        return values[0]

    def columns(self, form: Form, out: Any, residual: Any) -> list[int]:
        """Of each rank's result. Those of "silu_and_mul" are at most half of the product's: `out`
        or the residual say how many, where the last block of weights was filled up."""
        if not form.is_paired:
            return [each.rows for each in self.right]
        comm, name = self.op.comm, self.op.name
        found = []
        given = [per_rank(comm, each, f"{name}: an array") for each in (out, residual)]
        for right, *arrays in zip(self.right, *given, strict=True):
            if right.rows % (2 * HALF) != 0:
                raise UserError(
                    f'{name}: "silu_and_mul" takes a b whose rows are those of alternate_halves, '
                    f"a multiple of {2 * HALF}; found {right.rows}"
                )
            sizes = [
                matrix(each, f"{name}: an array").columns for each in arrays if each is not None
            ]
            most = right.rows // 2
            size = sizes[0] if sizes else most
            if not most - HALF < size <= most:
                raise UserError(
                    f"{name}: b has {right.rows} rows, the result {most - HALF + 1} to {most} "
                    f"columns; found {size}"
                )
            found.append(size)
        return found

    def results(self, out: Any, rows: list[int], columns: list[int]) -> list[Any]:
        """Each rank's array for its result, [rows, columns]: `out`, or new ones."""
        what = f"{self.op.name}: `out`"
        results = per_rank(self.op.comm, out, what)
        for i, expected in enumerate(zip(rows, columns, strict=True)):
            if out is None:
                results[i] = empty(self.a[i], expected, self.op.dtype, self.op.name)
                continue
            found = matrix(results[i], what)
            if found[:2] != expected:
                raise UserError(
                    f"{what} is {list(found[:2])}, the result of this rank {list(expected)}"
                )
        return results
