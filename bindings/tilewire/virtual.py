"""Worlds of virtual ranks on the CPU, driven by one controller (`tw.init(virtual="2x4")`)."""

from __future__ import annotations

import ctypes
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tilewire import _tilewire
from tilewire._tilewire import Target
from tilewire.communicator import Communicator, forget
from tilewire.errors import BackendError, HangError, UserError
from tilewire.kernel import Auto
from tilewire.lane import MAX_LANES, Lane, Lanes, call_of
from tilewire.launch import Call, launch_alone
from tilewire.launch_order import LaunchOrder, how_kernels_differ
from tilewire.objects import Request, check_reserve, make_symmetric
from tilewire.place import Place
from tilewire.types import ArrayAnnotation
from tilewire.window import Symmetric

if TYPE_CHECKING:
    from tilewire.kernel import Compiled, Grid, Kernel
    from tilewire.precompile import Precompilation


NUM_SMS = 132  # what budgets of lanes are measured by, as on the GPU of `resident_limit`


def cpu_target(world: str, multimem: bool = False) -> Target:
    """The target of a virtual world, like "2x4"; it has multimem or not."""
    return Target(f"cpu:world={world}" + (",multimem=1" if multimem else ""))


class HostWorld:
    """What the ranks of a virtual world share: scheduler, memory, and the launches on it."""

    def __init__(self, target: Target, seed: int | None) -> None:
        if not _tilewire.has_cpu_target:
            raise BackendError(
                "this build of tilewire has no CPU target (it was built without LLVM): build it "
                "with LLVM 19 or newer"
            )
        self.target = target
        if seed is None:
            seed = _tilewire.environment_seed()
        if not isinstance(seed, int) or not 0 <= seed < 2**64:
            raise UserError(f"the seed is an integer from 0 to 2**64 - 1, found {seed!r}")
        self.world = _tilewire.VirtualWorld(
            target.world_size, target.lsa_size, seed, target.multimem
        )
        self.order = LaunchOrder(target.world_size)
        self.is_closed = False

    def require_open(self) -> None:
        if self.is_closed:
            raise UserError("this communicator is closed")

    def lane_identity(self, number: int) -> int:
        """Tells lanes of all worlds apart."""
        return id(self) * MAX_LANES + number + 1

    def make(
        self,
        comms: list[Communicator],
        lanes: list[Lane | None],
        ranks: list[int],
        request: Request,
    ) -> list[Any]:
        """One window or array of objects, as each of `comms` (that is rank `ranks[i]`) sees it, on
        its lane `lanes[i]`."""
        self.require_open()
        try:
            memory = self.world.make_window(request.num_bytes)
        except MemoryError:
            total = self.target.world_size * request.num_bytes
            raise BackendError(
                f"there is no memory for a {request.kind} of {request.shape} {request.dtype} on "
                f"{self.target.world_size} ranks ({total} bytes): make it smaller"
            ) from None
        if request.image:
            for address in memory.copies:
                ctypes.memmove(address, request.image, len(request.image))
        return [
            self._view_of(comm, lane, rank, memory, request)
            for comm, lane, rank in zip(comms, lanes, ranks, strict=True)
        ]

    def _view_of(
        self, comm: Communicator, lane: Lane | None, rank: int, memory: Any, request: Request
    ) -> Any:
        made = make_symmetric(
            comm,
            request,
            device="cpu",
            device_index=0,
            rank=rank,
            copies=memory.copies,
            owner=memory,
            identity=id(self),
            lane=lane,
            # One controller sees all ranks; a rank of `tw.spawn` what it would under torchrun.
            team_size=0 if comm.rank is None else self.target.lsa_size,
        )
        made.memory = memory
        made.reshaped = lambda shape: self._view_of(
            comm, lane, rank, memory, replace(request, shape=shape)
        )
        return made

    def launch(self, requests: list[HostRequest | None]) -> None:
        """Runs what each rank asked for; None: it launches nothing. `tw.auto` is the least."""
        self.require_open()
        given = [each for each in requests if each is not None]
        least = min(each.auto_grid(self.world.resident_limit) for each in given)
        self.world.launch([each and each.as_launch(least) for each in requests])


