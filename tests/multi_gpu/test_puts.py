"""Puts and sums between GPUs: arrival before the signal, in thousands of launches and in graphs."""

# ruff: noqa: E402

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not torch.cuda.is_available():
    pytest.skip("needs GPUs", allow_module_level=True)

import tilewire as tw
from put_kernels import add_everywhere, put_and_read_back, ring_of_puts


def input_of(rank, size, turn):
    return torch.arange(size, device="cuda", dtype=torch.int32) * 3 + 1_000_003 * (rank + turn)


@pytest.mark.parametrize("size", [7, 1000, 100_000, 100_003, 16_000_000])
@pytest.mark.parametrize("grid", [1, 8, 132])
def test_puts_arrive_before_their_signals(comm, size, grid):
    w, sem = comm.window((size,), tw.i32), comm.semaphore(grid)
    before = (comm.rank - 1) % comm.size
    wrong = 0
    for turn in range(200 if size < 1_000_000 else 10):
        x = input_of(comm.rank, size, turn)
        y = torch.full_like(x, -1)
        ring_of_puts[grid](x, w, sem, y)
        wrong += int((y != input_of(before, size, turn)).sum())
    comm.synchronize()
    comm.barrier()
    comm.free(w)
    assert wrong == 0


def test_an_instance_reads_what_it_put(comm):
    size = 1_000_000
    w = comm.window((size,), tw.i32)
    before = (comm.rank - 1) % comm.size
    wrong = 0
    for turn in range(20):
        x = input_of(comm.rank, size, turn)
        y = torch.full_like(x, -1)
        put_and_read_back[4](x, w, y, B=1024)
        comm.barrier()
        wrong += int((y != 2 * x).sum())
        wrong += int((torch.from_dlpack(w) != 2 * input_of(before, size, turn)).sum())
        comm.barrier()
    comm.free(w)
    assert wrong == 0


@pytest.mark.parametrize("dtype", ["bfloat16", "float32", "int32"])
def test_all_additions_count(comm, dtype):
    shape = (132, 2048)
    names = {"bfloat16": tw.bf16, "float32": tw.f32, "int32": tw.i32}
    torch_dtype = getattr(torch, dtype)
    w = comm.window(shape, names[dtype])
    inputs = []
    for rank in range(comm.size):
        generator = torch.Generator("cuda").manual_seed(rank)
        x = torch.randint(0, 4, shape, device="cuda", generator=generator).to(torch_dtype)
        inputs.append(x)
    expected = 1 + 2 * sum(each.double() for each in inputs)
    wrong = 0
    for _ in range(50):
        torch.from_dlpack(w).fill_(1)
        comm.barrier()
        total = torch.full_like(inputs[0], -1)
        add_everywhere[tw.auto](inputs[comm.rank], w, total)
        comm.barrier()
        wrong += int((torch.from_dlpack(w).double() != expected).sum())
        wrong += int((total != (expected * comm.size).to(torch_dtype)).sum())
        comm.barrier()
    comm.free(w)
    assert wrong == 0


def test_graphs_replay(comm):
    size, grid = 200_000, 8
    w, sem = comm.window((size,), tw.i32), comm.semaphore(grid)
    x = input_of(comm.rank, size, 0)
    of_peer = input_of((comm.rank - 1) % comm.size, size, 0)
    y = torch.full_like(x, -1)
    ring_of_puts[grid](x, w, sem, y)
    comm.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        ring_of_puts[grid](x, w, sem, y)
    wrong = 0
    for turn in range(500):
        x.add_(turn)
        of_peer.add_(turn)
        y.fill_(-1)
        graph.replay()
        wrong += int((y != of_peer).sum())
    comm.synchronize()
    comm.barrier()
    comm.free(w)
    assert wrong == 0
