"""How `tilewire.ops` is called: views, outputs, controllers, errors, functions, the gated MLP."""

import ml_dtypes
import numpy as np
import pytest
import tilewire as tw
from ops_problems import PARTS, Problem, activated
from tilewire import ops
from tilewire.ops.choice import RULES, choose, most_rows_to_all
from tilewire.ops.choice import Problem as Choice
from tilewire.ops.tiling import (
    choose_tiling,
    choose_tiling_of_few,
    choose_tiling_of_product,
    most_tiles,
    num_tiles,
)

BF16 = ml_dtypes.bfloat16
TILING = ops.Tiling(BM=16, BN=32, BK=16)
OPTIONS = {"tiling": TILING, "grid": 3}
REDUCE, GATHER, ALL = "gemm_reduce_scatter", "all_gather_gemm", "gemm_all_reduce"


def inside_of(array, value):
    """The same numbers in the middle of a larger array full of `value`, and that array."""
    outer = np.full([extent + 9 for extent in array.shape], value, array.dtype)
    view = outer[tuple(slice(4, 4 + extent) for extent in array.shape)]
    view[...] = array
    return view, outer


@pytest.mark.parametrize("mode", ["fused", "unfused"])
@pytest.mark.parametrize("name", [REDUCE, GATHER])
def test_views_inside_of_tensors(name, mode):
    """What lies around them is neither read (NaN) nor written."""
    each = Problem(name, 3, 37, 41, 29, parts=PARTS)

    def main(comm):
        rank = comm.rank
        rows = each.rows(rank)
        shape = (rows.stop - rows.start, each.N)
        out, outer = inside_of(np.full(shape, np.nan, np.float32), -7)
        op = each.make(comm, mode=mode, **OPTIONS)
        found = each.call(op, rank, out, place=lambda array: inside_of(array, np.nan)[0])
        assert found is out
        each.check(found, rank)
        out[...] = -7
        assert (outer == -7).all()

    tw.spawn(main, world="3")


@pytest.mark.parametrize("mode", ["fused", "unfused"])
@pytest.mark.parametrize("name", [REDUCE, GATHER])
def test_transposed_operands_and_results(name, mode):
    each = Problem(name, 2, 37, 41, 29)

    def main(comm):
        rows = each.rows(comm.rank)
        out = np.full((each.N, rows.stop - rows.start), np.nan, np.float32).T
        op = each.make(comm, mode=mode, **OPTIONS)
        found = each.call(op, comm.rank, out, place=lambda array: array.T.copy().T)
        each.check(found, comm.rank)

    tw.spawn(main, world="2")


@pytest.mark.parametrize("way", ["owners", "channels", "flags"])
@pytest.mark.parametrize("mode", ["fused", "unfused"])
def test_an_all_reduce_into_a_window_of_the_users(mode, way):
    each = Problem(ALL, 3, 37, 41, 29)

    def main(comm):
        window = comm.window((40, 45), tw.f32)
        window.numpy()[...] = -7
        comm.barrier()
        op = each.make(comm, mode=mode, way=way, **OPTIONS)
        found = each.call(op, comm.rank, window)
        each.check(found, comm.rank)
        assert np.shares_memory(found, window.numpy())
        found[...] = -7
        assert (window.numpy() == -7).all()

    tw.spawn(main, world="3")


@pytest.mark.parametrize("name", [REDUCE, GATHER, ALL])
def test_residual_and_result_may_be_one_array(name):
    each = Problem(name, 3, 37, 41, 29, parts=("residual",))

    def main(comm):
        rank = comm.rank
        op = each.make(comm, **OPTIONS)
        residual, out = each.part("residual", rank).astype(np.float32), None
        if name == ALL:
            out = comm.window(residual.shape, tw.f32)
            out.numpy()[...] = residual
            residual = out.numpy()
        else:
            residual = out = residual.copy()
        m = {"m": each.M} if name == GATHER else {}
        epilogue = ops.Epilogue(residual=residual)
        found = op(each.a(rank), each.b(rank), out, epilogue=epilogue, **m)
        each.check(found, rank)

    tw.spawn(main, world="3")


