"""What `tw.init(process_group=…)` takes from a PyTorch process group."""

from __future__ import annotations

from typing import Any

from tilewire.errors import UserError


def rank_and_size(process_group: Any) -> tuple[int, int]:
    try:
        return process_group.rank(), process_group.size()
    except AttributeError:
        raise UserError(
            f"process_group must be a torch.distributed.ProcessGroup, found {process_group!r}"
        ) from None


def current_device() -> int:
    """The number of PyTorch's current GPU."""
    import torch

    return torch.cuda.current_device()


def nccl_communicator(process_group: Any) -> int | None:
    """The address of the group's `ncclComm_t`; None where this PyTorch doesn't show it.

    The group must have communicated once on this process's GPU, or been made with `device_id=`:
    PyTorch makes its NCCL communicators lazily. Where it hasn't, one small all-reduce makes it.
    """
    rank_and_size(process_group)
    import torch
    import torch.distributed

    device = torch.device("cuda", current_device())
    try:
        backend = process_group._get_backend(device)
    except RuntimeError as error:
        raise UserError(f"the process group has no backend for {device}: {error}") from None
    if not hasattr(backend, "_comm_ptr"):
        return None
    torch.distributed.all_reduce(torch.zeros(1, device=device), group=process_group)
    torch.cuda.synchronize(device)
    return backend._comm_ptr() or None


def broadcast_bytes(process_group: Any, made: bytes | None) -> bytes:
    """Rank 0's bytes, on all ranks of the group."""
    import torch.distributed

    source = torch.distributed.get_global_rank(process_group, 0)
    items = [made]
    torch.distributed.broadcast_object_list(items, src=source, group=process_group)
    assert items[0] is not None
    return items[0]
