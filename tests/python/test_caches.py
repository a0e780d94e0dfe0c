"""Constants, hints for caches and prefetches, in the text that is generated and in PTX."""

import re

import numpy as np
import pytest
import tilewire as tw


@tw.kernel
def scaled_sum(
    x: tw.Window["T", "H"],
    gain: tw.constant(tw.Tensor["H"]),
    bias: tw.Tensor["H"],
    y: tw.Tensor["T", "H"],
    *,
    H: tw.const,
):
    tw.barrier()
    for row in tw.persistent(T):
        total = tw.load(x.at((tw.rank() + 1) % tw.world_size())[row, :]) * tw.load(gain[:])
        tw.store(y[row, :], total + tw.load(bias[:]))
    tw.barrier()


SIGNATURE = {
    "x": "window:f32[?, 512]",
    "gain": "f32[512]",
    "bias": "f32[512]",
    "y": "f32[?, 512]",
    "H": 512,
}


def test_only_constants_go_through_the_read_only_path(emitted):
    text = emitted(scaled_sum, "sm_90a:world=2", "cuda", **SIGNATURE)
    assert text.count("tw::Cache::kConstant") == 1
    assert re.search(r"gain_tile =\s+tw::load<TileF32_512, \d, tw::Cache::kConstant>\(", text)


def test_a_constant_is_loaded_before_the_wait_and_nothing_else_is(emitted):
    @tw.kernel
    def f(
        x: tw.Window["H"],
        gain: tw.constant(tw.Tensor["H"]),
        bias: tw.Tensor["H"],
        y: tw.Tensor["H"],
        *,
        H: tw.const,
    ):
        tw.barrier()
        tw.store(y[:], tw.load(x[:]) * tw.load(gain[:]) + tw.load(bias[:]))

    shapes = {"x": "window:f32[512]", "gain": "f32[512]", "bias": "f32[512]", "y": "f32[512]"}
    text = emitted(f, "sm_90a:world=2", "cuda", H=512, **shapes)
    wait = text.index("barrier.sync")
    assert text.index("gain_tile =") < wait < text.index("bias_tile =")
    assert wait < text.index("x_tile =")


def loads_of(ptx):
    """Loads of floats; NCCL's headers read words of their own through .nc."""
    return re.findall(r"ld\.global\S*\.f32", ptx)


def test_window_memory_is_never_read_through_nc(emitted):
    text = emitted(scaled_sum, "sm_90a:world=2", "ptx", **SIGNATURE)
    plain = emitted(tw.kernel(_without_constants), "sm_90a:world=2", "ptx", **SIGNATURE)
    assert text.count("ld.global.nc") > plain.count("ld.global.nc")  # the rest is NCCL's own
    for ptx in (text, plain):
        loads = loads_of(ptx)  # of the peer's rows and of `bias`
        assert loads and not any(".nc" in load for load in loads)


def _without_constants(
    x: tw.Window["T", "H"],
    gain: tw.Tensor["H"],
    bias: tw.Tensor["H"],
    y: tw.Tensor["T", "H"],
    *,
    H: tw.const,
):
    tw.barrier()
    for row in tw.persistent(T):
        total = tw.load(x.at((tw.rank() + 1) % tw.world_size())[row, :]) * tw.load(gain[:])
        tw.store(y[row, :], total + tw.load(bias[:]))
    tw.barrier()


@tw.kernel
def copy_hinted(
    x: tw.Tensor["N"], y: tw.Tensor["N"], *, N: tw.const, read: tw.const, write: tw.const
):
    tw.store(y[:], tw.load(x[:], cache=read), cache=write)


@pytest.mark.parametrize("dtype", ["f32", "bf16", "i8", "f64"])
@pytest.mark.parametrize(
    ("read", "write", "load", "store"),
    [
        ("streaming", "streaming", r"ld\.global\.cs", r"st\.global\.cs"),
        ("l2", "l2", r"ld\.global\.cg", r"st\.global\.cg"),
        ("last", "last", r"ld\.global\.L2::cache_hint", r"st\.global\.L2::cache_hint"),
        ("last", "through", r"ld\.global\.L2::cache_hint", r"st\.global\.wt"),
    ],
)
def test_hints_become_qualifiers(read, write, load, store, dtype, emitted):
    for size in (512, 1):
        arguments = {"x": f"{dtype}[{size}]", "y": f"{dtype}[{size}]", "N": size}
        text = emitted(copy_hinted, "sm_90a", "cuda", read=read, write=write, **arguments)
        names = {"streaming": "kStreaming", "l2": "kL2", "last": "kLast", "through": "kThrough"}
        assert f"tw::Cache::{names[read]}>(" in text and f"tw::Cache::{names[write]}>(" in text
        ptx = emitted(copy_hinted, "sm_90a", "ptx", read=read, write=write, **arguments)
        assert re.search(load, ptx) and re.search(store, ptx)


def test_hints_change_no_result():
    x = np.arange(33, dtype=np.float32)
    for read in ("streaming", "l2", "last"):
        for write in ("streaming", "l2", "last", "through"):
            y = np.full(33, -1, np.float32)
            copy_hinted[1](x, y, read=read, write=write)
            assert (y == x).all()


def test_prefetch_warms_the_l2_only(emitted):
    @tw.kernel
    def f(x: tw.Tensor["M", "N"], y: tw.Tensor["M"], *, N: tw.const):
        for row in tw.persistent(M):
            tw.prefetch(x[row + 1, :])
            tw.store(y[row], tw.sum(tw.load(x[row, :])))

    ptx = emitted(f, "sm_90a", "ptx", x="bf16[?, 4096]", y="f32[?]", N=4096)
    assert "prefetch.global.L2" in ptx
    x = np.random.default_rng(0).standard_normal((7, 40)).astype(np.float32)
    y = np.full(7, np.nan, np.float32)
    f[2](x, y)
    assert np.allclose(y, x.sum(axis=1), atol=1e-5)


def test_equal_loads_of_a_constant_are_one(ir, emitted):
    @tw.kernel
    def f(x: tw.constant(tw.Tensor["N"]), y: tw.Tensor["N"], *, N: tw.const):
        tw.store(y[:], tw.load(x[:]))
        tw.store(y[:], tw.load(x[:]) + tw.load(y[:]))

    lowered = emitted(f, "sm_90a", "lowered", x="f32[64]", y="f32[64]", N=64)
    assert lowered.count("constant = true") == 1
    assert "constant %x: f32[64]" in ir(f, "cpu", x="f32[64]", y="f32[64]", N=64)
    y = np.full(64, -1, np.float32)
    f[1](np.arange(64, dtype=np.float32), y)
    assert (y == 2 * np.arange(64)).all()
