"""Control flow: loops that end early, returns, branches with results, functions and bundles."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import tilewire as tw

from op_cases.case import op_case


def _doubled_until_large(x):
    rows = x.copy()
    for row in rows:
        while np.abs(row).max() < 50:
            row *= 2
    return rows


@op_case(
    inputs=lambda make: {"x": make.values(low=0.5, high=1.5), "y": make.output()},
    reference=_doubled_until_large,
)
@tw.kernel
def while_with_a_tile(x: tw.Tensor["T", "H"], y: tw.Tensor["T", "H"], *, H: tw.const):
    for row in tw.persistent(T):
        tile = tw.load(x[row, :])
        while tw.max(tw.abs(tile)) < 50:
            tile = tile * 2
        tw.store(y[row, :], tile)


def _summed_until_negative(x, dtype):
    out = np.zeros((len(x), 2))
    for result, row in zip(out, x, strict=True):
        for value in row:
            if value < 0:
                break
            result[1] += 1
            if value > 2:
                continue
            result[0] = max(result[0], value)
    return out


@op_case(
    inputs=lambda make: {"x": make.values(low=-0.2, high=3), "y": make.output((make.shape[0], 2))},
    reference=_summed_until_negative,
)
@tw.kernel
def break_and_continue(x: tw.Tensor["T", "H"], y: tw.Tensor["T", 2]):
    for row in tw.persistent(T):
        best = tw.load(x[row, 0]) * 0
        seen = 0
        for i in range(H):
            value = tw.load(x[row, i])
            if value < 0:
                break
            seen += 1
            if value > 2:
                continue
            best = max(best, value)
        tw.store(y[row, 0], best)
        tw.store(y[row, 1], seen)


def _rows_until_large(x):
    out = np.full(len(x), -1.0)
    for i, row in enumerate(x):
        if row.max() > 0.97:
            break
        out[i] = i
    return out


@op_case(
    inputs=lambda make: {
        "x": make.values(low=0, high=1),
        "y": make.values((make.shape[0],), tw.f32, -1, -0.999) * 0 - 1,
    },
    reference=lambda x: {"y": _rows_until_large(x)},
    grid=1,
)
@tw.kernel
def return_in_a_loop(x: tw.Tensor["T", "H"], y: tw.Tensor["T"], *, H: tw.const):
    for row in range(T):
        if tw.max(tw.load(x[row, :])).to(tw.f64) > 0.97:
            return
        tw.store(y[row], row)


@dataclass
class Running:
    largest: Any
    where: Any

    @tw.function
    def with_row(self, value, row):
        if value <= self.largest:
            return self
        return Running(value, row)


@op_case(
    inputs=lambda make: {"x": make.values(), "y": make.output((2,), tw.f32)},
    reference=lambda x: np.array([x[:, 0].max(), x[::-1, 0].argmax()]),
    grid=1,
)
@tw.kernel
def function_of_a_bundle(x: tw.Tensor["T", "H"], y: tw.Tensor[2]):
    running = Running(-float("inf"), -1)
    for row in range(T - 1, -1, -1):
        running = running.with_row(tw.load(x[row, 0]).to(tw.f32), T - 1 - row)
    for i, each in enumerate((running.largest, running.where)):
        tw.store(y[i], each)
