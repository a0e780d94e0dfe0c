"""`@tw.kernel`: a Python function becomes a kernel, compiled at its first launch per signature."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy

from tilewire import _tilewire
from tilewire._tilewire import Program, Target
from tilewire.errors import UserError
from tilewire.frontend.build import build_program
from tilewire.frontend.signature import Signature, Specialisation
from tilewire.frontend.source import Source
from tilewire.frontend.text import parse_arguments

if TYPE_CHECKING:
    from tilewire._tilewire import Artifact, CompileReport
    from tilewire.lane import Lane


class Auto:
    """Type of `tw.auto`: the largest grid that is useful and can run at once."""

    def __repr__(self) -> str:
        return "tw.auto"


auto = Auto()
Grid = int | tuple[int, ...] | Auto
MAX_INSTANCES = 2**31 - 1  # in one launch, as on GPUs


def check_grid(grid: Any) -> Grid:
    """UserError where `grid` is no grid; a tuple of one extent becomes an int."""
    if isinstance(grid, Auto):
        return grid
    items = grid if isinstance(grid, tuple) else (grid,)
    items = tuple(int(each) if isinstance(each, numpy.integer) else each for each in items)
    for each in items:
        if not isinstance(each, int) or isinstance(each, bool) or each < 1:
            raise UserError(
                f"a grid is a positive int, a tuple of up to 3 or tw.auto, found {grid!r}"
            )
    if not 1 <= len(items) <= 3:
        raise UserError(f"a grid has 1 to 3 dimensions, found {grid!r}")
    if math.prod(items) > MAX_INSTANCES:
        raise UserError(
            f"a grid of {grid!r} has {math.prod(items)} program instances, at most {MAX_INSTANCES} "
            f"can be launched: launch fewer, and let each do more (tw.auto, tw.persistent)"
        )
    return items[0] if len(items) == 1 else items


class Form(NamedTuple):
    """Arguments that the same code serves."""

    specialisation: Specialisation
    target: Target
    facts: Any  # _tilewire.LocalFacts; None: any


class Kernel:
    """What `@tw.kernel` makes of a function. `kernel[grid](args)` launches it.

    Names of the module that the body uses are read when a signature is first compiled.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.source = Source.of(function)
        functools.update_wrapper(self, function)
        self.function = function
        self.name = function.__name__
        self.signature = Signature.of(function, self.source)
        self._compiled: dict[Form, Compiled] = {}
        self._depends_on_maps: dict[Any, bool] = {}  # by specialisation and target
        self._launchers: dict[Any, Any] = {}

    def __repr__(self) -> str:
        return f"<tilewire kernel {self.name}>"

    def __call__(self, *_args: Any, **_kwargs: Any) -> None:
        raise UserError(f"a kernel is launched on a grid: write {self.name}[tw.auto](…)")

    def __getitem__(self, grid: Any) -> Any:
        """`kernel[grid]`: call it with the kernel's arguments. `grid`: an int, tuple or tw.auto."""
        try:
            return self._launchers[grid]
        except (KeyError, TypeError):
            return self._launcher(grid, None)

    def on(self, *, lane: Lane | int | None = None, stream: Any = None) -> KernelOn:
        """`kernel.on(lane=, stream=)[grid](…)`: on this lane (or the one of this number) instead of
        that of the arguments or lane 0, on another stream than the framework's current one."""
        return KernelOn(self, lane, stream)

    def _launcher(self, grid: Any, stream: int | None, lane: Lane | int | None = None) -> Any:
        """Serves calls like the ones before from C++ alone, and gives all others to `launch`."""
        grid = check_grid(grid)
        # Those of a lane end with it.
        is_own = lane is None or isinstance(lane, int)
        launchers = self._launchers if is_own else lane.launchers  # type: ignore[union-attr]
        key: Any = grid
        if stream is not None or lane is not None:
            key = ("on", grid, stream, lane) if is_own else (self, grid, stream)
        found = launchers.get(key)
        if found is None:
            from tilewire.launch import make_launcher

            found = make_launcher(self, grid, stream, lane)
            if self.signature.bundles:
                found = self.signature.spreading(found)
            launchers[key] = found
        return found

    def specialise(self, arguments: Mapping[str, Any]) -> Specialisation:
        """For parameter name → ArrayArgument or constant; scalars need none."""
        return self.signature.specialise(arguments)

    def specialise_text(self, arguments: Mapping[str, str]) -> Specialisation:
        """The same for text: `bf16[?,8192]`, `window:bf16[?,8192]`, `8192` for a constant."""
        return self.specialise(parse_arguments(self.signature, arguments))

    def compiled(self) -> list[Compiled]:
        """What has been compiled so far, in order."""
        return list(self._compiled.values())

    def is_compiled(self, form: Form) -> bool:
        return form in self._compiled

    def program(self, target: Target | str, specialisation: Specialisation) -> Program:
        """The IR for one signature and target."""
        target = Target(target) if isinstance(target, str) else target
        return build_program(self.function, self.source, self.signature, specialisation, target)

    def compile(
        self, target: Target | str, specialisation: Specialisation, facts: Any = None
    ) -> Compiled:
        """The machine code for one signature, target and `facts` about arguments; cached."""
        target = Target(target) if isinstance(target, str) else target
        form, program = self.form_of(target, specialisation, facts)
        found = self._compiled.get(form)
        return found or self.compile_form(form, program or self.program_of(form))

    def form_of(
        self, target: Target, specialisation: Specialisation, facts: Any
    ) -> tuple[Form, Program | None]:
        """What makes a difference to the code; and its program, where finding that out took one."""
        program = None
        if (specialisation, target) not in self._depends_on_maps:
            program = self.program(target, specialisation)
            self._depends_on_maps[specialisation, target] = program.depends_on_maps(target)
        form = Form(specialisation, target, self.facts_that_matter(target, specialisation, facts))
        if program is not None and form.facts is not None:
            program.set_facts(form.facts)
        return form, program

    def program_of(self, form: Form) -> Program:
        """The IR with the form's facts."""
        program = self.program(form.target, form.specialisation)
        if form.facts is not None:
            program.set_facts(form.facts)
        return program

    def compile_form(self, form: Form, program: Program) -> Compiled:
        """The machine code of `program`, which is that of `form`; any thread may call."""
        compiled = Compiled(*_tilewire.compile(program, form.target))
        return self._compiled.setdefault(form, compiled)

    def facts_that_matter(self, target: Target, specialisation: Specialisation, facts: Any) -> Any:
        """`facts` without those that make no difference to the code, so that launches which differ
        in nothing else share it."""
        form = (specialisation, target)
        if form not in self._depends_on_maps:
            program = self.program(target, specialisation)
            self._depends_on_maps[form] = program.depends_on_maps(target)
        return facts if facts is None or self._depends_on_maps[form] else facts.without_maps()


