"""`tilewire.ops` on one GPU: virtual ranks, and a world of one over NCCL."""

from __future__ import annotations

# ruff: noqa: E402
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not torch.cuda.is_available():
    pytest.skip("needs a GPU", allow_module_level=True)

import tilewire as tw
from ops_on_gpus import FORMS, OPS, TILING, Run, options_for, to_gpu, to_host
from ops_problems import PARTS, Problem
from tilewire import ops
from tilewire.ops import shard_copies

SHAPES = [(300, 256, 200), (77, 384, 64), (1, 128, 8), (0, 128, 72)]
ODD = [(301, 131, 203), (5, 70, 3), (64, 1, 1)]


@pytest.fixture(autouse=True)
def small_copies(monkeypatch):
    monkeypatch.setattr(shard_copies, "PIECE_BYTES", 10_000)


def run_all(comm, name, shapes, mode="fused", tiling=TILING, largest=(301, 384), **form):
    """Launches in a row, of which none waits for the host; then all results."""
    op_name, options = OPS[name][0], options_for(comm, name)
    made, runs, results = {}, [], []
    for seed, shape in enumerate([*shapes, *shapes]):
        problem = Problem(op_name, comm.size, *shape, dtype="bf16", seed=seed, **form)
        key = None if problem.is_reducing else problem.K
        if key not in made:
            whole = Problem(op_name, comm.size, *largest, problem.K, dtype="bf16", **form)
            made[key] = whole.make(comm, mode=mode, tiling=tiling, **options)
        runs.append(Run(comm, problem))
        result = runs[-1](made[key])
        # An all-reduce's result is overwritten by the next one.
        results.append([each.clone() for each in result])
    torch.cuda.synchronize()
    comm.check()
    for run, result in zip(runs, results, strict=True):
        run.check(result)


@pytest.mark.parametrize("shapes", [SHAPES, ODD], ids=["aligned", "odd"])
@pytest.mark.parametrize("name", OPS)
def test_against_float64(virtual, name, shapes):
    run_all(virtual, name, shapes)


@pytest.mark.parametrize("name", OPS)
def test_unfused(virtual, name):
    run_all(virtual, name, [*SHAPES, *ODD], mode="unfused", parts=("bias",), activation="gelu")


@pytest.mark.parametrize("form", FORMS[2:], ids=str)
@pytest.mark.parametrize("name", OPS)
def test_epilogues(comm, name, form):
    run_all(comm, name, SHAPES[:2], **form)


@pytest.mark.parametrize("name", OPS)
def test_an_epilogue_on_virtual_ranks(virtual, name):
    run_all(virtual, name, SHAPES[:2], **FORMS[-1])


@pytest.mark.parametrize("name", OPS)
def test_the_tiling_that_is_chosen(virtual, name):
    run_all(virtual, name, [(301, 384, 520)], tiling=None)


LARGE = ops.Tiling(BM=128, BN=256, BK=64, STAGES=4)


@pytest.mark.parametrize("form", [*FORMS, {"parts": PARTS, "activation": "silu_and_mul"}], ids=str)
@pytest.mark.parametrize("name", [each for each in OPS if "channels" not in each])
def test_large_tiles(virtual, name, form):
    """What is added to them comes in pieces; tiles and their vectors are cut by edges, too."""
    columns = 384 if form.get("activation") == "silu_and_mul" else 323
    shapes = [(301, columns, 200), (520, 512, 136)]
    run_all(virtual, name, shapes, tiling=LARGE, largest=(520, 512), **form)


@pytest.mark.parametrize("operand", ["f16", "e4m3", "f32"])
@pytest.mark.parametrize("name", OPS)
def test_other_dtypes(comm, name, operand):
    op_name, options = OPS[name][0], options_for(comm, name)
    parts = ("scale",) if operand == "e4m3" else ()
    problem = Problem(op_name, 1, 300, 256, 192, operand, "bf16", parts=parts)
    run = Run(comm, problem)
    run.check(run(problem.make(comm, tiling=TILING, **options)))


@pytest.mark.parametrize("name", OPS)
def test_graphs_replay_between_eager_launches(virtual, name):
    op_name, options = OPS[name][0], options_for(virtual, name)
    shape, form = (150, 256, 128), FORMS[1]
    problems = [
        Problem(op_name, virtual.size, *shape, dtype="bf16", seed=seed, **form) for seed in range(5)
    ]
    others = [Run(virtual, each) for each in problems]
    op = problems[0].make(virtual, tiling=TILING, **options)
    run = Run(virtual, problems[0])
    run(op)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(3):
            captured = run(op)
    for other in others:
        run.take(other)
        for _ in range(40):
            run.poison()
            graph.replay()
        run.check(captured)
        run.poison()
        run.check(run(op))


@pytest.mark.parametrize("name", ["gemm_reduce_scatter", "all_gather_gemm by stores"])
def test_views_inside_of_tensors(comm, name):
    """What lies around them is neither read (NaN) nor written."""
    op_name, options = OPS[name][0], options_for(comm, name)
    problem = Problem(op_name, 1, 150, 136, 72, dtype="bf16", parts=("bias", "residual"))

    def inside(array, value):
        outer = torch.full([n + 16 for n in array.shape], value, dtype=array.dtype, device="cuda")
        view = outer[tuple(slice(8, 8 + n) for n in array.shape)]
        view.copy_(array)
        return view, outer

    out, outer = inside(torch.full((150, 136), torch.nan, dtype=torch.bfloat16, device="cuda"), -7)
    op = problem.make(comm, tiling=TILING, **options)
    found = problem.call(op, 0, out, place=lambda array: inside(to_gpu(array), torch.nan)[0])
    problem.check(to_host(found), 0)
    out.fill_(-7)
    assert bool((outer == -7).all())


def test_the_gated_mlp(virtual):
    size, (M, H, F) = virtual.size, (150, 256, 640)
    generator = torch.Generator("cuda").manual_seed(0)

    def random(*shape):
        scale = 1 / shape[-1] ** 0.5
        return (torch.randn(shape, device="cuda", generator=generator) * scale).bfloat16()

    x, gate, up, down = random(M, H) * 16, random(F, H), random(F, H), random(H, F)
    inner = torch.nn.functional.silu(x.double() @ gate.double().t()) * (
        x.double() @ up.double().t()
    )
    expected = x.double() + inner @ down.double().t()
    rows = [ops.share_of(M, size, r) for r in range(size)]
    columns = [ops.share_of(F, size, r) for r in range(size)]
    mlp = ops.GatedMlp(virtual, tw.bf16, max_m=M, hidden=H, inner=F // size, mode="fused")
    shards = [x[each].contiguous() for each in rows]
    weights = [ops.alternate_halves(gate[each], up[each]) for each in columns]
    lower = [down[:, each].contiguous() for each in columns]
    for _ in range(3):
        y = mlp(shards, weights, lower, m=M, residual=shards)
        torch.cuda.synchronize()
        off = (torch.cat(y).double() - expected).abs() / expected.abs().clamp(min=1)
        assert float(off.max()) < 2**-5
