"""`tw.matmul` on the CPU against NumPy in float64, and the instructions that NVRTC makes of it."""

import ml_dtypes
import numpy as np
import pytest
import tilewire as tw

NUMPY = {
    "f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32, "f64": np.float64,
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2, "i8": np.int8, "u8": np.uint8,
}  # fmt: skip


def numbers(shape, dtype, seed):
    random = np.random.default_rng(seed)
    if dtype in ("i8", "u8"):
        info = np.iinfo(NUMPY[dtype])
        return random.integers(info.min, info.max, shape, endpoint=True).astype(NUMPY[dtype])
    return random.standard_normal(shape).astype(NUMPY[dtype])


@tw.kernel
def product(
    a: tw.Tensor["B", "M", "K"],
    b: tw.Tensor["B", "K", "N"],
    c: tw.Tensor["B", "M", "N"],
    *,
    B: tw.const,
    M: tw.const,
    N: tw.const,
    K: tw.const,
    precision: tw.const = "tf32",
):
    if B > 1:
        tw.store(c[:, :, :], tw.matmul(tw.load(a[:, :, :]), tw.load(b[:, :, :])))
    else:
        tile = tw.matmul(tw.load(a[0, :, :]), tw.load(b[0, :, :]), precision=precision)
        tw.store(c[0, :, :], tile)


def check(c, exact, scale, tolerance):
    assert c.dtype.kind == "i" or np.isfinite(c).all()
    assert (np.abs(c.astype(np.float64) - exact) <= tolerance * scale).all()


@pytest.mark.parametrize("shape", [(1, 16, 8, 16), (1, 1, 1, 1), (1, 33, 17, 70), (3, 5, 9, 12)])
@pytest.mark.parametrize(
    "dtypes", ["f16", "bf16", "e4m3", "e5m2", "e4m3 e5m2", "f64", "i8", "u8 i8"]
)
def test_against_numpy(dtypes, shape):
    left, right = (dtypes + " " + dtypes).split()[:2] if " " not in dtypes else dtypes.split()
    batch, rows, columns, depth = shape
    a, b = numbers((batch, rows, depth), left, 1), numbers((batch, depth, columns), right, 2)
    result = {"f64": np.float64, "i8": np.int32, "u8": np.int32}.get(left, np.float32)
    c = np.full((batch, rows, columns), -77, result)
    product[1](a, b, c)
    a, b = a.astype(np.float64), b.astype(np.float64)
    tolerance = 0 if result == np.int32 else 1e-15 if result == np.float64 else 1e-6
    check(c, a @ b, np.abs(a) @ np.abs(b), tolerance * depth)


@pytest.mark.parametrize(("precision", "tolerance"), [("tf32", 2**-10), ("ieee", 1e-6)])
def test_f32(precision, tolerance):
    a, b = numbers((1, 20, 70), "f32", 3), numbers((1, 70, 9), "f32", 4)
    c = np.full((1, 20, 9), -77, np.float32)
    product[1](a, b, c, precision=precision)
    a, b = a.astype(np.float64), b.astype(np.float64)
    check(c, a @ b, np.abs(a) @ np.abs(b), tolerance)
    if precision == "tf32":
        a, b = ((x.astype(np.float32).view(np.uint32) + 0x1000) & 0xFFFFE000 for x in (a, b))
        a, b = (x.view(np.float32).astype(np.float64) for x in (a, b))
        check(c, a @ b, np.abs(a) @ np.abs(b), 1e-5)


@tw.kernel
def blocked(
    a: tw.Tensor["M", "K"],
    b: tw.Tensor["K", "N"],
    c: tw.Tensor["M", "N"],
    *,
    BM: tw.const,
    BN: tw.const,
    BK: tw.const,
):
    columns = tw.cdiv(N, BN)
    for t in tw.persistent(tw.cdiv(M, BM) * columns):
        row, column = t // columns * BM, t % columns * BN
        acc = tw.zeros((BM, BN), tw.f32)
        for k in range(0, K, BK):
            left = tw.load(a[tw.ds(row, BM), tw.ds(k, BK)])
            right = tw.load(b[tw.ds(k, BK), tw.ds(column, BN)])
            acc = tw.matmul(left, right, acc=acc)
        tw.store(c[tw.ds(row, BM), tw.ds(column, BN)], acc)


