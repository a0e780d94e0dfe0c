"""Barriers of all instances: what one wrote, any other reads."""

import numpy as np
import tilewire as tw

from op_cases.case import op_case


@op_case(
    "barrier",
    inputs=lambda make: {"x": make.values(), "y": make.output(), "z": make.output()},
    reference=lambda x: {"y": x, "z": np.roll(x, -2, axis=0)},
    grid=3,
)
@tw.kernel
def meet_on_one_rank(x: tw.Tensor["T", "H"], y: tw.Tensor["T", "H"], z: tw.Tensor["T", "H"], *,
                     H: tw.const):  # fmt: skip
    for row in tw.persistent(T):
        tw.store(y[row, :], tw.load(x[row, :]))
    tw.barrier(team="local", scope="grid")
    for row in tw.persistent(T):
        tw.store(z[row, :], tw.load(y[(row + 2) % T, :]))


@op_case(
    "barrier",
    inputs=lambda make: {"x": make.values(), "w": make.output(), "y": make.output()},
    reference=lambda x: {"y": [np.roll(x[(rank + 1) % 2], -1, axis=0) for rank in range(2)]},
    world=2,
    grid=3,
)
@tw.kernel
def meet_on_all_ranks(x: tw.Tensor["T", "H"], w: tw.Window["T", "H"], y: tw.Tensor["T", "H"], *,
                      H: tw.const):  # fmt: skip
    for row in tw.persistent(T):
        tw.store(w[row, :], tw.load(x[row, :]))
    tw.barrier(scope="grid")
    for row in tw.persistent(T):
        other = w.at((tw.rank() + 1) % tw.world_size())
        tw.store(y[row, :], tw.load(other[(row + 1) % T, :]))
    tw.barrier(scope="grid", order="relaxed")
