"""How launches on GPUs are compiled, agreed and handed to C++, on a machine without a GPU: the
driver and NCCL are played by objects that remember what they were asked."""

import struct
from types import SimpleNamespace

import pytest
import tilewire as tw
from played_gpu import CudaArray, FakeKernel, FakeWorld, make_meeting, make_scale, play, window_of
from tilewire import gpu


@pytest.fixture
def targets(monkeypatch):
    """Every launch target that is made, in order."""
    return play(monkeypatch)


@pytest.fixture
def comm():
    made = gpu.GpuCommunicator(FakeWorld())
    yield made
    made.close()


def test_a_program_that_needs_a_network_is_told_why_there_is_none(targets):
    @tw.kernel
    def pushing(x: tw.Window["N"], *, N: tw.const):
        tw.put(x.at((tw.rank() + 1) % tw.world_size())[:], x[:])

    comm = gpu.GpuCommunicator(FakeWorld("sm_90a:world=4,lsa=2,gin=0"))
    with pytest.raises(tw.UserError, match="no network that kernels can use") as caught:
        pushing[1](window_of(comm, 64))
    note = "this communicator has no network (GIN): rank 1: off: NCCL_GIN_ENABLE=0"
    assert caught.value.notes[-1] == note
    assert str(caught.value).endswith(note)
    comm.close()


def test_errors_about_something_else_carry_no_such_note(targets):
    @tw.kernel
    def reaching(x: tw.Window["N"], *, N: tw.const):
        tw.store(x[:], tw.load(x.at((tw.rank() + 1) % tw.world_size())[:]))

    comm = gpu.GpuCommunicator(FakeWorld("sm_90a:world=4,lsa=2,gin=0"))
    with pytest.raises(tw.UserError, match="multimem=0,gin=0") as caught:
        reaching[1](window_of(comm, 64))
    assert not any("communicator has no" in note for note in caught.value.notes)
    comm.close()


def test_first_call_compiles_and_agrees_later_ones_are_served_by_cpp(comm, targets):
    meeting, x = make_meeting(), window_of(comm, 8, 256)
    for factor in (1.0, 2.0, 3.0):
        meeting[4](x, CudaArray(8, 256), factor)
    assert len(targets) == 1 and targets[0].num_launches == 3
    assert len(comm._world.agreements) == 1
    assert "the launch of meeting[4]" in comm._world.agreements[0][0]
    assert targets[0].grid == 4


def test_other_rows_need_no_new_code_other_lengths_do(comm, targets):
    meeting = make_meeting()
    for shape in ((8, 256), (3, 256), (8, 512)):
        meeting[2](window_of(comm, *shape), CudaArray(*shape), 1.0)
    assert [each.num_launches for each in targets] == [2, 1]


def test_auto_grid_is_the_least_of_rows_and_what_was_agreed(comm, targets):
    meeting = make_meeting()
    meeting[tw.auto](window_of(comm, 1000, 256), CudaArray(1000, 256), 1.0)
    assert targets[0].grid == 64
    meeting[tw.auto](window_of(comm, 5, 256), CudaArray(5, 256), 1.0)
    assert targets[0].grid == 5


def test_each_grid_is_agreed_once(comm, targets):
    meeting, x = make_meeting(), window_of(comm, 8, 256)
    for grid in (2, 3, 2, 3):
        meeting[grid](x, CudaArray(8, 256), 1.0)
    hashes = [agreement for _, agreement, _ in comm._world.agreements]
    assert len(hashes) == 2 and hashes[0] != hashes[1]


def test_agreement_is_the_same_in_every_process_that_runs_this_program(targets):
    def agreement():
        comm = gpu.GpuCommunicator(FakeWorld())
        make_meeting()[2](window_of(comm, 8, 256), CudaArray(8, 256), 1.0)
        return comm._world.agreements[0][1]

    assert agreement() == agreement()


def test_kernels_that_meet_nobody_agree_on_nothing(comm, targets):
    tw.communicator.set_default(comm)
    make_scale()[tw.auto](CudaArray(1000), CudaArray(1000), 2.0)
    assert comm._world.agreements == [] and targets[0].num_launches == 1
    assert 1 <= targets[0].grid <= 100


def test_kernels_that_meet_nobody_outlive_the_communicator(comm, targets):
    scale = make_scale()
    tw.communicator.set_default(comm)
    scale[4](CudaArray(1000), CudaArray(1000), 2.0)
    comm.close()
    scale[4](CudaArray(1000), CudaArray(1000), 2.0)
    assert len(targets) == 1 and targets[0].num_launches == 2


def test_a_kernel_is_loaded_once_on_each_gpu_that_it_runs_on(targets):
    scale, devices = make_scale(), []

    class Loaded(FakeKernel):
        def __init__(self, device, artifact, device_comm_bytes):
            super().__init__(device, artifact, device_comm_bytes)
            devices.append(device)

    gpu._tilewire.GpuKernel = Loaded
    for grid, ordinal in ((2, 0), (3, 1), (4, 0)):
        world = FakeWorld()
        world.device_ordinal = ordinal
        with gpu.GpuCommunicator(world) as comm:
            tw.communicator.set_default(comm)
            scale[grid](CudaArray(1000), CudaArray(1000), 2.0)
    assert devices == [0, 1]


