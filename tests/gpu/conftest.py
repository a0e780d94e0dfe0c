"""One GPU: a world of one over NCCL, and virtual ranks."""

from __future__ import annotations

import os
import socket

import pytest


def pytest_collection_modifyitems(items):
    """Skips without a GPU; TILEWIRE_TEST_SHARD=i/n leaves every n-th test, from the i-th on."""
    shard, _, count = os.environ.get("TILEWIRE_TEST_SHARD", "").partition("/")
    if count:
        items[:] = items[int(shard) :: int(count)]
    try:
        import torch

        reason = "" if torch.cuda.is_available() else "needs a GPU"
    except ImportError:
        reason = "PyTorch is not installed"
    if not reason:
        return
    for item in items:
        if "tests/gpu/" in item.path.as_posix():
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(scope="session")
def comm():
    """A world of one rank, over NCCL."""
    import tilewire as tw

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    alone = {"RANK": 0, "WORLD_SIZE": 1, "LOCAL_RANK": 0, "MASTER_PORT": port}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MASTER_ADDR", "127.0.0.1")
        for name, value in alone.items():
            patch.setenv(name, str(value))
        comm = tw.init()
    assert (comm.rank, comm.size) == (0, 1)
    yield comm
    comm.close()


@pytest.fixture(params=[1, 2, 4, 8], ids=lambda size: f"{size} virtual ranks")
def virtual(request):
    """Virtual ranks on one GPU, driven by this process."""
    import tilewire as tw

    assert "RANK" not in os.environ
    with tw.init(virtual=str(request.param), device="cuda") as comm:
        yield comm
