"""Diagnostics of bundles, comprehensions and text; and of operands that don't go together."""

from dataclasses import dataclass
from typing import Any

import pytest
import tilewire as tw
from tilewire.frontend.signature import ArrayArgument


@dataclass
class State:
    acc: Any
    block: tw.const = 4


def test_constant_field_that_changes_in_a_loop(diagnose):
    def f(x: tw.Tensor["N"]):
        state = State(0.0)
        for i in range(N):  # error
            state = State(state.acc + tw.load(x[i]), 8)

    assert diagnose(f, x="f32[?]")[0] == (
        "`state.block` enters this loop as 4 and ends it as 8: only tiles and scalars can change "
        "in a run-time loop"
    )


def test_constant_field_that_a_branch_changes(diagnose):
    def f(x: tw.Tensor["N"]):
        state = State(0.0)
        if N > 3:
            state = State(1.0, 8)
        tw.store(x[0], state.acc)  # error

    message, _ = diagnose(f, x="f32[?]")
    assert message.startswith("`state.block` is 8 after one branch of the `if` at line ")
    assert message.endswith(
        "and 4 after the other: a run-time condition chooses only between tiles and scalars"
    )


def test_assignment_to_a_field(diagnose):
    def f(x: tw.Tensor["N"]):
        state = State(0.0)
        state.acc = 1.0  # error

    message, under = diagnose(f, x="f32[?]")
    assert message == (
        "attributes can't be assigned in a kernel: make a new object, like "
        "`state = dataclasses.replace(state, acc=…)`"
    )
    assert under == "state.acc"


def test_dict_of_run_time_values(diagnose):
    def f(x: tw.Tensor["N"]):
        a = {"n": N}  # error

    message, under = diagnose(f, x="f32[?]")
    assert message == (
        "a dict holds constants, and this value is the scalar i64: use a dataclass, a NamedTuple "
        "or a tuple for tiles and scalars"
    )
    assert under == "N"


def test_append(diagnose):
    def f(x: tw.Tensor["N"]):
        parts = []
        parts.append(N)  # error

    message, under = diagnose(f, x="f32[?]")
    assert message == (
        "a list or dict doesn't change in a kernel: make a new one, like `parts + (item,)`"
    )
    assert under == "parts.append"


def test_comprehension_over_a_run_time_range(diagnose):
    def f(x: tw.Tensor["N"]):
        a = [i for i in range(N)]  # error

    message, under = diagnose(f, x="f32[?]")
    assert message == (
        "range(…) can't be iterated over at compile time: use a tuple, or a `for` over range(…) "
        "with tw.store"
    )
    assert under == "range(N)"


def test_enumerate_of_a_run_time_range(diagnose):
    def f(x: tw.Tensor["N"]):
        for i, j in enumerate(range(N)):  # error
            tw.store(x[i], j)

    assert diagnose(f, x="f32[?]")[0] == (
        "`enumerate` takes sequences that are known at compile time, and this range(…) is not: "
        "loop over it alone, and count in a variable"
    )


def test_comprehension_with_a_run_time_condition(diagnose):
    def f(x: tw.Tensor["N"]):
        a = [i for i in range(4) if i < N]  # error

    message, under = diagnose(f, x="f32[?]")
    assert message == (
        "a comprehension's `if` must be known at compile time, found the scalar bool: use tw.where"
    )
    assert under == "i < N"


def test_f_string_of_a_run_time_value(diagnose):
    def f(x: tw.Tensor["N"]):
        a = f"{N} rows"  # error

    message, under = diagnose(f, x="f32[?]")
    assert message == (
        "an f-string shows what is known at compile time, and this is the scalar i64: print it "
        "with tw.print"
    )
    assert under == "N"


def test_length_of_a_view(diagnose):
    def f(x: tw.Tensor["N"]):
        a = len(x)  # error

    assert diagnose(f, x="f32[?]")[0] == (
        "`len` takes what is known at compile time: use `x.shape[0]`"
    )


def test_conversion_of_a_run_time_value(diagnose):
    def f(x: tw.Tensor["N"]):
        a = float(N)  # error

    assert diagnose(f, x="f32[?]")[0] == (
        "`float` takes only what is known at compile time: convert with `value.to(tw.f32)`"
    )


def test_largest_of_a_tile(diagnose):
    def f(x: tw.Tensor["N"]):
        a = max(tw.zeros((4,)))  # error

    assert diagnose(f, x="f32[?]")[0] == (
        "`max` takes several values: over the elements of a tile, use tw.max"
    )


def test_wrong_dtypes_of_a_bit_operation(diagnose):
    def f(x: tw.Tensor["N"]):
        a = tw.zeros((4,)) & 1  # error

    message, under = diagnose(f, x="f32[?]")
    assert message == "and: works on bool and integers, got f32"
    assert under == "tw.zeros((4,)) & 1"


def test_shapes_that_do_not_broadcast_show_where_both_come_from():
    @tw.kernel
    def f(x: tw.Tensor["N"]):
        rows = tw.zeros((4, 8))
        column = tw.load(x[tw.ds(0, 4)])
        rows = rows + column

    with pytest.raises(tw.UserError) as caught:
        f.program("cpu", f.specialise({"x": ArrayArgument("tensor", tw.f32, (None,))}))
    error = caught.value
    line = f.source.first_line + 4
    assert error.line == line
    assert "[4, 8]" in error.message and "[4]" in error.message
    assert str(error).splitlines()[1:] == [
        "    rows = rows + column",
        "           ^^^^^^^^^^^^^",
        f"  `rows` is tile<f32[4, 8]>, made at {error.file}:{line - 2}",
        "    rows = tw.zeros((4, 8))",
        "           ^^^^^^^^^^^^^^^^",
        f"  `column` is tile<f32[4]>, made at {error.file}:{line - 1}",
        "    column = tw.load(x[tw.ds(0, 4)])",
        "             ^^^^^^^^^^^^^^^^^^^^^^^",
    ]