@pytest.mark.parametrize("mode", ["fused", "unfused"])
@pytest.mark.parametrize("name", [REDUCE, GATHER, ALL])
def test_a_controller_of_all_ranks_gives_lists(name, mode):
    each = Problem(name, 3, 37, 41, 29, parts=PARTS, activation="gelu")
    with tw.init(virtual="3") as comm:
        op = each.make(comm, mode=mode, **OPTIONS)
        lists = {part: [each.part(part, r) for r in range(3)] for part in PARTS if part != "scale"}
        epilogue = ops.Epilogue(scale=each.scale, activation="gelu", **lists)
        m = {"m": each.M} if name == GATHER else {}
        for _ in range(2):
            a, b = ([side(r) for r in range(3)] for side in (each.a, each.b))
            found = op(a, b, epilogue=epilogue, **m)
            assert len(found) == 3
            for rank in range(3):
                each.check(found[rank], rank)


@pytest.mark.parametrize("mode", ["fused", "unfused"])
@pytest.mark.parametrize("name", [REDUCE, GATHER, ALL])
def test_pytorch_gets_pytorchs(name, mode):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    each = Problem(name, 3, 37, 128, 29, parts=("bias",), activation="silu_and_mul")

    def place(array):
        array = np.ascontiguousarray(array)
        return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)

    def main(comm):
        op = each.make(comm, mode=mode, tiling=ops.Tiling(16, 128, 16), grid=3)
        found = each.call(op, comm.rank, place=place)
        assert isinstance(found, torch.Tensor) and found.dtype == torch.float32
        each.check(found.numpy(), comm.rank)

    tw.spawn(main, world="3")


def test_an_activation_of_the_users():
    @tw.function
    def squared(x):
        return x * x

    def main(comm):
        a, b = np.ones((8, 4), np.float32), np.ones((8, 4), np.float32)
        op = ops.GemmReduceScatter(comm, tw.f32, max_m=8, max_n=8, **OPTIONS)
        found = op(a, b, epilogue=ops.Epilogue(activation=squared))
        assert (found == 64).all() and found.shape == (4, 8)

    tw.spawn(main, world="2")


