"""What would take all time or memory while compiling, and arguments that no op takes."""

import itertools

import numpy as np
import pytest
import tilewire as tw

COUNTING = itertools.count()


def test_nest_of_unrolled_loops(diagnose):
    def f(x: tw.Tensor["N"]):
        for i in tw.unroll(4096):
            for j in tw.unroll(4096):  # error
                tw.store(x[i + j], 1.0)

    message, under = diagnose(f, x="f32[?]")
    assert message == (
        "the unrolled loops here would repeat the body 16777216 times, 16384 is the most: use "
        "range(…)"
    )
    assert under == "tw.unroll(4096)"


def test_unrolled_loops_one_after_the_other():
    @tw.kernel
    def f(x: tw.Tensor["N"]):
        for i in tw.unroll(64):
            for _ in tw.unroll(2):
                tw.store(x[i], 1.0)
            for _ in tw.unroll(2):
                tw.store(x[i], 2.0)

    x = np.zeros(64, np.float32)
    f[1](x)
    assert (x == 2).all()


def test_numbers_without_bound(diagnose):
    def power(x: tw.Tensor["N"]):
        tw.store(x[0], 10**10**10)  # error

    def shift(x: tw.Tensor["N"]):
        tw.store(x[0], 1 << (1 << 40))  # error

    def text(x: tw.Tensor["N"]):
        tw.store(x[0], "a" * (1 << 40))  # error

    def items(x: tw.Tensor["N"]):
        tw.store(x[0], ((1 << 40) * (0,))[0])  # error

    for f, under in (
        (power, "10**10**10"),
        (shift, "1 << (1 << 40)"),
        (text, '"a" * (1 << 40)'),
        (items, "(1 << 40) * (0,)"),
    ):
        message, found = diagnose(f, x="f32[?]")
        assert message.endswith("is too large for a kernel") and found == under


def test_large_powers_that_fit():
    @tw.kernel
    def f(x: tw.Tensor["N"]):
        tw.store(x[0], (2**62 >> 61) + 1**100000 + (-1) ** 100001 + len((0,) * 3))

    x = np.zeros(1, np.float32)
    f[1](x)
    assert x[0] == 5


def test_iterator_without_end(diagnose):
    def f(x: tw.Tensor["N"]):
        for i in itertools.count():  # error
            tw.store(x[i], 1.0)

    def name(x: tw.Tensor["N"]):
        for i in COUNTING:  # error
            tw.store(x[i], 1.0)

    for each in (f, name):
        message, _ = diagnose(each, x="f32[?]")
        assert "count has more than 65536 items" in message


def test_lambda_in_an_unfinished_statement():
    functions = [
        tw.UserError,
        lambda x: x,
    ]
    for take in (tw.kernel, tw.function):
        with pytest.raises(tw.UserError) as caught:
            take(functions[1])
        assert caught.value.message.endswith("takes a plain function (`def`); this is a lambda")


@pytest.mark.parametrize("size", [4.0, True, "4"])
def test_dimension_that_is_no_int(size):
    @tw.kernel
    def f(x: tw.Tensor["M"], *, M: tw.const):
        tw.store(x[:], 1.0)

    with pytest.raises(tw.UserError) as caught:
        f[1](np.zeros(4, np.float32), M=size)
    assert caught.value.message == (
        f"f: the constant `M` is a dimension of `x` and must be an int, found {size!r}"
    )


def test_matrix_product_as_an_operator(diagnose):
    def f(x: tw.Tensor["N"]):
        tw.store(x[0], tw.sum(tw.zeros((4, 4)) @ tw.zeros((4, 4))))  # error

    message, _ = diagnose(f, x="f32[?]")
    assert message == "the operator `@` can't be used in a kernel: use tw.matmul(a, b)"


def test_methods_that_numpy_has(diagnose):
    def convert(x: tw.Tensor["N"]):
        tw.store(x[0], tw.load(x[0]).astype(tw.f32))  # error

    def reduce(x: tw.Tensor["N"]):
        tw.store(x[0], tw.load(x[tw.ds(0, 4)]).sum())  # error

    assert diagnose(convert, x="f32[?]")[0].endswith("`astype`: convert with `.to(tw.f32)`")
    assert diagnose(reduce, x="f32[?]")[0].endswith("`sum`: call `tw.sum(x)`")


def test_values_that_are_none(diagnose):
    def other(x: tw.Tensor["N"]):
        tw.store(x[0], tw.load(x[1], other="a"))  # error

    def value(x: tw.Tensor["N"]):
        tw.store(x[0], None)  # error

    takes = "must be a tile, a scalar or a number, found"
    assert diagnose(other, x="f32[?]")[0] == f"`tw.load`: other= {takes} 'a'"
    assert diagnose(value, x="f32[?]")[0] == f"`tw.store`: the value {takes} None"


def test_extents_to_be_inferred(diagnose):
    def f(x: tw.Tensor["N"]):
        tw.store(x[0], tw.sum(tw.reshape(tw.zeros((4, 4)), (-1, 2))))  # error

    message, _ = diagnose(f, x="f32[?]")
    assert message == ("`tw.reshape`: the extents of a tile are above 0 and written out, found -1")


def test_tile_of_two_million_elements(diagnose):
    def f(x: tw.Tensor["N"]):
        tw.store(x[0], tw.sum(tw.load(x[tw.ds(0, 1 << 21)])))  # error

    message, _ = diagnose(f, x="f32[?]")
    assert message == (
        "load: a tile of [2097152] has more than 1048576 elements; work on smaller ones in a loop"
    )


class Broken:
    def __getattr__(self, name):
        raise RuntimeError(f"no {name} here")

    def __repr__(self):
        raise RuntimeError("no text either")


BROKEN = Broken()


def test_objects_that_raise(diagnose):
    def attribute(x: tw.Tensor["N"]):
        tw.store(x[0], BROKEN.value)  # error

    def value(x: tw.Tensor["N"]):
        tw.store(x[0], BROKEN)  # error

    assert diagnose(attribute, x="f32[?]") == ("`BROKEN.value`: no value here", "BROKEN.value")
    assert diagnose(value, x="f32[?]")[0].endswith("found an object of Broken")


def test_largest_of_bools(diagnose):
    def f(x: tw.Tensor["N"]):
        tw.store(x[0], tw.max(tw.zeros((4,), tw.bool)))  # error

    message, _ = diagnose(f, x="bool[?]")
    assert message == (
        "max: works on numbers, got bool; any is the largest of bools, all the smallest"
    )
