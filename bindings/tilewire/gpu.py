"""Communicators on GPUs, and launches there that no compiled form serves yet."""

from __future__ import annotations

import hashlib
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilewire import _tilewire
from tilewire._tilewire import Target
from tilewire.communicator import Communicator, forget
from tilewire.copies import CopyEngines
from tilewire.errors import Error, UserError
from tilewire.lane import Lane, Lanes
from tilewire.launch import Call
from tilewire.objects import Request, check_reserve, make_symmetric
from tilewire.place import Place
from tilewire.virtual import VirtualCommunicator, cpu_target, require_all_ranks
from tilewire.window import Symmetric

if TYPE_CHECKING:
    from tilewire.kernel import Compiled, Grid, Kernel


def one_dimension(kernel: Kernel, grid: Grid) -> int | None:
    """None for `tw.auto`."""
    if isinstance(grid, tuple):
        raise UserError(f"kernel `{kernel.name}`: on GPUs a grid has one dimension, found {grid!r}")
    return grid if isinstance(grid, int) else None


def _load(compiled: Compiled, device: int, device_comm_bytes: int) -> Any:
    """The kernel on GPU number `device`, loaded there once."""
    return compiled.loaded_on(
        device, lambda artifact: _tilewire.GpuKernel(device, artifact, device_comm_bytes)
    )


# How errors of the compiler call what a target lacks, and its name among capabilities.
_FEATURES = {"no multimem": "multimem", "(GIN)": "network (GIN)"}


def _compile(
    world: Any, kernel: Kernel, target: Target, specialisation: Any, facts: Any
) -> Compiled:
    """For this target; a program that asks for what its communicator hasn't got is told why."""
    try:
        return kernel.compile(target, specialisation, facts)
    except UserError as error:
        raise _with_reason(world, error) from None


def _with_reason(world: Any, error: UserError) -> Error:
    answers = world.capabilities[1] if world is not None else []
    reasons = {name: reason for name, has, reason, _ in answers if not has}
    for word, name in _FEATURES.items():
        if word in error.message and name in reasons:
            return error.with_note(f"this communicator has no {name}: {reasons[name]}")
    return error


def _view_of(
    comm: GpuCommunicator | VirtualGpuCommunicator,
    lane: Lane | None,
    memory: Any,
    request: Request,
    rank: int,
    local_rank: int,
) -> Any:
    """`memory` as the kernel of `rank` takes it, which is this process's `local_rank`-th."""
    made = make_symmetric(
        comm,
        request,
        device="cuda",
        device_index=comm._device,
        rank=rank,
        copies=[memory.address(each) for each in range(comm.size)],
        owner=memory,
        identity=comm._world.address,
        lane=lane,
    )
    _tilewire.attach_window(made, memory, local_rank)
    made.memory = memory
    made.reshaped = lambda shape: _view_of(
        comm, lane, memory, replace(request, shape=shape), rank, local_rank
    )
    return made


def _memory_for(comm: GpuCommunicator | VirtualGpuCommunicator, request: Request) -> Any:
    """Collective: with its first content on all ranks, where it has one."""
    stream = _tilewire.current_stream(comm._device)
    memory = comm._world.window(max(request.num_bytes, 1), stream, request.what, request.signals)
    if request.image is not None:
        comm._world.fill(memory, request.image)
    return memory


class _GpuLauncher(Communicator):
    """What launches with and without a communicator have in common."""

    _world: Any  # _tilewire.GpuWorld, or None
    _device: int

    @property
    def device(self) -> str:
        return f"cuda:{self._device}"

    def _load(self, compiled: Compiled) -> Any:
        num_bytes = self._world.device_comm_bytes if self._world is not None else 0
        return _load(compiled, self._device, num_bytes)

    def with_reason(self, error: UserError) -> Error:
        return _with_reason(self._world, error)

    def _choose(self, kernel: Kernel, grid: Grid, call: Call, place: Place) -> tuple[Any, int]:
        """The kernel to launch, and how many instances may run at once (0: nothing bounds it)."""
        compiled = _compile(self._world, kernel, self.target, call.specialisation, call.facts)
        place.require_one_lane(compiled.artifact)
        return self._load(compiled), 0

    def launch(
        self, kernel: Kernel, grid: Grid, place: Place, bound: dict[str, Any], launcher: Any
    ) -> None:
        size = one_dimension(kernel, grid)
        call = Call(kernel, bound)
        loaded, limit = self._choose(kernel, grid, call, place)
        # A kernel that meets nobody serves launches after this communicator is closed as well.
        world = self._world if loaded.takes_world else None
        target = _tilewire.LaunchTarget(
            world, loaded, limit, place.lane_number, place.serves_unnamed
        )
        if size is not None:
            target.check_grid(size)
        target.launch(size, call.values, place.stream)
        facts = kernel.facts_that_matter(self.target, call.specialisation, call.facts)
        launcher.add(target, dict(call.specialisation.constants), facts)


