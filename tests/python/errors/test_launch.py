"""What launches refuse, and what their messages say."""

import re

import numpy as np
import pytest
import tilewire as tw


@tw.kernel
def copy_all(x: tw.Window["T", "H"], y: tw.Tensor["T", "H"], scale: tw.f32, *, H: tw.const):
    tw.barrier()
    for row in tw.persistent(T):
        tw.store(y[row, :], tw.load(x[row, :]) * scale)
    tw.barrier()


@tw.kernel
def add_windows(x: tw.Window["N"], y: tw.Window["N"], *, N: tw.const):
    tw.store(y[:], tw.load(x[:]))


def refused(call, *args, **kwargs):
    with pytest.raises(tw.UserError) as caught:
        call(*args, **kwargs)
    return str(caught.value)


@pytest.fixture
def comm():
    with tw.init(virtual="2") as made:
        yield made


def test_windows_of_two_communicators(comm):
    with tw.init(virtual="2") as other:
        message = refused(add_windows[1], comm.window(4, tw.f32), other.window(4, tw.f32))
    assert "kernel `add_windows`: arguments `x` and `y` are windows of two communicators" in message


def test_tensor_for_a_window(comm):
    message = refused(add_windows[1], comm.window(4, tw.f32), np.zeros(4, np.float32))
    assert message == "add_windows: argument `y` must be a window, found a tensor"


def test_wrong_rank(comm):
    x = comm.window((2, 4), tw.f32)
    message = refused(copy_all[1], x, [np.zeros(4, np.float32)] * 2, 1.0)
    assert message == (
        "copy_all: argument `y` must have rank 2 for tw.Tensor['T', 'H'], found rank 1: f32[4]"
    )


def test_static_extents_differ(comm):
    x = comm.window((2, 4), tw.f32)
    message = refused(copy_all[1], x, [np.zeros((2, 5), np.float32)] * 2, 1.0)
    assert "argument `y` must have extent 4 in dimension 1 (`H` is 4 by argument `x`)" in message


def test_run_time_extents_differ(comm):
    x = comm.window((2, 4), tw.f32)
    message = refused(copy_all[1], x, [np.zeros((3, 4), np.float32)] * 2, 1.0)
    assert "`y`" in message and "3" in message and "2" in message and "T" in message


def test_dtype_without_an_element_type(comm):
    x = comm.window((2, 4), tw.f32)
    message = refused(copy_all[1], x, [np.zeros((2, 4), np.complex64)] * 2, 1.0)
    assert "argument `y`" in message and "complex64" in message


def test_text_for_an_array(comm):
    x = comm.window((2, 4), tw.f32)
    assert "argument `y`" in refused(copy_all[1], x, "text", 1.0)


def test_number_for_an_array(comm):
    x = comm.window((2, 4), tw.f32)
    message = refused(copy_all[1], x, 3.0, 1.0)
    assert "argument `y` must be tw.Tensor['T', 'H'], found a float" in message


def test_array_for_a_scalar(comm):
    x = comm.window((2, 4), tw.f32)
    y = [np.zeros((2, 4), np.float32)] * 2
    assert "argument `scale`: expected a number for f32, got numpy.ndarray" in refused(
        copy_all[1], x, y, np.zeros(3, np.float32)
    )


def test_scalar_that_does_not_fit(comm):
    @tw.kernel
    def fill(y: tw.Tensor["N"], value: tw.i8):
        tw.store(y[0], value)

    message = refused(fill[1], np.zeros(3, np.int8), 300)
    assert "`value`" in message and "300" in message and "i8" in message


def test_missing_argument(comm):
    message = refused(copy_all[1], comm.window((2, 4), tw.f32), scale=1.0)
    assert message == "copy_all: missing argument `y`"


def test_read_only_array_that_is_written(comm):
    y = np.zeros((2, 4), np.float32)
    y.flags.writeable = False
    message = refused(copy_all[1], comm.window((2, 4), tw.f32), [y, y], 1.0)
    assert "`y`" in message and "read-only" in message


def test_grid_that_cannot_be_resident(comm):
    x = comm.window((2, 4), tw.f32)
    message = refused(copy_all[100000], x, [np.zeros((2, 4), np.float32)] * 2, 1.0)
    assert "100000" in message
    largest = int(re.search(r"\b(264)\b", message)[1])
    copy_all[largest](x, [np.zeros((2, 4), np.float32)] * 2, 1.0)


def test_list_of_the_wrong_length(comm):
    x = comm.window((2, 4), tw.f32)
    message = refused(copy_all[1], x, [np.zeros((2, 4), np.float32)] * 3, 1.0)
    assert "argument `y` is a list of 3, the world has 2 ranks" in message


def test_ranks_whose_dtypes_differ(comm):
    x = comm.window((2, 4), tw.f32)
    y = [np.zeros((2, 4), np.float32), np.zeros((2, 4), np.float64)]
    assert "ranks 0 and 1 differ in dtype" in refused(copy_all[1], x, y, 1.0)


def test_stream_on_the_cpu(comm):
    x = comm.window((2, 4), tw.f32)
    y = [np.zeros((2, 4), np.float32)] * 2
    assert "the CPU has no streams" in refused(copy_all.on(stream=7)[1], x, y, 1.0)


def test_lane_that_was_not_made(comm):
    x, y = comm.window((2, 4), tw.f32), [np.zeros((2, 4), np.float32) for _ in range(2)]
    assert refused(copy_all.on(lane=3)[1], x, y, 1.0) == (
        "there is no lane 3: make it first, with comm.lane(3)"
    )


def test_closed_communicator():
    comm = tw.init(virtual="2")
    x = comm.window((2, 4), tw.f32)
    comm.close()
    assert refused(comm.window, (2, 4), tw.f32) == "this communicator is closed"
    y = [np.zeros((2, 4), np.float32)] * 2
    assert refused(copy_all[1], x, y, 1.0) == "this communicator is closed"


@pytest.mark.parametrize("shape", ["4", (2, -1), (), (1.5,), (True,), (1,) * 9])
def test_shape_of_a_window(comm, shape):
    assert "a window" in refused(comm.window, shape, tw.f32)


def test_dtype_of_a_window(comm):
    assert "'f31' is not an element type; there are tw.bool, tw.i8" in refused(
        comm.window, 4, "f31"
    )


def test_rank_of_a_window(comm):
    assert "rank 2" in refused(comm.window(4, tw.f32).at, 2)


@pytest.mark.parametrize("world", ["0", "-2", "2x", "x", "many", "2x3x4"])
def test_virtual_world(world):
    assert "world" in refused(tw.init, virtual=world)


def test_target_text():
    assert "sm_90a:world=2" in refused(tw.Target, "gpu")


def test_init_without_torchrun(monkeypatch):
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    message = refused(tw.init)
    assert "RANK is not set: start the program with torchrun" in message
    assert 'tw.init(virtual="8")' in message


def test_init_with_a_bad_variable(monkeypatch):
    monkeypatch.setenv("RANK", "zero")
    assert "RANK='zero' is no integer" in refused(tw.init)


def test_init_with_two_kinds_of_world():
    assert "not both" in refused(tw.init, virtual="2", process_group=object())
