"""Barriers of all program instances of several GPUs, 132 of each, many rounds a launch."""

# ruff: noqa: E402

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not torch.cuda.is_available():
    pytest.skip("needs GPUs", allow_module_level=True)

import tilewire as tw
from grid_barrier_kernels import rotate

ROUNDS = 100


def test_all_instances_of_all_ranks_meet(comm):
    grids = (1, 132, 264, 7) * 5
    w = comm.window((max(grids),), tw.i32)
    wrong = torch.zeros(max(grids), device="cuda", dtype=torch.int32)
    for grid in grids:
        rotate[grid](w, wrong, R=ROUNDS)
    comm.synchronize()
    count = int(wrong.sum())
    comm.barrier()
    comm.free(w)
    assert count == 0


def test_graphs_replay(comm):
    w = comm.window((132,), tw.i32)
    wrong = torch.zeros(132, device="cuda", dtype=torch.int32)
    rotate[132](w, wrong, R=3)
    comm.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        rotate[132](w, wrong, R=3)
    for i in range(1000):
        graph.replay()
        if i % 50 == 0:
            rotate[1 + i % 132](w, wrong, R=3)
    comm.synchronize()
    count = int(wrong.sum())
    comm.barrier()
    comm.free(w)
    assert count == 0
