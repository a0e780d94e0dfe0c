"""`comm.stream_wait`: a semaphore holds back a stream."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tilewire import language as tw
from tilewire.errors import UserError
from tilewire.kernel import kernel
from tilewire.objects import MAX_COUNT, Element, Semaphore, reshaped

if TYPE_CHECKING:
    from tilewire.communicator import Communicator

_wait = tw.BUILTINS["wait"]
i64, u32 = tw.NAMES["i64"], tw.NAMES["u32"]


@kernel
def wait_for_signals(semaphores: Semaphore, number: i64, n: u32) -> None:
    _wait(semaphores[number], n)


@kernel
def wait_for_signals_patiently(semaphores: Semaphore, number: i64, n: u32) -> None:
    _wait(semaphores[number], n, timeout=None)


def stream_wait(comm: Communicator, element: Any, n: Any, timeout: Any, stream: Any) -> None:
    if not isinstance(element, Element) or not isinstance(element.objects, Semaphore):
        raise UserError(f"comm.stream_wait takes one semaphore, `sem[i]`, found {element!r}")
    if element.objects.comm is not comm:
        raise UserError("comm.stream_wait takes a semaphore of this communicator")
    if not isinstance(n, int) or isinstance(n, bool) or not 1 <= n <= MAX_COUNT:
        raise UserError(f"comm.stream_wait: n is an integer from 1 to {MAX_COUNT}, found {n!r}")
    if timeout is not ... and timeout is not None:
        raise UserError(f"comm.stream_wait: timeout is None or left out, found {timeout!r}")
    if element.rank is not None and comm.rank is not None and element.rank != comm.rank:
        raise UserError(
            f"comm.stream_wait waits for this rank's semaphores (rank {comm.rank}), found rank "
            f"{element.rank}'s"
        )
    counts: Any = n
    if comm.rank is None and element.rank is not None:
        counts = [n if rank == element.rank else None for rank in range(comm.size)]
    launched = wait_for_signals if timeout is ... else wait_for_signals_patiently
    flat = reshaped(element.objects, (math.prod(element.objects.shape),))
    (launched if stream is None else launched.on(stream=stream))[1](flat, element.number, counts)
