"""Kernels for another architecture than this GPU's own, which it runs all the same: `sm_90` on one
whose own is `sm_90a` has neither wgmma nor TMA."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest
import tilewire as tw
from tilewire import gpu
from tilewire.this_process import local_communicator


@contextlib.contextmanager
def compiled_for(architecture: str) -> Iterator[None]:
    """Launches without a communicator are compiled for it."""
    target = tw.Target(architecture)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gpu._tilewire, "device_architecture", lambda _: target.architecture)
        local_communicator.cache_clear()
        yield
    local_communicator.cache_clear()
