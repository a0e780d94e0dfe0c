"""Programs that the fuzzer (tests/support/fuzz) found wrong, cut down to the cause."""

import numpy as np
import tilewire as tw

from op_cases.case import NUMBERS, op_case


@op_case(
    "load",
    inputs=lambda make: {"x": make.values(), "y": make.output()},
    reference=lambda x: x,
    dtypes=NUMBERS,
    grid=1,
)
@tw.kernel
def whole_load_with_other(
    x: tw.Tensor["T", "H"], y: tw.Tensor["T", "H"], *, T: tw.const, H: tw.const
):
    tw.store(y[:, :], tw.load(x[:, :], other=1))


@op_case(
    "argmax",
    "argmin",
    inputs=lambda make: {"x": make.values(), "y": make.output((make.shape[0], 2), tw.i32)},
    reference=lambda x: np.stack([x.argmax(axis=1), x.argmin(axis=1)], axis=1),
    dtypes=NUMBERS,
)
@tw.kernel
def indices_along_the_only_axis(x: tw.Tensor["T", "H"], y: tw.Tensor["T", 2], *, H: tw.const):
    for row in tw.persistent(T):
        tile = tw.load(x[row, :])
        tw.store(y[row, 0], tw.argmax(tile, axis=0))
        tw.store(y[row, 1], tw.argmin(tile, axis=0))


@op_case(
    "minimum",
    inputs=lambda make: {"x": make.values(), "z": make.values(), "y": make.output()},
    reference=lambda x, z: np.minimum(np.minimum(x, z), z * x + z),
    dtypes=(tw.f32, tw.f64),
    tolerance=4,
    grid=1,
)
@tw.kernel
def minimum_of_a_minimum_and_an_fma(
    x: tw.Tensor["T", "H"], z: tw.Tensor["T", "H"], y: tw.Tensor["T", "H"], *, T: tw.const,
    H: tw.const
):  # fmt: skip
    a, b = tw.load(x[:, :]), tw.load(z[:, :])
    tw.store(y[:, :], tw.minimum(tw.minimum(a, b), tw.fma(b, a, b)))
