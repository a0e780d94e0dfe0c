"""What follows a product before it is stored: scales, bias, an activation, a residual."""

from __future__ import annotations

import dataclasses
import functools
from dataclasses import dataclass
from typing import Any

import numpy

import tilewire as tw
from tilewire.errors import UserError
from tilewire.frontend.functions import Function
from tilewire.ops.kernels.epilogue import ACTIVATIONS, HALF

_OPERANDS = {
    "scale": tw.f32,
    "row_scale": tw.constant(tw.Tensor["M"]),
    "column_scale": tw.constant(tw.Tensor["N"]),
    "bias": tw.constant(tw.Tensor["N"]),
    "residual": None,  # as many rows as the result
}
_SCALES = ("scale", "row_scale", "column_scale")


@dataclass(frozen=True)
class Form:
    """An epilogue without its arrays: what kernels are compiled for."""

    operands: tuple[str, ...] = ()
    activation: str | Function | None = None

    @property
    def is_paired(self) -> bool:
        """Whether the result has half as many columns as the product."""
        return self.activation == "silu_and_mul"

    def of_terms(self) -> Form:
        """What is done to each rank's term of the sum."""
        return Form(tuple(name for name in self.operands if name in _SCALES))

    def of_sum(self) -> Form:
        """What is done to the sum."""
        rest = tuple(name for name in self.operands if name not in _SCALES)
        return Form(rest, self.activation)

    def __bool__(self) -> bool:
        return bool(self.operands) or self.activation is not None


@functools.cache
def operands_class(form: Form, rows: str) -> type:
    """The kernel's parameter with an epilogue's arrays; the result has `rows` rows."""
    annotations = {**_OPERANDS, "residual": tw.Tensor[rows, "O"]}
    fields = [(name, annotations[name]) for name in form.operands]
    return dataclasses.make_dataclass("Epilogue", fields, frozen=True)


@dataclass(frozen=True)
class Epilogue:
    """`activation(scale · row_scale[:, None] · column_scale · product + bias) + residual`, of which
    any part may be left out; in f32, in the registers that hold the product.

    - `scale` (a number), `row_scale` [M] and `column_scale` [N] are applied to this rank's product,
      before anything is summed over ranks: each rank has scales of its own operands.
    - `bias` [N], `activation` and `residual` follow the sum. The residual has the shape of the
      result, and may be the array that the result is written to.
    - `activation` is "gelu" (with the error function), "gelu_tanh", "silu", "relu", "silu_and_mul",
      or a `@tw.function` of a tile that goes element by element. "silu_and_mul" halves the number
      of columns: b's rows, and what goes with its columns, are those that `alternate_halves` makes
      of the gate's and of up's.
    """

    scale: float | None = None
    row_scale: Any = None
    column_scale: Any = None
    bias: Any = None
    activation: str | Function | None = None
    residual: Any = None

    def __post_init__(self) -> None:
        known = self.activation is None or isinstance(self.activation, Function)
        if not known and self.activation not in ACTIVATIONS:
            raise UserError(
                f"Epilogue: there is no activation {self.activation!r}; there are "
                f"{', '.join(map(repr, ACTIVATIONS))}, and any @tw.function of a tile"
            )

    @functools.cached_property
    def form(self) -> Form:
        given = tuple(name for name in _OPERANDS if getattr(self, name) is not None)
        return Form(given, self.activation)

    def operands(self, form: Form, rows: str) -> Any:
        """The kernel's argument for `form`, which is this epilogue's or a part of it."""
        return operands_class(form, rows)(*[getattr(self, name) for name in form.operands])


NOTHING = Epilogue()


def alternate_halves(gate: Any, up: Any) -> Any:
    """Weights for "silu_and_mul": HALF rows of `gate`, then HALF of `up`, and so on; short blocks
    at the end are filled up with zeros. Both are [F] or [F, K]; NumPy or PyTorch."""
    if tuple(gate.shape) != tuple(up.shape):
        raise UserError(
            f"alternate_halves takes equal shapes, found {list(gate.shape)} and {list(up.shape)}"
        )
    missing, rest = -gate.shape[0] % HALF, tuple(gate.shape[1:])
    if hasattr(gate, "new_zeros"):  # PyTorch's
        import torch

        zeros, join, stack = gate.new_zeros((missing, *rest)), torch.cat, torch.stack
    else:
        zeros, join, stack = (
            numpy.zeros((missing, *rest), gate.dtype),
            numpy.concatenate,
            numpy.stack,
        )
    blocks = [join([each, zeros]).reshape((-1, HALF, *rest)) for each in (gate, up)]
    return stack(blocks, 1).reshape((-1, *rest))
