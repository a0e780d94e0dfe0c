"""Litmus tests on several GPUs: a million rounds of each, inside of few launches.

What the CPU's tests leave out isn't left out here: whether that shows depends on luck.
"""

import os

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not torch.cuda.is_available():
    pytest.skip("needs GPUs", allow_module_level=True)

from litmus import COUNTED, LITMUS  # noqa: E402

ROUNDS = int(os.environ.get("TILEWIRE_TEST_ROUNDS", "333334"))  # of each of three launches


@pytest.mark.parametrize("grid", [1, 132])
@pytest.mark.parametrize("name", LITMUS)
def test_nothing_wrong_is_seen(comm, name, grid):
    run, _ = LITMUS[name]
    wrong = run(comm, ROUNDS, grid=grid)
    comm.barrier()
    assert wrong == 0


@pytest.mark.parametrize("K", [1, 8, 1000, 4096])
def test_messages_of_many_sizes(comm, K):
    run, _ = LITMUS["message passing by barriers"]
    wrong = run(comm, ROUNDS // 10, grid=8, K=K)
    comm.barrier()
    assert wrong == 0


def test_slots_beyond_132(comm):
    run, _ = LITMUS["message passing by barriers"]
    wrong = run(comm, ROUNDS // 10, grid=264)
    comm.barrier()
    assert wrong == 0


@pytest.mark.parametrize("name", COUNTED)
def test_counters_wrap_around(comm, name):
    run, _ = LITMUS[name]
    wrong = sum(run(comm, 1000, grid=5, start=2**32 - start) for start in (1, 2, 3, 1000, 1500))
    comm.barrier()
    assert wrong == 0
