"""What multicast views can't do, in the user's words and at the user's line."""

import pytest
import tilewire as tw


@pytest.fixture
def refused():
    """The error of launching a kernel on a CPU world, and the text of its line."""

    def of(kernel, world="2", multimem=True, dtype=tw.f32):
        with tw.init(virtual=world, multimem=multimem) as comm:
            x = comm.window((8,), dtype)
            with pytest.raises(tw.UserError) as caught:
                kernel[1](x)
        assert f"{__file__}:" in str(caught.value)
        return str(caught.value)

    return of


def test_no_multimem(refused):
    @tw.kernel
    def f(x: tw.Window["N"], *, N: tw.const):
        tw.store(x.multicast()[:], 1.0)

    message = refused(f, multimem=False)
    assert "there is no multimem on `cpu:world=2,lsa=2,multimem=0,gin=0`" in message
    assert "if tw.target.multimem:" in message


def test_several_teams(refused):
    @tw.kernel
    def f(x: tw.Window["N"], *, N: tw.const):
        tw.store(x.multicast()[:], 1.0)

    assert "`.multicast(team=tw.lsa)`" in refused(f, world="2x2")


def test_a_plain_load(refused):
    @tw.kernel
    def f(x: tw.Window["N"], *, N: tw.const):
        tw.store(x[:], tw.load(x.multicast()[:]))

    assert 'use tw.all_reduce_load(x.multicast()[…], op="add")' in refused(f)


def test_an_old_value(refused):
    @tw.kernel
    def f(x: tw.Window["N"], *, N: tw.const):
        tw.store(x[:], tw.atomic_add(x.multicast()[:], 1.0))

    assert "tw.reduce_store(x.multicast()[…], tile)" in refused(f)


def test_a_product_of_all_copies(refused):
    @tw.kernel
    def f(x: tw.Window["N"], *, N: tw.const):
        tw.put(x.multicast()[:], x)

    assert "use tw.store to write to all" in refused(f)


@pytest.mark.parametrize(("dtype", "op"), [(tw.i16, "add"), (tw.f32, "max"), (tw.bool, "or")])
def test_a_reduction_that_multimem_has_not(refused, dtype, op):
    @tw.kernel
    def f(x: tw.Window["N"], *, N: tw.const, OP: tw.const = op):
        tw.store(x[:], tw.all_reduce_load(x.multicast()[:], op=OP).to(x.dtype))

    message = refused(f, dtype=dtype)
    assert f"multimem has no {op} of {dtype.name} on cpu; it has add of f32" in message


def test_a_tensor_has_no_copies(diagnose):
    def f(x: tw.Tensor["N"]):
        tw.store(x.multicast()[0], 1.0)  # error

    message, at = diagnose(f, x="f32[?]")
    assert "has no copies that are read and written at once; a window has" in message
    assert at == "x.multicast()"


def test_one_rank_of_all(diagnose):
    def f(x: tw.Window["N"]):
        tw.store(x.at(0).multicast()[0], 1.0)  # error

    message, _ = diagnose(f, target="cpu:world=2,multimem=1", x="window:f32[?]")
    assert "leave .at(…) out" in message


def test_all_ranks_of_one(diagnose):
    def f(x: tw.Window["N"]):
        tw.store(x.multicast().at(0)[0], 1.0)  # error

    message, _ = diagnose(f, target="cpu:world=2,multimem=1", x="window:f32[?]")
    assert "at: this is all ranks' copies at once" in message


def test_arguments_of_multicast(diagnose):
    def f(x: tw.Window["N"]):
        tw.store(x.multicast(0)[0], 1.0)  # error

    message, _ = diagnose(f, target="cpu:world=2,multimem=1", x="window:f32[?]")
    assert "`multicast` takes nothing but `team=`" in message


def test_an_order_that_a_switch_has_not(diagnose):
    def f(x: tw.Window["N"]):
        tw.all_reduce_load(x.multicast()[tw.ds(0, 4)], order="rank")  # error

    message, _ = diagnose(f, target="cpu:world=2,multimem=1", x="window:f32[?]")
    assert "a multicast address has no order of ranks" in message


def test_a_team_in_two_places(diagnose):
    def f(x: tw.Window["N"]):
        tw.all_reduce_load(x.multicast()[tw.ds(0, 4)], team="lsa")  # error

    message, _ = diagnose(f, target="cpu:world=2,multimem=1", x="window:f32[?]")
    assert "team= stands at .multicast(team=…)" in message


def test_an_unknown_operation(diagnose):
    def f(x: tw.Window["N"]):
        tw.all_reduce_load(x[tw.ds(0, 4)], op="mean")  # error

    message, _ = diagnose(f, x="window:f32[?]")
    assert 'op="mean" is unknown; one of: add, min, max, and, or, xor' in message


def test_bits_of_floats(diagnose):
    def f(x: tw.Window["N"]):
        tw.all_reduce_load(x[tw.ds(0, 4)], op="xor")  # error

    message, _ = diagnose(f, x="window:f32[?]")
    assert 'op="xor" works on the bits of integers, found f32' in message


def test_bits_into_all_copies(diagnose):
    def f(x: tw.Window["N"]):
        tw.reduce_store(x[tw.ds(0, 4)], 1, op="or")  # error

    message, _ = diagnose(f, x="window:f32[?]")
    assert 'reduce_store: op="or" works on the bits of integers, found f32' in message


def test_bits_of_floats_in_one_step(diagnose):
    def f(x: tw.Window["N"]):
        tw.atomic_xor(x[tw.ds(0, 4)], 1)  # error

    message, _ = diagnose(f, x="window:f32[?]")
    assert message == "atomic_xor: works on the bits of integers, found f32"


def test_narrow_integers_into_all_copies(diagnose):
    def f(x: tw.Window["N"]):
        tw.reduce_store(x[tw.ds(0, 4)], 1, op="or")  # error

    message, _ = diagnose(f, target="cpu:world=2", x="window:i8[?]")
    assert message.startswith("reduce_store: works on i32, u32, i64, u64, f16, bf16, f32 and f64")


def test_an_unknown_operation_into_all_copies(diagnose):
    def f(x: tw.Window["N"]):
        tw.reduce_store(x[tw.ds(0, 4)], 1, op="mul")  # error

    message, _ = diagnose(f, x="window:f32[?]")
    assert 'op="mul" is unknown; one of: add, min, max, and, or, xor' in message


def test_multimem_is_for_virtual_ranks_of_the_cpu():
    with pytest.raises(tw.UserError, match="multimem= is for virtual worlds"):
        tw.init(multimem=True)
    with pytest.raises(tw.UserError, match="virtual ranks on one GPU have no multimem"):
        tw.init(virtual="2", device="cuda", multimem=True)
