"""What a task can't do, and what can't come out of it."""

from pathlib import Path

import pytest
import tilewire as tw


@pytest.fixture
def refused(lowered):
    """`refused(function, x="f32[?]", …)`: the UserError of the passes, at the line that ends in
    `# error`; returns its message."""

    def run(function, target="cpu", **arguments):
        with pytest.raises(tw.UserError) as caught:
            lowered(tw.kernel(function), target, **arguments)
        error = caught.value
        assert error.file == __file__
        line = Path(__file__).read_text().splitlines()[error.line - 1]
        assert line.rstrip().endswith("# error"), str(error)
        return error.message

    return run


def test_a_tile(refused):
    def f(x: tw.Tensor["N"], y: tw.Tensor["N"]):
        with tw.task():
            t = tw.load(x[0:64])  # error
            tw.store(y[0:64], t)

    message = refused(f, x="f32[1024]", y="f32[1024]")
    assert "in a task: `load` of the tile tile<f32[64]>" in message
    assert "`tw.put(view, view)` copies without a tile" in message


def test_a_store(refused):
    def f(y: tw.Tensor["N"]):
        with tw.task():
            tw.store(y[0], 1.0)  # error

    message = refused(f, y="f32[?]")
    assert "in a task: `store`; a task copies views (`tw.put(view, view)`), waits" in message


def test_a_put_of_a_value(refused):
    def f(w: tw.Window["N"], i: tw.f32):
        with tw.task():
            tw.put_value(w.at(0)[0], i)  # error

    message = refused(f, "cpu:world=2", w="window:f32[?]", i="f32")
    assert "in a task: `put_value`" in message


def test_a_barrier(refused):
    def f(x: tw.Tensor["N"]):
        with tw.task():
            tw.barrier()  # error

    message = refused(f, "cpu:world=2", x="f32[?]")
    assert "in a task: `barrier`; a task copies views" in message


@tw.kernel
def send_in_a_task(ch: tw.Channel["C"]):
    with tw.task():
        tw.send(ch[0], 1.0)


def test_a_channel():
    with tw.init(virtual="1") as comm, pytest.raises(tw.UserError) as caught:
        send_in_a_task[1](comm.channel((2,), tile=(), dtype=tw.f32))
    assert "in a task: `send`; a task copies views" in str(caught.value)
    assert f"{__file__}:" in str(caught.value)


def test_dynamic_work(refused):
    def f(x: tw.Tensor["N"], y: tw.Tensor["N"]):
        with tw.task():
            for i in tw.persistent(N, schedule="dynamic"):  # error
                tw.put(y[tw.ds(i, 1)], x[tw.ds(i, 1)])

    message = refused(f, x="f32[?]", y="f32[?]")
    assert 'in a task: schedule="dynamic"; a task\'s loops are static' in message


def test_semaphores_that_the_rest_waits_for(refused):
    def f(sem: tw.Semaphore["S"]):
        with tw.task():
            tw.wait(sem[0])  # error
        tw.wait(sem[1])

    message = refused(f, sem="semaphore[2]")
    assert "the rest of the instance waits for semaphores of `sem` too" in message
    assert "give the task an array of its own" in message


def test_a_task_in_a_task(refused):
    def f(x: tw.Tensor["N"]):
        with tw.task(), tw.task():  # error
            tw.prefetch(x[0:1])

    message = refused(f, x="f32[?]")
    assert "in a task: another task; tasks don't nest" in message


def test_what_only_the_rest_knows(refused):
    def f(sizes: tw.Tensor["G"], x: tw.Tensor["N"], y: tw.Tensor["N"]):
        n = tw.load(sizes[0])  # error
        with tw.task():
            tw.put(y[0:n], x[0:n])

    message = refused(f, sizes="i64[8]", x="f32[?]", y="f32[?]")
    assert "a task depends on this `load`, which the rest of the instance does" in message
    assert "it loads itself, inside of `with tw.task()`" in message


def test_a_branch_that_only_the_rest_knows(refused):
    def f(sizes: tw.Tensor["G"], x: tw.Tensor["N"], y: tw.Tensor["N"]):
        if tw.load(sizes[0]) > 3:  # error
            with tw.task():
                tw.put(y[0:2], x[0:2])

    message = refused(f, sizes="i64[8]", x="f32[?]", y="f32[?]")
    assert "a task depends on this `load`" in message


def test_a_value_that_leaves(diagnose):
    def f(x: tw.Tensor["N"], y: tw.Tensor["N"]):
        with tw.task():
            n = tw.load(x[0])
            tw.put(y[0:2], x[0:2])
        tw.store(y[3], n)  # error

    message, _ = diagnose(f, x="f32[?]", y="f32[?]")
    assert "`n` was assigned in the task at line" in message
    assert "runs beside what is behind it" in message


def test_a_return(diagnose):
    def f(x: tw.Tensor["N"]):
        with tw.task():  # error
            tw.prefetch(x[0:1])
            return

    message, _ = diagnose(f, x="f32[?]")
    assert "a task can't `return`" in message


def test_a_return_in_a_branch(refused):
    def f(x: tw.Tensor["N"], n: tw.i32):
        with tw.task():
            if n > 3:
                return  # error
            tw.prefetch(x[0:1])

    message = refused(f, x="f32[?]", n="i32")
    assert "in a task: `return`" in message


def test_a_break_out_of_it(diagnose):
    def f(x: tw.Tensor["N"], n: tw.i32):
        for i in range(3):
            with tw.task():  # error
                tw.prefetch(x[0:1])
                if i > n:
                    break

    message, _ = diagnose(f, x="f32[?]", n="i32")
    assert "a task can't leave a loop or function around it" in message


def test_a_rank_out_of_reach(refused):
    def f(w: tw.Window["N"], x: tw.Window["N"], r: tw.i32):
        with tw.task():
            tw.put(w.at(r)[0:8], x[0:8])  # error

    message = refused(f, "cpu:world=2x2", w="window:f32[?]", x="window:f32[?]", r="i32")
    assert "in a task: a rank that only the network reaches" in message


def test_no_name_for_it(diagnose):
    def f(x: tw.Tensor["N"]):
        with tw.task() as t:  # error
            tw.prefetch(x[0:1])

    message, _ = diagnose(f, x="f32[?]")
    assert "`with` takes `tw.instances(first, count)` or `tw.task()`" in message
