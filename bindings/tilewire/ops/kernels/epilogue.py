"""What follows a product, in the tile language: `form` says which parts, `operands` are their
arrays."""

import tilewire as tw
from tilewire.frontend.functions import Function

HALF = 64
"""So many rows of gate's weights and then of up's stand in turn, for "silu_and_mul"."""


@tw.function
def gelu(x):
    half = 0.5 * x
    return tw.fma(half, tw.erf(x * 0.7071067811865476), half)


@tw.function
def gelu_tanh(x):
    """`0.5 x (1 + tanh(y))` is `x sigmoid(2 y)`, here with y = 0.79788456 (x + 0.044715 x³)."""
    return x * tw.sigmoid(x * tw.fma(0.0713548162726, x * x, 1.5957691216057308))


@tw.function
def silu(x):
    return x * tw.sigmoid(x)


@tw.function
def relu(x):
    return tw.maximum(x, 0)


@tw.function
def gated_halves(x):
    gate, up = tw.split(x, axis=1)
    return silu(gate) * up


@tw.function
def silu_and_mul(x):
    """Of every 2 · HALF columns: silu of the first half times the second."""
    result = gated_halves(x[:, : 2 * HALF])
    for i in tw.unroll(1, x.shape[1] // (2 * HALF)):
        columns = gated_halves(x[:, 2 * HALF * i : 2 * HALF * (i + 1)])
        result = tw.cat(result, columns, axis=1)
    return result


ACTIVATIONS: dict[str, Function] = {
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "relu": relu,
    "silu": silu,
    "silu_and_mul": silu_and_mul,
}


@tw.function
def scaled(tile, form, operands, rows, columns):
    """This rank's term of the sum."""
    if "scale" in form.operands:
        tile = tile * operands.scale
    if "row_scale" in form.operands:
        tile = tile * tw.load(operands.row_scale[rows])[:, None]
    if "column_scale" in form.operands:
        tile = tile * tw.load(operands.column_scale[columns])[None, :]
    return tile


@tw.function
def output_columns(form, columns):
    """Where the result of the product's `columns` stands."""
    if form.is_paired:
        return tw.ds(columns.start // 2, columns.size // 2)
    return columns


@tw.function
def finished(tile, form, operands, rows, columns):
    """The result, of the sum. `rows` and `columns` are those of the result and of the product."""
    if "bias" in form.operands:
        tile = tile + tw.load(operands.bias[columns])[None, :]
    if isinstance(form.activation, str):
        tile = ACTIVATIONS[form.activation](tile)
    elif form.activation is not None:
        activated = form.activation(tile)
        assert activated.shape == tile.shape, "an epilogue's activation goes element by element"
        tile = activated
    if "residual" in form.operands:
        tile = tile + tw.load(operands.residual[rows, output_columns(form, columns)])
    return tile
