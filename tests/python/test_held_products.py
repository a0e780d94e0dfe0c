"""Products whose left operand is in registers: which ones, and what they compile to."""

import re

import pytest
import tilewire as tw
from attention_kernels import attention
from cubin import stack_bytes
from ops_kernels import specialised
from tilewire import _tilewire

pytestmark = pytest.mark.skipif(
    any(each.name == "NVRTC" and each.problem for each in _tilewire.report_components()),
    reason="NVRTC is not installed",
)


def emitted(kernel, stage="cuda", target="sm_90a", **arguments):
    program = kernel.program(target, specialised(kernel, arguments))
    program.assume_ordinary_facts()
    result = _tilewire.emit_stage(program, tw.Target(target), stage)
    return result if stage == "cubin" else result.decode()


def multiplications(text):
    """The functions that multiply, in their order."""
    return re.findall(r"tw::(multiply\w*|matmul\w*)<", text)


HEADS = {name: "bf16[?,?,?]" for name in "qkvo"}


@pytest.mark.parametrize(
    ("D", "BM", "BN"), [(64, 128, 64), (64, 128, 128), (128, 128, 64), (128, 128, 128)]
)
def test_attention_stays_in_registers(D, BM, BN):
    constants = {"D": D, "BM": BM, "BN": BN}
    assert multiplications(emitted(attention, **HEADS, **constants)) == [
        "multiply_kept",
        "multiply_held",
    ]
    ptx = emitted(attention, "ptx", **HEADS, **constants)
    left = re.findall(r"wgmma\.mma_async\.sync\.aligned\.\S+ \{[^}]*\}, (\S)", ptx)
    assert left and set(left) == {"{"}
    assert stack_bytes(emitted(attention, "cubin", **HEADS, **constants)) == 0


def chain_of(BM=64, BK=64, transposed=False, dtype=None):
    """Two products, of which the second one takes what the first one gave."""

    @tw.kernel
    def chain(a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], w: tw.Tensor["N", 64],
              c: tw.Tensor["M", 64]):  # fmt: skip
        for t in tw.persistent(tw.tiles(M, 64, BM, 64)):
            acc = tw.zeros((BM, 64), tw.f32)
            for n in range(0, N, BK):
                inner = tw.matmul(a[t.m, :], b[tw.ds(n, BK), :].T, block_k=64)
                left = tw.cast(inner, a.dtype if dtype is None else dtype)
                right = tw.load(w[tw.ds(n, BK), :])
                acc = tw.matmul(left, right, acc=acc, transpose_a=transposed)
            tw.store(c[t.m, t.n], acc)

    return chain


def arrays(dtype):
    return {name: f"{dtype}[?,?]" for name in "ab"} | {"w": f"{dtype}[?,64]", "c": "f32[?,64]"}


@pytest.mark.parametrize(
    ("dtype", "options", "second"),
    [
        ("bf16", {}, "multiply_held"),
        ("f16", {"BM": 128}, "multiply_held"),
        ("f16", {"BM": 256, "BK": 128}, "multiply_held"),
        ("bf16", {"BM": 16}, "matmul"),  # one warp's rows
        ("bf16", {"transposed": True}, "matmul"),
        ("f32", {}, "matmul"),  # the tensor cores want its elements in other registers
    ],
)
def test_what_can_be_held(dtype, options, second):
    text = emitted(chain_of(**options), **arrays(dtype))
    assert multiplications(text) == ["multiply", second]


def test_slots_are_filled_as_far_as_a_product_needs():
    text = emitted(chain_of(BM=128), **arrays("bf16"))
    assert "Ring<8, 24576, kThreads>" in text and "ring.fill()" in text
    assert "ring.fill<8192>()" in text


def test_what_is_read_again_is_kept():
    @tw.kernel
    def f(a: tw.Tensor["M", 64], b: tw.Tensor["N", 64], c: tw.Tensor["M", "N"]):
        for t in tw.persistent(tw.tiles(M, 64, 64, 64)):
            wide = tw.load(a[t.m, :])
            for n in range(0, N, 64):
                some = tw.ds(n, 64)
                # The same in each iteration: the CUDA compiler computes it once.
                narrow = tw.cast(wide * 2, b.dtype)
                tw.store(c[t.m, some], tw.matmul(narrow, tw.load(b[some, :]).T))

    text = emitted(f, a="f32[?,64]", b="bf16[?,64]", c="f32[?,?]")
    assert multiplications(text) == ["multiply_kept"]


def test_an_operand_that_only_its_own_map_lacks_goes_the_slower_way():
    """Copied ahead by all threads, which is faster than to wait for it in each iteration."""

    @tw.kernel
    def f(a: tw.Tensor["M", "K"], b: tw.Tensor["N", "K"], c: tw.Tensor["M", "N"]):
        for t in tw.persistent(tw.tiles(M, N, 64, 64)):
            tw.store(c[t.m, t.n], tw.matmul(a[t.m, :], b[t.n, :].T, block_k=64))

    arguments = {"a": "bf16[?,?]", "b": "bf16[?,?]", "c": "f32[?,?]"}
    program = f.program("sm_90a", specialised(f, arguments))
    text = _tilewire.emit_stage(program, tw.Target("sm_90a"), "cuda").decode()
    assert "multiply_held" not in text and "multiply_kept" not in text


@pytest.mark.parametrize("target", ["sm_80", "sm_89", "sm_90", "sm_100a", "sm_120"])
def test_without_wgmma_the_right_operand_comes_from_a_slot(target):
    constants = {"D": 64, "BM": 64, "BN": 64}
    text = emitted(attention, target=target, **HEADS, **constants)
    assert multiplications(text) == ["multiply_held_slot", "multiply_held_slot"]
    assert text.count("ring.copy<") == 4  # two in front of the loop, two in it
    assert stack_bytes(emitted(attention, "cubin", target, **HEADS, **constants)) == 0


@pytest.mark.parametrize(
    ("transposed", "function"), [(False, "multiply_held_slot"), (True, "matmul")]
)
def test_without_wgmma_what_lies_as_the_tensor_cores_take_it(transposed, function):
    @tw.kernel
    def f(a: tw.Tensor[64, 64], b: tw.constant(tw.Tensor["N", 64]), c: tw.Tensor[64, "N"]):
        left = tw.load(a[:, :])
        for n in range(0, N, 64):
            right = tw.load(b[tw.ds(n, 64), :]).T
            tw.store(c[:, tw.ds(n, 64)], tw.matmul(left, right, transpose_a=transposed))

    arguments = {"a": "f16[64,64]", "b": "f16[?,64]", "c": "f32[64,?]"}
    assert multiplications(emitted(f, target="sm_80", **arguments)) == [function]
