"""Launches that belong to no communicator: one rank, on the device where the arrays lie."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any

from tilewire._tilewire import Target
from tilewire.communicator import Communicator
from tilewire.launch import Call
from tilewire.place import Place
from tilewire.virtual import HostRequest, HostWorld, require_no_stream

if TYPE_CHECKING:
    from tilewire.kernel import Grid, Kernel


class LocalHost(Communicator):
    """This process alone, on the CPU."""

    def __init__(self) -> None:
        self.rank = 0
        self.target = Target("cpu")
        self._world = HostWorld(self.target, None)

    def _tell(self, key: int) -> None:
        self._world.world.notify(key)

    def barrier(self) -> None:
        pass

    def check(self) -> None:
        pass

    def close(self) -> None:
        pass

    def launch(
        self, kernel: Kernel, grid: Grid, place: Place, bound: dict[str, Any], launcher: Any
    ) -> None:
        require_no_stream(kernel, place)
        self._world.launch([HostRequest(self._world, kernel, grid, Call(kernel, bound), None)])


@functools.cache
def local_communicator(device: str) -> Communicator:
    """`cpu`, `cuda:1`."""
    match = re.fullmatch(r"cuda(?::(\d+))?", device)
    if match is None:
        return LocalHost()
    from tilewire.gpu import LocalGpu

    return LocalGpu(None if match[1] is None else int(match[1]))
