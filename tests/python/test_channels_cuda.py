"""The CUDA of kernels over channels: no local memory, whole vectors, nothing in a message's way."""

import os
import re
import subprocess
import sys
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
import tilewire as tw
from all_reduce_kernels import norm_over_channels, over_channels
from channel_kernels import pass_on
from cubin import stack_bytes
from op_cases.case import Case, ObjectInput, aligned
from op_cases.run import emit
from tilewire import _tilewire

CARRYINGS = {
    "tagged": {"exchange": True, "signed_zero": True},
    "reserved": {"exchange": True, "signed_zero": False},
}


def array(*shape):
    return aligned(np.zeros(shape, ml_dtypes.bfloat16))


def emitted(kernel, stage, world, constants, **inputs):
    if problem := {each.name: each.problem for each in _tilewire.report_components()}["NVRTC"]:
        pytest.skip(f"NVRTC: {problem}")
    case = Case(
        kernel.name, kernel, (), lambda make: inputs, None, world=world, constants=constants
    )
    return emit(case, tw.bf16, "sm_90a", stage)


def all_reduce(stage, block, world, carrying):
    options = {"tile": (block,), "dtype": tw.bf16, **CARRYINGS[carrying]}
    x = array(64 * block)
    ch = ObjectInput("channel", (world, 64), options)
    return emitted(over_channels, stage, world, {"B": block}, x=x, y=x, ch=ch)


def norm(stage, world):
    options = {"tile": (8192,), "dtype": tw.bf16, **CARRYINGS["reserved"]}
    x, gain = array(512, 8192), array(8192)
    ch = ObjectInput("channel", (world, 512), options)
    return emitted(
        norm_over_channels, stage, world, {}, x=x, residual=x, gain=gain, hidden=x, y=x, ch=ch,
        eps=1e-6,
    )  # fmt: skip


@pytest.mark.parametrize("carrying", CARRYINGS)
@pytest.mark.parametrize(("block", "world"), [(512, 2), (2048, 2), (16384, 2), (2048, 8)])
def test_no_local_memory(block, world, carrying):
    assert stack_bytes(all_reduce("cubin", block, world, carrying)) == 0


@pytest.mark.parametrize("world", [2, 4])
def test_no_local_memory_in_the_norm(world):
    assert stack_bytes(norm("cubin", world)) == 0


def test_no_local_memory_in_a_ring():
    x = array(8, 4096)
    ch = ObjectInput("channel", (2,), {"tile": (4096,), "dtype": tw.bf16, "depth": 2})
    assert stack_bytes(emitted(pass_on, "cubin", 2, {}, x=x, y=x, ch=ch)) == 0


@pytest.mark.parametrize("carrying", CARRYINGS)
def test_messages_move_in_vectors_of_16_bytes(carrying):
    ptx = all_reduce("ptx", 4096, 2, carrying).decode()
    kind = "v4.b32" if carrying == "reserved" else "v2.b64"
    packets = re.findall(r"(ld|st)\.relaxed\.sys\.global\.(\S+) .*// packet", ptx)
    assert {("ld", kind), ("st", kind)} == set(packets)


def test_nothing_stands_in_the_way_of_a_message():
    text = all_reduce("cuda", 4096, 2, "reserved").decode()
    loop = text[text.index("for (int64_t b") : text.index("ch_slot.close()")]
    assert "__syncthreads" not in loop[: loop.rindex("}")]
    assert "shared" not in text and "at_rank" not in text
    # The count's load is issued before the tile's.
    assert text.index("ExchangeSlot") < text.index("tw::load")
    # A slot per row: no fence, though the loop goes on.
    text = norm("cuda", 2).decode()
    assert "begin()" not in text and "again()" not in text
    before = text[text.index("for (int64_t row") : text.index("receive<0")]
    assert "__syncthreads" not in before


CHECKED = """
import sys
import tilewire as tw
from op_cases import CASES
from op_cases.run import emit
for name in ("swap_rows", "all_reduce_rows", "exchange_by_row"):
    case = CASES[name]
    sys.stdout.write(emit(case, tw.bf16, "sm_90a", "cuda").decode())
    assert emit(case, tw.bf16, "sm_90a", "cubin")
"""


def test_kernels_for_gpus_check_where_asked_to():
    paths = [str(Path(__file__).parents[2] / each) for each in ("bindings", "tests/support")]
    environment = {**os.environ, "TILEWIRE_CHECK": "1", "PYTHONPATH": os.pathsep.join(paths)}
    done = subprocess.run(
        [sys.executable, "-c", CHECKED], env=environment, capture_output=True, text=True, check=True
    )
    closes = [each for each in done.stdout.split(";") if ".close(" in each]
    assert len(closes) == 6
    assert all(re.search("two program instances .* one slot of `ch`", each) for each in closes)


@tw.kernel
def half_of_the_instances(x: tw.Tensor["N"], ch: tw.Channel, *, N: tw.const):
    with tw.instances(4, 4):
        tw.send(ch.at(tw.rank() - 1)[tw.program_id(0)], tw.load(x[:]))


def test_who_never_sends_touches_no_slot():
    """The slot's count is read by all instances; where there is none, that of another slot."""
    ch = ObjectInput("channel", (4,), {"tile": (64,), "dtype": tw.bf16})
    text = emitted(half_of_the_instances, "cuda", 2, {}, x=array(64), ch=ch).decode()
    made = text[: text.index("to_ch.begin(")]
    if "require_slot" in text:
        assert "? " in made[made.index("tw::Sender") :].split(";")[0]
        assert "require_slot" not in made[: made.index("tw::Sender")]
