"""Products without wgmma, for `sm_90` on a GPU whose own architecture is `sm_90a`: those whose
operands are copied to shared memory ahead have the bits of those that go through registers."""

import pytest
from architecture import compiled_for
from matmul_kernels import matmul, matmul_through_registers
from op_cases import CASES
from op_cases.run import check, run_on_torch

PRODUCTS = [case for case in CASES.values() if case.world == 1 and "matmul" in case.covers]
RUNS = [(case, dtype) for case in PRODUCTS for dtype in case.dtypes]


@pytest.fixture(scope="module", autouse=True)
def without_wgmma():
    import torch

    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("compiles for sm_90")
    with compiled_for("sm_90"):
        yield


@pytest.mark.parametrize(
    ("case", "dtype"), RUNS, ids=[f"{case.name}-{dtype.name}" for case, dtype in RUNS]
)
def test_without_wgmma(case, dtype):
    for shape in case.shapes if dtype == case.dtypes[0] else case.shapes[1:2] or case.shapes:
        arguments = case.arguments(dtype, shape)
        expected = arguments.expected()
        run_on_torch(case, arguments, "cuda")
        check(case, arguments, expected)


@pytest.mark.parametrize(
    ("shape", "tile"),
    [
        ((1024, 1024, 1024), (128, 128, 32, 4)),
        ((1000, 520, 2072), (128, 128, 32, 3)),
        ((640, 384, 4096), (256, 128, 64, 2)),
        ((333, 264, 520), (64, 64, 64, 4)),
        ((128, 128, 8), (128, 64, 32, 5)),
    ],
)
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_the_bits_are_those_of_products_through_registers(shape, tile, dtype):
    import torch

    M, N, K = shape
    generator = torch.Generator("cuda").manual_seed(1)
    a, b = (
        torch.randn(rows, K, device="cuda", generator=generator).to(getattr(torch, dtype))
        for rows in (M, N)
    )
    depth = tile[2] * 2 // a.element_size()
    constants = dict(zip(("BM", "BN", "BK", "STAGES"), (*tile[:2], depth, tile[3]), strict=True))
    results = []
    for kernel in (matmul, matmul_through_registers):
        results.append(torch.full((M, N), torch.nan, device="cuda"))
        kernel[8](a, b, results[-1], **constants)
    torch.cuda.synchronize()
    assert torch.equal(*results)
    exact = a.double() @ b.double().t()
    assert (results[0].double() - exact).abs().max() < 2**-8 * K**0.5