@tw.kernel
def of_views(
    a: tw.Tensor["M", "K"],
    b: tw.Tensor["N", "K"],
    c: tw.Tensor["M", "N"],
    *,
    BM: tw.const,
    BN: tw.const,
    BK: tw.const,
):
    columns = tw.cdiv(N, BN)
    for t in tw.persistent(tw.cdiv(M, BM) * columns):
        rows, lines = tw.ds(t // columns * BM, BM), tw.ds(t % columns * BN, BN)
        acc = tw.matmul(a[rows, :], b[lines, :], transpose_b=True, block_k=BK, stages=3)
        tw.store(c[rows, lines], acc)


@pytest.mark.parametrize("kernel", [blocked, of_views], ids=lambda kernel: kernel.__name__)
@pytest.mark.parametrize("shape", [(64, 48, 96), (65, 33, 47), (3, 5, 200)])
def test_any_shape_in_blocks(kernel, shape):
    rows, columns, depth = shape
    a, b = numbers((rows, depth), "bf16", 5), numbers((depth, columns), "bf16", 6)
    c = np.full((rows, columns), -77, np.float32)
    second = b if kernel is blocked else np.ascontiguousarray(b.T)
    kernel[tw.auto](a, second, c, BM=32, BN=16, BK=24)
    a, b = a.astype(np.float64), b.astype(np.float64)
    check(c, a @ b, np.abs(a) @ np.abs(b), 1e-6 * depth)


def test_what_lies_outside_along_k_counts_for_nothing():
    @tw.kernel
    def f(a: tw.Tensor["M", "K"], b: tw.Tensor["K", "N"], c: tw.Tensor["R", "N"], *, N: tw.const):
        tw.store(c[tw.ds(0, 4), :], tw.matmul(a[tw.ds(0, 4), :], b[:, :], block_k=4, other=2.0))

    a, b = np.ones((3, 6), np.float64), np.ones((6, 8), np.float64)
    c = np.full((4, 8), -77.0)
    f[1](a, b, c)
    assert (c[:3] == 6).all() and (c[3] == 12).all()


GEMM = {"a": "{}[?, ?]", "b": "{}[?, ?]", "c": "f32[?, ?]", "BM": 64, "BN": 64, "BK": 64}


@pytest.mark.parametrize(
    ("target", "dtype", "instruction"),
    [
        ("sm_80", "bf16", "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32"),
        ("sm_90a", "f16", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
        ("sm_80", "f32", "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32"),
        ("sm_80", "e4m3", "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"),
        ("sm_120", "e5m2", "mma.sync.aligned.m16n8k32.row.col.f32.e5m2.e5m2.f32"),
    ],
)
def test_tensor_cores_are_used(target, dtype, instruction, emitted):
    arguments = {k: v.format(dtype) if isinstance(v, str) else v for k, v in GEMM.items()}
    ptx = emitted(blocked, target, "ptx", **arguments)
    assert instruction in ptx and "ldmatrix" in ptx and ".local" not in ptx


@tw.kernel
def of_transposed_views(
    a: tw.Tensor["K", "M"],
    b: tw.Tensor["N", "K"],
    c: tw.Tensor["M", "N"],
    *,
    BM: tw.const,
    BN: tw.const,
    BK: tw.const,
):
    columns = tw.cdiv(N, BN)
    for t in tw.persistent(tw.cdiv(M, BM) * columns):
        rows, lines = tw.ds(t // columns * BM, BM), tw.ds(t % columns * BN, BN)
        acc = tw.matmul(a.T[rows, :], b[lines, :].T, block_k=BK)
        tw.store(c[rows, lines], acc)


def test_transposed_views_and_tiles(ir):
    a, b = numbers((70, 33), "f16", 7), numbers((21, 70), "f16", 8)
    c = np.full((33, 21), -77, np.float32)
    of_transposed_views[tw.auto](a, b, c, BM=32, BN=16, BK=24)
    a, b = a.astype(np.float64), b.astype(np.float64)
    check(c, a.T @ b.T, np.abs(a.T) @ np.abs(b.T), 1e-5)

    @tw.kernel
    def tiles(x: tw.Tensor[4, 8], y: tw.Tensor[4, 4]):
        tile = tw.load(x[:, :])
        tw.store(y[:, :], tw.matmul(tile, tile.T))

    text = ir(tiles, x="f16[4, 8]", y="f32[4, 4]")
    assert 'matmul(%tile, %tile) {precision = "ieee", transpose_b = true}' in text


@pytest.mark.parametrize("turned", [False, True])
def test_a_tile_and_a_view(turned):
    @tw.kernel
    def f(a: tw.Tensor["M", 24], b: tw.Tensor["N", 24], c: tw.Tensor["M", "N"]):
        for t in tw.persistent(tw.tiles(M, N, 16, 32)):
            if turned:  # the view on the left, its edges too
                product = tw.matmul(b[t.n, :], tw.load(a[t.m, :]).T, other=7.0).T
            else:
                product = tw.matmul(tw.load(a[t.m, :]), b[t.n, :].T, stages=2)
            tw.store(c[t.m, t.n], product)

    a, b = numbers((20, 24), "f32", 1), numbers((40, 24), "f32", 2)
    c = np.full((20, 40), np.nan, np.float32)
    f[tw.auto](a, b, c)
    assert np.allclose(c, a.astype(np.float64) @ b.astype(np.float64).T, atol=0.05)
