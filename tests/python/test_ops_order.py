"""What orders the launches of `tilewire.ops` among the ranks: each piece of it, left out, shows."""

import importlib.util
from pathlib import Path

import pytest
import tilewire as tw
import tilewire.ops.kernels
from ops_problems import Problem
from tilewire import ops
from tilewire.ops import few_rows, shard_copies

KERNELS = Path(tilewire.ops.kernels.__file__).parent
SEEDS = 200
OP = {
    "reduce_scatter": "gemm_reduce_scatter",
    "all_gather": "all_gather_gemm",
    "all_reduce": "gemm_all_reduce",
}


def module_without(name, statement, number, folder):
    """A file of kernels without its `number`-th line that starts so."""
    lines = (KERNELS / f"{name}.py").read_text().splitlines()
    number = [i for i, line in enumerate(lines) if line.strip().startswith(statement)][number]
    lines[number] = lines[number].replace(statement, "pass  # ", 1)
    path = folder / f"{name}.py"
    path.write_text("\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location(f"{name}_left_out", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(comm, problems, **options):
    if problems[0].op == "gemm_all_reduce":
        options.setdefault("way", "owners")
    op = problems[0].make(comm, tiling=ops.Tiling(BM=8, BN=16, BK=16), grid=3, **options)
    for each in problems:
        each.check(each.call(op, comm.rank), comm.rank)


def check_under_seeds(name, shape=(40, 32, 16), **options):
    problems = [Problem(OP[name], 3, *shape, seed=n) for n in range(4)]
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
    kernel = f"{OP[name]}_kernel"
    left_out = module_without(name, statement, 0, tmp_path)
    monkeypatch.setattr(module, kernel, getattr(left_out, kernel))
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


@pytest.mark.parametrize("statement", [None, "tw.wait(ready", "tw.set(ready"])
def test_sending_to_all_with_flags(statement, tmp_path, monkeypatch):
    if statement is None:
        return check_under_seeds("all_reduce", way="flags")
    left_out = module_without("all_reduce", statement, 1, tmp_path)
    monkeypatch.setattr(few_rows, "gemm_to_all_kernel", left_out.gemm_to_all_kernel)
    with pytest.raises((AssertionError, tw.HangError)):
        check_under_seeds("all_reduce", way="flags")


@pytest.mark.parametrize(
    ("name", "options"),
    [("reduce_scatter", {}), ("all_reduce", {"way": "flags", "shape": (8, 48, 16)})],
)
def test_slots_that_do_not_rotate_show(name, options, monkeypatch):
    """Where all send all to all, only if a launch begins with what the last one ended with: with a
    tile for each instance."""
    check_under_seeds(name, **options)
    plain = tw.Communicator.window
    monkeypatch.setattr(
        tw.Communicator, "window", lambda self, shape, dtype, rotate=None: plain(self, shape, dtype)
    )
    with pytest.raises(AssertionError, match="off"):
        check_under_seeds(name, **options)
