"""`tw.precompile`: launches inside start nothing and compile, behind it, all that they need."""

import threading

import numpy as np
import pytest
import tilewire as tw
from played_gpu import CudaArray, FakeWorld, make_meeting, make_scale, play, window_of
from tilewire import _tilewire, gpu, ops

COMPILE = _tilewire.compile


@pytest.fixture
def targets(monkeypatch):
    return play(monkeypatch)


@pytest.fixture
def comm(targets):
    made = gpu.GpuCommunicator(FakeWorld())
    yield made
    made.close()


@pytest.fixture
def compilations(monkeypatch):
    """The names of kernels that are compiled, in order."""
    names = []

    def compile_and_tell(program, target):
        names.append(program.name)
        return COMPILE(program, target)

    monkeypatch.setattr(_tilewire, "compile", compile_and_tell)
    return names


def make_sum():
    @tw.kernel
    def sum_of_all(x: tw.Window["N"], y: tw.Tensor["N"], *, N: tw.const):
        tw.barrier()
        acc = tw.zeros((N,), tw.f32)
        for r in tw.ranks():
            acc += tw.load(x.at(r)[:])
        tw.store(y[:], acc)
        tw.barrier()

    return sum_of_all


def test_nothing_starts_and_later_nothing_is_compiled(compilations):
    kernel = make_sum()

    def main(comm):
        x, y = comm.window((16,), tw.f32), np.full(16, -1, np.float32)
        x.numpy()[...] = comm.rank + 1
        with tw.precompile() as planned:
            kernel[1](x, y)
            kernel[2](x, y)  # the same code
            if comm.rank == 0:
                kernel[1](x, y)  # which waits for the others, if it runs
        assert (y == -1).all()
        comm.barrier()
        before = len(compilations)
        kernel[1](x, y)
        assert len(compilations) == before
        return len(planned), y.tolist()

    results = tw.spawn(main, world="3")
    # One rank compiles it, the others find it there.
    assert [each for each, _ in results] == [1, 0, 0]
    assert [y for _, y in results] == [[6.0] * 16] * 3
    assert compilations == ["sum_of_all"]


