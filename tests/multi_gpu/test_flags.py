"""Flags, rotating windows and fills between GPUs, with ranks delayed at random."""

# ruff: noqa: E402

import random

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not torch.cuda.is_available():
    pytest.skip("needs GPUs", allow_module_level=True)

import flag_kernels as kernels
import tilewire as tw

T, H = 33, 512
LAUNCHES = 300


def inputs(size, seed):
    """Of all ranks."""
    generator = torch.Generator(device="cuda").manual_seed(seed)
    return [torch.randn(T, H, device="cuda", generator=generator) for _ in range(size)]


def is_sum(y, x):
    return torch.allclose(y.double(), sum(each.double() for each in x), rtol=1e-5, atol=1e-5)


def delay(rank, launch):
    """Now and then, one rank is late."""
    if random.Random(rank * 7919 + launch).random() < 0.1:
        torch.cuda._sleep(2_000_000)


@pytest.mark.parametrize("rotate", [None, 2, 3])
def test_launches_in_a_row(comm, rotate):
    kernel = kernels.push_rows if rotate is None else kernels.push_rows_rotating
    w = comm.window((comm.size, T, H), tw.f32, rotate=rotate)
    ready = comm.flag((comm.size, T))
    wrong = 0
    for begin in range(0, LAUNCHES, 30):
        made = [inputs(comm.size, launch) for launch in range(begin, begin + 30)]
        results = [torch.full((T, H), torch.nan, device="cuda") for _ in made]
        for i, (x, y) in enumerate(zip(made, results, strict=True)):
            delay(comm.rank, begin + i)
            kernel[tw.auto](x[comm.rank], w, y, ready)
        torch.cuda.synchronize()
        wrong += sum(not is_sum(y, x) for x, y in zip(made, results, strict=True))
    comm.barrier()
    comm.free(w)
    comm.free(ready)
    assert wrong == 0


@pytest.mark.parametrize("rotate", [None, 2])
def test_graph_replay(comm, rotate):
    kernel = kernels.push_rows if rotate is None else kernels.push_rows_rotating
    w = comm.window((comm.size, T, H), tw.f32, rotate=rotate)
    ready = comm.flag((comm.size, T))
    x, y = inputs(comm.size, 0), torch.full((T, H), torch.nan, device="cuda")
    mine = x[comm.rank].clone()
    kernel[tw.auto](mine, w, y, ready)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(5):
            kernel[tw.auto](mine, w, y, ready)
    wrong = 0
    for i in range(100):
        x = inputs(comm.size, i)
        mine.copy_(x[comm.rank])
        y.fill_(torch.nan)
        delay(comm.rank, i)
        kernel[tw.auto](mine, w, y, ready) if i % 7 == 0 else graph.replay()
        torch.cuda.synchronize()
        wrong += not is_sum(y, x)
    comm.barrier()
    comm.free(w)
    comm.free(ready)
    assert wrong == 0


@pytest.mark.parametrize("is_captured", [False, True], ids=["eager", "graph"])
def test_copy_engines_fill_what_a_kernel_waits_for(comm, is_captured):
    n = 1 << 20
    shard, full = comm.window((n,), tw.f32), comm.window((comm.size, n), tw.f32)
    ready = comm.flag(comm.size)
    y = torch.full((comm.size, n), torch.nan, device="cuda")
    side = torch.cuda.Stream()

    def step():
        """The copies run beside the kernel that waits for them."""
        side.wait_stream(torch.cuda.current_stream())
        with ready.fill(stream=side) as fill:
            for r in range(comm.size):
                comm.copy(full[r], shard.at(r), then=fill[r])
        kernels.gather_filled[8](full, y, ready)
        torch.cuda.current_stream().wait_stream(side)

    def values(launch):
        return 10.0 * launch + torch.arange(comm.size, device="cuda")

    torch.from_dlpack(shard).fill_(float(comm.rank))
    torch.cuda.synchronize()
    comm.barrier()
    step()  # compiled before the capture
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    if is_captured:
        with torch.cuda.graph(graph):
            step()
    wrong = 0
    for launch in range(1, 40):
        comm.barrier()  # nobody copies from a shard that is being changed
        torch.from_dlpack(shard).fill_(10.0 * launch + comm.rank)
        y.fill_(torch.nan)
        torch.cuda.synchronize()
        comm.barrier()
        graph.replay() if is_captured else step()
        torch.cuda.synchronize()
        wrong += not torch.equal(y, values(launch)[:, None].expand(comm.size, n))
    comm.barrier()
    for each in (shard, full, ready):
        comm.free(each)
    assert wrong == 0


def test_rows_are_copied(comm):
    w = comm.window((comm.size, 6, 8), tw.f32)
    torch.from_dlpack(w).fill_(float(comm.rank))
    torch.cuda.synchronize()
    comm.barrier()
    peer = (comm.rank + 1) % comm.size
    out = torch.full((4, 3), torch.nan, device="cuda")
    comm.copy(out, w.at(peer)[0, 1:5, 2:5])
    torch.cuda.synchronize()
    comm.barrier()
    comm.free(w)
    assert (out == peer).all()
