"""The programs of `examples/` on several GPUs, in odd sizes."""

import os

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not torch.cuda.is_available():
    pytest.skip("needs GPUs", allow_module_level=True)

from example_programs import SHAPES, cases, load  # noqa: E402

LARGE = {
    "02_all_reduce": [1_000_003],
    "03_all_reduce_two_shot": [10_000_019],
    "04_all_reduce_channels": [1_000_003],
    "05_all_reduce_ring": [16_777_216],
    "06_all_gather": [3_000_017],
    "07_reduce_scatter": [10_000_019],
    "08_all_to_all": [3_000_017],
    "09_all_to_all_v": [3001, 1024],
    "10_rms_norm_sharded": [1001, 8192],
    "11_vocabulary_parallel": [65, 100_003, 1024],
    "12_pipeline": [10_000, 8192],
    "13_copy_engine_all_gather": [8_000_003],
    "14_gemm_reduce_scatter": [2001, 1000, 1500],
    "15_all_gather_gemm": [2001, 1000, 1500],
    "16_gemm_all_reduce": [2001, 1000, 1500],
    "17_gated_mlp": [2001, 1000, 3000],
    "18_all_reduce_multimem_one_shot": [1_000_003],
    "19_all_reduce_multimem_two_shot": [10_000_019],
    "20_all_to_all_put": [3_000_017],
    "21_hierarchical_all_reduce": [10_000_019],
    "22_hierarchical_all_gather": [3_000_017],
    "23_hierarchical_reduce_scatter": [10_000_019],
    "24_hierarchical_all_to_all": [3_000_017],
    "25_rms_norm_hybrid": [1001, 8192],
    "26_rms_norm_multimem": [1001, 8192],
}


@pytest.fixture(scope="module")
def example():
    loaded = {}
    return lambda name: loaded.setdefault(name, load(name))


def test_every_example_has_a_large_shape():
    assert LARGE.keys() == SHAPES.keys()


@pytest.mark.parametrize(("name", "shape"), [*cases(), *LARGE.items()], ids=str)
def test_is_right(comm, example, name, shape):
    for _ in range(2):
        line = example(name).main(comm, *shape)
    if os.environ["RANK"] == "0":
        print(line)
    comm.barrier()
