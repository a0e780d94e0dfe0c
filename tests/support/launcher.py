"""Launchers whose launches are recorded, for tests of what they serve."""

import launch_kernels as kernels
from tilewire._tilewire import Launcher, RecordingTarget


class Fallback:
    """Remembers the calls that came here."""

    def __init__(self):
        self.calls = []

    def __call__(self, *args, **kwargs):
        self.calls.append((args, kwargs))
        return "fallback"


def make(grid=16, stream=None, **artifact):
    fallback = Fallback()
    launcher = Launcher(fallback, kernels.PARAMETERS, grid=grid, stream=stream)
    target = add(launcher, **artifact)
    return launcher, target, fallback


def add(launcher, grid_limit=0, device_index=0, **artifact):
    target = RecordingTarget(
        kernels.artifact_of(**artifact),
        device_index=device_index,
        communicator=kernels.COMMUNICATOR,
        grid_limit=grid_limit,
    )
    constants = {"H": artifact.get("columns", 8), "MODE": artifact.get("mode", 1)}
    launcher.add(target, constants)
    return target


def slots(target):
    """(kind, bytes) of the last launch, in the order of the kernel's parameters."""
    return [target.slot(i) for i in range(target.num_slots)]
