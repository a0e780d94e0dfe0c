"""`tw.set`."""

from __future__ import annotations

from typing import Any

from tilewire.frontend.builtins_semaphores import require_object
from tilewire.frontend.registry import Call, builtin


@builtin
def set_(call: Call, flag: Any) -> None:
    """Counts a set of one flag, this rank's or, with `.at(r)`, a peer's, in this launch: whoever
    waits for it then sees everything that this program instance stored and waited for before. The
    next launch that takes the flags counts anew."""
    call.build("set", require_object(call, flag, "flag"))
