"""Channels: exchanges with tags and without, queues to peers and to oneself, records, tuples."""

import numpy as np
import tilewire as tw

from op_cases.case import ALL, FLOATS, op_case

SHAPES = ((4, 64), (5, 37), (1, 1))


def exchanged(x):
    return [np.stack([x[0], x[1]], axis=1)] * 2


def channel_for_rows(make, **options):
    return make.channel(2, 3, tile=(make.shape[1],), exchange=True, **options)


@op_case(
    "exchange",
    inputs=lambda make: {
        "x": make.values(),
        "ch": channel_for_rows(make),
        "y": make.output((make.shape[0], 2, make.shape[1])),
    },
    reference=lambda x: {"y": exchanged(x)},
    dtypes=ALL,
    shapes=SHAPES,
    grid=3,
    world=2,
)
@tw.kernel
def exchange_rows(
    x: tw.Tensor["T", "H"], ch: tw.Channel, y: tw.Tensor["T", "W", "H"], *, W: tw.const, H: tw.const
):
    i = tw.program_id(0)
    for row in tw.persistent(T):
        tw.store(y[row, :, :], tw.exchange(ch[:, i], tw.load(x[row, :])))


@op_case(
    "exchange",
    inputs=lambda make: {
        "x": make.values(),
        "ch": channel_for_rows(make, signed_zero=False),
        "y": make.output(dtype=make.dtype if make.dtype == tw.f64 else tw.f32),
    },
    reference=lambda x: {"y": [x[0] + x[1]] * 2},
    dtypes=FLOATS,
    shapes=SHAPES,
    grid=3,
    world=2,
)
@tw.kernel
def all_reduce_rows(x: tw.Tensor["T", "H"], ch: tw.Channel, y: tw.Tensor["T", "H"], *, H: tw.const):
    i = tw.program_id(0)
    for row in tw.persistent(T):
        parts = tw.exchange(ch[:, i], tw.load(x[row, :]))
        tw.store(y[row, :], tw.sum(parts, axis=0))


@op_case(
    "exchange",
    inputs=lambda make: {
        "x": make.values(),
        "ch": make.channel(2, make.shape[0], tile=(make.shape[1],), exchange=True),
        "y": make.output(),
    },
    reference=lambda x: {"y": [np.maximum(x[0], x[1])] * 2},
    dtypes=(tw.bf16, tw.i32),
    shapes=SHAPES,
    grid=1,
    world=2,
)
@tw.kernel
def exchange_by_row(x: tw.Tensor["T", "H"], ch: tw.Channel, y: tw.Tensor["T", "H"], *, H: tw.const):
    for row in range(T):
        tw.store(y[row, :], tw.max(tw.exchange(ch[:, row], tw.load(x[row, :])), axis=0))


@op_case(
    "send",
    "recv",
    inputs=lambda make: {
        "x": make.values(),
        "ch": make.channel(2, 2, tile=(make.shape[1],), depth=2),
        "y": make.output(),
        "own": make.output(),
    },
    reference=lambda x: {"y": [x[1], x[0]], "own": x},
    dtypes=ALL,
    shapes=SHAPES,
    grid=1,
    world=2,
)
@tw.kernel
def swap_rows(
    x: tw.Tensor["T", "H"], ch: tw.Channel, y: tw.Tensor["T", "H"], own: tw.Tensor["T", "H"], *,
    H: tw.const
):  # fmt: skip
    me = tw.rank()
    for row in range(T):
        tile = tw.load(x[row, :])
        tw.send(ch.at(1 - me)[me, 0], tile)
        tw.send(ch[me, 1], tile)
        tw.store(y[row, :], tw.recv(ch[1 - me, 0]))
        tw.store(own[row, :], tw.recv(ch[me, 1]))


@op_case(
    "send",
    "recv",
    inputs=lambda make: {
        "x": make.values(),
        "ch": make.channel(3, dtype=(make.dtype[make.shape], tw.i64, tw.f16), depth=3),
        "y": make.output(),
        "numbers": make.output((make.shape[0], 2)),
    },
    reference=lambda x: {
        "y": x,
        "numbers": np.stack([np.arange(x.shape[0]) * 1000, x[:, 0] * 0 + 0.5], axis=1),
    },
    dtypes=(tw.f32, tw.f64),
    shapes=SHAPES,
    grid=1,
)
@tw.kernel
def send_tuples(
    x: tw.Tensor["T", "H"], ch: tw.Channel, y: tw.Tensor["T", "H"], numbers: tw.Tensor["T", 2], *,
    T: tw.const, H: tw.const
):  # fmt: skip
    whole = tw.load(x[:, :])
    for row in range(T):
        tw.send(ch[row % 3], (whole, row * 1000, 0.5))
        tile, number, half = tw.recv(ch[row % 3])
        tw.store(y[row, :], tw.sum(tw.where(tw.arange(0, T)[:, None] == row, tile, 0.0), axis=0))
        tw.store(numbers[row, 0], number)
        tw.store(numbers[row, 1], half)
