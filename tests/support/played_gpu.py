"""The driver and NCCL on a machine without a GPU: objects that remember what they were asked, and
kernels to launch on them."""

from types import SimpleNamespace

import tilewire as tw
from tilewire import _tilewire, gpu
from tilewire.objects import make_symmetric, window_request

ADDRESS = 0x7F0000000000


class CudaArray:
    """Memory that nobody touches."""

    def __init__(self, *shape, typestr="<f4"):
        self.__cuda_array_interface__ = {
            "shape": shape,
            "typestr": typestr,
            "data": (ADDRESS, False),
            "version": 3,
            "strides": None,
        }


class FakeKernel:
    def __init__(self, device, artifact, device_comm_bytes):
        self.artifact = artifact
        self.two_sided = self.takes_world = artifact.resources.two_sided


class FakeWorld:
    def __init__(self, target="sm_90a:world=2"):
        self.target = _tilewire.Target(target)
        self.rank = 1
        self.device_ordinal = 0
        self.device_comm_bytes = 0
        self.address = id(self)
        self.agreements = []
        self.freed = []
        self.is_closed = False
        self.lanes = {}
        answers = [("multimem", False, "off: NCCL_NVLS_ENABLE=0", "")]
        answers.append(("network (GIN)", False, "rank 1: off: NCCL_GIN_ENABLE=0", ""))
        self.capabilities = ([], answers)

    def lane_identity(self, number):
        return self.address + number

    def make_lane(self, number, sms, exclusive, stream):
        self.lanes[number] = (sms, exclusive)
        return self.lane_identity(number)

    def grid_limit(self, kernel, lane):
        return min(100, self.lanes.get(lane, (0, False))[0] or 100)

    def agree_minimum(self, what, agreement, value):
        self.agreements.append((what, agreement, value))
        return value - 36

    def free(self, memory):
        self.freed.append(memory)

    def close(self):
        self.is_closed = True


def play(monkeypatch):
    """Puts these objects in the place of the driver; every launch target that is made, in order."""
    made = []

    def launch_target(world, kernel, limit, lane, serves_unnamed):
        address = world.address if world is not None else 0
        takes_lane = world is not None and kernel.artifact.resources.lane
        identity = world.lane_identity(lane) if takes_lane else 0
        made.append(
            _tilewire.RecordingTarget(kernel.artifact, 0, address, limit, identity, serves_unnamed)
        )
        return made[-1]

    class Played:
        GpuKernel = FakeKernel
        LaunchTarget = staticmethod(launch_target)
        current_device = staticmethod(lambda: 0)
        device_architecture = staticmethod(lambda ordinal: "sm_90a")
        current_stream = staticmethod(lambda ordinal: 0)

        def __getattr__(self, name):
            return getattr(_tilewire, name)

    monkeypatch.setattr(gpu, "_tilewire", Played())
    return made


def window_of(comm, *shape, lane=None):
    window = make_symmetric(
        comm,
        window_request(comm.size, shape, tw.f32),
        device="cuda",
        device_index=0,
        rank=1,
        copies=[ADDRESS, ADDRESS + 4096],
        owner=object(),
        identity=comm._world.address,
        lane=lane,
    )
    window.memory = SimpleNamespace()
    return window


def make_meeting():
    @tw.kernel
    def meeting(x: tw.Window["T", "H"], y: tw.Tensor["T", "H"], factor: tw.f32, *, H: tw.const):
        tw.barrier()
        for row in tw.persistent(T):
            tw.store(y[row, :], tw.load(x.at(0)[row, :]) * factor)
        tw.barrier()

    return meeting


def make_scale():
    @tw.kernel
    def scale(x: tw.Tensor["N"], y: tw.Tensor["N"], factor: tw.f32, *, B: tw.const = 128):
        for b in tw.persistent(tw.cdiv(N, B)):
            tw.store(y[tw.ds(b * B, B)], tw.load(x[tw.ds(b * B, B)]) * factor)

    return scale
