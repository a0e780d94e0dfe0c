"""Diagnostics of statements: the message and the place of each."""

import tilewire as tw


def test_return_of_a_value(diagnose):
    def f(x: tw.Tensor["N"]):
        return N  # error

    message, under = diagnose(f, x="f32[?]")
    assert message == "a kernel returns nothing: store results with `tw.store`"
    assert under == "return N"


def test_loop_over_something_else(diagnose):
    def f(x: tw.Tensor["N"]):
        for _ in x:  # error
            pass

    message, under = diagnose(f, x="f32[?]")
    assert message == (
        "can't loop over the view view<f32[?]>: use range(…), tw.persistent(…), tw.ranks(), "
        "tw.peers() or tw.unroll(…)"
    )
    assert under == "x"


def test_else_of_a_loop(diagnose):
    def f(x: tw.Tensor["N"]):
        for _ in range(N):  # error
            pass
        else:
            pass

    assert "`else` of a for loop" in diagnose(f, x="f32[?]")[0]


def test_name_of_a_loop_used_after_it(diagnose):
    def f(x: tw.Tensor["N"]):
        for i in range(N):
            a = i + 1
        tw.store(x[0], a)  # error

    message, under = diagnose(f, x="i64[?]")
    assert message.startswith("`a` exists only inside the loop at line ")
    assert under == "a"


def test_name_of_one_branch_used_after_it(diagnose):
    def f(x: tw.Tensor["N"]):
        if N > 3:
            a = 1
        tw.store(x[0], a)  # error

    assert diagnose(f, x="i64[?]")[0].startswith("`a` has no value that can be used after the `if`")


def test_view_carried_through_a_loop(diagnose):
    def f(x: tw.Tensor["N"]):
        v = x[0]
        for i in range(N):
            tw.store(v, 1.0)  # error
            v = x[i]

    assert diagnose(f, x="f32[?]")[0].startswith("`v` can't be carried through this loop")


def test_loop_changes_a_structure(diagnose):
    def f(x: tw.Tensor["N"]):
        pair = (1, 2)
        for _ in range(N):  # error
            pair = 3

    message, _ = diagnose(f, x="f32[?]")
    assert message == (
        "`pair` enters this loop as (1, 2) and ends it as 3: only tiles and scalars can change in "
        "a run-time loop"
    )


def test_loop_would_cut_off_fractions(diagnose):
    def f(x: tw.Tensor["N"], y: tw.Tensor["N"]):
        total = 0
        for i in range(N):  # error
            total += tw.load(x[i])
        tw.store(y[0], total)

    message, _ = diagnose(f, x="f32[?]", y="f32[?]")
    assert message == (
        "`total` enters this loop as i64 and ends it as f32: a loop's variables keep their type, "
        "so let it begin as a float, like 0.0"
    )


def test_loop_makes_a_tile_of_a_scalar(diagnose):
    def f(x: tw.Tensor["M", "N"], y: tw.Tensor["N"], *, N: tw.const):
        total = 0.0
        for i in range(M):  # error
            total += tw.load(x[i, :])
        tw.store(y[:], total)

    message, _ = diagnose(f, x="f32[?, 8]", y="f32[8]")
    assert message == (
        "`total` enters this loop as f32 and ends it as tile<f32[8]>: a loop's variables keep "
        "their type, so let it begin as a tile of that shape and dtype, like tw.zeros(…)"
    )


def test_loop_changes_a_shape(diagnose):
    def f(x: tw.Tensor["N"]):
        acc = tw.zeros((4,))
        for _ in range(N):  # error
            acc = tw.zeros((8,))

    message, _ = diagnose(f, x="f32[?]")
    assert message.startswith("`acc` enters this loop as tile<f32[4]> and ends it as tile<f32[8]>")


def test_condition_is_a_tile(diagnose):
    def f(x: tw.Tensor["N"]):
        if tw.zeros((4,)) > 0:  # error
            pass

    message, under = diagnose(f, x="f32[?]")
    assert message == "`if` needs a scalar, found the tile tile<bool[4]>: use tw.where"
    assert under == "tw.zeros((4,)) > 0"


def test_assignment_to_an_element(diagnose):
    def f(x: tw.Tensor["N"]):
        x[0] = 1.0  # error

    message, under = diagnose(f, x="f32[?]")
    assert message == "elements can't be assigned: use `tw.store(view[…], value)`"
    assert under == "x[0]"


def test_augmented_assignment_to_an_element(diagnose):
    def f(x: tw.Tensor["N"]):
        x[0] += 1.0  # error

    assert "elements can't be assigned" in diagnose(f, x="f32[?]")[0]


def test_unpacking_of_the_wrong_length(diagnose):
    def f(x: tw.Tensor["N"]):
        a, b = (1, 2, 3)  # error

    assert diagnose(f, x="f32[?]")[0] == "2 names for 3 values"


def test_unpacking_of_a_value(diagnose):
    def f(x: tw.Tensor["N"]):
        a, b = tw.zeros((2,))  # error

    message, _ = diagnose(f, x="f32[?]")
    assert message == (
        "the tile tile<f32[2]> can't be taken apart into names: read its elements, like `t[0]`"
    )


def test_failed_assertion(diagnose):
    def f(x: tw.Tensor["N"], *, B: tw.const):
        assert B % 64 == 0, "B must be a multiple of 64"  # error

    assert diagnose(f, x="f32[?]", B=3)[0] == "assertion failed: B must be a multiple of 64"


def test_assertion_on_a_run_time_value(diagnose):
    def f(x: tw.Tensor["N"]):
        assert N > 3  # error

    assert "can test only what is known at compile time" in diagnose(f, x="f32[?]")[0]
