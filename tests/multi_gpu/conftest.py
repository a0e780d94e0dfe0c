"""Two or more ranks, one GPU each.

torchrun --nproc-per-node 2 -m pytest tests/multi_gpu    results, graphs
pytest tests/multi_gpu/test_hang.py                      starts its own processes

Without multicast, as on a machine that has none: NCCL_NVLS_ENABLE=1 has the tests use it.
"""

from __future__ import annotations

import os

import pytest

os.environ.setdefault("NCCL_NVLS_ENABLE", "0")


def why_not(num_gpus: int) -> str:
    """Why these tests can't run here; empty where they can."""
    try:
        import torch
    except ImportError:
        return "PyTorch is not installed"
    found = torch.cuda.device_count()
    return "" if found >= num_gpus else f"needs {num_gpus} GPUs, this machine has {found}"


@pytest.fixture(scope="session")
def comm():
    if "RANK" not in os.environ:
        pytest.skip("runs under torchrun: torchrun --nproc-per-node 2 -m pytest tests/multi_gpu")
    if reason := why_not(int(os.environ["LOCAL_WORLD_SIZE"])):
        pytest.skip(reason)
    import tilewire as tw
    import torch

    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    comm = tw.init()
    yield comm
    comm.close()
