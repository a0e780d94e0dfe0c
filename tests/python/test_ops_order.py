"""What orders the launches of `tilewire.ops` among the ranks: each piece of it, left out, shows."""

import importlib.util
from pathlib import Path

import pytest
import tilewire as tw
import tilewire.ops.kernels
from ops_problems import Problem
from tilewire import ops
from tilewire.ops import shard_copies

KERNELS = Path(tilewire.ops.kernels.__file__).parent
SEEDS = 200
OP = {
    "reduce_scatter": "gemm_reduce_scatter",
    "all_gather": "all_gather_gemm",
    "all_reduce": "gemm_all_reduce",
}


def kernel_without(name, statement, folder):
    """What makes the kernel, without the line that starts so."""
    lines = (KERNELS / f"{name}.py").read_text().splitlines()
    number = next(i for i, line in enumerate(lines) if line.strip().startswith(statement))
    lines[number] = lines[number].replace(statement, "pass  # ", 1)
    path = folder / f"{name}.py"
    path.write_text("\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location(f"{name}_left_out", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, f"{OP[name]}_kernel")


def run(comm, problems, **options):
    if problems[0].op == "gemm_all_reduce":
        options = {"few": False}
    op = problems[0].make(comm, tiling=ops.Tiling(BM=8, BN=16, BK=16), grid=3, **options)
    for each in problems:
        each.check(each.call(op, comm.rank), comm.rank)


def check_under_seeds(name, **options):
    problems = [Problem(OP[name], 3, 40, 32, 16, seed=n) for n in range(4)]
    for seed in range(SEEDS):
        tw.spawn(lambda comm: run(comm, problems, **options), world="3", seed=seed)


@pytest.mark.parametrize("name", OP)
def test_right_with_everything(name):
    check_under_seeds(name)


@pytest.mark.parametrize(
    ("name", "statement"),
    [
        ("reduce_scatter", "tw.wait(ready"),
        ("reduce_scatter", "tw.set(ready"),
        ("all_gather", "tw.wait(ready"),
        ("all_gather", "tw.barrier()"),
        ("all_reduce", "tw.wait(ready"),
        ("all_reduce", "tw.barrier()"),
    ],
)
def test_what_is_left_out_shows(name, statement, tmp_path, monkeypatch):
    module = importlib.import_module(f"tilewire.ops.{name}")
    left_out = kernel_without(name, statement, tmp_path)
    monkeypatch.setattr(module, f"{OP[name]}_kernel", left_out)
    with pytest.raises((AssertionError, tw.HangError)):
        check_under_seeds(name)


class NoMeeting:
    """In the place of a kernel that meets."""

    def on(self, **_):
        return {1: lambda: None}


@pytest.mark.parametrize("left_out", [False, True])
def test_copies_wait_until_the_peers_are_done(left_out, monkeypatch):
    monkeypatch.setattr(shard_copies, "PIECE_BYTES", 500)
    if not left_out:
        return check_under_seeds("all_gather", transport="copies")
    monkeypatch.setattr(shard_copies, "meet", NoMeeting())
    with pytest.raises((AssertionError, tw.HangError)):
        check_under_seeds("all_gather", transport="copies")


def test_slots_that_do_not_rotate_show(monkeypatch):
    plain = tw.Communicator.window
    monkeypatch.setattr(
        tw.Communicator, "window", lambda self, shape, dtype, rotate=None: plain(self, shape, dtype)
    )
    with pytest.raises(AssertionError, match="off"):
        check_under_seeds("reduce_scatter")
