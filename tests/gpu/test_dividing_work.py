"""Dynamic schedules on a GPU: every index once, whatever runs before, beside and in graphs."""

# ruff: noqa: E402

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import tilewire as tw


@tw.kernel
def count_tiles(y: tw.Tensor["M", "N"], z: tw.Tensor["M"], *, early: tw.const = False):
    if early and tw.program_id(0) % 3 == 1:
        return
    for t in tw.persistent(tw.tiles(M, N, 8, 32, order="grouped"), schedule="dynamic"):
        tw.store(y[t.m, t.n], tw.load(y[t.m, t.n]) + 1)
    for i in tw.persistent(M, schedule="dynamic"):
        tw.store(z[i], tw.load(z[i]) + 1)


def outputs():
    return torch.zeros(61, 300, device="cuda", dtype=torch.int32), torch.zeros(
        61, device="cuda", dtype=torch.int32
    )


@pytest.mark.parametrize("early", [False, True])
@pytest.mark.parametrize("grid", [1, 2, 7, 64, tw.auto], ids=str)
def test_every_index_once_in_launch_after_launch(grid, early):
    y, z = outputs()
    for _ in range(50):
        count_tiles[grid](y, z, early=early)
    torch.cuda.synchronize()
    assert bool((y == 50).all()) and bool((z == 50).all())


def test_streams_have_counters_of_their_own():
    streams = [torch.cuda.Stream() for _ in range(4)]
    made = [outputs() for _ in streams]
    torch.cuda.synchronize()
    for _ in range(100):
        for stream, (y, z) in zip(streams, made, strict=True):
            count_tiles.on(stream=stream)[5](y, z)
    torch.cuda.synchronize()
    for y, z in made:
        assert bool((y == 100).all()) and bool((z == 100).all())


def test_graphs_replay_beside_eager_launches():
    y, z = outputs()
    other_y, other_z = outputs()
    count_tiles[5](y, z)
    torch.cuda.synchronize()
    y.zero_(), z.zero_()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        count_tiles[5](y, z)
        count_tiles[3](y, z)
    stream = torch.cuda.Stream()
    for _ in range(100):
        with torch.cuda.stream(stream):
            count_tiles[5](other_y, other_z)
        graph.replay()
    torch.cuda.synchronize()
    assert bool((y == 200).all()) and bool((z == 200).all())
    assert bool((other_y == 100).all()) and bool((other_z == 100).all())


@tw.kernel
def scale_groups(
    sizes: tw.Tensor["G"], scales: tw.Tensor["G"], x: tw.Tensor["T", "H"], *, H: tw.const
):
    for t in tw.persistent(tw.ragged(sizes, 16), schedule="dynamic"):
        tw.store(x[t.m, :], tw.load(x[t.m, :]) * tw.load(scales[t.group]))


def test_ragged():
    sizes = torch.tensor([3, 0, 100, 17, 16, 1], device="cuda", dtype=torch.int32)
    scales = torch.arange(1, 7, device="cuda", dtype=torch.float32)
    x = torch.ones(int(sizes.sum()), 256, device="cuda")
    scale_groups[tw.auto](sizes, scales, x)
    expected = torch.repeat_interleave(scales, sizes.long())[:, None].expand_as(x)
    assert bool((x == expected).all())


def test_ranks_that_are_reached_and_teams(virtual):
    @tw.kernel
    def sum_reached(x: tw.Window["N"], y: tw.Tensor["N"], *, N: tw.const):
        tw.barrier()
        total = tw.load(x[:])
        for r in tw.peers(start=tw.rank() + 1):
            if tw.is_lsa(r):
                total += tw.load(x.at(r)[:])
        with tw.instances(1, 1):
            tw.store(y[:], total)
        tw.barrier()

    x = virtual.window((512,), tw.f32)
    for r in range(virtual.size):
        torch.from_dlpack(x.at(r)).fill_(r + 1)
    y = [torch.full((512,), -1.0, device="cuda") for _ in range(virtual.size)]
    sum_reached[2](x, y)
    virtual.synchronize()
    expected = virtual.size * (virtual.size + 1) / 2
    assert all(bool((each == expected).all()) for each in y)
