"""What index tiles can't do."""

import tilewire as tw


def test_a_mask_is_no_index(diagnose):
    def f(x: tw.Tensor["M"]):
        tw.load(x[tw.arange(4) > 2])  # error

    message, _ = diagnose(f, x="f32[?]")
    assert "an index tile holds integers (a mask goes to where=)" in message


def test_floats_are_no_index(diagnose):
    def f(x: tw.Tensor["M"]):
        tw.load(x[tw.zeros(4)])  # error

    message, _ = diagnose(f, x="f32[?]")
    assert "tile<f32[4]> can't index a view" in message


def test_shapes_that_don_t_broadcast(diagnose):
    def f(x: tw.Tensor["M", "N"]):
        tw.load(x[tw.arange(4), tw.arange(3)])  # error

    message, _ = diagnose(f, x="f32[?, ?]")
    assert "shapes [4] and [3] don't broadcast" in message


def test_tiles_that_don_t_stand_side_by_side(diagnose):
    def f(x: tw.Tensor["M", "N", "K"]):
        tw.load(x[tw.arange(4), tw.ds(0, 2), tw.arange(4)])  # error

    message, _ = diagnose(f, x="f32[?, ?, ?]")
    assert "index tiles must stand side by side" in message


def test_rank_above_three(diagnose):
    def f(x: tw.Tensor["M", "N", "K"]):
        rows = tw.arange(4)
        tw.load(x[rows[:, None] + rows[None, :], tw.ds(0, 2), tw.ds(0, 2)])  # error

    message, _ = diagnose(f, x="f32[?, ?, ?]")
    assert "rank" in message


def test_slicing_what_an_index_tile_made():
    import numpy as np
    import pytest

    @tw.kernel
    def f(x: tw.Tensor["M"], y: tw.Tensor["M"]):
        tw.store(y[0], tw.load(x[tw.arange(4)][1]))

    with pytest.raises(tw.UserError, match="a dimension that an index tile made"):
        f[1](np.zeros(8, np.float32), np.zeros(8, np.float32))
