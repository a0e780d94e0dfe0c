"""Diagnostics of expressions: the message and the place of each."""

import math

import pytest
import tilewire as tw


def test_undefined_name(diagnose):
    def f(x: tw.Tensor["N"]):
        tw.load(nothing[0])  # error

    message, under = diagnose(f, x="f32[?]")
    assert message == "name `nothing` is not defined"
    assert under == "nothing"


def test_undefined_name_with_a_close_one(diagnose):
    def f(x: tw.Tensor["N"]):
        row = tw.program_id(0)
        tw.store(x[rwo], 1)  # error

    message, under = diagnose(f, x="f32[?]")
    assert message == "name `rwo` is not defined: did you mean `row`?"
    assert under == "rwo"


def test_misspelled_function_of_tw(diagnose):
    def f(x: tw.Tensor["N"]):
        tw.laod(x[0])  # error

    message, under = diagnose(f, x="f32[?]")
    assert message == "`tw` has no attribute `laod`: did you mean `load`?"
    assert under == "tw.laod"


def test_unknown_function_of_tw(diagnose):
    def f(x: tw.Tensor["N"]):
        tw.nothing(3)  # error

    assert diagnose(f, x="f32[?]") == ("`tw` has no attribute `nothing`", "tw.nothing")


def test_names_of_other_languages(diagnose):
    def f(x: tw.Tensor["N"]):
        tw.dot(x, x)  # error

    message, _ = diagnose(f, x="f32[?]")
    assert message == "`tw` has no attribute `dot`: write `tw.matmul(a, b, acc=)`"


def test_unknown_attribute_of_a_value(diagnose):
    def f(x: tw.Tensor["N"]):
        x.nothing()  # error

    message, _ = diagnose(f, x="f32[?]")
    assert message == "the view view<f32[?]> has no attribute `nothing`"


def test_call_of_a_python_function(diagnose):
    def f(x: tw.Tensor["N"]):
        input()  # error

    message, under = diagnose(f, x="f32[?]")
    assert message == (
        "`input` can't be called in a kernel: only functions of `tw`, @tw.function, and Python's "
        "own on constants"
    )
    assert under == "input()"


def test_print(diagnose):
    def f(x: tw.Tensor["N"]):
        print(N)  # error

    assert diagnose(f, x="f32[?]")[0] == "`print` can't be called in a kernel: use tw.print"


def test_misspelled_keyword(diagnose):
    def f(x: tw.Tensor["N"]):
        tw.load(x[0], othr=3)  # error

    message, under = diagnose(f, x="f32[?]")
    assert message.startswith(
        "`tw.load`: got an unexpected keyword argument 'othr': did you mean `other`?; it is called "
        "as load("
    )
    assert under == "tw.load(x[0], othr=3)"


def test_misspelled_attribute(diagnose):
    def f(x: tw.Tensor["N"]):
        a = x.shap  # error

    message, _ = diagnose(f, x="f32[?]")
    assert message == "the view view<f32[?]> has no attribute `shap`: did you mean `shape`?"


def test_text_of_a_run_time_value(diagnose):
    def f(x: tw.Tensor["N"]):
        a = str(N)  # error

    assert diagnose(f, x="f32[?]")[0] == (
        "`str` takes only what is known at compile time: there is no text of run-time values; "
        "tw.print shows them"
    )


def test_run_time_index_into_a_tuple(diagnose):
    def f(x: tw.Tensor["N"]):
        a = (1, 2)[N]  # error

    assert diagnose(f, x="f32[?]")[0] == (
        "the index into (1, 2) must be known at compile time, found the scalar i64: choose with "
        "`if`, or tw.where"
    )


def test_condition_is_a_view(diagnose):
    def f(x: tw.Tensor["N"]):
        if x[0]:  # error
            pass

    message, under = diagnose(f, x="f32[?]")
    assert message == "`if` needs a bool scalar, found the view view<f32[]>: read it with tw.load"
    assert under == "x[0]"


def test_python_function_of_a_run_time_value(diagnose):
    def f(x: tw.Tensor["N"]):
        a = math.sqrt(N)  # error

    message, _ = diagnose(f, x="f32[?]")
    assert message.startswith("`math.sqrt` takes only what is known at compile time")


def test_wrong_arguments(diagnose):
    def f(x: tw.Tensor["N"]):
        tw.load(x, y=3)  # error

    message, under = diagnose(f, x="f32[?]")
    assert message.startswith("`tw.load`: got an unexpected keyword argument 'y'; it is called as")
    assert under == "tw.load(x, y=3)"


def test_load_of_a_number(diagnose):
    def f(x: tw.Tensor["N"]):
        tw.load(3)  # error

    assert diagnose(f, x="f32[?]")[0] == "`tw.load`: takes a view, found 3"


