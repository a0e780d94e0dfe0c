"""`tilewire doctor --distributed`: what each rank has, once, in rank order."""

import os
import socket
import subprocess
import sys

import pytest
from tilewire import _tilewire, doctor
from tilewire.cli import main
from tilewire.errors import BackendError, UserError

NAMES = ("native atomics", "multimem", "network (GIN)", "CUDA graphs")


class FakeWorld:
    """Two ranks of which the second one has no multicast, as `_tilewire.GpuWorld` tells of them."""

    target = "sm_90a:world=2,lsa=2,multimem=0,gin=0"

    def __init__(self):
        here = {"first_of_team": 0, "lsa_size": 2, "nccl": "2.30.7"}
        unneeded = "not needed: loads and stores reach all ranks"
        answers = [
            [(True, ""), (False, "not asked for: rank 1 has none"), (False, unneeded), (True, "")],
            [(True, ""), (False, "off: NCCL_NVLS_ENABLE=0"), (False, unneeded), (True, "")],
        ]
        ranks = [
            {**here, "host": host, "gpu": "H200 (0000:1B:00.0)", "answers": self.named(each)}
            for host, each in zip("ab", answers, strict=True)
        ]
        together = self.named([*answers[1]])
        together[1] = ("multimem", False, "rank 1: off: NCCL_NVLS_ENABLE=0")
        self.capabilities = (ranks, [(*each, "this and that") for each in together])
        self.is_closed = False

    @staticmethod
    def named(answers):
        return [(name, *each) for name, each in zip(NAMES, answers, strict=True)]

    def close(self):
        self.is_closed = True


TABLE = """\
: 2 ranks, NCCL 2.30.7
  rank 0  a, H200 (0000:1B:00.0), LSA team 0 to 1
      ok  native atomics
      --  multimem        not asked for: rank 1 has none
      --  network (GIN)   not needed: loads and stores reach all ranks
      ok  CUDA graphs
  rank 1  b, H200 (0000:1B:00.0), LSA team 0 to 1
      ok  native atomics
      --  multimem        off: NCCL_NVLS_ENABLE=0
      --  network (GIN)   not needed: loads and stores reach all ranks
      ok  CUDA graphs
  together  sm_90a:world=2,lsa=2,multimem=0,gin=0
      ok  native atomics  for this and that
      --  multimem        rank 1: off: NCCL_NVLS_ENABLE=0
                          for this and that
      --  network (GIN)   not needed: loads and stores reach all ranks
                          for this and that
      ok  CUDA graphs     for this and that"""


def test_table():
    text = doctor.table_of_world(FakeWorld())
    assert text.startswith("tilewire ")
    assert text.endswith(TABLE)


@pytest.fixture
def alone(monkeypatch):
    """This process as the only rank, with all that communication takes."""
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(doctor, "_look_around", lambda local_rank: doctor.Rank("here"))


def make_communicator(monkeypatch, create):
    class Made:
        @staticmethod
        def new_unique_id():
            return b"id"

    Made.create = staticmethod(create)
    monkeypatch.setattr(_tilewire, "Communicator", Made)


def test_a_communicator_is_made_and_closed(alone, monkeypatch, capsys):
    world = FakeWorld()
    make_communicator(monkeypatch, lambda *place: world if place == (b"id", 0, 1, 0) else None)
    assert main(["doctor", "--distributed"]) == 0
    assert capsys.readouterr().out.endswith(TABLE + "\n")
    assert world.is_closed


@pytest.mark.parametrize(
    ("error", "stream"), [(UserError("ranks 0 and 1 differ"), 0), (BackendError("NCCL failed"), 1)]
)
def test_a_communicator_that_fails_is_a_finding(alone, monkeypatch, capsys, error, stream):
    def create(*_):
        raise error

    make_communicator(monkeypatch, create)
    assert main(["doctor", "--distributed"]) == 0
    told = capsys.readouterr()[stream]
    assert "no communicator" in told and str(error) in told


def test_ranks_without_gpus():
    """Rank 0 tells what is missing where; the others are silent."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    ranks = []
    for rank in (1, 0):
        here = {"RANK": rank, "WORLD_SIZE": 2, "LOCAL_RANK": rank, "MASTER_PORT": port}
        environment = {key: str(value) for key, value in here.items()}
        environment |= {"MASTER_ADDR": "127.0.0.1", "CUDA_VISIBLE_DEVICES": ""}
        ranks.append(
            subprocess.Popen(
                [sys.executable, "-m", "tilewire.cli", "doctor", "--distributed"],
                env=os.environ | environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        )
    (other, _), (first, _) = (each.communicate(timeout=120) for each in ranks)
    assert [each.returncode for each in ranks] == [0, 0], first + other
    assert other == ""
    lines = first.splitlines()
    assert lines[0].endswith(": 2 ranks, no communicator")
    assert [line.split()[:2] for line in lines if line.startswith("  rank")] == [
        ["rank", "0"],
        ["rank", "1"],
    ]
    assert first.count("--  CUDA driver") == 2


def test_virtual_ranks_on_the_cpu(capsys):
    assert main(["doctor", "--distributed", "--virtual", "2x2"]) == 0
    text = capsys.readouterr().out
    assert "4 virtual ranks on the CPU" in text
    assert "  rank 3  virtual, on the CPU, LSA team 2 to 3\n" in text
    assert text.count("ok  network (GIN)   emulated\n") == 5  # each rank, and all together
    main(["doctor", "--distributed", "--virtual", "2"])
    assert "--  network (GIN)   not needed: loads and stores reach all ranks" in (
        capsys.readouterr().out
    )


def test_virtual_ranks_are_no_machine(capsys):
    assert main(["doctor", "--virtual", "2"]) == 1
    assert capsys.readouterr().err == "tilewire: --virtual goes with --distributed\n"
