"""Ways of a case: to text, machine code, and results of the CPU target or PyTorch tensors."""

from __future__ import annotations

import dataclasses
import types
from typing import Any

import numpy as np
import tilewire as tw
from tilewire import _tilewire
from tilewire.frontend.build import build_program
from tilewire.frontend.signature import ArrayArgument
from tilewire.launch import describe, read
from tilewire.types import dtype_of_numpy
from tilewire.virtual import HostWorld, VirtualCommunicator

from op_cases.case import Arguments, Case, ObjectInput
from op_cases.compare import mismatch

Outputs = dict[str, list[np.ndarray]]


def is_window(case: Case, name: str, value: Any) -> bool:
    """A window whose copies the case gives and looks at; one that rotates has none."""
    parameter = next(each for each in case.kernel.signature.parameters if each.name == name)
    is_seen = not isinstance(value, ObjectInput)
    return is_seen and parameter.is_array and parameter.annotation.kind == "window"


def needs_world(case: Case, arguments: dict[str, Any]) -> bool:
    """Whether something among the arguments belongs to a communicator, or the kernel's instances
    meet."""
    meets = case.world > 1 or "barrier" in case.covers
    return meets or any(
        is_window(case, name, value) or isinstance(value, ObjectInput)
        for name, value in arguments.items()
    )


def run_on_cpu(case: Case, arguments: Arguments, seed: int = 0) -> None:
    """Launches the case on the CPU target; its outputs are then in `arguments`."""
    if not needs_world(case, arguments.by_rank[0]):
        case.kernel[case.grid](**arguments.by_rank[0], **case.constants)
        return
    with tw.init(virtual=case.world_text, seed=seed, multimem=case.multimem) as comm:
        _launch_in_world(case, arguments, comm, lambda window, rank: window.at(rank))


def _launch_in_world(case: Case, arguments: Arguments, comm: Any, host_copy: Any) -> None:
    given: dict[str, Any] = {}
    for name, value in arguments.by_rank[0].items():
        if is_window(case, name, value):
            given[name] = comm.window(value.shape, dtype_of_numpy(value.dtype))
            for rank, each in enumerate(arguments.by_rank):
                host_copy(given[name], rank)[...] = each[name]
        elif isinstance(value, np.ndarray):
            given[name] = [each[name] for each in arguments.by_rank]
        else:
            given[name] = value.made_by(comm) if isinstance(value, ObjectInput) else value
    case.kernel[case.grid](**given, **case.constants)
    for name, value in arguments.by_rank[0].items():
        if is_window(case, name, value):
            for rank, each in enumerate(arguments.by_rank):
                each[name][...] = host_copy(given[name], rank)


def to_torch(array: np.ndarray, device: str) -> Any:
    """A tensor of the same bits; a transposed array gives a transposed tensor."""
    import torch

    if array.ndim > 1 and array.T.flags.c_contiguous and not array.flags.c_contiguous:
        return to_torch(array.T, device).permute(*reversed(range(array.ndim)))

    names = {"float8_e4m3fn": "float8_e4m3fn", "float8_e5m2": "float8_e5m2"}
    dtype = getattr(torch, names.get(str(array.dtype), str(array.dtype)))
    if array.size == 0:  # such bytes can't be viewed as another dtype
        return torch.empty(array.shape, dtype=dtype, device=device)
    raw = torch.from_numpy(np.ascontiguousarray(array).reshape(-1).view(np.uint8).copy())
    return raw.view(dtype).reshape(array.shape).to(device)


def to_numpy(tensor: Any, like: np.ndarray) -> np.ndarray:
    import torch

    raw = tensor.contiguous().reshape(-1).view(torch.uint8).cpu().numpy()
    return raw.view(like.dtype).reshape(like.shape)


def run_on_torch(case: Case, arguments: Arguments, device: str) -> None:
    """The same on tensors of `device`; a world of several ranks is virtual, on that one device."""
    import torch

    ranks = []
    for values in arguments.by_rank:
        is_array = {name: isinstance(value, np.ndarray) for name, value in values.items()}
        ranks.append({n: to_torch(v, device) if is_array[n] else v for n, v in values.items()})
    if not needs_world(case, ranks[0]):
        case.kernel[case.grid](**ranks[0], **case.constants)
    else:
        kind = {"multimem": case.multimem} if device == "cpu" else {"device": device}
        with tw.init(virtual=case.world_text, **kind) as comm:
            _launch_torch_world(case, arguments, ranks, comm)
    if device != "cpu":
        torch.cuda.synchronize()
    for values, tensors in zip(arguments.by_rank, ranks, strict=True):
        for name, value in values.items():
            if isinstance(value, np.ndarray):
                value[...] = to_numpy(tensors[name], value)