def test_load_of_a_run_time_extent(diagnose):
    def f(x: tw.Tensor["N"]):
        tw.load(x[:])  # error

    message, under = diagnose(f, x="f32[?]")
    assert "known only at run time" in message
    assert "tw.const" in message
    assert under == "tw.load(x[:])"


def test_shape_of_a_run_time_extent(diagnose):
    def f(x: tw.Tensor["N"]):
        tw.zeros((N,))  # error

    assert "make the dimension a tw.const" in diagnose(f, x="f32[?]")[0]


def test_arithmetic_on_a_view(diagnose):
    def f(x: tw.Tensor["N"]):
        a = x + 1  # error

    message, under = diagnose(f, x="f32[?]")
    assert "read it with tw.load first" in message
    assert under == "x + 1"


def test_arithmetic_on_text(diagnose):
    def f(x: tw.Tensor["N"]):
        a = N + "text"  # error

    message, under = diagnose(f, x="f32[?]")
    assert message == (
        "text ('text') can't meet a value that is known only at run time: kernels compute with "
        "tiles, scalars and numbers"
    )
    assert under == 'N + "text"'


def test_shapes_that_do_not_broadcast(diagnose):
    def f(x: tw.Tensor["N"]):
        a = tw.zeros((4,)) + tw.zeros((3,))  # error

    message, _ = diagnose(f, x="f32[?]")
    assert "[4]" in message and "[3]" in message


def test_division_by_zero_at_compile_time(diagnose):
    def f(x: tw.Tensor["N"]):
        a = 1 // 0  # error

    assert "by zero" in diagnose(f, x="f32[?]")[0]


def test_and_on_tiles(diagnose):
    def f(x: tw.Tensor["N"]):
        t = tw.zeros((4,)) > 0
        a = t and t  # error

    message, under = diagnose(f, x="f32[?]")
    assert message == "`and` takes scalars, found the tile tile<bool[4]>: use `&`"
    assert under == "t"


def test_too_many_indices(diagnose):
    def f(x: tw.Tensor["N"]):
        tw.load(x[0, 0])  # error

    message, _ = diagnose(f, x="f32[?]")
    assert message == (
        "2 indices into the view view<f32[?]> of rank 1: give at most one for each dimension"
    )


def test_index_that_is_a_float(diagnose):
    def f(x: tw.Tensor["N"]):
        tw.load(x[0.5])  # error

    message, under = diagnose(f, x="f32[?]")
    assert message == "0.5 can't index a view: use an integer, `:` or tw.ds"
    assert under == "0.5"


def test_step_of_a_slice(diagnose):
    def f(x: tw.Tensor["N"]):
        tw.load(x[0:8:2])  # error

    assert diagnose(f, x="f32[?]")[0].startswith("a slice of a view has no step")


def test_part_of_a_tile(diagnose):
    def f(x: tw.Tensor["N"]):
        a = tw.zeros((8,))[0:N]  # error

    message, under = diagnose(f, x="f32[?]")
    assert message == (
        "a part of a tile has bounds known at compile time, found the scalar i64: slice the view "
        "before loading it"
    )
    assert under == "N"


def test_at_of_a_tensor(diagnose):
    def f(x: tw.Tensor["N"]):
        tw.load(x.at(0)[0])  # error

    message, under = diagnose(f, x="f32[?]")
    assert "window" in message
    assert under == "x.at(0)"


def test_unknown_team(diagnose):
    def f(x: tw.Tensor["N"]):
        tw.rank("galaxy")  # error

    message, _ = diagnose(f, x="f32[?]")
    assert message == "`tw.rank`: the team must be one of world, lsa, rail, local, found 'galaxy'"


def test_integer_too_large(diagnose):
    def f(x: tw.Tensor["N"]):
        a = N + 2**70  # error

    assert "doesn't fit 64 bits" in diagnose(f, x="f32[?]")[0]


def test_function_of_tw_outside_of_a_kernel():
    with pytest.raises(tw.UserError) as caught:
        tw.load(3)
    assert str(caught.value) == "tw.load can be called only in the body of a @tw.kernel function"


def test_run_time_value_where_a_constant_is_needed(diagnose):
    def f(x: tw.Tensor["N"]):
        tw.load(x[tw.ds(0, N)])  # error

    message, under = diagnose(f, x="f32[?]")
    assert message == (
        "`tw.ds`: the size must be an integer known at compile time, found the scalar i64: make "
        "it a tw.const"
    )
    assert under == "tw.ds(0, N)"


def test_shift_of_a_float(diagnose):
    def f(x: tw.Tensor["N"]):
        a = tw.load(x[0]) << 1  # error

    assert "works on" in diagnose(f, x="f32[?]")[0]
