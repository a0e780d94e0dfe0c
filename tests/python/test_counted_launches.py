"""The all-reduce that counts its launches, of which GPUs make a million, on CPU worlds."""

import numpy as np
import pytest
import tilewire as tw
from counted_kernels import counted_all_reduce

GRID = 3


@pytest.mark.parametrize("signed_zero", [False, True], ids=["reserved", "tagged"])
@pytest.mark.parametrize("world", ["1", "2", "3", "8"])
def test_every_launch_is_right(world, signed_zero):
    def main(comm):
        ch = comm.channel(
            (comm.size, GRID), tile=(16,), dtype=tw.f32, exchange=True, signed_zero=signed_zero
        )
        launches, wrong = np.zeros(GRID, np.int32), np.zeros(GRID, np.int32)
        for _ in range(7):
            counted_all_reduce[GRID](launches, wrong, ch, 5, B=16)
        return launches.tolist(), wrong.tolist()

    for seed in range(20):
        for launches, wrong in tw.spawn(main, world=world, seed=seed):
            assert launches == [7] * GRID and wrong == [0] * GRID


def test_another_launch_is_noticed():
    """Ranks whose counts differ exchange what belongs to different launches."""

    def main(comm):
        ch = comm.channel((comm.size, 1), tile=(16,), dtype=tw.f32, exchange=True)
        launches, wrong = np.full(1, comm.rank, np.int32), np.zeros(1, np.int32)
        counted_all_reduce[1](launches, wrong, ch, 5, B=16)
        return int(wrong[0])

    assert tw.spawn(main, world="2") == [16, 16]