def test_forms_of_all_virtual_ranks():
    """What one rank's arguments are aligned to makes other code."""
    memory = [np.zeros(64, np.float32) for _ in range(2)]
    ys = [each[-each.ctypes.data % 64 // 4 + rank :][:16] for rank, each in enumerate(memory)]
    kernel = make_sum()
    with tw.init(virtual="2") as comm:
        x = comm.window((16,), tw.f32)
        with tw.precompile() as planned:
            kernel[1](x, ys)
        assert len(planned) == len(planned.compiled) == 2
        kernel[1](x, ys)
    assert len(kernel.compiled()) == 2


def test_on_gpus(comm, targets):
    meeting, scale = make_meeting(), make_scale()
    tw.communicator.set_default(comm)
    x, y = window_of(comm, 8, 256), CudaArray(8, 256)
    launch = meeting[4]
    launch(x, y, 1.0)
    with tw.precompile() as planned:
        launch(x, y, 2.0)  # C++ alone would serve it
        meeting[tw.auto](window_of(comm, 8, 512), CudaArray(8, 512), 1.0)
        scale[1](CudaArray(100), CudaArray(100), 1.0)
        scale.on(stream=5)[1](CudaArray(90), CudaArray(90), 1.0)
    assert [each.artifact.kernel for each in planned.compiled] == ["meeting", "scale"]
    assert [each.num_launches for each in targets] == [1]
    assert len(comm._world.agreements) == 1
    compiled = [len(kernel.compiled()) for kernel in (meeting, scale)]
    launch(x, y, 2.0)
    meeting[tw.auto](window_of(comm, 8, 512), CudaArray(8, 512), 1.0)
    scale[1](CudaArray(100), CudaArray(100), 1.0)
    assert [each.num_launches for each in targets] == [2, 1, 1]
    assert [len(kernel.compiled()) for kernel in (meeting, scale)] == compiled == [2, 1]


def test_virtual_ranks_on_a_gpu_share_a_form(monkeypatch, targets):
    world = FakeWorld()
    comm = gpu.VirtualGpuCommunicator(world)
    aligned, odd = CudaArray(8, 256), CudaArray(8, 256)
    odd.__cuda_array_interface__ |= {"data": (0x7F0000000004, False)}
    meeting, x = make_meeting(), window_of(comm, 8, 256)
    x.of_ranks = [x, x]
    launched = []
    monkeypatch.setattr(gpu._tilewire, "launch_ranks", lambda *_: launched.append(1), raising=False)
    for arrays in ([aligned, aligned], [aligned, odd]):
        with tw.precompile() as planned:
            meeting[1](x, arrays, 1.0)
        assert len(planned) == 1 and not launched
    compiled = meeting.compiled()
    meeting[1](x, [aligned, aligned], 1.0)
    meeting[1](x, [aligned, odd], 1.0)
    assert meeting.compiled() == compiled and len(launched) == 2


def test_copies_and_fills_move_nothing():
    with tw.init(virtual="2") as comm:
        x, y, ready = comm.window((4,), tw.f32), comm.window((4,), tw.f32), comm.flag(2)
        for rank in range(2):
            x.at(rank)[...], y.at(rank)[...] = rank + 1, 0

        def step():
            with ready.fill() as fill:
                for rank in range(2):
                    comm.copy(y.at(rank), x.at(1 - rank), then=fill.at(rank)[0])

        @tw.kernel
        def follow(y: tw.Window["N"], out: tw.Tensor["N"], ready: tw.Flag["W"], *, N: tw.const):
            tw.wait(ready[0])
            tw.store(out[:], tw.load(y[:]))

        outs = [np.zeros(4, np.float32) for _ in range(2)]
        with tw.precompile():
            step()
            follow[1](y, outs, ready)
        assert not y.at(0).any() and not y.at(1).any() and not np.any(outs)
        step()  # the first fill, for the first launch
        follow[1](y, outs, ready)
        assert [out.tolist() for out in outs] == [[2.0] * 4, [1.0] * 4]
        with pytest.raises(tw.HangError):  # there was no second fill
            follow[1](y, outs, ready)


def test_compilations_run_side_by_side(monkeypatch):
    meeting = threading.Barrier(3)

    def compile_together(program, target):
        meeting.wait(timeout=30)
        return COMPILE(program, target)

    monkeypatch.setattr(_tilewire, "compile", compile_together)
    scale = make_scale()
    with tw.precompile(threads=3) as planned:
        for B in (16, 32, 64):
            scale[1](np.zeros(8, np.float32), np.zeros(8, np.float32), 1.0, B=B)
    assert len(planned.compiled) == 3


def test_as_many_at_a_time_as_was_said(monkeypatch):
    running, most = [], []

    def compile_and_count(program, target):
        running.append(program.name)
        most.append(len(running))
        compiled = COMPILE(program, target)
        running.pop()
        return compiled

    monkeypatch.setattr(_tilewire, "compile", compile_and_count)
    scale = make_scale()
    with tw.precompile(threads=1):
        for B in (16, 32, 64):
            scale[1](np.zeros(8, np.float32), np.zeros(8, np.float32), 1.0, B=B)
    assert most == [1, 1, 1]


def test_ranks_begin_at_different_kernels(monkeypatch, targets):
    """Those of one machine share a disk cache."""
    order = []

    def compile_and_tell(program, target):
        order.append(dict(program.constants)["B"])
        return COMPILE(program, target)

    monkeypatch.setattr(_tilewire, "compile", compile_and_tell)
    for rank, expected in enumerate([[16, 32, 64, 128], [64, 128, 16, 32]]):
        world, scale = FakeWorld(), make_scale()
        world.rank = rank
        with gpu.GpuCommunicator(world) as comm:
            tw.communicator.set_default(comm)
            with tw.precompile(threads=1) as planned:
                for B in (16, 32, 64, 128):
                    scale[1](CudaArray(8), CudaArray(8), 1.0, B=B)
        assert order == expected
        assert [id(each) for each in planned.compiled] == [
            id(scale.compiled()[expected.index(B)]) for B in (16, 32, 64, 128)
        ]
        order.clear()


def test_errors_in_a_program_show_the_launch():
    @tw.kernel
    def wrong(y: tw.Tensor["N"], *, N: tw.const):
        tw.store(y[:], missing)

    with pytest.raises(tw.UserError, match="missing"), tw.precompile():
        wrong[1](np.zeros(8, np.float32))
        pytest.fail("the launch said nothing")


def test_errors_of_the_compiler_come_last_with_their_reason(comm):
    @tw.kernel
    def tell_all(x: tw.Window["N"], *, N: tw.const):
        tw.store(x.multicast()[:], tw.full((N,), 1.0, tw.f32))

    meeting = make_meeting()
    x = window_of(comm, 8)
    with (
        pytest.raises(tw.UserError, match="there is no multimem") as caught,
        tw.precompile() as planned,
    ):
        tell_all[1](x)
        meeting[1](window_of(comm, 8, 256), CudaArray(8, 256), 1.0)
    note = "this communicator has no multimem: off: NCCL_NVLS_ENABLE=0"
    assert caught.value.notes[-1] == note
    assert len(planned) == 2 and len(meeting.compiled()) == 1


def test_after_an_exception_nothing_is_compiled_and_launches_start_again(compilations):
    scale, y = make_scale(), np.zeros(8, np.float32)
    with pytest.raises(ZeroDivisionError), tw.precompile():
        scale[1](np.ones(8, np.float32), y, 3.0)
        raise ZeroDivisionError
    assert compilations == []
    scale[1](np.ones(8, np.float32), y, 3.0)
    assert y.tolist() == [3.0] * 8


def test_other_threads_launch_as_ever():
    scale, y = make_scale(), np.zeros(8, np.float32)
    with tw.precompile() as planned:
        other = threading.Thread(target=lambda: scale[1](np.ones(8, np.float32), y, 3.0))
        other.start()
        other.join()
    assert y.tolist() == [3.0] * 8 and len(planned) == 0


def test_inside_of_another_one():
    scale, y = make_scale(), np.zeros(8, np.float32)

    def launch(B):
        scale[1](np.ones(8, np.float32), y, 3.0, B=B)

    with tw.precompile() as outer:
        launch(16)
        with tw.precompile() as inner:
            launch(32)
        launch(64)
    assert (len(outer), len(inner)) == (2, 1) and not y.any()


def test_products_with_communication(compilations):
    """An object of `tilewire.ops`, of which the first call is collective."""
    M, N, K = 40, 24, 16

    def main(comm):
        op = ops.GemmReduceScatter(comm, tw.f32, max_m=M, max_n=N)
        a, b = np.ones((M, K), np.float32), np.ones((N, K), np.float32)
        with tw.precompile():
            op(a, b)
        comm.barrier()
        before = len(compilations)
        c = op(a, b)
        return len(compilations) - before, c.min(), c.max()

    assert tw.spawn(main, world="2") == [(0, 2.0 * K, 2.0 * K)] * 2
    assert len(compilations) >= 1


@pytest.mark.parametrize("threads", [0, -1, 1.5, True, "4"])
def test_threads(threads):
    with pytest.raises(tw.UserError, match="threads= is an integer"), tw.precompile(threads):
        pytest.fail("it began")
