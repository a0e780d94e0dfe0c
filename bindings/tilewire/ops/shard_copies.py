"""Shards that copy engines push to the peers while a kernel already runs."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import tilewire as tw
from tilewire.ops.arrays import for_launch, in_rows, share_of
from tilewire.ops.kernels.collectives import meet

if TYPE_CHECKING:
    from tilewire.ops.fused_product import Operands

PIECE_BYTES = 4 << 20
"""Of one copy: 10 us at a copy engine's 390 GB/s, so that what lies between two of them, and the
flag behind each, count for little."""


SMS_FOR_COPIES = 8
"""What kernels leave to copies between virtual ranks: those within one GPU may be done by its
multiprocessors, which a kernel that waits for them on all of them would keep from beginning."""


def share_one_gpu(comm: tw.Communicator) -> bool:
    """Whether they are virtual ranks of one GPU."""
    return comm.target.is_cuda and comm.rank is None


def has_copy_engines(comm: tw.Communicator) -> bool:
    """Whether copies can run beside kernels without taking their multiprocessors: they need a
    stream of their own, which PyTorch has, and another GPU."""
    has_streams = comm.target.is_cuda and importlib.util.find_spec("torch") is not None
    return has_streams and not share_one_gpu(comm)


def grid_beside_copies(comm: tw.Communicator, grid: Any) -> Any:
    """Of a kernel that waits for copies: `grid`, but that virtual ranks leave them room."""
    if grid is not tw.auto or not share_one_gpu(comm):
        return grid
    import torch

    num_sms = torch.cuda.get_device_properties(comm.device).multi_processor_count
    return max((num_sms - SMS_FOR_COPIES) // comm.size, 1)


def rows_per_piece(row_bytes: int, block: int) -> int:
    """A multiple of `block` rows."""
    return max(PIECE_BYTES // max(row_bytes * block, 1), 1) * block


class ShardCopies:
    """Copies into all peers' `full`; their flag `ready[rank, piece]` is raised behind each."""

    def __init__(self, full: tw.Window, ready: tw.Flag) -> None:
        self.comm, self.full, self.ready = full.comm, full, ready
        self.side: Any = None
        self._shards: list[Any] = []  # what is being copied
        if self.comm.target.is_cuda:
            import torch

            self.side = torch.cuda.Stream(self.comm.device)

    def begin(self, operands: Operands, M: int, rows: int) -> None:
        """Copies the shards in pieces of `rows` rows, in the order in which peers need them. What
        is launched next may wait for the flags."""
        self._shards = [in_rows(each, "a shard") for each in operands.a]
        self._copies_follow()
        with self.ready.fill(stream=self.side) as fill:
            self._kernels_follow()  # the thread that counts the fill needs room on the GPU
            meet.on(lane=self.ready.lane)[1]()  # every rank has ended its last launch
            self._copies_follow()
            chunk = -(-M // self.comm.size)
            for i in range(1, self.comm.size):
                for piece in range(-(-chunk // rows)):
                    self._copy(operands, M, i, slice(piece * rows, (piece + 1) * rows), fill, piece)

    def _copy(self, operands: Operands, M: int, i: int, part: slice, fill: Any, piece: int) -> None:
        """Each rank's part of its shard, to the peer that comes to it after i - 1 others."""
        to, source, then = [], [], []
        for rank, shard in zip(operands.ranks, self._shards, strict=True):
            share = share_of(M, self.comm.size, rank)
            peer = (rank - i) % self.comm.size
            first, last = share.start + part.start, min(share.start + part.stop, share.stop)
            to.append(self.full.at(peer)[min(first, last) : last])
            source.append(shard[part])
            then.append(fill.at(peer)[rank, piece])
        sides = [for_launch(self.comm, each) for each in (to, source)]
        self.comm.copy(*sides, then=for_launch(self.comm, then))

    def end(self) -> None:
        """What comes next on the stream may overwrite the shards."""
        self._kernels_follow()
        self._shards = []

    def _copies_follow(self) -> None:
        """Copies wait for what was launched so far; the CPU does one after the other anyway."""
        if self.side is not None:
            self.side.wait_stream(self._current())

    def _kernels_follow(self) -> None:
        """What is launched next waits for the copies so far."""
        if self.side is not None:
            self._current().wait_stream(self.side)

    def _current(self) -> Any:
        import torch

        return torch.cuda.current_stream(self.comm.device)