class _GpuRanks(Communicator):
    """What ranks over NCCL and virtual ones ask of their world alike."""

    _world: Any  # _tilewire.GpuWorld
    _device: int

    def _make_lane(self, number: int, sms: int | None, exclusive: bool) -> int:
        stream = _tilewire.current_stream(self._device)
        return self._world.make_lane(number, sms or 0, exclusive, stream)

    def reserve(self, num_bytes: int) -> None:
        self._world.reserve(check_reserve(num_bytes), _tilewire.current_stream(self._device))

    def trim(self) -> None:
        self._world.trim(_tilewire.current_stream(self._device))

    def barrier(self) -> None:
        self._world.barrier()

    def check(self) -> None:
        self._world.check()

    def synchronize(self) -> None:
        """Waits for this process's GPU; HangError where a wait there gave up."""
        self._world.synchronize()

    def abort(self) -> None:
        self._world.abort()

    def close(self) -> None:
        self._world.close()
        forget(self)


class GpuCommunicator(CopyEngines, _GpuRanks, _GpuLauncher):
    """One rank on one GPU, over NCCL."""

    def __init__(
        self, world: Any, keep_alive: Any = None, sms: int | None = None, exclusive: bool = False
    ) -> None:
        self.rank: int = world.rank
        self.target: Target = world.target
        self._world = world
        self._device = world.device_ordinal
        self._keep_alive = keep_alive  # a process group whose NCCL communicator is in use
        self._agreed: dict[Any, int] = {}
        self._lanes = Lanes(Lane(self, 0, sms, exclusive, world.lane_identity(0)))

    def _make_on(self, lane: Lane | None, request: Request) -> Any:
        return _view_of(self, lane, _memory_for(self, request), request, self.rank, 0)

    def free(self, window: Symmetric) -> None:
        self._require_own(window, "comm.free")
        self._world.free(window.memory)  # type: ignore[attr-defined]
        window.retire()

    def _choose(self, kernel: Kernel, grid: Grid, call: Call, place: Place) -> tuple[Any, int]:
        """What is special to this rank's arguments may need more room than was agreed; then the
        form for any arguments serves."""
        loaded, _ = super()._choose(kernel, grid, call, place)
        lane = place.lane_number
        own = self._world.grid_limit(loaded, lane)
        if not loaded.two_sided:
            return loaded, own
        agreed = self._agree(kernel, grid, call, lane, own)
        if own < agreed:
            loaded = self._load(kernel.compile(self.target, call.specialisation))
            own = self._world.grid_limit(loaded, lane)
        if own < agreed:
            raise UserError(
                f"kernel `{kernel.name}`: the ranks agreed on up to {agreed} program instances at "
                f"once, with these arguments only {own} fit: launch it on a smaller grid"
            )
        return loaded, agreed

    def _agree(self, kernel: Kernel, grid: Grid, call: Call, lane: int, own: int) -> int:
        """The least limit over the ranks: collective, once per program, constants, grid and
        lane."""
        key = (kernel, repr(grid), call.specialisation, lane)
        if key not in self._agreed:
            program = kernel.program(self.target, call.specialisation).text(locations=False)
            program = program.partition("\n")[2]  # the first line names a file, which may differ
            digest = hashlib.sha256(f"{grid!r}\n{program}".encode()).digest()
            agreement = int.from_bytes(digest[:8], "little")
            source = kernel.source
            where = f"{os.path.basename(source.file)}:{source.line(source.function)}"
            constants = [f"{name}={value}" for name, value in call.specialisation.constants]
            signature = f"{kernel.name}[{grid!r}]({', '.join(constants)})"
            what = f"the launch of {signature} on lane {lane} ({where})"
            self._agreed[key] = self._world.agree_minimum(what, agreement, own)
        return self._agreed[key]


