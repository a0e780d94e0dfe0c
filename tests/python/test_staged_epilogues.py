"""What is computed from staged products stays in registers where that is possible, and takes part
in all else through shared memory: as CUDA text says."""

import re

import pytest
from op_cases import CASES
from op_cases.run import emit

# Nothing in these goes through shared memory but rows on their way out, of so many stores.
IN_REGISTERS = {
    "staged_matmul_twice": 1,
    "staged_bias_and_gelu": 1,
    "staged_scales": 1,
    "staged_residual": 2,
    "staged_gated_halves": 1,
    "staged_joined": 1,
    "staged_softmax": 1,
    "staged_quantised": 1,
}


def text_of(name):
    case = CASES[name]
    return emit(case, case.dtypes[0], "sm_90a", "cuda").decode()


@pytest.mark.parametrize("name", IN_REGISTERS)
def test_nothing_goes_through_shared_memory(name):
    text = text_of(name)
    assert "char shared[" not in text
    assert len(re.findall(r"tw::store_rows<", text)) == IN_REGISTERS[name]


def test_what_needs_shared_memory_has_it():
    for name in ("staged_sums", "staged_meets_other_layouts"):
        assert "char shared[" in text_of(name)


def test_a_row_of_biases_is_read_by_pairs():
    text = text_of("staged_bias_and_gelu")
    assert re.search(r"tw::columns_in_pieces<TileBF16_256_per_column, 2>", text)
    assert "tw::FragmentPerColumn<256, kThreads>" in text
