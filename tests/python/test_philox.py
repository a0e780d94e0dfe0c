"""Philox4x32-10 against the known answers of its authors (Random123's kat_vectors), NumPy, and
what a generator must look like."""

import numpy as np
import pytest
import tilewire as tw
from philox import philox4x32

# seed, counter, stream → the block: key and counter of the vectors, low words first.
KNOWN_ANSWERS = [
    ((0, 0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((2**64 - 1,) * 3, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x299F31D0A4093822, 0x85A308D3243F6A88, 0x0370734413198A2E),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


@tw.kernel
def blocks(
    seed: tw.u64, stream: tw.u64, counter: tw.Tensor["N"], words: tw.Tensor[4, "N"], *, N: tw.const
):
    block = tw.philox(seed, tw.load(counter[:]), stream)
    for word in tw.unroll(4):
        tw.store(words[word, :], block[word])


@tw.kernel
def uniforms(seed: tw.u64, out: tw.Tensor["N"], *, B: tw.const):
    for block in tw.persistent(tw.cdiv(N, B)):
        tw.store(out[tw.ds(block * B, B)], tw.uniform(seed, block * B + tw.arange(0, B)))


@pytest.mark.parametrize(("key", "expected"), KNOWN_ANSWERS)
def test_known_answers(key, expected):
    seed, counter, stream = key
    counters = np.full(3, counter, np.uint64)
    words = np.zeros((4, 3), np.uint32)
    blocks[1](seed, stream, counters, words)
    assert words.tolist() == [[word] * 3 for word in expected]
    assert philox4x32(seed, counters, stream).tolist() == words.tolist()


def test_constants_fold_to_the_same():
    @tw.kernel
    def folded(words: tw.Tensor[4]):
        block = tw.philox(1234, 5, 6)
        for word in tw.unroll(4):
            tw.store(words[word], block[word])

    words = np.zeros(4, np.uint32)
    folded[1](words)
    assert words.tolist() == philox4x32(1234, 5, 6).tolist()


def test_uniform_floats():
    out = np.full(100_000, np.nan, np.float32)
    uniforms[tw.auto](42, out, B=1000)
    assert out.min() >= 0 and out.max() < 1
    assert abs(out.mean() - 0.5) < 0.005 and abs(out.var() - 1 / 12) < 0.002
    expected = (philox4x32(42, np.arange(100_000))[0] >> 8) * np.float32(2.0**-24)
    np.testing.assert_array_equal(out, expected)


def test_another_grid_gives_the_same_numbers():
    one, many = np.zeros(5000, np.float32), np.zeros(5000, np.float32)
    uniforms[1](7, one, B=1000)
    uniforms[5](7, many, B=640)
    np.testing.assert_array_equal(one, many)


def test_floats_are_refused(diagnose):
    def of_floats(x: tw.Tensor["N"], out: tw.Tensor["N"], *, N: tw.const):
        tw.store(out[:], tw.uniform(1, tw.load(x[:])))  # error

    message, shown = diagnose(of_floats, x="f32[8]", out="f32[8]", N=8)
    assert message == "philox: seed, counter and stream are integers"
    assert shown == "tw.uniform(1, tw.load(x[:]))"
