"""The plain product of the benchmarks and of tests on GPUs."""

import tilewire as tw


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
