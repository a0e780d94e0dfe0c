"""NCCL's all-reduce without PyTorch around it, on PyTorch's communicator."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import torch
import torch.distributed as dist

_BF16 = 9  # ncclDataType_t
_SUM = 0
_SYMMETRIC = 1  # NCCL_WIN_COLL_SYMMETRIC


class _Memory:
    """What PyTorch takes as an array of bytes."""

    def __init__(self, address: int, num_bytes: int):
        self.__cuda_array_interface__ = {
            "shape": (num_bytes,),
            "typestr": "|u1",
            "data": (address, False),
            "version": 3,
        }


class RawNccl:
    """Of one rank. The library is the one that PyTorch has loaded."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL("libnccl.so.2")
        device = torch.device("cuda", torch.cuda.current_device())
        backend = dist.group.WORLD._get_backend(device)
        dist.all_reduce(torch.zeros(1, device=device))  # makes the communicator
        torch.cuda.synchronize()
        self._comm = ctypes.c_void_p(backend._comm_ptr())

    def _call(self, name: str, *arguments: object) -> None:
        result = getattr(self._library, name)(*arguments)
        if result != 0:
            raise RuntimeError(f"{name} returned {result}")

    def symmetric(self, num_elements: int) -> torch.Tensor:
        """Collective: bf16 in a window of NCCL's, never freed."""
        num_bytes = max(2 * num_elements, 1)
        address = ctypes.c_void_p()
        window = ctypes.c_void_p()
        self._call("ncclMemAlloc", ctypes.byref(address), ctypes.c_size_t(num_bytes))
        self._call(
            "ncclCommWindowRegister",
            self._comm,
            address,
            ctypes.c_size_t(num_bytes),
            ctypes.byref(window),
            _SYMMETRIC,
        )
        memory = torch.as_tensor(_Memory(address.value, num_bytes), device="cuda")
        return memory.view(torch.bfloat16)

    def all_reduce(self, x: torch.Tensor, y: torch.Tensor) -> Callable[[], None]:
        """The call that makes y the sum of all ranks' x, on the current stream."""
        arguments = (
            ctypes.c_void_p(x.data_ptr()),
            ctypes.c_void_p(y.data_ptr()),
            ctypes.c_size_t(x.numel()),
            _BF16,
            _SUM,
            self._comm,
        )

        def call() -> None:
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            self._call("ncclAllReduce", *arguments, stream)

        return call
