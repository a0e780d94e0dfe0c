"""Products whose K is divided, on a GPU: right, with the same bits run after run, whatever runs
before, beside and in graphs."""

# ruff: noqa: E402

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import tilewire as tw
from matmul_kernels import matmul_split_k

TILES = {
    16: {"BM": 16, "BN": 64, "BK": 256, "STAGES": 5},
    64: {"BM": 64, "BN": 64, "BK": 128, "STAGES": 6},
    128: {"BM": 128, "BN": 128, "BK": 64, "STAGES": 6},
}


class Product:
    """Operands of one product, and where its parts and its result go."""

    def __init__(self, M, N, K, S, rows=64, seed=0):
        generator = torch.Generator("cuda").manual_seed(seed)
        self.a, self.b = (
            torch.randn(shape, device="cuda", generator=generator).to(torch.bfloat16)
            for shape in ((M, K), (N, K))
        )
        self.tiles = TILES[rows]
        BM, BN = self.tiles["BM"], self.tiles["BN"]
        shape = (-(-M // BM) * -(-N // BN), S, BM, BN)
        self.parts = torch.full(shape, torch.nan, device="cuda")
        self.c = torch.full((M, N), torch.nan, device="cuda")

    def run(self, grid=tw.auto, stream=None, **constants):
        launch = matmul_split_k.on(stream=stream)[grid] if stream else matmul_split_k[grid]
        launch(self.a, self.b, self.parts, self.c, **self.tiles, **constants)

    def forget(self):
        self.parts.fill_(torch.nan)
        self.c.fill_(torch.nan)

    def check(self):
        expected = self.a.double() @ self.b.double().t()
        assert float((self.c - expected).abs().max()) < 1e-3 * self.a.shape[1] ** 0.5


@pytest.mark.parametrize("rows", TILES)
@pytest.mark.parametrize(
    "shape",
    [(16, 256, 4096, 8), (1, 64, 1000, 3), (130, 200, 1032, 7), (64, 64, 128, 5),
     (257, 96, 2056, 4), (70, 70, 77, 2), (33, 8, 8, 3)],
    ids=str,
)  # fmt: skip
def test_shapes_and_bits(shape, rows):
    product = Product(*shape, rows=rows)
    product.run()
    product.check()
    first = product.c.clone()
    for options in ({}, {"grid": 1}, {"grid": 6}, {"grid": 132, "CLUSTER": 2}):
        product.forget()
        product.run(**options)
        assert torch.equal(product.c, first)


def test_a_thousand_replays_beside_other_launches():
    """Places that a stream's launches share grow meanwhile; a graph's are its own."""
    product, other = Product(64, 512, 8192, 16), Product(64, 64, 512, 4, seed=1)
    for each in (product, other):
        each.run()
        each.check()
    first, small = product.c.clone(), other.c.clone()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        product.run()
        other.run()
    stream = torch.cuda.Stream()
    beside = [Product(64 * n, 64, 512, 4, seed=n) for n in (1, 3, 40)]
    torch.cuda.synchronize()
    wrong = torch.zeros((), device="cuda", dtype=torch.int64)
    for i in range(1000):
        product.forget()
        other.forget()
        graph.replay()
        wrong += (product.c != first).sum() + (other.c != small).sum()
        if i % 50 == 0:
            beside[i // 50 % 3].run(stream=stream)
    torch.cuda.synchronize()
    assert int(wrong) == 0
    for each in beside:
        each.check()


def test_streams_have_places_of_their_own():
    streams = [torch.cuda.Stream() for _ in range(4)]
    products = [Product(128, 256, 2048, 8, seed=i) for i in range(4)]
    torch.cuda.synchronize()
    for _ in range(50):
        for stream, product in zip(streams, products, strict=True):
            product.run(stream=stream)
    torch.cuda.synchronize()
    for product in products:
        product.check()


@tw.kernel
def total_of(x: tw.Tensor["N"], parts: tw.Tensor["G"], y: tw.Tensor[1], *, B: tw.const = 1024):
    part = 0.0
    for b in tw.persistent(tw.cdiv(N, B)):
        part += tw.sum(tw.load(x[tw.ds(b * B, B)]))
    tw.store(parts[tw.program_id(0)], part)
    if tw.arrive(0, count=tw.num_programs(0), places=1):
        total = 0.0
        for i in range(tw.num_programs(0)):
            total += tw.load(parts[i])
        tw.store(y[0], total)


@pytest.mark.parametrize("grid", [1, 7, 132, 5000])
def test_the_last_of_all_instances(grid):
    x = torch.ones(1_000_003, device="cuda")
    parts, y = (torch.full((n,), torch.nan, device="cuda") for n in (grid, 1))
    for _ in range(20):
        total_of[grid](x, parts, y)
        assert float(y) == x.numel()
        parts.fill_(torch.nan)
        y.fill_(torch.nan)
