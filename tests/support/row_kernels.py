"""Kernels over the rows of one tensor on one GPU, as a user would write them.

A program instance takes blocks of ROWS rows. H is a constant, T is known at run time.
"""

import tilewire as tw


@tw.kernel
def softmax(x: tw.Tensor["T", "H"], y: tw.Tensor["T", "H"], *, H: tw.const, ROWS: tw.const):
    for block in tw.persistent(tw.cdiv(T, ROWS)):
        rows = tw.ds(block * ROWS, ROWS)
        tile = tw.cast(tw.load(x[rows, :]), tw.f32)
        e = tw.exp(tile - tw.max(tile, axis=1)[:, None])
        scale = 1.0 / tw.sum(e, axis=1)
        tw.store(y[rows, :], tw.cast(e * scale[:, None], tw.bf16))


@tw.kernel
def layer_norm(
    x: tw.Tensor["T", "H"], gain: tw.Tensor["H"], bias: tw.Tensor["H"], y: tw.Tensor["T", "H"],
    eps: tw.f32, *, H: tw.const, ROWS: tw.const
):  # fmt: skip
    for block in tw.persistent(tw.cdiv(T, ROWS)):
        rows = tw.ds(block * ROWS, ROWS)
        tile = tw.cast(tw.load(x[rows, :]), tw.f32)
        centred = tile - (tw.sum(tile, axis=1) * (1.0 / H))[:, None]
        variance = tw.sum(centred * centred, axis=1) * (1.0 / H)
        normal = centred * tw.rsqrt(variance + eps)[:, None]
        scaled = normal * tw.load(gain[:])[None, :] + tw.load(bias[:])[None, :]
        tw.store(y[rows, :], tw.cast(scaled, tw.bf16))


@tw.kernel
def rms_norm(
    x: tw.Tensor["T", "H"], gain: tw.Tensor["H"], y: tw.Tensor["T", "H"], eps: tw.f32, *,
    H: tw.const, ROWS: tw.const
):  # fmt: skip
    for block in tw.persistent(tw.cdiv(T, ROWS)):
        rows = tw.ds(block * ROWS, ROWS)
        tile = tw.cast(tw.load(x[rows, :]), tw.f32)
        scale = tw.rsqrt(tw.sum(tile * tile, axis=1) * (1.0 / H) + eps)
        scaled = tile * scale[:, None] * tw.load(gain[:])[None, :]
        tw.store(y[rows, :], tw.cast(scaled, tw.bf16))


@tw.kernel
def gelu_bias(
    x: tw.Tensor["T", "H"], bias: tw.Tensor["H"], y: tw.Tensor["T", "H"], *, H: tw.const,
    ROWS: tw.const
):  # fmt: skip
    for block in tw.persistent(tw.cdiv(T, ROWS)):
        rows = tw.ds(block * ROWS, ROWS)
        z = tw.cast(tw.load(x[rows, :]), tw.f32) + tw.load(bias[:])[None, :]
        half = 0.5 * z
        tw.store(y[rows, :], tw.cast(half + half * tw.erf(z * 0.7071067811865476), tw.bf16))


@tw.kernel
def row_sum(x: tw.Tensor["T", "H"], y: tw.Tensor["T"], *, H: tw.const, ROWS: tw.const):
    for block in tw.persistent(tw.cdiv(T, ROWS)):
        rows = tw.ds(block * ROWS, ROWS)
        tw.store(y[rows], tw.cast(tw.sum(tw.load(x[rows, :]), axis=1), tw.bf16))
