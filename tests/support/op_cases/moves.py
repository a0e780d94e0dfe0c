"""Moving the elements of a tile, and combining them in order."""

import numpy as np
import tilewire as tw
from op_cases.case import INTEGERS, op_case


@op_case(
    "histogram",
    inputs=lambda make: {"x": make.values(low=0, high=40), "y": make.output(33, tw.i32)},
    reference=lambda x: np.bincount(x[x < 33].ravel(), minlength=33),
    dtypes=INTEGERS,
    grid=1,
)
@tw.kernel
def count_numbers(x: tw.Tensor["T", "H"], y: tw.Tensor["B"], *, T: tw.const, H: tw.const,
                  B: tw.const):  # fmt: skip
    tw.store(y[:], tw.histogram(tw.load(x[:, :]), B))
