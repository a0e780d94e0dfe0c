"""The plain product of the benchmarks and of tests on GPUs."""

import functools

import tilewire as tw
from tilewire.ops.epilogue import Form, operands_class
from tilewire.ops.kernels.epilogue import finished, output_columns, scaled


@tw.kernel
def matmul(
    a: tw.constant(tw.Tensor["M", "K"]),
    b: tw.constant(tw.Tensor["N", "K"]),
    c: tw.Tensor["M", "N"],
    *,
    BM: tw.const,
    BN: tw.const,
    BK: tw.const = 64,
    STAGES: tw.const = 4,
    GROUP: tw.const = 16,
    CLUSTER: tw.const = 1,
    PRECISION: tw.const = "tf32",
):
    tiles = tw.tiles(M, N, BM, BN, order="grouped", group=GROUP, cluster=CLUSTER)
    for t in tw.persistent(tiles):
        product = tw.matmul(a[t.m, :], b[t.n, :].T, block_k=BK, stages=STAGES, precision=PRECISION)
        tw.store(c[t.m, t.n], product)


@tw.kernel
def matmul_static(
    a: tw.constant(tw.Tensor["M", "K"]),
    b: tw.constant(tw.Tensor["N", "K"]),
    c: tw.Tensor["M", "N"],
    *,
    M: tw.const,
    N: tw.const,
    K: tw.const,
    BM: tw.const,
    BN: tw.const,
    BK: tw.const = 64,
    STAGES: tw.const = 4,
    GROUP: tw.const = 16,
    CLUSTER: tw.const = 1,
    PRECISION: tw.const = "tf32",
):
    tiles = tw.tiles(M, N, BM, BN, order="grouped", group=GROUP, cluster=CLUSTER)
    for t in tw.persistent(tiles):
        product = tw.matmul(a[t.m, :], b[t.n, :].T, block_k=BK, stages=STAGES, precision=PRECISION)
        tw.store(c[t.m, t.n], product)


@tw.kernel
def matmul_split_k(
    a: tw.constant(tw.Tensor["M", "K"]),
    b: tw.constant(tw.Tensor["N", "K"]),
    parts: tw.Tensor["TILES", "S", "BM", "BN"],
    c: tw.Tensor["M", "N"],
    *,
    S: tw.const,
    BM: tw.const,
    BN: tw.const,
    BK: tw.const = 64,
    STAGES: tw.const = 4,
    GROUP: tw.const = 16,
    CLUSTER: tw.const = 1,
    PRECISION: tw.const = "tf32",
):
    """`parts`: f32, for as many tiles as there are; whatever it holds, one product at a time."""
    tiles = tw.tiles(
        M, N, BM, BN, order="grouped", group=GROUP, cluster=CLUSTER, k=K, block_k=BK, split_k=S
    )
    for t in tw.persistent(tiles):
        left, right, own = a[t.m, t.k], b[t.n, t.k].T, t.local_index
        part = tw.matmul(left, right, block_k=BK, stages=STAGES, precision=PRECISION)
        tw.store(parts[own, t.k_part, :, :], part)
        if tw.arrive(t):  # the tile's last part adds all of them, in the order of K
            total = tw.load(parts[own, 0, :, :])
            for s in tw.unroll(1, S):
                total += tw.load(parts[own, s, :, :])
            tw.store(c[t.m, t.n], total)


@tw.kernel
def matmul_through_registers(
    a: tw.constant(tw.Tensor["M", "K"]),
    b: tw.constant(tw.Tensor["N", "K"]),
    c: tw.Tensor["M", "N"],
    *,
    BM: tw.const,
    BN: tw.const,
    BK: tw.const = 64,
    STAGES: tw.const = 4,
    GROUP: tw.const = 16,
    CLUSTER: tw.const = 1,
    PRECISION: tw.const = "tf32",
):
    """Its loads have a hint for caches, which keeps them where they stand."""
    tiles = tw.tiles(M, N, BM, BN, order="grouped", group=GROUP, cluster=CLUSTER)
    for t in tw.persistent(tiles):
        product = tw.zeros((BM, BN), tw.f32)
        for k in range(0, K, BK):
            left = tw.load(a[t.m, tw.ds(k, BK)], cache="l2")
            right = tw.load(b[t.n, tw.ds(k, BK)], cache="l2")
            product = tw.matmul(left, right.T, acc=product, precision=PRECISION)
        tw.store(c[t.m, t.n], product)


@functools.cache
def matmul_with_epilogue(form: Form) -> tw.Kernel:
    """The product with one of the epilogues of `tilewire.ops` behind it."""
    Arrays = operands_class(form, "M")

    @tw.kernel
    def product(
        a: tw.constant(tw.Tensor["M", "K"]),
        b: tw.constant(tw.Tensor["N", "K"]),
        epilogue: Arrays,
        c: tw.Tensor["M", "O"],
        *,
        BM: tw.const,
        BN: tw.const,
        BK: tw.const = 64,
        STAGES: tw.const = 4,
        GROUP: tw.const = 16,
        CLUSTER: tw.const = 1,
        PRECISION: tw.const = "tf32",
    ):
        tiles = tw.tiles(M, N, BM, BN, order="grouped", group=GROUP, cluster=CLUSTER)
        for t in tw.persistent(tiles):
            product = tw.matmul(
                a[t.m, :], b[t.n, :].T, block_k=BK, stages=STAGES, precision=PRECISION
            )
            total = scaled(product, form, epilogue, t.m, t.n)
            result = finished(total, form, epilogue, t.m, t.n)
            tw.store(c[t.m, output_columns(form, t.n)], result)

    return product
