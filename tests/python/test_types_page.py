"""Every pair of dtypes: what the Builder, the CPU target and the CUDA text make of it is what
docs/types.md says. TILEWIRE_REFRESH_GOLDENS=1 writes the table there."""

import os
import re
from pathlib import Path

import numpy as np
import pytest
import tilewire as tw
from tilewire import _tilewire
from tilewire.types import to_numpy_dtype

PAGE = Path(__file__).parents[2] / "docs/types.md"
DTYPES = list(_tilewire.all_dtypes())
DEVICE_TYPES = {
    "bool": "bool", "e4m3": "tw::e4m3", "e5m2": "tw::e5m2", "f16": "tw::f16", "bf16": "tw::bf16",
    "f32": "float", "f64": "double",
    **{f"i{bits}": f"int{bits}_t" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}_t" for bits in (8, 16, 32, 64)},
}  # fmt: skip
MARKS = re.compile(r"(<!-- widening: .* -->\n)(.*)(<!-- end of widening -->\n)", re.DOTALL)


def expected_dtype(a, b):
    """The rules of docs/types.md, written a second time."""
    floats = [each for each in (a, b) if each.name in ("f16", "bf16", "f32", "f64", "e4m3", "e5m2")]
    if floats:
        sizes = [to_numpy_dtype(each).itemsize for each in floats]
        widest = max(sizes)
        kinds = {each for each, size in zip(floats, sizes, strict=True) if size == widest}
        return tw.f32 if widest == 1 or len(kinds) > 1 else kinds.pop()
    if a == b == tw.bool:
        return tw.i32
    made = np.result_type(to_numpy_dtype(a), to_numpy_dtype(b))  # NumPy goes to f64 beyond i64
    return tw.i64 if made.kind == "f" else getattr(tw, f"{made.kind}{8 * made.itemsize}")


def built_dtype(a, b):
    builder = _tilewire.Builder("f", "f.py", _tilewire.Target("cpu"))
    tiles = [builder.full([4], 1, each) for each in (a, b)]
    return builder.binary("add", *tiles).type.dtype


def table():
    names = [each.name for each in DTYPES]
    lines = [
        f"| | {' | '.join(f'`{each}`' for each in names)} |",
        "| --- " * (len(names) + 1) + "|",
    ]
    for a in DTYPES:
        cells = " | ".join(expected_dtype(a, b).name for b in DTYPES)
        lines.append(f"| `{a.name}` | {cells} |")
    return "\n".join(lines) + "\n"


def test_page_has_the_table():
    text = PAGE.read_text()
    if os.environ.get("TILEWIRE_REFRESH_GOLDENS"):
        text = MARKS.sub(lambda match: match[1] + "\n" + table() + "\n" + match[3], text)
        PAGE.write_text(text)
    assert MARKS.search(text)[2].strip() == table().strip()


@pytest.mark.parametrize("a", DTYPES, ids=lambda each: each.name)
def test_the_builder_widens_as_the_table_says(a):
    for b in DTYPES:
        assert built_dtype(a, b) == built_dtype(b, a) == expected_dtype(a, b), (a, b)


@tw.kernel
def sums(x: tw.Tensor["N"], y: tw.Tensor["N"], out: tw.Tensor[2, "N"], *, N: tw.const):
    sum_of_both = tw.load(x[:]) + tw.load(y[:])
    tw.store(out[0, :], sum_of_both)
    tw.store(out[1, :], sum_of_both)


def exact_sum(x, y, dtype):
    """By way of f64 and, for 16-bit floats, of f32; integers wrap."""
    if dtype.name.startswith(("i", "u")):
        return x.astype(to_numpy_dtype(dtype)) + y.astype(to_numpy_dtype(dtype))
    wide = x.astype(to_numpy_dtype(dtype)).astype(np.float64)
    wide = wide + y.astype(to_numpy_dtype(dtype)).astype(np.float64)
    return wide.astype(to_numpy_dtype(dtype))


@pytest.mark.parametrize("a", DTYPES, ids=lambda each: each.name)
def test_both_targets_compute_in_that_dtype(a, emitted):
    """The CPU target's sums are those of the dtype; in the CUDA text it is the sum's type."""
    for b in DTYPES:
        dtype = expected_dtype(a, b)
        x, y = (np.array([1, 2, 100, 127, 0, 1]).astype(to_numpy_dtype(each)) for each in (a, b))
        out = np.zeros((2, 6), to_numpy_dtype(dtype))
        sums[1](x, y, out)
        with np.errstate(over="ignore"):
            np.testing.assert_array_equal(out[1], exact_sum(x, y, dtype), f"{a} + {b}")
        text = emitted(
            sums,
            "sm_90a",
            "cuda",
            N=6,
            x=f"{a.name}[6]",
            y=f"{b.name}[6]",
            out=f"{dtype.name}[2, 6]",
        )
        alias = re.search(r"const (\w+) sum_of_both =", text)[1]
        assert f"using {alias} = tw::Tile<{DEVICE_TYPES[dtype.name]}, " in text, (a, b)
