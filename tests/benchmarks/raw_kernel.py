"""Hand-written CUDA kernels beside tilewire's: compiled by NVRTC with the same headers."""

from __future__ import annotations

import ctypes

import torch
from tilewire import _tilewire

_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


class RawKernel:
    """One entry of a text, on the current GPU."""

    def __init__(self, source: str, entry: str, shared_bytes: int = 0) -> None:
        self._driver = ctypes.CDLL("libcuda.so.1")
        major, minor = torch.cuda.get_device_capability()
        architecture = f"sm_{major}{minor}" + ("a" if major >= 9 else "")
        ptx = _tilewire.ptx_of(source, f"{entry}.cu", architecture).encode()
        module, self._function = ctypes.c_void_p(), ctypes.c_void_p()
        torch.cuda.current_stream().synchronize()  # makes the context current
        self._call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(ptx))
        name = ctypes.c_char_p(entry.encode())
        self._call("cuModuleGetFunction", ctypes.byref(self._function), module, name)
        self._shared_bytes = shared_bytes
        if shared_bytes > 0:
            size = ctypes.c_int(shared_bytes)
            self._call("cuFuncSetAttribute", self._function, _MAX_DYNAMIC_SHARED, size)

    def _call(self, name: str, *arguments: object) -> None:
        result = getattr(self._driver, name)(*arguments)
        if result != 0:
            raise RuntimeError(f"{name} returned {result}")

    def launch(self, grid: int, threads: int, *arguments: ctypes._SimpleCData) -> None:
        """On PyTorch's current stream. Arguments: ctypes objects of the parameters' sizes, or
        larger ones where the size is the kernel's affair."""
        pointers = (ctypes.c_void_p * len(arguments))(*map(ctypes.addressof, arguments))
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self._call(
            "cuLaunchKernel", self._function, grid, 1, 1, threads, 1, 1, self._shared_bytes, stream,
            pointers, None,
        )  # fmt: skip
