"""Messages and assertions that hold: they change nothing. What they say is in test_print.py and
test_assert.py."""

import tilewire as tw

from op_cases.case import ALL, NUMBERS, op_case


@op_case(
    "print",
    inputs=lambda make: {"x": make.values(), "y": make.output()},
    reference=lambda x: x,
    dtypes=ALL,
    grid=1,
)
@tw.kernel
def print_rows(x: tw.Tensor["T", "H"], y: tw.Tensor["T", "H"], *, H: tw.const):
    for row in tw.persistent(T):
        tile = tw.load(x[row, :])
        tw.print("row", row, "is", tile)
        tw.print(tile, all=True)
        tw.store(y[row, :], tile)


@op_case(
    "assert",
    inputs=lambda make: {"x": make.values(), "y": make.output()},
    reference=lambda x: x,
    dtypes=NUMBERS,
)
@tw.kernel
def assert_rows(x: tw.Tensor["T", "H"], y: tw.Tensor["T", "H"], *, H: tw.const):
    for row in tw.persistent(T):
        tile = tw.load(x[row, :])
        tw.assert_(tile == tile, "NaN")
        tw.assert_(row < T, "beyond the last row", row)
        tw.store(y[row, :], tile)
