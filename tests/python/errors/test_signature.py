"""Diagnostics of parameters and of the arguments that a call gives."""

import pytest
import tilewire as tw
from tilewire.frontend.signature import ArrayArgument


def f32(*shape):
    return ArrayArgument("tensor", tw.f32, shape)


def refused(function, **arguments):
    with pytest.raises(tw.UserError) as caught:
        kernel = tw.kernel(function)
        kernel.specialise(kernel.signature.bind((), arguments))
    return caught.value.message


def test_no_annotation():
    def f(x):
        pass

    assert refused(f).startswith("parameter `x` has no annotation: write tw.Tensor[")


def test_unknown_annotation():
    def f(x: int):
        pass

    assert refused(f).startswith("annotation <class 'int'> of `x`: write tw.Tensor[")


def test_dimension_that_is_no_name():
    def f(x: 'tw.Tensor["2 words"]'):
        pass

    assert refused(f).startswith("'2 words' is not a dimension of tw.Tensor[…]")


def test_star_parameter():
    def f(*x: tw.f32):
        pass

    assert refused(f) == "star-parameter `*x`: name each parameter"


def test_positional_constant():
    def f(B: tw.const):
        pass

    assert refused(f) == "tw.const parameter `B` must be keyword-only: put it after a `*`"


def test_keyword_only_scalar():
    def f(*, eps: tw.f32):
        pass

    assert refused(f) == "keyword-only parameter `eps` must be a tw.const"


def test_default_of_a_scalar():
    def f(eps: tw.f32 = 1.0):
        pass

    assert refused(f) == "parameter `eps` can't have a default: only tw.const can"


def test_async_function():
    async def f():
        pass

    assert refused(f) == "@tw.kernel takes a plain function (`def`); this is an async def"


def test_no_function():
    assert refused(print) == (
        "@tw.kernel takes a plain function (`def`), found <built-in function print>"
    )


def test_lambda():
    assert refused(lambda x: x) == "@tw.kernel takes a plain function (`def`); this is a lambda"


def test_function_without_source_text():
    names = {}
    exec("def f(): pass", names)
    assert refused(names["f"]).startswith("@tw.kernel reads the source text of `f`, and Python has")


def two(x: tw.Tensor["M", "N"], y: tw.Tensor["N"], eps: tw.f32, *, N: tw.const):
    pass


def test_missing_argument():
    assert refused(two, x=f32(2, 3), eps=1.0) == "two: missing argument `y`"


def test_unknown_argument():
    message = refused(two, x=f32(2, 3), y=f32(3), eps=1.0, z=3)
    assert message == "two has no parameter `z`"


def test_too_many_arguments():
    kernel = tw.kernel(two)
    with pytest.raises(tw.UserError, match=r"takes 3 positional arguments .*, 4 were given"):
        kernel.signature.bind((1, 2, 3, 4), {})


def test_argument_twice():
    kernel = tw.kernel(two)
    with pytest.raises(tw.UserError, match="two got parameter `x` twice"):
        kernel.signature.bind((1, 2, 3), {"x": 1})


def test_wrong_rank():
    assert refused(two, x=f32(2), y=f32(3), eps=1.0) == (
        "two: argument `x` must have rank 2 for tw.Tensor['M', 'N'], found rank 1: f32[2]"
    )


def test_tensor_for_a_window():
    def f(x: tw.Window["N"]):
        pass

    assert refused(f, x=f32(2)) == "f: argument `x` must be a window, found a tensor"


def test_static_extents_differ():
    assert refused(two, x=f32(2, 3), y=f32(4), eps=1.0) == (
        "two: argument `y` must have extent 3 in dimension 0 (`N` is 3 by argument `x`), "
        "found 4: f32[4]"
    )


def test_static_extent_differs_from_the_constant_passed():
    assert refused(two, x=f32(2, 3), y=f32(3), eps=1.0, N=8) == (
        "two: argument `x` must have extent 8 in dimension 1 (`N` is 8 by the call), "
        "found 3: f32[2, 3]"
    )


def test_annotated_extent_differs():
    def f(x: tw.Tensor["N", 4]):
        pass

    assert refused(f, x=f32(2, 3)) == (
        "f: argument `x` must have extent 4 in dimension 1 (as annotated), found 3: f32[2, 3]"
    )


def test_constant_that_nothing_gives():
    def f(x: tw.Tensor["N"], *, B: tw.const):
        pass

    assert refused(f, x=f32(2)) == (
        "f: the constant `B` is neither passed nor known from an array's shape: pass B=…"
    )


def test_constant_of_a_strange_type():
    def f(x: tw.Tensor["N"], *, B: tw.const):
        pass

    assert refused(f, x=f32(2), B=[1, "a"]).startswith("f: the constant `B` must be an int, float")


def test_calling_a_kernel_without_a_grid():
    with pytest.raises(tw.UserError, match="a kernel is launched on a grid: write two"):
        tw.kernel(two)(1, 2, 3)


@pytest.mark.parametrize("grid", [0, -1, 1.5, True, (), (1, 2, 3, 4), (0,), "4"])
def test_grid(grid):
    with pytest.raises(tw.UserError, match="a grid"):
        tw.kernel(two)[grid]
