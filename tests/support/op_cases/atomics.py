"""Atomics: the sum, the extremes and the swaps that all orders of the instances give."""

import numpy as np
import tilewire as tw

from op_cases.case import HALVES, op_case

DTYPES = (tw.f32, tw.f64, *HALVES, tw.i32, tw.u32, tw.i64, tw.u64)


def whole(make, shape=None):
    """Integers from 0 to 9 in the case's dtype."""
    return make.values(shape, tw.i32, 0, 9).astype(make.values((1,)).dtype)


@op_case(
    "atomic",
    inputs=lambda make: {
        "x": whole(make),
        "total": whole(make, make.shape[1]),
        "low": whole(make, make.shape[1]),
        "high": whole(make, make.shape[1]),
    },
    reference=lambda x, total, low, high: {
        "total": total + x.sum(axis=0),
        "low": np.minimum(low, x.min(axis=0)),
        "high": np.maximum(high, x.max(axis=0)),
    },
    dtypes=DTYPES,
    grid=3,
)
@tw.kernel
def atomic_over_rows(
    x: tw.Tensor["T", "H"], total: tw.Tensor["H"], low: tw.Tensor["H"], high: tw.Tensor["H"], *,
    H: tw.const
):  # fmt: skip
    for row in tw.persistent(T):
        tile = tw.load(x[row, :])
        tw.atomic_add(total[:], tile, order="relaxed")
        tw.atomic_min(low[:], tile)
        tw.atomic_max(high[:], tile, order="release")


@op_case(
    "atomic",
    inputs=lambda make: {"x": whole(make), "y": make.output(), "z": make.output(make.shape[0])},
    reference=lambda x: {
        "x": np.concatenate([np.where(x[:, :1] == 3, 8, x[:, :1] + 1), x[:, 1:] * 0 + 5], axis=1),
        "y": np.concatenate([x[:, :1] * 0 + 7, x[:, 1:]], axis=1),
        "z": x[:, 0],
    },
    dtypes=DTYPES,
    grid=2,
)
@tw.kernel
def atomic_returns_what_was_there(
    x: tw.Tensor["T", "H"], y: tw.Tensor["T", "H"], z: tw.Tensor["T"], *, H: tw.const
):
    for row in tw.persistent(T):
        old = tw.atomic_exchange(x[row, :], 5, where=tw.arange(H) > 0)
        tw.store(y[row, :], tw.where(tw.arange(H) > 0, old, 7))
        first = tw.atomic_cas(x[row, 0], 3, 8, order="acquire")
        tw.atomic_add(x[row, 0], 1, where=first != 3, scope="cta")
        tw.store(z[row], first)


@op_case(
    "atomic",
    inputs=lambda make: {
        "x": make.values(None, make.dtype, 0, 100),
        "bits": make.values((3, make.shape[1]), make.dtype, 0, 100),
        "y": make.output(),
    },
    reference=lambda x, bits: {
        "bits": np.stack([
            np.bitwise_and.reduce(x) & bits[0],
            np.bitwise_or.reduce(x) | bits[1],
            np.bitwise_xor.reduce(x) ^ bits[2],
        ]),
        "y": x & 12,
        "x": x & 3,
    },
    dtypes=(tw.i32, tw.u32, tw.i64, tw.u64),
    grid=3,
)  # fmt: skip
@tw.kernel
def atomic_bits(
    x: tw.Tensor["T", "H"], bits: tw.Tensor["B", "H"], y: tw.Tensor["T", "H"], *, H: tw.const
):
    for row in tw.persistent(T):
        tile = tw.load(x[row, :])
        tw.atomic_and(bits[0, :], tile)
        tw.atomic_or(bits[1, :], tile, order="relaxed")
        tw.atomic_xor(bits[2, :], tile, order="release")
        tw.store(y[row, :], tw.atomic_and(x[row, :], 3) & 12)


@op_case(
    "atomic",
    inputs=lambda make: {"x": make.integers(-1, 12), "bins": whole(make, 10)},
    reference=lambda x, bins: {"bins": bins + [(x == i).sum() for i in range(10)]},
    dtypes=DTYPES,
    grid=2,
)
@tw.kernel
def atomic_scatter(x: tw.Tensor["T", "H"], bins: tw.Tensor["B"], *, H: tw.const):
    for row in tw.persistent(T):
        tw.atomic_add(bins[tw.load(x[row, :])], 1)


@op_case(
    "atomic",
    inputs=lambda make: {"x": whole(make)},
    reference=lambda x: {"x": [each + 3 for each in x]},
    dtypes=DTYPES,
    world=2,
    grid=2,
)
@tw.kernel
def atomic_at_peers(x: tw.Window["T", "H"], *, H: tw.const):
    for row in tw.persistent(T):
        for r in tw.ranks():
            tw.atomic_add(x.at(r)[row, :], tw.rank() + 1)
