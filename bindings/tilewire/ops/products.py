"""Products by the array library: NumPy on the CPU, cuBLAS and cuBLASLt through PyTorch on GPUs."""

from __future__ import annotations

import importlib.util
from typing import Any

import numpy

from tilewire import _tilewire
from tilewire.errors import UserError
from tilewire.ops.arrays import Matrix, is_torch
from tilewire.window import Window

_FP8 = ("e4m3", "e5m2")


def has_library(device: str) -> bool:
    """Whether there is a product besides tilewire's own."""
    return device == "cpu" or importlib.util.find_spec("torch") is not None


def why_not(a: Matrix, b: Matrix, device: str) -> str:
    """Why the library has no such product; empty where it has one."""
    if device == "cpu":
        return ""
    if not has_library(device):
        return "PyTorch, which brings cuBLAS, isn't installed"
    if a.dtype.name in _FP8 and (a.columns % 16 != 0 or b.rows % 16 != 0):
        return f"cuBLAS multiplies {a.dtype} where N and K are multiples of 16"
    if a.dtype != b.dtype:
        return f"cuBLAS takes operands of one dtype, found {a.dtype} and {b.dtype}"
    return ""


def _as_library(array: Any) -> Any:
    """A NumPy array or PyTorch tensor over the same memory."""
    if is_torch(array) or isinstance(array, numpy.ndarray):
        return array
    device = _tilewire.read_argument(array, "the product: an operand").device
    if device == "cpu":
        return array.numpy() if isinstance(array, Window) else numpy.asarray(array)
    import torch

    return torch.from_dlpack(array)


def multiply(a: Any, b: Any, out: Any, precision: str) -> None:
    """`out[...] = a · bᵀ`, of [M, K] and [N, K]; f32 operands with `precision` "tf32" or "ieee"."""
    a, b, out = _as_library(a), _as_library(b), _as_library(out)
    if is_torch(a):
        _multiply_torch(a, b, out, precision)
    elif out.dtype == numpy.float64:
        numpy.matmul(a.astype(numpy.float64), b.T.astype(numpy.float64), out=out)
    else:
        out[...] = (a.astype(numpy.float32) @ b.T.astype(numpy.float32)).astype(out.dtype)


def _multiply_torch(a: Any, b: Any, out: Any, precision: str) -> None:
    import torch

    if a.dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        one = torch.ones((), device=a.device)
        half = out.dtype if out.dtype != torch.float32 else torch.bfloat16
        out.copy_(torch._scaled_mm(a.contiguous(), b.contiguous().t(), one, one, out_dtype=half))
        return
    allowed = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = precision == "tf32"
    try:
        if out.dtype == a.dtype:
            torch.matmul(a, b.t(), out=out)
        elif a.is_cuda and out.dtype == torch.float32:
            out.copy_(torch.mm(a, b.t(), out_dtype=out.dtype))
        else:
            out.copy_(torch.matmul(a.float(), b.float().t()))
    finally:
        torch.backends.cuda.matmul.allow_tf32 = allowed


def require_library(what: str, a: Matrix, b: Matrix, device: str) -> None:
    reason = why_not(a, b, device)
    if reason:
        raise UserError(f'{what}: mode="unfused" has no product here: {reason}')
