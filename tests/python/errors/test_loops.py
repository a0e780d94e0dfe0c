"""Diagnostics of loops and branches: what they can't carry, and what to write instead."""

import tilewire as tw


def test_view_assigned_in_a_loop(diagnose):
    def f(x: tw.Tensor["N"]):
        v = x[0]
        while N > 3:
            tw.store(v, 1.0)  # error
            v = x[1]

    message, under = diagnose(f, x="f32[?]")
    assert message == (
        "`v` can't be carried through this loop, which assigns it: the view view<f32[]> is neither "
        "tile nor scalar; carry its indices, and slice with them inside"
    )
    assert under == "v"


def test_text_assigned_in_a_loop(diagnose):
    def f(x: tw.Tensor["N"]):
        mode = "a"
        for _ in range(N):
            if mode == "a":  # error
                mode = "b"

    message, _ = diagnose(f, x="f32[?]")
    assert message == (
        "`mode` can't be carried through this loop, which assigns it: 'a' is neither tile nor "
        "scalar; give it another name inside"
    )


def test_condition_of_a_while_is_a_tile(diagnose):
    def f(x: tw.Tensor["N"]):
        t = tw.zeros((4,))
        while t > 0:  # error
            t = t - 1

    message, under = diagnose(f, x="f32[?]")
    assert message == (
        "`while` needs a scalar, found the tile tile<bool[4]>: reduce it, as with tw.max"
    )
    assert under == "t > 0"


def test_condition_of_a_while_is_a_float(diagnose):
    def f(x: tw.Tensor["N"]):
        a = tw.load(x[0])
        while a:  # error
            a = a - 1

    message, under = diagnose(f, x="f32[?]")
    assert message == "`while` needs a bool scalar, found the scalar f32: compare it"
    assert under == "a"


def test_type_that_changes_in_a_while(diagnose):
    def f(x: tw.Tensor["N"]):
        n = 4
        while n > 1:  # error
            n = n / 2.0

    message, _ = diagnose(f, x="f32[?]")
    assert message.startswith("`n` enters this loop as i64 and ends it as f32: a loop's variables")
    assert message.endswith("so let it begin as a float, like 0.0")


def test_else_of_a_while(diagnose):
    def f(x: tw.Tensor["N"]):
        while N > 3:  # error
            pass
        else:
            pass

    assert diagnose(f, x="f32[?]")[0] == (
        "`else` of a while loop can't be used in a kernel: remove it"
    )


def test_branches_of_two_shapes(diagnose):
    def f(x: tw.Tensor["N"]):
        if N > 3:  # noqa: SIM108
            t = tw.zeros((4,))
        else:
            t = tw.zeros((8,))
        tw.store(x[0], tw.sum(t))  # error

    message, under = diagnose(f, x="f32[?]")
    assert message.startswith("`t` is the tile tile<f32[4]> after one branch of the `if` at line ")
    assert message.endswith("and the tile tile<f32[8]> after the other: give both one shape")
    assert under == "t"


def test_branches_of_two_views(diagnose):
    def f(x: tw.Tensor["N"]):
        v = x[0]
        if N > 3:
            v = x[1]
        tw.store(v, 1)  # error

    message, _ = diagnose(f, x="f32[?]")
    assert message.startswith("`v` is the view view<f32[]> after one branch of the `if` at line ")
    assert message.endswith(
        "a run-time condition can't choose a view; choose its indices, and slice with them"
    )


def test_view_of_a_branch(diagnose):
    def f(x: tw.Tensor["N"]):
        if N < 3:
            return
        else:
            v = x[0]
        tw.store(v, 1)  # error

    message, _ = diagnose(f, x="f32[?]")
    assert message.startswith("`v` is a view that was made in a branch of the `if` at line ")
    assert message.endswith(": slice again behind it")


def test_conditional_view(diagnose):
    def f(x: tw.Tensor["N"], y: tw.Tensor["N"]):
        v = x if N > 3 else y  # error

    message, under = diagnose(f, x="f32[?]", y="f32[?]")
    assert message == (
        "the value is the view view<f32[?]> or the view view<f32[?]>: a run-time condition can't "
        "choose a view; choose its indices, and slice with them"
    )
    assert under == "x if N > 3 else y"


def test_conditional_text(diagnose):
    def f(x: tw.Tensor["N"]):
        mode = "a" if N > 3 else "b"  # error

    assert diagnose(f, x="f32[?]")[0] == (
        "the value is 'a' or 'b': a run-time condition chooses only between tiles and scalars"
    )


def test_index_of_an_inner_loop_read_before_it(diagnose):
    def f(x: tw.Tensor["N"]):
        i = 3
        for _ in range(N):
            tw.store(x[i], 1)  # error
            for i in range(N):
                tw.store(x[i], 2)

    message, under = diagnose(f, x="f32[?]")
    assert message == (
        "`i` is the index of a loop inside this one, which doesn't keep it: give what is read here "
        "another name"
    )
    assert under == "i"