class HostRequest:
    """One rank's launch: a compiled kernel, its grid and packed arguments."""

    def __init__(
        self, world: HostWorld, kernel: Kernel, grid: Grid, call: Call, lane: Lane | None
    ) -> None:
        self.kernel = kernel
        self.grid = grid
        self.lane = lane
        self.call = call
        self.compiled: Compiled = kernel.compile(world.target, call.specialisation, call.facts)
        self.loaded = self.compiled.loaded_on("cpu", _tilewire.CpuKernel)
        self.arguments = _tilewire.pack_cpu_arguments(self.compiled.artifact, call.values)

    @property
    def is_scheduled(self) -> bool:
        """Whether its instances run as fibers, side by side with those of other launches."""
        resources = self.compiled.artifact.resources
        return resources.waits or resources.network

    @property
    def is_two_sided(self) -> bool:
        return self.compiled.artifact.resources.two_sided

    @property
    def budget(self) -> int | None:
        """Of the lane, if the kernel takes one."""
        takes_lane = self.lane is not None and self.compiled.artifact.resources.lane
        return self.lane.sms if takes_lane else None  # type: ignore[union-attr]

    def check_budget(self) -> None:
        """UserError where the lane's budget doesn't allow the grid."""
        budget = self.budget
        if budget is None or isinstance(self.grid, Auto):
            return
        size = math.prod(self.grid) if isinstance(self.grid, tuple) else self.grid
        if size > budget:
            raise UserError(
                f"kernel `{self.kernel.name}`: a grid of {self.grid} on lane {self.lane.number}, "  # type: ignore[union-attr]
                f"whose budget is {budget} multiprocessors: use tw.auto or a grid of at most "
                f"{budget}"
            )

    def auto_grid(self, limit: int) -> int:
        limit = min(limit, self.budget or limit)
        return _tilewire.choose_grid(self.compiled.artifact, self.arguments.dimensions, limit)

    def shares_auto_grid(self, limit: int) -> bool:
        """Whether `tw.auto` is the same on all ranks: no extent that only tensors have, which may
        differ by rank, bounds it."""
        constants = dict(self.call.specialisation.constants)
        ranks = {name: rank for name, _, rank in self.call.specialisation.arrays}
        is_local: dict[str | int, bool] = {}  # run-time extents, in the artifact's order
        for each in self.kernel.signature.positional:
            if isinstance(each.annotation, ArrayAnnotation) and not each.is_object:
                for name in each.dimension_names(ranks[each.name]):
                    if isinstance(name, str) and name not in constants:
                        is_tensor = each.annotation.kind == "tensor"
                        is_local[name] = is_local.get(name, True) and is_tensor
        if len(is_local) != len(self.arguments.dimensions):
            return False
        grids = set()
        for other in (1, 2**40):
            extents = [
                other if local else extent
                for local, extent in zip(is_local.values(), self.arguments.dimensions, strict=True)
            ]
            grids.add(_tilewire.choose_grid(self.compiled.artifact, extents, limit))
        return len(grids) == 1

    def as_launch(self, auto_grid: int) -> tuple[Any, tuple[int, int, int], list[int], int]:
        self.check_budget()
        if isinstance(self.grid, int):
            grid = (self.grid, 1, 1)
        elif isinstance(self.grid, tuple):
            grid = (*self.grid, 1, 1)[:3]
        else:
            grid = (auto_grid, 1, 1)
        return self.loaded, grid, self.arguments.slots, self.lane.number if self.lane else 0

    def protocol(self) -> tuple[Any, ...]:
        """What must be the same on all ranks of a two-sided launch."""
        number = self.lane.number if self.lane else 0
        constants = self.call.specialisation.constants
        return (self.kernel, self.grid, number, constants, self.deciding_integers())

    def deciding_integers(self) -> tuple[tuple[str, int], ...]:
        """The run-time integers on which it depends how often ranks meet."""
        inputs = self.compiled.artifact.deciding_inputs
        return tuple((name, self.arguments.slots[slot]) for name, slot in inputs)

    def describe(self) -> str:
        _, grid, lane, constants, integers = self.protocol()
        given = ", ".join(f"{name}={value}" for name, value in (*constants, *integers))
        return f"{self.kernel.name}[{grid!r}]({given})" + (f" on lane {lane}" if lane else "")


def require_no_stream(kernel: Kernel, place: Place) -> None:
    """UserError where `kernel.on(stream=)` says one."""
    if place.stream is not None:
        raise UserError(f"kernel `{kernel.name}`: the CPU has no streams")


def check_protocols(requests: list[HostRequest | None]) -> None:
    """HangError naming both where ranks would not do the same in one two-sided launch."""
    first = requests[0]
    for rank, request in enumerate(requests):
        if request is None or first is None or not request.is_two_sided:
            continue
        if request.protocol() != first.protocol():
            raise HangError(
                f"ranks launch different things: rank 0 {first.describe()}, rank {rank} "
                f"{request.describe()}"
                f"{how_kernels_differ(first.kernel, request.kernel)}"
            )


def require_all_ranks(kernel: Kernel, compiled: Compiled, calls: list[Call | None]) -> None:
    """UserError where a kernel that all ranks must launch isn't launched by one."""
    if None in calls and compiled.artifact.resources.two_sided:
        raise UserError(
            f"kernel `{kernel.name}`: it waits for all ranks, and rank {calls.index(None)} has "
            f"None among its arguments: only one-sided kernels run on some ranks"
        )