class LocalGpu(_GpuLauncher):
    """This process alone, on one GPU; for kernels that wait for nobody."""

    def __init__(self, ordinal: int | None) -> None:
        self._device = _tilewire.current_device() if ordinal is None else ordinal
        self.rank = 0
        self.target = Target(_tilewire.device_architecture(self._device))
        self._world = None

    def _load(self, compiled: Compiled) -> Any:
        if compiled.artifact.resources.lane:
            raise UserError(
                f"kernel `{compiled.artifact.kernel}` waits for other program instances, and there "
                f"is no communicator: call tw.init() first"
            )
        return super()._load(compiled)


class VirtualGpuCommunicator(CopyEngines, _GpuRanks, VirtualCommunicator):
    """Virtual ranks on one GPU, driven by one controller like those on the CPU."""

    def __init__(self, world: Any, sms: int | None = None, exclusive: bool = False) -> None:
        self.rank = None
        self.target = world.target
        self._world = world
        self._device = world.device_ordinal
        self._lanes = Lanes(Lane(self, 0, sms, exclusive, world.lane_identity(0)))

    @property
    def device(self) -> str:
        return f"cuda:{self._device}"

    def free(self, window: Symmetric) -> None:
        self._require_own(window, "comm.free")
        self._world.free(window.memory)  # type: ignore[attr-defined]
        for each in window.of_ranks:  # type: ignore[attr-defined]
            each.retire()

    def _make_on(self, lane: Lane | None, request: Request) -> Any:
        memory = _memory_for(self, request)
        windows = [_view_of(self, lane, memory, request, rank, rank) for rank in range(self.size)]
        for window in windows:
            window.of_ranks = windows
        return windows[0]

    def launch_calls(
        self, kernel: Kernel, grid: Grid, place: Place, calls: list[Call | None]
    ) -> None:
        given = [each for each in calls if each is not None]
        [common] = self._facts_of(kernel, given)
        compiled = _compile(self._world, kernel, self.target, given[0].specialisation, common)
        require_all_ranks(kernel, compiled, calls)
        place.require_one_lane(compiled.artifact)
        loaded = _load(compiled, self._device, self._world.device_comm_bytes)
        values = [call and self._values_of(call, rank) for rank, call in enumerate(calls)]
        _tilewire.launch_ranks(
            self._world,
            loaded,
            one_dimension(kernel, grid),
            values,
            place.stream,
            place.lane_number,
        )

    def _facts_of(self, kernel: Kernel, calls: list[Call]) -> list[Any]:
        """Those that all have: one kernel serves all ranks."""
        specialisation = calls[0].specialisation
        facts = [
            kernel.facts_that_matter(self.target, specialisation, each.facts) for each in calls
        ]
        return [facts[0] if all(each == facts[0] for each in facts) else None]

    def with_reason(self, error: UserError) -> Error:
        return _with_reason(self._world, error)

    def _values_of(self, call: Call, rank: int) -> list[Any]:
        return [
            each.of_ranks[rank] if isinstance(each, Symmetric) else each for each in call.values
        ]


def virtual_ranks(
    world: str, device: str, sms: int | None = None, exclusive: bool = False
) -> Communicator:
    """Virtual ranks ("4"; "2x2": in two LSA teams, between which a network of the GPU's own stands
    in for NCCL's) on one GPU (`cuda`: the current one, or `cuda:1`)."""
    shape = cpu_target(world, False)
    text = device.removeprefix("cuda").removeprefix(":")
    if text and not text.isdigit():
        raise UserError(f"tw.init: {device!r} is no device; write 'cuda' or 'cuda:1'")
    ordinal = int(text) if text else _tilewire.current_device()
    made = _tilewire.VirtualRanks.create(shape.world_size, ordinal, shape.lsa_size)
    made.set_first_lane(sms or 0, True)  # virtual ranks are never launched cooperatively
    return VirtualGpuCommunicator(made, sms, exclusive)
