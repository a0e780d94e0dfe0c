"""Diagnostics of the functions of `tw`: the message of each, and its place."""

import pytest
import tilewire as tw


def f_range_step(x: tw.Tensor["N"]):
    for _ in range(0, N, 0):  # error
        pass


def f_persistent_schedule(x: tw.Tensor["N"]):
    for _ in tw.persistent(N, schedule="guided"):  # error
        pass


def f_ranks_of_a_team(x: tw.Tensor["N"]):
    for _ in tw.ranks(team="galaxy"):  # error
        pass


def f_unroll_of_a_run_time_bound(x: tw.Tensor["N"]):
    for _ in tw.unroll(N):  # error
        pass


def f_unroll_of_many(x: tw.Tensor["N"]):
    for _ in tw.unroll(10**9):  # error
        pass


def f_bound_of_another_kind(x: tw.Tensor["N"]):
    for _ in range(0, "a"):  # error
        pass


def f_mask_of_another_kind(x: tw.Tensor["N"]):
    tw.store(x[0], 1, where=1)  # error


def f_unroll_of_ranks(x: tw.Tensor["N"]):
    for _ in tw.unroll(tw.ranks()):  # error
        pass


def f_unroll_step(x: tw.Tensor["N"]):
    for _ in tw.unroll(0, 4, 0):  # error
        pass


def f_cdiv(x: tw.Tensor["N"]):
    tw.cdiv(3, 0)  # error


def f_extent_of_a_number(x: tw.Tensor["N"]):
    tw.extent(3, 0)  # error


def f_extent_dimension(x: tw.Tensor["N"]):
    tw.extent(x, 1)  # error


def f_ds_size(x: tw.Tensor["N"]):
    tw.load(x[tw.ds(0, N)])  # error


def f_store_to_a_number(x: tw.Tensor["N"]):
    tw.store(3, 1.0)  # error


def f_reduction_of_a_number(x: tw.Tensor["N"]):
    tw.sum(3)  # error


def f_reduction_axis(x: tw.Tensor["N"]):
    tw.sum(tw.zeros((4,)), axis=N)  # error


def f_barrier_team(x: tw.Tensor["N"]):
    tw.barrier(team=3)  # error


def f_barrier_team_name(x: tw.Tensor["N"]):
    tw.barrier(team="galaxy")  # error


def f_is_lsa(x: tw.Tensor["N"]):
    tw.is_lsa(4)  # error


def f_none_for_a_tile(x: tw.Tensor["N"]):
    tw.extract(None, 0)  # error


def f_cast(x: tw.Tensor["N"]):
    tw.zeros((4,)).to("f31")  # error


def f_at(x: tw.Tensor["N"]):
    x.at(0, 1)  # error


def f_to(x: tw.Tensor["N"]):
    tw.zeros((4,)).to()  # error


def f_double_star(x: tw.Tensor["N"]):
    tw.zeros(**{})  # error


def f_dtype_as_function(x: tw.Tensor["N"]):
    tw.f32(3)  # error


MESSAGES = {
    f_range_step: "the step must be an integer other than 0, found 0",
    f_persistent_schedule: 'the schedule is "static" or "dynamic", found \'guided\'',
    f_ranks_of_a_team: "the team must be one of world, lsa, rail, local, found 'galaxy'",
    f_unroll_of_a_run_time_bound: "a bound must be an integer known at compile time, found the",
    f_unroll_of_many: "would repeat the body 1000000000 times, 4096 is the most: use range(…)",
    f_bound_of_another_kind: "a loop's bounds and step are integers, found 'a'",
    f_mask_of_another_kind: "where= takes a bool tile or scalar, found 1",
    f_unroll_of_ranks: "takes a tuple, a range or integers, found tw.ranks()",
    f_unroll_step: "the step is 0",
    f_cdiv: "the divisor must be positive, found 0",
    f_extent_of_a_number: "takes a view or a tile, found 3",
    f_extent_dimension: "there is no dimension 1 in the view view<f32[?]>",
    f_ds_size: "the size must be an integer known at compile time, found the scalar i64",
    f_store_to_a_number: "takes a view, found 3",
    f_reduction_of_a_number: "takes a tile, found 3",
    f_reduction_axis: "axis must be an integer known at compile time",
    f_barrier_team: "team, scope and order are names, found 3",
    f_barrier_team_name: "galaxy",
    f_is_lsa: "there is no rank 4 in a world of 4",
    f_none_for_a_tile: "`tw.extract(None, 0)` can't be computed from None",
    f_cast: "'f31' is not an element type",
    f_at: "`at` takes one rank and `team=`: `x.at(r)`",
    f_to: "`to` takes one dtype: `x.to(tw.f32)`",
    f_double_star: "`**` can't be used in a kernel: write the names",
    f_dtype_as_function: "`tw.f32` is a dtype: convert with `value.to(tw.f32)`",
}


@pytest.mark.parametrize("function", MESSAGES, ids=lambda function: function.__name__[2:])
def test_message(function, diagnose):
    message, _ = diagnose(function, target="cpu:world=2x2", x="f32[?]")
    assert MESSAGES[function] in message
