"""What views can't do."""

import numpy as np
import pytest
import tilewire as tw


def test_a_slice_has_no_step(diagnose):
    def f(x: tw.Tensor["M"]):
        tw.load(x[0:8:2])  # error

    message, at = diagnose(f, x="f32[?]")
    assert "a slice of a view has no step" in message and at == "0:8:2"


def test_a_slice_has_no_negative_step(diagnose):
    def f(x: tw.Tensor["M"]):
        tw.load(x[::-1])  # error

    message, _ = diagnose(f, x="f32[?]")
    assert "a slice of a view has no step" in message


def test_loading_a_run_time_extent(diagnose):
    def f(x: tw.Tensor["M", "N"]):
        tw.load(x[0, :])  # error

    message, _ = diagnose(f, x="f32[?, ?]")
    assert "a tile's shape is static" in message and "make the extent a tw.const" in message


def test_loading_a_view_with_run_time_bounds(diagnose):
    def f(x: tw.Tensor["M"], n: tw.i64):
        tw.load(x[0:n])  # error

    message, _ = diagnose(f, x="f32[?]", n=0)
    assert "take a part of it with tw.ds(start, size)" in message


def test_a_view_of_a_tile(diagnose):
    def f(x: tw.Tensor["M"]):
        tw.view(tw.zeros(4), 0, (2, 2))  # error

    message, _ = diagnose(f, x="f32[?]")
    assert "takes a view, found the tile tile<f32[4]>" in message


def test_extents_and_strides_of_different_numbers(diagnose):
    def f(x: tw.Tensor["M"]):
        tw.view(x, 0, (2, 2), (1,))  # error

    message, _ = diagnose(f, x="f32[?]")
    assert "2 extents and 1 strides" in message


def test_inside_of_a_run_time_extent(diagnose):
    def f(x: tw.Tensor["M"]):
        tw.inside(x)  # error

    message, _ = diagnose(f, x="f32[?]")
    assert "known only at run time" in message


def test_storing_to_a_constant():
    @tw.kernel
    def f(x: tw.constant(tw.Tensor["M"])):
        tw.store(x[0], 1.0)

    with pytest.raises(tw.UserError, match=r"`x` is annotated tw\.constant"):
        f[1](np.zeros(4, np.float32))


def test_a_window_is_never_constant():
    with pytest.raises(tw.UserError, match=r"tw\.constant takes a tw\.Tensor"):
        tw.constant(tw.Window["N"])


def test_unknown_cache_hint(diagnose):
    def f(x: tw.Tensor["M"]):
        tw.load(x[tw.ds(0, 4)], cache="fast")  # error

    message, _ = diagnose(f, x="f32[?]")
    assert "fast" in message and "streaming" in message


def test_a_load_can_t_go_through_the_cache(diagnose):
    def f(x: tw.Tensor["M"]):
        tw.load(x[tw.ds(0, 4)], cache="through")  # error

    message, _ = diagnose(f, x="f32[?]")
    assert "through" in message and "streaming" in message


def test_prefetch_with_index_tiles():
    @tw.kernel
    def f(x: tw.Tensor["M"]):
        tw.prefetch(x[tw.arange(4)])

    with pytest.raises(tw.UserError, match="a prefetch takes no index tiles"):
        f[1](np.zeros(4, np.float32))
