"""Numbers as kernel arguments: every dtype, to the bit, and what doesn't fit."""

import math

import numpy
import pytest
import tilewire as tw
from tilewire._tilewire import DType, scalar_bits

ml_dtypes = pytest.importorskip("ml_dtypes", reason="the reference for bf16 and fp8")

X = "kernel `f`: argument `x`"
FLOATS = {
    "f16": (numpy.float16, numpy.uint16),
    "bf16": (ml_dtypes.bfloat16, numpy.uint16),
    "f32": (numpy.float32, numpy.uint32),
    "f64": (numpy.float64, numpy.uint64),
    "e4m3": (ml_dtypes.float8_e4m3fn, numpy.uint8),
    "e5m2": (ml_dtypes.float8_e5m2, numpy.uint8),
}


def bits(value, dtype):
    return scalar_bits(value, getattr(DType, dtype), X)


def message_of(value, dtype):
    with pytest.raises(tw.UserError) as caught:
        bits(value, dtype)
    return caught.value.message


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_round_to_nearest_even(dtype):
    numpy_dtype, integer = FLOATS[dtype]
    largest = float(ml_dtypes.finfo(numpy_dtype).max)
    generator = numpy.random.default_rng(7)
    exponents = generator.uniform(-170, min(math.log2(largest), 170), 4000)
    values = numpy.exp2(exponents) * generator.choice([-1.0, 1.0], exponents.size)
    values = values[numpy.abs(values) < largest]
    assert values.size > 1000
    expected = values.astype(numpy_dtype).view(integer)
    assert [bits(float(v), dtype) for v in values] == expected.tolist()


@pytest.mark.parametrize("dtype", ["f16", "bf16", "e4m3", "e5m2"])
def test_every_value_of_a_small_float_and_the_ties_between(dtype):
    numpy_dtype, integer = FLOATS[dtype]
    count = 1 << (8 * numpy.dtype(numpy_dtype).itemsize)
    values = numpy.arange(count, dtype=numpy.uint32).astype(integer).view(numpy_dtype)
    values = numpy.sort(values[numpy.isfinite(values)].astype(numpy.float64))
    ties = (values[1:] + values[:-1]) / 2
    step = 1 if count == 256 else 37
    for value in numpy.concatenate([values, ties])[::step]:
        expected = numpy.float64(value).astype(numpy_dtype).view(integer)
        assert bits(float(value), dtype) == int(expected), value


@pytest.mark.parametrize("dtype", FLOATS)
def test_signed_zero_and_nan(dtype):
    numpy_dtype, integer = FLOATS[dtype]
    sign = 1 << (8 * numpy.dtype(numpy_dtype).itemsize - 1)
    assert (bits(0.0, dtype), bits(-0.0, dtype)) == (0, sign)
    nan = numpy.array([bits(math.nan, dtype)], integer).view(numpy_dtype)
    assert numpy.isnan(nan[0])


def test_infinity():
    assert bits(math.inf, "f32") == 0x7F800000
    assert bits(-math.inf, "bf16") == 0xFF80
    assert bits(math.inf, "f16") == 0x7C00
    assert message_of(math.inf, "e4m3") == f"{X}: inf does not fit e4m3 (at most 448)"


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (1e39, "f32", "1e+39 does not fit f32 (at most 3.402823e+38)"),
        (65520.0, "f16", "65520.0 does not fit f16 (at most 65504)"),
        (-480.0, "e4m3", "-480.0 does not fit e4m3 (at most 448)"),
        (10**400, "f64", "does not fit f64 (at most 1.797693e+308)"),
        (128, "i8", "128 does not fit i8 (-128 to 127)"),
        (-129, "i8", "-129 does not fit i8 (-128 to 127)"),
        (-1, "u32", "-1 does not fit u32 (0 to 4294967295)"),
        (1 << 32, "u32", "4294967296 does not fit u32 (0 to 4294967295)"),
        (1 << 63, "i64", "does not fit i64 (-9223372036854775808 to 9223372036854775807)"),
        (1 << 64, "u64", "does not fit u64 (0 to 18446744073709551615)"),
        (2, "bool", "2 does not fit bool (False or True)"),
        (numpy.int64(300), "u8", "300 does not fit u8 (0 to 255)"),
    ],
)
def test_what_does_not_fit(value, dtype, text):
    assert message_of(value, dtype).startswith(X)
    assert message_of(value, dtype).endswith(text)


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (65519.9, "f16", 0x7BFF),
        (127, "i8", 0x7F),
        (-128, "i8", 0x80),
        (-1, "i32", 0xFFFFFFFF),
        (-1, "i64", 0xFFFFFFFFFFFFFFFF),
        ((1 << 64) - 1, "u64", 0xFFFFFFFFFFFFFFFF),
        (255, "u8", 255),
        (True, "bool", 1),
        (0, "bool", 0),
        (True, "i32", 1),
        (3, "f32", 0x40400000),
        (numpy.int8(-2), "i32", 0xFFFFFFFE),
        (numpy.float32(1.5), "bf16", 0x3FC0),
        (numpy.float64(1.5), "f64", 0x3FF8000000000000),
        (numpy.bool_(True), "bool", 1),
        (numpy.bool_(False), "i32", 0),
        (ml_dtypes.bfloat16(1.5), "f32", 0x3FC00000),
    ],
)
def test_what_fits(value, dtype, expected):
    assert bits(value, dtype) == expected


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (2.5, "i32", "expected an integer for i32, got float 2.5"),
        (numpy.float32(2), "u8", "expected an integer for u8, got numpy.float32"),
        (1.0, "bool", "expected a bool for bool, got float 1.0"),
        ("1.0", "f32", "expected a number for f32, got str"),
        (numpy.str_("1.0"), "f32", "expected a number for f32, got numpy.str_"),
        (None, "f32", "expected a number for f32, got NoneType"),
        (1 + 2j, "f32", "expected a number for f32, got complex"),
        (numpy.complex64(1), "f32", "expected a number for f32, got numpy.complex64"),
    ],
)
def test_what_is_of_another_kind(value, dtype, text):
    assert message_of(value, dtype) == f"{X}: {text}"


@pytest.mark.parametrize("shape", [(), (1,)])
def test_arrays_are_no_scalars(shape):
    assert message_of(numpy.ones(shape, numpy.float32), "f32") == (
        f"{X}: expected a number for f32, got numpy.ndarray; a scalar parameter takes no array, "
        "not even of one element: pass `.item()`"
    )
