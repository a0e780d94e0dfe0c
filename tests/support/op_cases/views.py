"""Views of any kind, index tiles, hints for caches, and work that is divided."""

import numpy as np
import tilewire as tw

from op_cases.case import ALL, NUMBERS, op_case


@op_case(
    "slice",
    "load",
    inputs=lambda make: {
        "x": make.values(),
        "rows": make.integers(-2, make.shape[0] + 1, 8),
        "y": make.output((8, make.shape[1])),
    },
    reference=lambda x, rows: np.where(
        ((rows >= 0) & (rows < len(x)))[:, None],
        x[np.clip(rows, 0, len(x) - 1)],
        np.zeros((), x.dtype),
    ),
    dtypes=ALL,
)
@tw.kernel
def load_indexed_rows(
    x: tw.Tensor["T", "H"],
    rows: tw.Tensor["R"],
    y: tw.Tensor["R", "H"],
    *,
    R: tw.const,
    H: tw.const,
):
    tw.store(y[:, :], tw.load(x[tw.load(rows[:]), :]))


@op_case(
    "slice",
    "store",
    inputs=lambda make: {
        "x": make.values(),
        "rows": np.random.default_rng(1)
        .permutation(make.shape[0] + 3)[: make.shape[0]]
        .astype(np.int64),
        "y": make.values(low=0, high=1) if make.dtype in (tw.f32, tw.f64) else make.values(),
    },
    reference=lambda x, rows, y: {
        "y": np.stack([x[list(rows).index(i)] if i in rows else y[i] for i in range(len(y))])
    },
    dtypes=ALL,
)
@tw.kernel
def store_indexed_rows(
    x: tw.Tensor["T", "H"],
    rows: tw.Tensor["T"],
    y: tw.Tensor["T", "H"],
    *,
    T: tw.const,
    H: tw.const,
):
    tw.store(y[tw.load(rows[:]), :], tw.load(x[:, :]))


@op_case(
    "slice",
    inputs=lambda make: {
        "x": make.values(),
        "rows": make.integers(0, make.shape[0] - 1, 4),
        "columns": make.integers(-1, make.shape[1], 8),
        "y": make.output((4, 8)),
    },
    reference=lambda x, rows, columns: np.where(
        (columns >= 0) & (columns < x.shape[1]),
        x[rows[:, None], np.clip(columns, 0, x.shape[1] - 1)],
        3,
    ),
    dtypes=NUMBERS,
)
@tw.kernel
def load_indexed_elements(
    x: tw.Tensor["T", "H"],
    rows: tw.Tensor["A"],
    columns: tw.Tensor["B"],
    y: tw.Tensor["A", "B"],
    *,
    A: tw.const,
    B: tw.const,
):
    a, b = tw.load(rows[:]), tw.load(columns[:])
    tw.store(y[:, :], tw.load(x[a[:, None], b[None, :]], other=3))


@op_case(
    "permute",
    inputs=lambda make: {"x": make.values(), "y": make.output(make.shape[::-1])},
    reference=lambda x: x.T,
    dtypes=ALL,
)
@tw.kernel
def transposed_view(x: tw.Tensor["T", "H"], y: tw.Tensor["H", "T"], *, T: tw.const, H: tw.const):
    tw.store(y[:, :], tw.load(x.T))


@op_case(
    "view",
    inputs=lambda make: {"x": make.values(64), "y": make.output((4, 8)), "width": 12},
    reference=lambda x: x[3 + 12 * np.arange(4)[:, None] + np.arange(8)],
    dtypes=ALL,
    shapes=((4, 8),),
)
@tw.kernel
def strided_view(
    x: tw.Tensor["N"], y: tw.Tensor["A", "B"], width: tw.i64, *, A: tw.const, B: tw.const
):
    tw.store(y[:, :], tw.load(tw.view(x, 3, (A, B), (width, 1))))


