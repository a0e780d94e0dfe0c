"""`tw.print`: what the CPU target writes to standard output, and the printf of a GPU."""

import numpy as np
import tilewire as tw


def lines(capfd):
    return sorted(capfd.readouterr().out.splitlines())


@tw.kernel
def say(x: tw.Tensor["N"], factor: tw.f32, *, N: tw.const):
    tile = tw.load(x[:])
    tw.print("x =", tile, "times", factor, N)
    tw.print("{} of {{}} 100%: {}", tw.sum(tile), tile[0] > 1)
    tw.print("no value")


def test_lines(capfd):
    say[2](np.float32([0.5, 2, 3]), 1.5)
    got = lines(capfd)
    assert len(got) == 6
    first = [each for each in got if "x =" in each]
    assert [each.split(": ", 1)[1] for each in first] == ["x = [0.5, 2, 3] times 1.5 3"] * 2
    assert first[0].startswith("[program (0, 0, 0)] test_print.py:")
    assert first[1].startswith("[program (1, 0, 0)] test_print.py:")
    assert [each.split(": ", 1)[1] for each in got if "of {" in each] == [
        "5.5 of {} 100%: False"
    ] * 2
    assert sum(each.endswith(": no value") for each in got) == 2


@tw.kernel
def say_large(x: tw.Tensor["T", "H"], *, T: tw.const, H: tw.const):
    tw.print(tw.load(x[:, :]))


def test_of_a_large_tile_both_ends(capfd):
    say_large[1](np.arange(20, dtype=np.int8).reshape(4, 5))
    assert lines(capfd)[0].endswith(": [0, 1, 2, 3, …, 16, 17, 18, 19]")


@tw.kernel
def say_all(x: tw.Tensor["T", "H"], *, T: tw.const, H: tw.const):
    tile = tw.load(x[:, :])
    tw.print("x", tile, "twice", tile.to(tw.i32) * 2, all=True)


def test_all_elements(capfd):
    say_all[1](np.arange(6, dtype=np.uint64).reshape(2, 3))
    assert [each.split(": ", 1)[1] for each in lines(capfd)] == [
        f"[{i // 3}, {i % 3}] x {i} twice {2 * i}" for i in range(6)
    ]


@tw.kernel
def say_rank(x: tw.Window["N"]):
    tw.print(tw.load(x[0]))


def test_ranks_are_named(capfd):
    with tw.init(virtual="2") as comm:
        x = comm.window((1,), tw.bf16)
        for r in range(2):
            x.at(r)[...] = r + 0.5
        say_rank[1](x)
    ranks = [each.split("]")[0] + each.split(":")[-1] for each in lines(capfd)]
    assert ranks == ["[rank 0, program (0, 0, 0) 0.5", "[rank 1, program (0, 0, 0) 1.5"]


def test_cuda(emitted):
    text = emitted(say, "sm_90a", "cuda", x="bf16[3]", factor=tw.f32, N=3)
    assert '"[program (%d, %d, %d)] test_print.py:' in text and "100%%: %s" in text
    for architecture in ("sm_80", "sm_120"):
        assert "vprintf" in emitted(say, architecture, "ptx", x="bf16[3]", factor=tw.f32, N=3)
        assert "vprintf" in emitted(say_all, architecture, "ptx", x="e4m3[2, 3]", T=2, H=3)
    assert "rank %d" in emitted(say_rank, "sm_90a:world=2", "cuda", x="window:f32[?]")


def test_refused(diagnose):
    def view(x: tw.Tensor["N"]):
        tw.print(x)  # error

    def places(x: tw.Tensor["N"]):
        tw.print("{} {}", tw.load(x[0]))  # error

    def shapes(x: tw.Tensor["N"]):
        tw.print(tw.arange(3), tw.arange(4), all=True)  # error

    def many(x: tw.Tensor["N"]):
        tw.print(tw.arange(9), tw.arange(9), tw.arange(9), tw.arange(9))  # error

    assert "read it with tw.load" in diagnose(view, x="f32[?]")[0]
    assert "2 places {} for 1 values" in diagnose(places, x="f32[?]")[0]
    assert "one shape together, found [3] and [4]" in diagnose(shapes, x="f32[?]")[0]
    assert "32 numbers in a line, 28 is the most" in diagnose(many, x="f32[?]")[0]
