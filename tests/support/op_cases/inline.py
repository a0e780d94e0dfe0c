"""CUDA text beside its reference."""

import numpy as np
import tilewire as tw

from op_cases.case import FLOATS, op_case


@op_case(
    "inline_cuda",
    inputs=lambda make: {"x": make.values(), "y": make.values(), "z": make.output()},
    reference=lambda x, y: np.maximum(x, y),
    dtypes=FLOATS,
)
@tw.kernel
def inline_larger(
    x: tw.Tensor["T", "H"], y: tw.Tensor["T", "H"], z: tw.Tensor["T", "H"], *, H: tw.const
):
    for row in tw.persistent(T):
        a, b = tw.load(x[row, :]), tw.load(y[row, :])
        tw.store(z[row, :], tw.inline_cuda("{0} > {1} ? {0} : {1}", a, b, reference=tw.maximum))
