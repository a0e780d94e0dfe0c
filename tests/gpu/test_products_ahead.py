"""Products without wgmma, for `sm_90` on a GPU whose own architecture is `sm_90a`, whose operands
are copied to shared memory ahead."""

import pytest
from architecture import compiled_for
from matmul_kernels import matmul
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
def test_slots_and_grids_change_no_bit(shape, tile, dtype):
    import torch

    M, N, K = shape
    generator = torch.Generator("cuda").manual_seed(1)
    a, b = (
        torch.randn(rows, K, device="cuda", generator=generator).to(getattr(torch, dtype))
        for rows in (M, N)
    )
    depth = tile[2] * 2 // a.element_size()
    BM, BN, _, most = tile
    results = []
    for grid, stages in ((8, most), (1, 2), (132, most)):
        results.append(torch.full((M, N), torch.nan, device="cuda"))
        matmul[grid](a, b, results[-1], BM=BM, BN=BN, BK=depth, STAGES=stages)
    torch.cuda.synchronize()
    assert all(torch.equal(results[0], each) for each in results[1:])
    exact = a.double() @ b.double().t()
    assert (results[0].double() - exact).abs().max() < 2**-8 * K**0.5
