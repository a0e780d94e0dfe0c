"""Diagnostics of ops that move a tile's elements or combine them in order."""

import tilewire as tw


def test_histogram_takes_integers(diagnose):
    def f(x: tw.Tensor["N"], *, N: tw.const):
        tw.histogram(tw.load(x[:]), 4)  # error

    message, _ = diagnose(f, x="f32[8]")
    assert message == "histogram: counts integers, found tile<f32[8]>: cast to tw.i32"


def test_takes_a_tile(diagnose):
    def f(x: tw.Tensor["N"], *, N: tw.const):
        tw.argmax(x)  # error

    assert diagnose(f, x="f32[8]")[0] == "`tw.argmax`: takes a tile, found the view view<f32[8]>"


def test_a_scan_of_several_axes_says_which(diagnose):
    def f(x: tw.Tensor["M", "N"], *, M: tw.const, N: tw.const):
        tw.cumsum(tw.load(x[:, :]))  # error

    message, _ = diagnose(f, x="f32[2, 8]")
    assert message == ("`tw.cumsum`: say along which axis of the tile tile<f32[2, 8]>: axis=0 … 1")


def test_an_axis_that_the_tile_lacks(diagnose):
    def f(x: tw.Tensor["N"], *, N: tw.const):
        tw.sort(tw.load(x[:]), axis=1)  # error

    assert diagnose(f, x="f32[8]")[0] == "sort: axis 1 of a tile of shape [8]"


def test_axes_name_each_dimension_once(diagnose):
    def f(x: tw.Tensor["M", "N"], *, M: tw.const, N: tw.const):
        tw.transpose(tw.load(x[:, :]), (0, 0))  # error

    message, _ = diagnose(f, x="f32[2, 8]")
    assert message == ("transpose: axes [0, 0] of a tile of shape [2, 8]: name each dimension once")


def test_axes_are_a_tuple(diagnose):
    def f(x: tw.Tensor["N"], *, N: tw.const):
        tw.transpose(tw.load(x[:]), 0)  # error

    assert diagnose(f, x="f32[8]")[0] == (
        "`tw.transpose`: axes= takes a tuple of dimensions, found 0"
    )


def test_joined_tiles_agree_but_for_the_axis(diagnose):
    def f(x: tw.Tensor["M", "N"], *, M: tw.const, N: tw.const):
        tile = tw.load(x[:, :])
        tw.cat(tile, tile.T, axis=1)  # error

    message, _ = diagnose(f, x="f32[2, 8]")
    assert message == (
        "cat: tile<f32[2, 8]> and tile<f32[8, 2]> along axis 1: all else must be equal"
    )


def test_halves_need_an_even_extent(diagnose):
    def f(x: tw.Tensor["N"], *, N: tw.const):
        tw.split(tw.load(x[:]))  # error

    assert diagnose(f, x="f32[7]")[0] == (
        "split: dimension 0 of [7] has no two halves: take parts, as in x[0:2]"
    )


def test_sort_of_a_large_tile(diagnose):
    def f(x: tw.Tensor["N"], *, N: tw.const):
        tw.sort(tw.load(x[:]))  # error

    assert diagnose(f, x="f32[8193]")[0] == (
        "sort: sorts at most 8192 elements of f32 along an axis, found 8193"
    )


def test_gather_wants_an_index_tile_that_fits(diagnose):
    def f(x: tw.Tensor["M", "N"], *, M: tw.const, N: tw.const):
        tile = tw.load(x[:, :])
        tw.gather(tile, tile, axis=0)  # error

    message, _ = diagnose(f, x="f32[2, 8]")
    assert message == (
        "gather: tile<f32[2, 8]> by tile<f32[2, 8]> along axis 0: the index is of integers, with "
        "the extents of the tile but for the axis"
    )


def test_a_flag_is_known_at_compile_time(diagnose):
    def f(x: tw.Tensor["N"], *, N: tw.const):
        tw.cumsum(tw.load(x[:]), reverse=1)  # error

    assert diagnose(f, x="f32[8]")[0] == (
        "`tw.cumsum`: reverse must be True or False, known at compile time: 1"
    )


def test_an_empty_part(diagnose):
    def f(x: tw.Tensor["N"], *, N: tw.const):
        tw.load(x[:])[8:]  # error

    assert diagnose(f, x="f32[8]")[0] == "this part of a dimension of 8 elements is empty"


def test_a_part_has_no_step(diagnose):
    def f(x: tw.Tensor["N"], *, N: tw.const):
        tw.load(x[:])[::2]  # error

    assert diagnose(f, x="f32[8]")[0] == "a part of a tile has no step: tw.flip turns it round"


def test_a_place_outside(diagnose):
    def f(x: tw.Tensor["N"], *, N: tw.const):
        tw.load(x[:])[None, 9]  # error

    assert diagnose(f, x="f32[8]")[0] == "index 9 of a dimension of 8 elements"


def test_too_many_indices(diagnose):
    def f(x: tw.Tensor["N"], *, N: tw.const):
        tw.load(x[:])[:, :]  # error

    assert diagnose(f, x="f32[8]")[0] == "too many indices for the tile tile<f32[8]>"
