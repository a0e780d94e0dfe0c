"""Which facts about arguments a kernel's code depends on."""

import pytest
import tilewire as tw
from tilewire._tilewire import LocalFacts


@tw.kernel
def double(x: tw.Tensor["M", "N"], y: tw.Tensor["M", "N"], *, N: tw.const):
    for row in tw.persistent(M):
        tw.store(y[row, :], 2 * tw.load(x[row, :]))


@tw.kernel
def square(x: tw.Tensor["N", "N"], y: tw.Tensor["N", "N"], *, N: tw.const):
    tile = tw.load(x[:, :])
    tw.store(y[:, :], tw.matmul(tile, tile))


SPECS = {"x": "f16[?,64]", "y": "f16[?,64]"}
SQUARES = {"x": "f16[64,64]", "y": "f16[64,64]"}


def facts(*mappable):
    return LocalFacts([True, True], [16, 16], [True, True], mappable)


@pytest.mark.parametrize(
    ("kernel", "specs", "target", "matters"),
    [
        (square, SQUARES, "sm_90a", True),
        (square, SQUARES, "sm_100a", True),
        (square, SQUARES, "sm_80", True),
        (square, SQUARES, "sm_75", False),
        (square, SQUARES, "cpu", False),
        (double, SPECS, "sm_90a", False),
    ],
)
def test_tensor_maps_matter_to_products_whose_operands_may_come_by_tma_or_in_whole_vectors(
    kernel, specs, target, matters
):
    specialisation = kernel.specialise_text(specs)
    target = tw.Target(target)
    both = [
        kernel.facts_that_matter(target, specialisation, facts(*mappable))
        for mappable in ([True, False], [False, False])
    ]
    assert (both[0] != both[1]) == matters
    assert both[0].contiguous == [True, True]
    assert kernel.facts_that_matter(target, specialisation, None) is None


def test_launches_share_code_where_maps_do_not_matter():
    specialisation = double.specialise_text(SPECS)
    first = double.compile("cpu", specialisation, facts(True, False))
    assert double.compile("cpu", specialisation, facts(False, True)) is first
    assert double.compile("cpu", specialisation, None) is not first
