"""What GEMM with reduce-scatter and with all-reduce have in common: terms that are summed."""

from __future__ import annotations

from typing import Any, ClassVar

import tilewire as tw
from tilewire.ops.fused_product import FusedProduct, Operands
from tilewire.ops.made_once import made_once
from tilewire.ops.tiling import most_tiles


class SummedProduct(FusedProduct):
    """`Σ_r a_r · b_rᵀ` of up to `max_m` rows and `max_n` columns. Each part of the rows has an
    owner, whom the others send their terms to."""

    rotate: ClassVar[int | None]
    """Copies of the owners' slots, where no barrier says when they may be written again."""

    def __init__(
        self, comm: tw.Communicator, dtype: Any, *, max_m: int, max_n: int, **options: Any
    ) -> None:
        """`options`: those of `FusedProduct`."""
        super().__init__(comm, dtype, **options)
        self.max_m, self.max_n = max_m, max_n

    @made_once
    def _slots(self) -> tuple[tw.Window, tw.Flag]:
        """One for each rank's term of the owner's rows, and a flag for each tile of them."""
        size = self.comm.size
        rows = max(-(-self.max_m // size), 1)
        part = self.maker.window((size, rows, self.max_n), self.partial, rotate=self.rotate)
        tiles = most_tiles(self.comm.target, self.tiling, rows, self.max_n)
        return part, self.maker.flag((size, tiles))

    @made_once
    def _terms(self) -> tw.Window:
        """This rank's product, by the library."""
        return self.maker.window((max(self.max_m, 1), self.max_n), self.partial)

    def _shape(self, operands: Operands) -> tuple[int, int]:
        """M and N."""
        M, N = operands.num_rows, operands.num_columns
        self._require_at_most("M", M, self.max_m)
        self._require_at_most("N", N, self.max_n)
        return M, N
