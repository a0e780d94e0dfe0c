"""All-reduce of so few rows that every rank sends all that it has to all others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import tilewire as tw
from tilewire.ops.arrays import for_launch
from tilewire.ops.kernels.all_reduce import gemm_exchange_kernel, gemm_to_all_kernel
from tilewire.ops.kernels.collectives import exchange_kernel
from tilewire.ops.made_once import made_once
from tilewire.ops.tiling import Tiling, choose_tiling_of_few, most_tiles_of_few, num_tiles

if TYPE_CHECKING:
    from tilewire.ops.epilogue import Epilogue
    from tilewire.ops.fused_product import FusedProduct, Operands

SLOTS = 128
"""Program instances that exchange tiles at most; each has a slot of its own."""


class FewRows:
    """What launches share for up to `max_m` rows and `max_n` columns; made at the first call of
    each kind, which is collective."""

    def __init__(self, op: FusedProduct, max_m: int, max_n: int) -> None:
        self.op, self.comm, self.maker = op, op.comm, op.maker
        self.max_m, self.max_n = max(max_m, 1), max_n
        self._channels: dict[tuple[int, int], tw.Channel] = {}

    def _channel(self, tiling: Tiling) -> tw.Channel:
        tile = (tiling.BM, tiling.BN)
        if tile not in self._channels:
            self._channels[tile] = self.maker.channel(
                (self.comm.size, SLOTS), tile, self.op.partial, exchange=True, signed_zero=False
            )
        return self._channels[tile]

    @made_once
    def _slots(self) -> tuple[tw.Window, tw.Flag]:
        shape = (self.comm.size, self.max_m, self.max_n)
        tiles = most_tiles_of_few(self.op.tiling, self.max_m, self.max_n)
        part = self.maker.window(shape, self.op.partial, rotate=2)
        return part, self.maker.flag((self.comm.size, tiles))

    def _tiling(self, operands: Operands, epilogue: Epilogue) -> Tiling:
        return self.op.tiling or choose_tiling_of_few(
            operands.num_rows, operands.dtype, epilogue.form.is_paired
        )

    def _num_instances(self, operands: Operands, tiling: Tiling) -> int:
        most = SLOTS if self.op.grid is tw.auto else min(self.op.grid, SLOTS)
        return max(min(most, num_tiles(tiling, operands.num_rows, operands.num_columns)), 1)

    def by_channels(self, operands: Operands, results: list[Any], epilogue: Epilogue) -> None:
        """One kernel, whose tiles announce themselves."""
        tiling, form = self._tiling(operands, epilogue), epilogue.form
        gemm_exchange_kernel(form)[self._num_instances(operands, tiling)](
            for_launch(self.comm, operands.a),
            for_launch(self.comm, operands.b),
            epilogue.operands(form, "M"),
            self._channel(tiling),
            for_launch(self.comm, results),
            **self.op._constants(tiling),
        )

    def by_flags(self, operands: Operands, results: list[Any], epilogue: Epilogue) -> None:
        """One kernel, with a flag per tile and source."""
        tiling, form = self._tiling(operands, epilogue), epilogue.form
        part, ready = self._slots
        gemm_to_all_kernel(form)[self._num_instances(operands, tiling)](
            for_launch(self.comm, operands.a),
            for_launch(self.comm, operands.b),
            epilogue.operands(form, "M"),
            part,
            ready,
            for_launch(self.comm, results),
            **self.op._constants(tiling),
        )

    def behind_library(
        self, operands: Operands, terms: list[Any], results: list[Any], epilogue: Epilogue
    ) -> None:
        """The sum over the ranks of `terms`, which the library's product stored."""
        tiling, form = self._tiling(operands, epilogue), epilogue.form.of_sum()
        exchange_kernel(form)[self._num_instances(operands, tiling)](
            for_launch(self.comm, terms),
            epilogue.operands(form, "M"),
            self._channel(tiling),
            for_launch(self.comm, results),
            BM=tiling.BM,
            BN=tiling.BN,
        )
