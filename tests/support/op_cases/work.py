"""Dividing work."""

import numpy as np
import tilewire as tw

from op_cases.case import op_case


@op_case(
    "non_negative",
    inputs=lambda make: {"x": make.values(), "y": make.output()},
    reference=lambda x: np.concatenate([part * (1 + i) for i, part in enumerate(chunks(x))]),
    dtypes=(tw.f32, tw.bf16),
    shapes=((24, 32), (13, 37), (1, 8)),
    grid=3,
)
@tw.kernel
def tiles_in_parts(x: tw.Tensor["M", "N"], y: tw.Tensor["M", "N"]):
    for t in tw.persistent(tw.tiles(M, N, 4, 16, split=3, order="grouped", group=2)):
        tw.store(y[t.m, t.n], tw.load(x[t.m, t.n]) * tw.cast(1 + t.part, x.dtype))


def chunks(x):
    """As torch.chunk divides rows into three."""
    size = -(-len(x) // 3)
    return [x[i * size : (i + 1) * size].astype(np.float64) for i in range(3)]
