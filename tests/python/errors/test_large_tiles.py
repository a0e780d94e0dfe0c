"""Tiles that no GPU program can hold are refused there; the CPU target takes them."""

import numpy as np
import pytest
import tilewire as tw


@tw.kernel
def transposes(x: tw.Tensor["M", "N"], out: tw.Tensor["N", "M"], *, A: tw.const):
    tile = tw.load(x[0:A, 0:512])
    tw.store(out[0:512, 0:A], tile.T)


@tw.kernel
def multiplies(x: tw.Tensor["M", 16], out: tw.Tensor["M", "M"], *, A: tw.const):
    product = tw.matmul(tw.load(x[0:A, :]), tw.load(x[0:512, :]).T)
    tw.store(out[0:A, 0:512], product)


@pytest.mark.parametrize("stage", ["cuda", "ptx"])
def test_a_tile_of_too_many_elements_per_thread(emitted, stage):
    with pytest.raises(tw.UserError) as error:
        emitted(transposes, "sm_90a", stage, x="f32[?, ?]", out="f32[?, ?]", A=513)
    assert (
        f"{transposes.source.first_line + 2}: a tile of [513, 512] is too large for a GPU: a "
        in (str(error.value))
    )
    assert "1024 threads hold 256 elements each at most, 262144 together; work on parts" in (
        error.value.message
    )
    assert "    tile = tw.load(x[0:A, 0:512])\n           ^" in str(error.value)


def test_a_product_of_too_many_elements_per_thread(emitted):
    with pytest.raises(tw.UserError) as error:
        emitted(multiplies, "sm_90a", "cuda", x="bf16[?, 16]", out="f32[?, ?]", A=520)
    assert "a tile of [520, 512] is too large for a GPU" in error.value.message
    assert "or give `tw.matmul` views, which go over K in parts" in error.value.message


ROLLED = "#define TILEWIRE_TILES_IN_LOCAL_MEMORY"


def test_the_loops_of_large_tiles_stay_loops(emitted):
    texts = [
        emitted(transposes, "sm_90a", "cuda", x="f32[?, ?]", out="f32[?, ?]", A=rows)
        for rows in (256, 257, 512)
    ]
    assert ["kThreads = 1024;" in text for text in texts] == [True] * 3
    assert [ROLLED in text for text in texts] == [False, True, True]


def test_the_cpu_target_takes_larger_tiles():
    x = np.arange(1024 * 512, dtype=np.float32).reshape(1024, 512)
    out = np.zeros((512, 1024), np.float32)
    transposes[1](x, out, A=1024)
    assert (out == x.T).all()
