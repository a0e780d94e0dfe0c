"""Ranges whose bounds and steps are known at run time: on the CPU, as Python counts."""

import itertools

import numpy as np
import pytest
import tilewire as tw
from values import poisoned


@tw.kernel
def ranges(bounds: tw.Tensor[3], out: tw.Tensor[6]):
    start, stop, step = tw.load(bounds[0]), tw.load(bounds[1]), tw.load(bounds[2])
    known = 0
    for i in range(10, -3, -4):
        known = known * 100 + i
    down = 0
    for i in range(start, stop, -2):
        down = down * 10 + i
    any_way = 0
    for i in range(start, stop, step):
        any_way = any_way * 10 + i
    stopped = 0
    for i in range(9, 0, -2):
        if i < 4:
            break
        stopped = stopped * 10 + i
    tw.store(out[0], known)
    tw.store(out[1], down)
    tw.store(out[2], any_way)
    tw.store(out[3], stopped)
    tw.store(out[4], stop)
    until = 0
    for i in range(start, stop, step):
        if i == 4:
            break
        until = until * 10 + i
    tw.store(out[5], until)


def folded_up(numbers, base=10):
    total = 0
    for i in numbers:
        total = total * base + i
    return total


@pytest.mark.parametrize("bounds", [(7, 1, -3), (1, 8, 2), (5, 5, 1), (3, 9, -1), (8, 0, -1)])
def test_ranges_that_count_down(bounds):
    out = poisoned(6)
    ranges[1](np.array(bounds, np.int64), out)
    start, stop, step = bounds
    assert out.tolist() == [
        folded_up(range(10, -3, -4), 100),
        folded_up(range(start, stop, -2)),
        folded_up(range(*bounds)),
        folded_up(x for x in range(9, 0, -2) if x >= 4),
        stop,
        folded_up(itertools.takewhile(lambda i: i != 4, range(*bounds))),
    ]


def test_a_step_of_zero_at_run_time_does_nothing():
    out = poisoned(6)
    ranges[1](np.array([3, 9, 0], np.int64), out)
    assert out[2] == 0 and out[5] == 0