def bytes_of(copy: Any, num_bytes: int) -> Any:
    """A tensor over a rank's copy of a window; PyTorch's DLPack doesn't know every dtype."""
    import torch

    if isinstance(copy, np.ndarray):
        return torch.from_numpy(copy.reshape(-1).view(np.uint8))
    interface = {"version": 3, "shape": (num_bytes,), "typestr": "|u1", "strides": None}
    interface["data"] = (copy.address, False)
    return torch.as_tensor(types.SimpleNamespace(__cuda_array_interface__=interface), device="cuda")


def _launch_torch_world(case: Case, arguments: Arguments, ranks: list[Any], comm: Any) -> None:
    import torch

    given: dict[str, Any] = {}
    copies: dict[str, list[Any]] = {}
    for name, value in arguments.by_rank[0].items():
        if is_window(case, name, value):
            given[name] = comm.window(value.shape, dtype_of_numpy(value.dtype))
            copies[name] = [bytes_of(given[name].at(r), value.nbytes) for r in range(case.world)]
            for rank, tensors in enumerate(ranks):
                copies[name][rank].copy_(tensors[name].contiguous().reshape(-1).view(torch.uint8))
        elif isinstance(value, np.ndarray):
            given[name] = [tensors[name] for tensors in ranks]
        else:
            given[name] = value.made_by(comm) if isinstance(value, ObjectInput) else value
    case.kernel[case.grid](**given, **case.constants)
    for name, by_rank in copies.items():
        for rank, tensors in enumerate(ranks):
            old = tensors[name]
            tensors[name] = by_rank[rank].clone().view(old.dtype).reshape(old.shape)
    if torch.cuda.is_initialized():
        torch.cuda.synchronize()  # before the windows go


def check(case: Case, arguments: Arguments, expected: Outputs, slack: float = 1) -> None:
    """AssertionError where an output of `arguments` isn't `expected`."""
    for name, by_rank in expected.items():
        for rank, values in enumerate(by_rank):
            got = arguments.by_rank[rank][name]
            tolerance = slack * case.tolerance_of(dtype_of_numpy(got.dtype))
            message = mismatch(got, values, tolerance, slack * case.absolute)
            assert not message, f"{case.name}: {name} of rank {rank}: {message}"


def program_of(case: Case, dtype: tw.DType, target: str) -> Any:
    """The program of the case's first shape, with what is known of aligned arrays; locations count
    from the kernel's `def`, so that what stands above it in its file may change."""
    values = case.arguments(dtype, case.shapes[0]).by_rank[0]
    cpu = f"cpu:world={case.world_text}"
    kernel, described, read_arguments = case.kernel, dict(case.constants), []
    for parameter in kernel.signature.positional:
        value = values[parameter.name]
        if isinstance(value, ObjectInput):
            value = value.made_by(VirtualCommunicator(HostWorld(tw.Target(cpu), 0)))
            described[parameter.name] = describe(parameter, read(kernel, parameter.name, value))
        read_arguments.append(read(kernel, parameter.name, value))
        if isinstance(value, np.ndarray):
            kind = parameter.annotation.kind
            described[parameter.name] = ArrayArgument(
                kind, dtype_of_numpy(value.dtype), value.shape
            )
    first_line = 2 - kernel.source.function.lineno
    source = dataclasses.replace(kernel.source, first_line=first_line, file=f"{case.name}.py")
    specialisation = kernel.specialise(described)
    program = build_program(
        kernel.function, source, kernel.signature, specialisation, tw.Target(target)
    )
    program.set_facts(_tilewire.facts_of(read_arguments))
    return program


def emit(case: Case, dtype: tw.DType, architecture: str | None, stage: str) -> bytes:
    """One stage of a case's way to machine code: `ir`, `lowered`, `cuda`, `ptx`, `cubin`; for the
    golden's architecture, or another one."""
    architecture = architecture or case.architecture
    world = f":world={case.world_text}" if case.world > 1 else ""
    multimem = ",multimem=1" if case.multimem and architecture != "sm_80" else ""
    target = f"{architecture}{world}{multimem}"
    return _tilewire.emit_stage(program_of(case, dtype, target), tw.Target(target), stage)


ARCHITECTURES = ("sm_80", "sm_90a", "sm_100a", "sm_120")


def compile_everywhere(case: Case) -> None:
    """Through NVRTC: the first dtype for each architecture, each other one for one in turn."""
    for architecture in ARCHITECTURES:
        assert emit(case, case.dtypes[0], architecture, "cubin")
    for number, dtype in enumerate(case.dtypes[1:], 1):
        assert emit(case, dtype, ARCHITECTURES[number % len(ARCHITECTURES)], "cubin")