class Compiled:
    """An artifact, and how it came to be."""

    def __init__(self, artifact: Artifact, report: CompileReport) -> None:
        self.artifact = artifact
        self.report = report
        self._loaded: dict[Any, Any] = {}

    def loaded_on(self, device: Any, load: Callable[[Artifact], Any]) -> Any:
        """What `load` made of the artifact for this device, the first time it was asked for."""
        if device not in self._loaded:
            self._loaded[device] = load(self.artifact)
        return self._loaded[device]


class KernelOn:
    """A kernel with the lane and the stream said."""

    def __init__(self, kernel: Kernel, lane: Any, stream: Any) -> None:
        from tilewire.lane import Lane
        from tilewire.launch import stream_handle

        is_number = isinstance(lane, int) and not isinstance(lane, bool) and lane >= 0
        if lane is not None and not is_number and not isinstance(lane, Lane):
            raise UserError(
                f"kernel `{kernel.name}`: lane= is a lane, made by comm.lane(…), or the number of "
                f"one, found {lane!r}"
            )
        self.kernel = kernel
        self.lane = lane
        self.stream = stream_handle(stream)

    def __getitem__(self, grid: Any) -> Any:
        return self.kernel._launcher(grid, self.stream, self.lane)


def kernel(function: Callable[..., Any]) -> Kernel:
    """Decorator: makes a kernel of a function over tiles. UserError at what it can't be."""
    return Kernel(function)
