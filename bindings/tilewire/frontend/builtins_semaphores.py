"""`tw.signal` and `tw.wait`."""

from __future__ import annotations

from typing import Any

from tilewire._tilewire import Value
from tilewire.frontend.registry import Call, builtin
from tilewire.frontend.values import describe


def require_object(call: Call, value: Any, *kinds: str) -> Value:
    """Elements of an array of such objects."""
    if not isinstance(value, Value) or not value.type.is_view or value.type.memory not in kinds:
        call.fail(f"takes a {' or a '.join(kinds)}, found {describe(value)}")
    return value


def count(call: Call, n: Any) -> Any:
    """A number of signals: an integer, here or at run time."""
    if isinstance(n, bool) or not isinstance(n, int | Value):
        call.fail(f"n must be an integer, found {describe(n)}")
    return n


@builtin
def signal(call: Call, semaphore: Any, n: Any = 1) -> None:
    """Adds `n` to one semaphore, this rank's or, with `.at(r)`, a peer's. Whoever waits for it then
    sees everything that this program instance stored and waited for before."""
    call.build("signal", require_object(call, semaphore, "semaphore"), count(call, n))


@builtin
def wait(call: Call, view: Any, n: Any = 1, *, timeout: Any = ...) -> None:
    """Waits until a semaphore of this rank's has `n` signals left, and takes them; of a slice,
    until each has. One program instance waits for a semaphore. Or until a flag of this rank's was
    set `n` times in this launch, for which any number of instances may wait. `timeout=None`: for
    however long it takes; else a wait that lasts too long is reported, and ends the launch
    (TILEWIRE_TIMEOUT)."""
    if timeout is not ... and timeout is not None:
        call.fail(
            f"timeout=None waits for however long it takes, leaving it out waits until "
            f"TILEWIRE_TIMEOUT; found {describe(timeout)}"
        )
    view = require_object(call, view, "semaphore", "flag")
    call.build("wait", view, count(call, n), timeout is ...)
