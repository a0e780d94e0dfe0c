"""`tw.init`: the world that this process belongs to."""

from __future__ import annotations

import os
import threading
from typing import Any

from tilewire import _tilewire
from tilewire.communicator import Communicator, set_default
from tilewire.errors import UserError
from tilewire.lane import check_sms
from tilewire.virtual import HostWorld, VirtualCommunicator, cpu_target


def init(
    *,
    process_group: Any = None,
    virtual: str | int | None = None,
    seed: int | None = None,
    multimem: bool = False,
    device: str = "cpu",
    exclusive: bool = False,
    sms: int | None = None,
) -> Communicator:
    """Collective, except for virtual worlds: makes the communicator, current from then on.

    - `tw.init()`: ranks as torchrun started them (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR,
      MASTER_PORT), one GPU each.
    - `tw.init(process_group=pg)`: ranks of a PyTorch process group, sharing its NCCL communicator
      where PyTorch shows it.
    - `tw.init(virtual="2x4", seed=0)`: two LSA teams of four virtual ranks, in this process, on the
      CPU; `device="cuda"`: on this process's GPU, at most 8 of them. `multimem=True`, on the CPU:
      with multicast addresses, which a switch between GPUs has.

    `exclusive=True` is your promise that nothing else waits on this GPU while this communicator's
    kernels do (another communicator's kernels, NCCL's): their launches then carry no cooperative
    attribute. Where the promise is broken, kernels that wait for each
    other may never all start.

    `sms` is the budget of lane 0 in multiprocessors, as `comm.lane` has it.
    """
    check_sms("tw.init", sms)
    if virtual is not None and process_group is not None:
        raise UserError("tw.init takes either virtual= or process_group=, not both")
    if virtual is not None:
        comm = _virtual(str(virtual), seed, multimem, device, sms, exclusive)
    elif multimem:
        raise UserError("tw.init: multimem= is for virtual worlds; of GPUs it is found out")
    elif process_group is not None:
        comm = _of_process_group(process_group, sms, exclusive)
    else:
        comm = _of_environment(sms, exclusive)
    set_default(comm)
    return comm


def _virtual(
    world: str,
    seed: int | None,
    multimem: bool,
    device: str,
    sms: int | None,
    exclusive: bool,
) -> Communicator:
    if not isinstance(device, str):
        raise UserError(f"tw.init: the device is 'cpu' or 'cuda', found {device!r}")
    if device == "cpu":
        return VirtualCommunicator(HostWorld(cpu_target(world, multimem), seed), sms, exclusive)
    if device != "cuda" and not device.startswith("cuda:"):
        raise UserError(
            f"tw.init: the device of a virtual world is 'cpu' or 'cuda', found {device!r}"
        )
    if multimem:
        raise UserError("tw.init: virtual ranks on one GPU have no multimem; the CPU's have")
    from tilewire.gpu import virtual_ranks

    return virtual_ranks(world, device, sms, exclusive)


def _gpu_communicator(
    world: _tilewire.Communicator, sms: int | None, exclusive: bool, keep_alive: Any = None
) -> Communicator:
    from tilewire.gpu import GpuCommunicator

    world.set_first_lane(sms or 0, exclusive)
    return GpuCommunicator(world, keep_alive, sms, exclusive)


def _of_process_group(process_group: Any, sms: int | None, exclusive: bool) -> Communicator:
    from tilewire import process_group as groups

    rank, size = groups.rank_and_size(process_group)
    ordinal = groups.current_device()
    _warm_up(ordinal)
    adopted = groups.nccl_communicator(process_group)
    if adopted is not None:
        world = _tilewire.Communicator.adopt(adopted)
        return _gpu_communicator(world, sms, exclusive, keep_alive=process_group)
    unique_id = groups.broadcast_bytes(
        process_group, _tilewire.Communicator.new_unique_id() if rank == 0 else None
    )
    world = _tilewire.Communicator.create(unique_id, rank, size, ordinal)
    return _gpu_communicator(world, sms, exclusive)


def _of_environment(sms: int | None, exclusive: bool) -> Communicator:
    from tilewire.share_bytes import share_bytes

    rank, size, local_rank = _integer("RANK"), _integer("WORLD_SIZE"), _integer("LOCAL_RANK")
    if not 0 <= rank < size:
        raise UserError(f"RANK={rank} isn't below WORLD_SIZE={size}")
    count = _tilewire.device_count()
    if local_rank >= count:
        raise UserError(
            f"LOCAL_RANK={local_rank}, but this process sees {count} GPUs: start as many processes "
            f"as there are GPUs, or use tw.init(virtual=…) on the CPU"
        )
    address = os.environ.get("MASTER_ADDR", "")
    port = _integer("MASTER_PORT")
    if not address:
        raise UserError("MASTER_ADDR is not set: start the program with torchrun")
    _warm_up(local_rank)
    made = _tilewire.Communicator.new_unique_id() if rank == 0 else None
    unique_id = share_bytes(made, rank, size, address, port)
    world = _tilewire.Communicator.create(unique_id, rank, size, local_rank)
    return _gpu_communicator(world, sms, exclusive)


def _warm_up(ordinal: int) -> None:
    """Readies NVRTC for this GPU while the communicator is made; the interpreter's end waits."""
    threading.Thread(
        target=_tilewire.warm_up_nvrtc, args=(ordinal,), name="tilewire warm-up"
    ).start()


def _integer(name: str) -> int:
    text = os.environ.get(name)
    if text is None:
        raise UserError(
            f"tw.init: {name} is not set: start the program with torchrun, pass process_group=, or "
            f'use virtual ranks on the CPU with tw.init(virtual="8")'
        )
    try:
        return int(text)
    except ValueError:
        raise UserError(f"tw.init: {name}={text!r} is no integer") from None
