"""Which facts about arguments a kernel's code depends on."""

import re

import pytest
import tilewire as tw
from tilewire import _tilewire
from tilewire._tilewire import LocalFacts


@tw.kernel
def double(x: tw.Tensor["M", "N"], y: tw.Tensor["M", "N"], *, N: tw.const):
    for row in tw.persistent(M):
        tw.store(y[row, :], 2 * tw.load(x[row, :]))


@tw.kernel
def double_flat(x: tw.Tensor["N"], y: tw.Tensor["N"], *, N: tw.const):
    tw.store(y[:], 2 * tw.load(x[:]))


@tw.kernel
def double_shared(x: tw.Window["M", "N"], y: tw.Tensor["M"]):
    for row in tw.persistent(M):
        for i in range(0, N, 512):
            columns = tw.ds(i, 512)
            tw.store(x[row, columns], 2 * tw.load(x[row, columns]))


@tw.kernel
def double_rows(x: tw.Window["M", "N"], y: tw.Tensor["M"], *, N: tw.const):
    for row in tw.persistent(M):
        tw.store(x[row, :], 2 * tw.load(x[row, :]))


@tw.kernel
def square(x: tw.Window["N", "N"], y: tw.Window["N", "N"], *, N: tw.const):
    tile = tw.load(x[:, :])
    tw.store(y[:, :], tw.matmul(tile, tile))


SPECS = {"x": "f16[?,64]", "y": "f16[?,64]"}
FLAT = {"x": "f16[64]", "y": "f16[64]"}
SHARED = {"x": "window:f16[?,?]", "y": "f16[?]"}
SHARED_64 = {"x": "window:f16[?,64]", "y": "f16[?]"}
SQUARES = {"x": "window:f16[64,64]", "y": "window:f16[64,64]"}


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
        (double, SPECS, "sm_90a", True),  # tensors may have gaps between rows
        (double_flat, FLAT, "sm_90a", False),
        (double_shared, SHARED, "sm_90a", True),
        (double_shared, SHARED, "cpu", True),
        (double_rows, SHARED_64, "sm_90a", False),
    ],
)
def test_where_rows_begin_matters_if_it_is_not_compiled_in_and_to_products(
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


def test_launches_share_code_where_rows_do_not_matter():
    specialisation = double_flat.specialise_text(FLAT)
    first = double_flat.compile("cpu", specialisation, facts(True, False))
    assert double_flat.compile("cpu", specialisation, facts(False, True)) is first
    assert double_flat.compile("cpu", specialisation, None) is not first


def vectors(kernel, specs, *mappable):
    """Elements that its loads and stores access at once."""
    target = tw.Target("sm_90a:world=2")
    specialisation = kernel.specialise_text(specs)
    form, program = kernel.form_of(target, specialisation, facts(*mappable))
    program = program or kernel.program_of(form)
    text = _tilewire.emit_stage(program, target, "lowered").decode()
    found = re.findall(r"tile_(?:load|store)\(.*vector = (\d+)", text)
    assert found
    return {int(each) for each in found}


@pytest.mark.parametrize("kind", ["window", "window*2"])
def test_rows_at_multiples_of_16_bytes_are_accessed_in_whole_vectors(kind):
    specs = SHARED | {"x": f"{kind}:f16[?,?]"}
    assert vectors(double_shared, specs, True, False) == {8}
    assert vectors(double_shared, specs, False, False) == {1}
