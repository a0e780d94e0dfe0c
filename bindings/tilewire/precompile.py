"""`tw.precompile`: kernels are compiled, side by side, before anything is launched."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tilewire import _tilewire
from tilewire.errors import UserError

if TYPE_CHECKING:
    from tilewire._tilewire import Program
    from tilewire.communicator import Communicator
    from tilewire.frontend.signature import Specialisation
    from tilewire.kernel import Compiled, Form, Kernel

MAX_THREADS = 16
"""Unless more are asked for: each compilation takes memory of its own."""

_of_thread = threading.local()


class Precompilation:
    """What the launches inside of `with tw.precompile() as planned:` need, and wasn't compiled
    before. `len(planned)` counts it."""

    def __init__(self, threads: int) -> None:
        self.compiled: list[Compiled] = []
        """In the order of the launches; complete when the block has ended."""
        self._threads = threads
        self._programs: dict[tuple[Kernel, Form], tuple[Communicator, Program]] = {}

    def __len__(self) -> int:
        return len(self._programs)

    def add(
        self, comm: Communicator, kernel: Kernel, specialisation: Specialisation, facts: Any
    ) -> None:
        """What a launch on `comm` would compile. Its program is made now: an error in it shows the
        launch."""
        form, program = kernel.form_of(comm.target, specialisation, facts)
        if not kernel.is_compiled(form) and (kernel, form) not in self._programs:
            self._programs[kernel, form] = comm, program or kernel.program_of(form)

    def compile(self) -> None:
        """Compiles everything, then raises the first error, if there was one."""
        work = list(self._programs)
        if not work:
            return
        # Ranks that share a disk cache begin at different places, and find what others compiled.
        comm, _ = self._programs[work[0]]
        first = len(work) * (comm.rank or 0) // comm.size
        with ThreadPoolExecutor(min(self._threads, len(work)), "tilewire precompile") as pool:
            futures = {each: pool.submit(self._compile, *each) for each in work[first:]}
            futures |= {each: pool.submit(self._compile, *each) for each in work[:first]}
        self.compiled = [futures[each].result() for each in work]

    def _compile(self, kernel: Kernel, form: Form) -> Compiled:
        comm, program = self._programs[kernel, form]
        try:
            return kernel.compile_form(form, program)
        except UserError as error:
            raise comm.with_reason(error) from None


def planned_here() -> Precompilation | None:
    """What this thread's launches go to instead of a device."""
    return getattr(_of_thread, "planned", None)


@contextmanager
def precompile(threads: int | None = None) -> Iterator[Precompilation]:
    """`with tw.precompile():` launches inside start nothing. When the block ends, the kernels that
    they need are compiled, `threads` at a time (as many as there are cores, up to 16), so that the
    same launches later compile nothing.

    Copies and fills of communicators move nothing there either. All else runs: windows and objects
    are made, collectively as ever, and other libraries' calls do what they do. So arrays must have
    the shapes, dtypes and alignment that launches will see; what they hold doesn't count, and a
    result isn't there. It is about this thread's launches alone. Whatever raises an exception in
    the block, nothing is compiled then.
    """
    if threads is None:
        threads = min(len(os.sched_getaffinity(0)), MAX_THREADS)
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
        raise UserError(f"tw.precompile: threads= is an integer above 0, found {threads!r}")
    planned, before = Precompilation(threads), planned_here()
    was_held = _tilewire.hold_launches(True)
    _of_thread.planned = planned
    try:
        yield planned
    finally:
        _of_thread.planned = before
        _tilewire.hold_launches(was_held)
    planned.compile()
