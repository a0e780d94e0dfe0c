"""Numbers that a dtype can't hold, and dtypes that an op doesn't take."""

import pytest
import tilewire as tw


def test_integer_literal_out_of_range(diagnose):
    def f(x: tw.Tensor["N"]):
        tw.store(x[tw.ds(0, 8)], tw.load(x[tw.ds(0, 8)]) + 300)  # error

    message, shown = diagnose(f, x="u8[?]")
    assert message == "300 doesn't fit u8, which holds 0 to 255: cast to a wider dtype first"
    assert shown == "tw.load(x[tw.ds(0, 8)]) + 300"


def test_negative_literal_with_unsigned(diagnose):
    def f(x: tw.Tensor["N"]):
        tw.store(x[0], tw.load(x[0]) * -1)  # error

    message = diagnose(f, x="u64[?]")[0]
    assert message.startswith("-1 doesn't fit u64, which holds 0 to 18446744073709551615")


def test_float_literal_out_of_range(diagnose):
    def f(x: tw.Tensor["N"]):
        tw.store(x[0], tw.load(x[0]) * 1e6)  # error

    assert diagnose(f, x="f16[?]")[0] == (
        "1000000 doesn't fit f16, whose largest number is 65504: cast to a wider dtype first"
    )


def test_infinity_and_the_largest_number_fit(ir):
    @tw.kernel
    def f(x: tw.Tensor["N"], y: tw.Tensor["N"]):
        tw.store(x[0], tw.minimum(tw.load(x[0]), float("inf")))
        tw.store(y[0], tw.minimum(tw.load(y[0]), 3.4028235e38))

    assert "value = inf" in ir(f, "cpu", x="f16[?]", y="f32[?]")


def test_literals_that_only_u64_holds(ir):
    @tw.kernel
    def f(x: tw.Tensor["N"]):
        tw.store(x[0], tw.load(x[0]) ^ 0xFFFFFFFFFFFFFFFF)

    assert "bitcast(" in ir(f, "cpu", x="u64[?]")


CASES = {
    "f32 << 1": ("a << 1", "f32", "shift_left: works on integers, got f32"),
    "popcount": ("tw.popcount(a)", "bool", "popcount: works on integers, got bool"),
    "fma": ("tw.fma(a, a, a)", "i32", "fma: works on floats, got i32; cast it first"),
    "pow": ("a ** 3", "i32", "pow: works on floats, got i32; cast it first"),
    "bitcast": (
        "tw.bitcast(a, tw.i16)",
        "f32",
        "bitcast: f32 has 32 bits, i16 has 16: bitcast takes a dtype of the same width",
    ),
    "bitcast of bool": (
        "tw.bitcast(a, tw.i8)",
        "bool",
        "bitcast: a bool has no bits of its own: cast it",
    ),
    "saturate": (
        "tw.cast(a, tw.i8, saturate=True)",
        "f32",
        "cast: rounding= and saturate= are for floats that become floats, found f32 to i8",
    ),
    "rounding": (
        'tw.cast(a, tw.f32, "up")',
        "i32",
        "cast: rounding= and saturate= are for floats that become floats, found i32 to f32",
    ),
    "unknown rounding": (
        'tw.cast(a, tw.bf16, "odd")',
        "f32",
        "cast: rounding='odd' is unknown; one of: nearest, toward_zero, up, down",
    ),
    "rounding is no text": (
        "tw.cast(a, tw.bf16, 3)",
        "f32",
        '`tw.cast`: rounding= takes "nearest", "toward_zero", "up" or "down", found 3',
    ),
    "arange": ("tw.arange(0, 300, dtype=tw.u8)", "f32", "arange: 0 to 299 doesn't fit u8"),
    "step": ("tw.arange(0, 8, 0)", "f32", "arange: the step is 0"),
    "empty": ("tw.arange(0, 8, -1)", "f32", "arange: arange(0, 0) is empty"),
}
SOURCE = """\
@tw.kernel
def f(x: tw.Tensor["N"]):
    a = tw.load(x[tw.ds(0, 8)])
    b = {expression}
"""


@pytest.mark.parametrize("name", CASES)
def test_what_ops_refuse(name):
    from kernel_source import kernel_of_source
    from tilewire.frontend.signature import ArrayArgument

    expression, dtype, expected = CASES[name]
    kernel = kernel_of_source(SOURCE.format(expression=expression), "f", f"refused {name}.py")
    argument = ArrayArgument("tensor", getattr(tw, dtype), (None,))
    with pytest.raises(tw.UserError) as caught:
        kernel.program("cpu", kernel.specialise({"x": argument}))
    assert caught.value.message == expected
    assert caught.value.line == 4