@op_case(
    "inside",
    inputs=lambda make: {"x": make.values(), "y": make.output((4, 64), tw.bool)},
    reference=lambda x: (
        (np.arange(4)[:, None] + 1 < min(3, x.shape[0])) & (np.arange(64) < x.shape[1])
    ),
    dtypes=(tw.f32,),
)
@tw.kernel
def mask_of_a_view(x: tw.Tensor["T", "H"], y: tw.Tensor[4, 64]):
    tw.store(y[:, :], tw.inside(x[0:3][tw.ds(1, 4), tw.ds(0, 64)]))


@op_case(
    "prefetch",
    inputs=lambda make: {"x": make.values(), "y": make.output()},
    reference=lambda x: x,
    dtypes=NUMBERS,
)
@tw.kernel
def copy_with_hints(x: tw.constant(tw.Tensor["T", "H"]), y: tw.Tensor["T", "H"], *, H: tw.const):
    for row in tw.persistent(T):
        tw.prefetch(x[row + 1, tw.ds(0, 64)])
        tw.prefetch(x[row, 0])
        tile = tw.load(x[row, :])
        last = tw.load(x[row, :], cache="last")
        streamed = tw.load(x[row, :], cache="streaming")
        only = tw.load(x[row, :], cache="l2")
        same = (tile == last) & (streamed == only) & (tile == only)
        tw.store(y[row, :], tile, where=same, cache="streaming")
        tw.store(y[row, :], tile, where=same, cache="last")
        tw.store(y[row, :], tile, where=same, cache="l2")
        tw.store(y[row, :], tile, where=same, cache="through")


@op_case(
    "next_index",
    inputs=lambda make: {"x": make.values(), "y": make.output()},
    reference=lambda x: x,
    dtypes=(tw.f32,),
    grid=3,
)
@tw.kernel
def copy_tiles_dynamically(x: tw.Tensor["T", "H"], y: tw.Tensor["T", "H"]):
    for t in tw.persistent(tw.tiles(T, H, 2, 16, order="grouped"), schedule="dynamic"):
        tw.store(y[t.m, t.n], tw.load(x[t.m, t.n]))


@op_case(
    "is_lsa",
    inputs=lambda make: {"x": make.values(), "y": make.output()},
    reference=lambda x: {"y": [x[rank ^ 1] for rank in range(2)]},
    dtypes=(tw.f32,),
    world=2,
)
@tw.kernel
def copy_from_reached(x: tw.Window["T", "H"], y: tw.Tensor["T", "H"], *, H: tw.const):
    tw.barrier()
    for r in tw.peers(start=tw.rank() + 1):
        if tw.is_lsa(r):
            for row in range(T):
                tw.store(y[row, :], tw.load(x.at(r)[row, :]))
    tw.barrier()


Row = tw.record(x=tw.f32[64], id=tw.i32, half=tw.bf16[2])


@op_case(
    "field",
    inputs=lambda make: {
        "x": make.values(64),
        "rows": make.integers(0, 255, (4, Row.num_bytes), tw.u8),
        "y": make.output((4, 64)),
        "ids": make.output(4, tw.i32),
    },
    reference=lambda x: {"y": np.stack([x + i for i in range(4)]), "ids": np.arange(4) * 10},
    dtypes=(tw.f32,),
    shapes=((4, 64),),
)
@tw.kernel
def records_written_and_read(
    x: tw.Tensor[64],
    rows: tw.Tensor["N", Row.num_bytes],
    y: tw.Tensor["N", 64],
    ids: tw.Tensor["N"],
):
    records = tw.as_records(rows, Row)
    for i in tw.persistent(N):
        n = tw.cast(i, tw.i32)
        record = Row(x=tw.load(x[:]) + tw.cast(i, tw.f32), id=n * 10, half=tw.zeros(2, tw.bf16))
        tw.store(records[i], record)
        tw.store(y[i, :], tw.load(records[i].x))
        tw.store(ids[i], tw.load(records[i]).id)