def test_without_a_communicator(targets):
    scale = make_scale()
    for _ in range(2):
        scale[tw.auto](CudaArray(1000), CudaArray(1000), 2.5)
    assert targets[0].num_launches == 2
    assert struct.pack("<f", 2.5) in [targets[0].slot(i)[:4] for i in range(4)]


def test_without_a_communicator_nobody_can_be_waited_for(targets):
    @tw.kernel
    def wait(y: tw.Tensor["N"]):
        tw.barrier(team=tw.local, scope="grid")
        tw.store(y[0], 1.0)

    with pytest.raises(tw.UserError):
        wait[1](CudaArray(4))
    assert targets == []


def test_streams(comm, targets):
    meeting, x = make_meeting(), window_of(comm, 8, 256)
    meeting.on(stream=0x55)[2](x, CudaArray(8, 256), 1.0)
    assert targets[0].stream == 0x55
    meeting.on(stream=SimpleNamespace(cuda_stream=0x66))[2](x, CudaArray(8, 256), 1.0)
    assert targets[-1].stream == 0x66
    with pytest.raises(tw.UserError, match="is no CUDA stream"):
        meeting.on(stream="fast")[2](x, CudaArray(8, 256), 1.0)


def test_grid_of_two_dimensions(comm, targets):
    with pytest.raises(tw.UserError, match="on GPUs a grid has one dimension, found"):
        make_meeting()[2, 2](window_of(comm, 8, 256), CudaArray(8, 256), 1.0)


def test_windows_of_two_communicators(comm, targets):
    @tw.kernel
    def add(a: tw.Window["N"], b: tw.Window["N"], *, N: tw.const):
        tw.store(a[:], tw.load(b[:]))

    other = gpu.GpuCommunicator(FakeWorld())
    with pytest.raises(tw.UserError, match="windows of two communicators"):
        add[1](window_of(comm, 8), window_of(other, 8))


def test_lanes_have_forms_of_their_own(comm, targets):
    meeting, y = make_meeting(), CudaArray(8, 256)
    lane = comm.lane(1, sms=48)
    assert comm._world.lanes == {1: (48, False)}
    plain, here = window_of(comm, 8, 256), window_of(comm, 8, 256, lane=lane)
    for _ in range(3):
        meeting[4](plain, y, 1.0)
        meeting[4](here, y, 1.0)
        meeting.on(lane=lane)[4](plain, y, 1.0)
        meeting.on(lane=1)[4](plain, y, 1.0)
    # On lane 0, on that of the arguments, and for each way to say it.
    assert [each.num_launches for each in targets] == [3, 3, 3, 3]
    assert len(comm._world.agreements) == 2
    assert "on lane 1 (" in comm._world.agreements[1][0]
    meeting[tw.auto](window_of(comm, 1000, 256, lane=lane), CudaArray(1000, 256), 1.0)
    assert targets[-1].grid == 12
    with pytest.raises(
        tw.UserError, match=r"`x` is on lane 1, but kernel\.on\(lane=\) says lane 0"
    ):
        meeting.on(lane=0)[4](here, y, 1.0)


def test_a_form_for_one_lane_refuses_arguments_of_another(comm, targets):
    @tw.kernel
    def add(a: tw.Window["N"], b: tw.Window["N"], *, N: tw.const):
        tw.barrier()
        tw.store(a[:], tw.load(b[:]))

    lanes = [comm.lane(1), comm.lane(2)]
    windows = [window_of(comm, 8, lane=lane) for lane in lanes]
    add[1](windows[0], window_of(comm, 8))
    add[1](windows[1], window_of(comm, 8))
    for _ in range(2):
        with pytest.raises(tw.UserError, match="`a` is on lane 1, argument `b` on lane 2"):
            add[1](*windows)
    assert [each.num_launches for each in targets] == [1, 1]


def test_free(comm):
    x = window_of(comm, 8)
    comm.free(x)
    assert comm._world.freed == [x.memory]
    with pytest.raises(tw.UserError, match="takes a window or objects of this communicator"):
        gpu.GpuCommunicator(FakeWorld()).free(x)


def test_a_window_that_was_given_back_is_refused(comm, targets):
    meeting, x = make_meeting(), window_of(comm, 8, 256)
    for _ in range(2):  # the second one is served from C++ alone
        meeting[2](x, CudaArray(8, 256), 1.0)
    comm.free(x)
    for use in (
        lambda: meeting[2](x, CudaArray(8, 256), 1.0),
        lambda: make_scale()[2](x, x, 1.0),
        lambda: x.at(0),
        lambda: x.__dlpack__(),
    ):
        with pytest.raises(tw.UserError, match=r"given back by `comm\.free`: make a new one"):
            use()
    assert targets[0].num_launches == 2


def test_close_forgets_the_default(comm):
    tw.communicator.set_default(comm)
    comm.close()
    assert comm._world.is_closed and tw.communicator.current() is None