class VirtualCommunicator(Communicator):
    """All ranks of a virtual world, driven by one controller.

    A launch runs on every rank. An argument given as a list has one item per rank; any other is the
    same on all of them. A rank whose item of some list is None launches nothing, if the kernel
    doesn't wait for all ranks. `window.at(r)` is rank r's copy as a NumPy array. A launch that
    takes neither a window nor a list runs once, outside of this world.
    """

    _is_aborted = False

    def __init__(self, world: HostWorld, sms: int | None = None, exclusive: bool = False) -> None:
        self.rank = None
        self.target = world.target
        self._world = world
        self._lanes = Lanes(Lane(self, 0, sms, exclusive, world.lane_identity(0)))

    def _require_open(self) -> None:
        self._world.require_open()
        if self._is_aborted:
            raise UserError("this communicator was aborted: make a new one to go on")

    def _make_lane(self, number: int, sms: int | None, exclusive: bool) -> int:
        self._require_open()
        self._lanes.check_budgets(call_of(number, sms, exclusive), sms, NUM_SMS)
        self._world.world.make_lane(number)
        return self._world.lane_identity(number)

    def _make_on(self, lane: Lane | None, request: Request) -> Any:
        self._require_open()
        return self._world.make([self], [lane], [0], request)[0]

    def reserve(self, num_bytes: int) -> None:
        check_reserve(num_bytes)
        self._require_open()

    def trim(self) -> None:
        self._require_open()

    def free(self, window: Symmetric) -> None:
        self._require_own(window, "comm.free")
        self._require_open()
        window.retire()

    def abort(self) -> None:
        self._is_aborted = True

    def _tell(self, key: int) -> None:
        self._world.require_open()
        self._world.world.notify(key)

    def barrier(self) -> None:
        self._require_open()
        self._world.world.drain_network()

    def check(self) -> None:
        self._require_open()

    def close(self) -> None:
        if not self._world.is_closed:
            self._world.world.drain_network()
        self._world.is_closed = True
        forget(self)

    def launch(
        self, kernel: Kernel, grid: Grid, place: Place, bound: dict[str, Any], launcher: Any
    ) -> None:
        if self._runs_alone(place, bound):
            launch_alone(kernel, grid, place.stream, bound, launcher)
            return
        if self._is_aborted:
            self._require_open()
        self.launch_calls(kernel, grid, place, self._calls(kernel, bound))

    def plan(
        self,
        planned: Precompilation,
        kernel: Kernel,
        grid: Grid,
        place: Place,
        bound: dict[str, Any],
    ) -> None:
        if self._runs_alone(place, bound):
            launch_alone(kernel, grid, place.stream, bound, None)
            return
        calls = [each for each in self._calls(kernel, bound) if each is not None]
        for facts in self._facts_of(kernel, calls):
            planned.add(self, kernel, calls[0].specialisation, facts)

    def _runs_alone(self, place: Place, bound: dict[str, Any]) -> bool:
        is_shared = any(isinstance(value, list | Symmetric) for value in bound.values())
        return not is_shared and not place.is_said

    def _facts_of(self, kernel: Kernel, calls: list[Call]) -> list[Any]:
        """Of the forms that these calls, one for each rank, are launched in."""
        return [each.facts for each in calls]

    def _calls(self, kernel: Kernel, bound: dict[str, Any]) -> list[Call | None]:
        """Each rank's arguments, whose specialisation is the same; None: it launches nothing."""
        calls: list[Call | None] = []
        for rank in range(self.size):
            chosen = self._of_rank(kernel, bound, rank)
            is_absent = any(each is None for each in chosen.values())
            calls.append(None if is_absent else Call(kernel, chosen))
        given = [rank for rank, call in enumerate(calls) if call is not None]
        if not given:
            raise UserError(f"kernel `{kernel.name}`: every rank has None among its arguments")
        for rank in given:
            if calls[rank].specialisation != calls[given[0]].specialisation:
                raise UserError(
                    f"kernel `{kernel.name}`: the arguments of ranks {given[0]} and {rank} differ "
                    f"in dtype, rank or constants"
                )
        return calls

    def launch_calls(
        self, kernel: Kernel, grid: Grid, place: Place, calls: list[Call | None]
    ) -> None:
        """Launches on every rank that has arguments; their specialisation is the same."""
        require_no_stream(kernel, place)
        requests = [
            call and HostRequest(self._world, kernel, grid, call, place.lane) for call in calls
        ]
        compiled = next(filter(None, requests)).compiled
        require_all_ranks(kernel, compiled, calls)
        place.require_one_lane(compiled.artifact)
        check_protocols(requests)
        self._world.launch(requests)

    def _of_rank(self, kernel: Kernel, bound: dict[str, Any], rank: int) -> dict[str, Any]:
        chosen = {}
        for name, value in bound.items():
            if isinstance(value, list):
                if len(value) != self.size:
                    raise UserError(
                        f"kernel `{kernel.name}`: argument `{name}` is a list of {len(value)}, the "
                        f"world has {self.size} ranks: give one item for each"
                    )
                value = value[rank]
            chosen[name] = value
        return chosen
