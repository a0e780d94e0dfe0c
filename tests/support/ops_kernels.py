"""The kernels of `tilewire.ops`, and arguments that they are compiled for."""

from tilewire.ops.kernels import all_gather, all_reduce, collectives, reduce_scatter
from tilewire.ops.tiling import Tiling

TILED = {**Tiling(64, 128, 64, 4).constants(), "PRECISION": "tf32"}
BLOCK = {"BM": 16, "BN": 128}
OPERANDS = {"a": "bf16[?,?]", "b": "bf16[?,?]", "c": "bf16[?,?]"}
SLOTS = {"part": "window:bf16[2,?,?]", "ready": "flag[2,64]"}
PROGRAMS = {
    "gemm_reduce_scatter": (
        reduce_scatter.gemm_reduce_scatter_kernel,
        {**OPERANDS, **SLOTS, **TILED},
    ),
    "all_gather_gemm": (
        all_gather.all_gather_gemm_kernel,
        {
            **OPERANDS,
            "full": "window:bf16[?,?]",
            "ready": "flag[2,64]",
            "PUSH": 16,
            "ROWS": 64,
            **TILED,
        },
    ),
    "gemm_all_reduce": (
        all_reduce.gemm_all_reduce_kernel,
        {**OPERANDS, **SLOTS, "c": "window:bf16[?,?]", **TILED},
    ),
    "gemm_to_all": (all_reduce.gemm_to_all_kernel, {**OPERANDS, **SLOTS, **TILED}),
    "gemm_exchange": (
        all_reduce.gemm_exchange_kernel,
        {**OPERANDS, "ch": "channel[2,128]:reserved:1:bf16[64,128]", **TILED},
    ),
    "scale": (collectives.scale_kernel, {"x": "bf16[?,?]", **BLOCK}),
    "finish": (collectives.finish_kernel, {"x": "bf16[?,?]", "c": "bf16[?,?]", **BLOCK}),
    "reduce_scatter": (
        collectives.reduce_scatter_kernel,
        {"x": "window:bf16[?,?]", "c": "bf16[?,?]", **BLOCK},
    ),
    "all_reduce": (
        collectives.all_reduce_kernel,
        {"x": "window:bf16[?,?]", "y": "window:bf16[?,?]", **BLOCK},
    ),
    "exchange": (
        collectives.exchange_kernel,
        {
            "x": "bf16[?,?]",
            "ch": "channel[2,128]:reserved:1:bf16[16,128]",
            "y": "bf16[?,?]",
            **BLOCK,
        },
    ),
}
ARRAYS = {
    "row_scale": "f32[?]",
    "column_scale": "f32[?]",
    "bias": "bf16[?]",
    "residual": "bf16[?,?]",
}


def specialised(kernel, arguments):
    names = [each.name for each in kernel.signature.parameters]
    operands = {f"epilogue_{name}": text for name, text in ARRAYS.items()}
    given = {name: str(text) for name, text in (arguments | operands).items() if name in names}
    return kernel.specialise_text(given)
