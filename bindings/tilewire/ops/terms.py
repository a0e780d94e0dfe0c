"""The library's products in a window: each rank's term of a sum."""

from __future__ import annotations

import tilewire as tw
from tilewire.ops.arrays import for_launch, host_view
from tilewire.ops.epilogue import Epilogue
from tilewire.ops.fused_product import Operands
from tilewire.ops.kernels.collectives import scale_kernel
from tilewire.ops.products import multiply, require_library


def store_terms(operands: Operands, terms: tw.Window, epilogue: Epilogue) -> list:
    """Puts each rank's product, scaled, into the first rows and columns of `terms`; these."""
    op, M, N = operands.op, operands.num_rows, operands.num_columns
    views = []
    for i, rank in enumerate(operands.ranks):
        require_library(op.name, operands.left[i], operands.right[i], op.comm.device)
        views.append(host_view(terms, rank, operands.a[i])[:M, :N])
        multiply(operands.a[i], operands.b[i], views[i], op.precision)
    form = epilogue.form.of_terms()
    if form:
        x = for_launch(op.comm, views)
        scale_kernel(form)[tw.auto](x, epilogue.operands(form, "M"), BM=16, BN=128)
    return views
