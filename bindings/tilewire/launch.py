"""`kernel[grid](…)` where no compiled form fits yet: finds the world, which compiles and runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tilewire import _tilewire
from tilewire.communicator import Communicator, current
from tilewire.errors import UserError
from tilewire.frontend.signature import ArrayArgument
from tilewire.place import Place, find_communicator, find_place
from tilewire.precompile import planned_here

if TYPE_CHECKING:
    from tilewire.frontend.signature import Parameter, Specialisation
    from tilewire.kernel import Grid, Kernel
    from tilewire.lane import Lane


def make_launcher(
    kernel: Kernel, grid: Grid, stream: int | None, lane: Lane | int | None = None
) -> Any:
    """The C++ launcher of `kernel[grid]`; what it can't serve comes to `launch`. `stream` and
    `lane`: what `kernel.on` said."""

    def fallback(*args: Any, **kwargs: Any) -> None:
        launch(kernel, grid, stream, lane, launcher, args, kwargs)

    parameters = []
    for each in kernel.signature.parameters:
        if each.is_array:
            kind = "tensor" if each.annotation.kind == "tensor" else "window"  # type: ignore
        else:
            kind = "constant" if each.is_constant else "scalar"
        parameters.append((each.name, kind, each.default if each.has_default else ...))
    launcher = _tilewire.Launcher(
        fallback,
        parameters,
        grid=grid if isinstance(grid, int) else None,
        stream=stream,
    )
    return launcher


def stream_handle(stream: Any) -> int | None:
    """The raw handle of a PyTorch stream, of an object with `__cuda_stream__`, or an int."""
    if stream is None or isinstance(stream, int):
        return stream
    if hasattr(stream, "cuda_stream"):
        return stream.cuda_stream
    if hasattr(stream, "__cuda_stream__"):
        return stream.__cuda_stream__()[1]
    raise UserError(f"{stream!r} is no CUDA stream: pass a torch.cuda.Stream or its handle")


def launch(
    kernel: Kernel,
    grid: Grid,
    stream: int | None,
    lane: Lane | int | None,
    launcher: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    """Binds the arguments, and launches on the communicator and the lane that they belong to; where
    there is none, in this process alone, on the arrays' device."""
    bound = kernel.signature.bind(args, kwargs)
    comm = find_communicator(kernel, bound, lane) or _current_for(_device_of(kernel, bound))
    if comm is None:
        launch_alone(kernel, grid, stream, bound, launcher)
        return
    _launch_on(comm, kernel, grid, find_place(kernel, bound, comm, stream, lane), bound, launcher)


def _current_for(device: str | None) -> Communicator | None:
    """The current communicator, where it is for such a device or there is no array that says it."""
    comm = current()
    kind = device and device.partition(":")[0]
    fits = comm is not None and kind in (None, "cuda" if comm.target.is_cuda else "cpu")
    return comm if fits else None


def launch_alone(
    kernel: Kernel, grid: Grid, stream: int | None, bound: dict[str, Any], launcher: Any
) -> None:
    """Launches outside of any communicator, on the device where the arrays lie."""
    from tilewire.this_process import local_communicator

    alone = local_communicator(_device_of(kernel, bound) or "cpu")
    _launch_on(alone, kernel, grid, Place(stream, None), bound, launcher)


def _launch_on(
    comm: Communicator,
    kernel: Kernel,
    grid: Grid,
    place: Place,
    bound: dict[str, Any],
    launcher: Any,
) -> None:
    """Inside of `tw.precompile` a launch is planned only."""
    planned = planned_here()
    if planned is None:
        comm.launch(kernel, grid, place, bound, launcher)
    else:
        comm.plan(planned, kernel, grid, place, bound)


def _device_of(kernel: Kernel, bound: dict[str, Any]) -> str | None:
    """`cpu` or `cuda:0`, by the first array argument that says it; None where there is none."""
    for parameter in kernel.signature.positional:
        value = bound[parameter.name]
        for each in value if isinstance(value, list) else [value]:
            if not parameter.is_array or (each is None and isinstance(value, list)):
                continue
            argument = read(kernel, parameter.name, each)
            if argument.kind != "scalar":
                return argument.device
    return None


def read(kernel: Kernel, name: str, value: Any) -> Any:
    """`_tilewire.Argument`; UserError naming kernel and argument where it is none."""
    return _tilewire.read_argument(value, f"kernel `{kernel.name}`: argument `{name}`")


class Call:
    """One rank's arguments of a launch: as specialisation, facts and values in order."""

    def __init__(self, kernel: Kernel, bound: dict[str, Any]) -> None:
        self.kernel = kernel
        arguments = []
        described = dict(bound)
        self.values: list[Any] = []
        for parameter in kernel.signature.positional:
            if not parameter.is_array:
                what = f"kernel `{kernel.name}`: argument `{parameter.name}`"
                _tilewire.scalar_bits(bound[parameter.name], parameter.annotation, what)
            argument = read(kernel, parameter.name, bound[parameter.name])
            arguments.append(argument)
            self.values.append(bound[parameter.name])
            if parameter.is_array and argument.kind != "scalar":
                described[parameter.name] = describe(parameter, argument)
            elif parameter.is_array:
                raise UserError(
                    f"kernel `{kernel.name}`: argument `{parameter.name}` must be "
                    f"{parameter.annotation}, found {_found(bound[parameter.name])}"
                )
        self.specialisation: Specialisation = kernel.specialise(described)
        self.facts = _tilewire.facts_of(arguments)


def describe(parameter: Parameter, argument: Any) -> ArrayArgument:
    """What of an argument, as `read` gave it, the code for it depends on."""
    value = argument.object
    if argument.kind == "array":
        return ArrayArgument("tensor", argument.dtype, argument.shape)
    plain = argument.kind == "window" and not value.rotate
    if plain and parameter.annotation.kind == "tensor":  # this rank's copy
        return ArrayArgument("tensor", argument.dtype, argument.shape)
    record = getattr(value, "record", None)
    dtype, shape = argument.dtype, argument.shape
    if argument.kind == "window" and record is not None:
        dtype, shape = record, shape[:-1]
    channel = value.channel if argument.kind == "channel" else None
    return ArrayArgument(argument.kind, dtype, shape, value.rotate, channel, record)


def _found(value: Any) -> str:
    kind = type(value)
    return f"a {kind.__module__}.{kind.__qualname__}".replace("builtins.", "")