@pytest.mark.parametrize("F", [1, 64, 100, 130])
def test_halves_alternate(F):
    rng = np.random.default_rng(F)
    gate, up, x = (rng.standard_normal((rows, 24)).astype(np.float32) for rows in (F, F, 9))
    weights = ops.alternate_halves(gate, up)
    assert weights.shape == (-(-F // 64) * 128, 24)
    expected = activated(x @ gate.T, "silu") * (x @ up.T)
    assert np.allclose(activated(x @ weights.T, "silu_and_mul")[:, :F], expected, atol=1e-5)

    out = np.full((9, F), np.nan, np.float32)
    with tw.init(virtual="1") as comm:
        op = ops.AllGatherGemm(comm, tw.f32, max_m=9, k=24, precision="ieee")
        op(x, weights, out, epilogue=ops.Epilogue(activation="silu_and_mul"))
    assert np.allclose(out, expected, atol=1e-5)


@pytest.mark.parametrize("mode", ["fused", "unfused"])
@pytest.mark.parametrize(("world", "M", "F"), [("1", 20, 64), ("3", 37, 100), ("8", 37, 1000)])
def test_the_gated_mlp(world, M, F, mode):
    H, size = 40, int(world)
    rng = np.random.default_rng(0)
    x = rng.standard_normal((M, H)).astype(BF16)
    gate, up = ((rng.standard_normal((F, H)) / np.sqrt(H)).astype(BF16) for _ in range(2))
    down = (rng.standard_normal((H, F)) / np.sqrt(F)).astype(BF16)
    inner = activated(x.astype(float) @ gate.T.astype(float), "silu")
    inner *= x.astype(float) @ up.T.astype(float)
    expected = x.astype(float) + inner @ down.T.astype(float)

    def main(comm):
        rows, columns = (ops.share_of(total, size, comm.rank) for total in (M, F))
        mlp = ops.GatedMlp(comm, BF16, max_m=M, hidden=H, inner=F // size, mode=mode, grid=3)
        weights = ops.alternate_halves(gate[columns], up[columns])
        for _ in range(2):
            y = mlp(x[rows], weights, down[:, columns], m=M, residual=x[rows])
            off = np.abs(y.astype(float) - expected[rows]) / np.maximum(np.abs(expected[rows]), 1)
            assert y.dtype == BF16 and off.max(initial=0) < 2**-5

    tw.spawn(main, world=world)


def test_functions_keep_their_objects_and_make_larger_ones():
    def main(comm):
        for M in (5, 300, 7):
            for name in (REDUCE, GATHER, ALL):
                each = Problem(name, 2, M, 24, 30, dtype="bf16", parts=("bias",))
                call = getattr(ops, name)
                m = {"m": M} if name == GATHER else {}
                found = call(
                    comm,
                    each.a(comm.rank),
                    each.b(comm.rank),
                    epilogue=each.epilogue(comm.rank),
                    **m,
                )
                each.check(np.asarray(found), comm.rank)

    tw.spawn(main, world="2")


def test_ranks_that_call_for_different_shapes_are_named():
    def main(comm):
        op = ops.GemmReduceScatter(comm, tw.f32, max_m=64, max_n=64, **OPTIONS)
        M = 64 if comm.rank == 0 else 16
        op(np.ones((M, 8), np.float32), np.ones((64, 8), np.float32))

    with pytest.raises(tw.HangError):
        tw.spawn(main, world="2")


def test_kernels_of_one_name_are_told_apart():
    def main(comm, epilogues):
        op = ops.GemmReduceScatter(comm, tw.f32, max_m=16, max_n=16, **OPTIONS)
        op(*shapes((16, 8), (16, 8)), epilogue=epilogues[comm.rank])

    def found(*epilogues):
        with pytest.raises(tw.HangError) as caught:
            tw.spawn(lambda comm: main(comm, epilogues), world="2")
        return str(caught.value)

    bias = ops.Epilogue(bias=np.ones(16, np.float32))
    assert "of which the second alone has epilogue_bias" in found(ops.Epilogue(), bias)
    assert "of which the first alone has epilogue_bias" in found(bias, ops.Epilogue())
    relu, silu = ops.Epilogue(activation="relu"), ops.Epilogue(activation="silu")
    assert "which close over different things" in found(relu, silu)


@pytest.mark.parametrize("order", ["columns first", "every third column"])
def test_copy_engines_take_shards_of_any_strides(order):
    each = Problem(GATHER, 3, 37, 41, 29, parts=PARTS)

    def strided(array):
        if order == "columns first":
            return np.asfortranarray(array)
        outer = np.full((*array.shape[:-1], 3 * array.shape[-1]), np.nan, array.dtype)
        outer[..., ::3] = array
        return outer[..., ::3]

    def main(comm):
        op = each.make(comm, mode="fused", transport="copies", **OPTIONS)
        for _ in range(2):
            each.check(each.call(op, comm.rank, place=strided), comm.rank)

    tw.spawn(main, world="3")


def shapes(*extents):
    return [np.ones(shape, np.float32) for shape in extents]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        (shapes((8, 4), (8, 5)), "a is [M, K] and b is [N, K], found [8, 4] and [8, 5]"),
        (shapes((17, 4), (8, 4)), "M is 17, and this was made for at most 16"),
        (shapes((8, 4), (17, 4)), "N is 17, and this was made for at most 16"),
        (shapes((8,), (8, 4)), "`a` is a matrix"),
        (shapes((8, 4), (8, 4), (8, 8)), "`out` is [8, 8], the result of this rank [4, 8]"),
    ],
)
def test_what_does_not_fit_is_said(arrays, message):
    def main(comm):
        ops.GemmReduceScatter(comm, tw.f32, max_m=16, max_n=16, **OPTIONS)(*arrays)

    with pytest.raises(tw.UserError) as caught:
        tw.spawn(main, world="2")
    assert message in str(caught.value)


@tw.function
def sums(x):
    return tw.sum(x, axis=0)


def test_what_a_gather_or_an_all_reduce_can_not_take_is_said():
    a, b, out = shapes((8, 4), (8, 4), (16, 8))
    with tw.init(virtual="2") as comm:
        gather = ops.AllGatherGemm(comm, tw.f32, max_m=16, k=4, **OPTIONS)
        with pytest.raises(tw.UserError, match=r"a of rank 1 is \[8, 4\], its shard of 15 rows"):
            gather(a, b, m=15)
        with pytest.raises(tw.UserError, match="a of rank 0 is f16, and this was made for f32"):
            gather(a.astype(np.float16), b.astype(np.float16))
        with pytest.raises(tw.UserError, match="epilogue= takes a tilewire"):
            gather(a, b, epilogue="relu")
        total = ops.Epilogue(activation=sums)
        with pytest.raises(tw.UserError, match="an epilogue's activation goes element by element"):
            gather(a, b, epilogue=total)
        reduce = ops.GemmAllReduce(comm, tw.f32, max_m=16, max_n=16, **OPTIONS)
        with pytest.raises(tw.UserError, match="out= is a window of this communicator"):
            reduce(a, b, out)
        with pytest.raises(tw.UserError, match="a list of 3: give one item for each of 2"):
            reduce([a] * 3, b)
        with pytest.raises(tw.UserError, match="multiple of 128; found 8"):
            gather(a, b, epilogue=ops.Epilogue(activation="silu_and_mul"))
    with pytest.raises(tw.UserError, match="no activation 'tanh'; there are 'gelu'"):
        ops.Epilogue(activation="tanh")
    with pytest.raises(tw.UserError, match="mode= is one of 'auto', 'fused', 'unfused'"):
        ops.GemmAllReduce(comm, tw.f32, max_m=1, max_n=1, mode="best")


def test_choices():
    def chosen(
        architecture="sm_90a", op=GATHER, width=4096, dtype=tw.bf16, mode="auto", M=4096, **more
    ):
        return choose(mode, Choice(op, M, width, 2, dtype, architecture), **more)

    assert all(rule.mode in ("fused", "unfused") and rule.reason for rule in RULES)
    assert chosen() == chosen("cpu") == chosen(op=REDUCE) == "fused"
    assert chosen("sm_80") == chosen(width=4097) == "unfused"
    assert chosen(op=REDUCE, width=4097) == chosen(width=4097, dtype=tw.e4m3) == "fused"
    assert chosen("sm_80", has_library=False) == "fused"
    assert chosen(M=128) == chosen(op=ALL, M=128) == chosen(op=REDUCE, M=1000) == "unfused"
    assert chosen(op=ALL, M=16) == chosen(M=2048) == chosen("cpu", M=128) == "fused"
    assert most_rows_to_all(2) == 64 and most_rows_to_all(8) == 9 and most_rows_to_all(1) > 0
    assert chosen(mode="unfused") == chosen("sm_80", mode="unfused") == "unfused"


def test_tilings():
    hopper, ampere, cpu = tw.Target("sm_90a"), tw.Target("sm_80"), tw.Target("cpu")

    def chosen(target, M, N, dtype=tw.bf16, parts=2, **more):
        found = choose_tiling(target, M, N, dtype, parts, **more)
        return found.BM, found.BN, found.BK

    assert chosen(hopper, 8192, 8192) == (128, 256, 64)
    assert chosen(hopper, 8192, 8192, tw.e4m3) == (128, 256, 128)
    assert chosen(hopper, 8192, 8192, tw.f32) == (128, 256, 32)
    assert chosen(hopper, 1024, 1024)[0] * chosen(hopper, 1024, 1024)[1] < 128 * 256  # for 132 SMs
    assert chosen(hopper, 64, 256, is_paired=True)[1] == 128
    assert chosen(ampere, 8192, 8192)[:2] == (128, 128) and chosen(cpu, 9, 9)[:2] == (32, 128)
    few = [choose_tiling_of_few(M, tw.bf16).BM for M in (1, 16, 17, 64, 128)]
    assert few == [16, 16, 32, 64, 64]
    assert choose_tiling_of_few(1, tw.bf16, is_paired=True).BN == 128
    alone = {(64, 8192): (64, 64), (128, 8192): (64, 128), (256, 8192): (128, 128)}
    alone |= {(1024, 1024): (64, 128), (2048, 2048): (128, 256), (1, 8192): (16, 64)}
    for (M, N), (BM, BN) in alone.items():
        found = choose_tiling_of_product(hopper, M, N, tw.bf16)
        assert (found.BM, found.BN) == (BM, BN)
    assert choose_tiling_of_product(ampere, 1, 8192, tw.bf16).BM == 64
    for tiling in (None, ops.Tiling(16, 16)):
        most = most_tiles(hopper, tiling, 1000, 700)
        for M, N in ((1000, 700), (999, 512), (1, 1), (0, 700)):
            each = tiling or choose_tiling(hopper, M, N, tw.bf16, 1)
            assert num_tiles(each, M, N) <= most
    assert num_tiles(ops.Tiling(16, 16), 33, 17, parts=3) == 3 * 2 and num_tiles(TILING, 0, 5) == 0
