"""What Python's constructs become in IR."""

import tilewire as tw


def test_what_python_knows_folds(ir):
    @tw.kernel
    def f(x: tw.Tensor["N"], *, B: tw.const):
        if tw.world_size() == 4 and B > 3 and not tw.target.multimem:
            tw.store(x[0], B * 2 + tw.cdiv(B, 3))
        else:
            tw.barrier()

    text = ir(f, "cpu:world=4", x="i32[?]", B=8)
    assert "if" not in text and "barrier" not in text and "value = 19" in text


def test_branch_that_folds_away_is_not_looked_at(ir):
    @tw.kernel
    def f(x: tw.Tensor["N"]):
        if tw.world_size() > 1:
            while True:
                pass

    assert "if" not in ir(f, "cpu", x="i32[?]")


def test_unroll_repeats_the_body(ir):
    @tw.kernel
    def f(x: tw.Tensor["N"]):
        for a, b in tw.unroll(((0, 5), (1, 6))):
            tw.store(x[a], b)
        for i in tw.unroll(2, 8, 3):
            tw.store(x[i], i)
        for i in tw.unroll(range(2)):
            tw.store(x[i], 10 + i)

    text = ir(f, "cpu", x="i32[?]")
    assert "for" not in text and text.count("store(") == 6


def test_range_stays_a_loop_and_carries(ir):
    @tw.kernel
    def f(x: tw.Tensor["N"]):
        total = 0.0
        last = (0, 0.0)
        for i in range(1, N, 2):
            value = tw.load(x[i])
            total += value
            last = (i, value)
        tw.store(x[0], total + last[1])

    text = ir(f, "cpu", x="f32[?]")
    assert "carry (%total_1 = " in text and text.count("yield") == 1


def test_ranks_and_peers(ir):
    @tw.kernel
    def f(x: tw.Window["N"]):
        for r in tw.ranks():
            tw.store(x.at(r)[0], 1.0)
        for r in tw.peers():
            tw.store(x.at(r)[0], 1.0)

    text = ir(f, "cpu:world=3", x="window:f32[?]")
    assert "ranks(" in text and "peers(" in text and "= at(%x, " in text


def test_names_of_the_user_name_values(ir):
    @tw.kernel
    def f(x: tw.Tensor["N"]):
        seven = tw.load(x[7])
        tw.store(x[0], seven)

    assert "%seven = load(" in ir(f, "cpu", x="f32[?]")


def test_if_merges_and_widens(ir):
    @tw.kernel
    def f(x: tw.Tensor["N"]):
        a = 1
        if N > 3:
            a = tw.load(x[0])
            b = 3
        else:
            b = 2.5
        tw.store(x[0], a + b)

    text = ir(f, "cpu", x="f32[?]")
    assert "%a, %b = if %gt: f32, f32" in text


def test_early_return(ir):
    @tw.kernel
    def f(x: tw.Tensor["N"]):
        if N == 0:
            return
        tw.store(x[0], 1.0)
        return
        while True:
            pass

    assert ir(f, "cpu", x="f32[?]").count("return") == 2


def test_comparison_chain(ir):
    @tw.kernel
    def f(x: tw.Tensor["N"]):
        if 0 < N <= 8 != 3:
            tw.store(x[0], 1.0)

    text = ir(f, "cpu", x="f32[?]")
    assert text.count("and(") == 1


def test_literal_takes_the_dtype_of_the_tile(ir):
    @tw.kernel
    def f(x: tw.Tensor["N"]):
        t = tw.load(x[tw.ds(0, 8)])
        tw.store(x[tw.ds(0, 8)], 2 * t + 0.5)

    text = ir(f, "cpu", x="bf16[?]")
    assert "f32" not in text


def test_bare_annotations_take_any_rank(ir):
    @tw.kernel
    def f(x: tw.Tensor, w: tw.Window):
        tw.store(x[0, 0], w.shape[0] + tw.extent(x, 1))

    text = ir(f, "cpu", x="i64[?, 4]", w="window:f32[?]")
    assert "x_0" in text and "w_0" in text


def test_string_annotations(ir):
    @tw.kernel
    def f(x: "tw.Tensor['N']", *, B: "tw.const" = 4):
        tw.store(x[tw.ds(0, B)], tw.zeros(B))

    assert "tile<f32[4]>" in ir(f, "cpu", x="f32[?]")


def test_globals_and_closures(ir):
    width = 16

    @tw.kernel
    def f(x: tw.Tensor["N"]):
        tw.store(x[tw.ds(0, width)], tw.full(width, HEIGHT, tw.f32))

    text = ir(f, "cpu", x="f32[?]")
    assert "tile<f32[16]>" in text and "value = 5.0" in text


HEIGHT = 5


def test_broadcast_extract_and_methods(ir):
    @tw.kernel
    def f(x: tw.Tensor["N"]):
        a = tw.arange(4)
        b = (a[:, None] * a[None, :]).to(tw.f32)
        tw.store(x[0], b[1, 2] if N > 1 else -b[0, 0])

    text = ir(f, "cpu", x="f32[?]")
    assert "reshape" in text and "extract" in text and "select" in text


def test_text_parses_back_to_itself(ir):
    from tilewire._tilewire import parse_program

    @tw.kernel
    def f(x: tw.Tensor["N"]):
        for i in tw.persistent(N):
            if i > 0:
                tw.store(x[i], tw.load(x[i - 1]) * 2.0)

    text = ir(f, "cpu:world=2x4", x="f32[?]")
    assert parse_program(text).text(locations=False) == text
