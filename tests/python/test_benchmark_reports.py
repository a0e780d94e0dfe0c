"""What the benchmarks of products make of text and times, and the kernels that they try."""

import json
import sys
from pathlib import Path

import matmul_kernels
import numpy as np
import product_arguments
import pytest
import tilewire as tw
from product_report import (
    LARGE,
    Shape,
    Times,
    Variant,
    clock_summary,
    copies_beyond_cache,
    parse_shapes,
    ratio,
    relative_times,
    summary,
    table,
)

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def test_shapes():
    assert parse_shapes("4096x8192x14336,1024") == [(4096, 8192, 14336), (1024, 1024, 1024)]
    assert str(LARGE[0]) == "4096x8192x14336" and LARGE[0].tflops(1357) == 709.0
    for wrong in ("", "8x8", "8x8x0", "ax1x1"):
        with pytest.raises(ValueError):
            parse_shapes(wrong)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("128x256", "128x256x64x4:g16"),
        ("64x128x32x3:g8", "64x128x32x3:g8"),
        ("128x256x64x4:c2:s:f:n132", "128x256x64x4:g16:c2:s:f:n132"),
        ("16x64x256x5:k8", "16x64x256x5:g16:k8"),
    ],
)
def test_variants(text, shown):
    variant = Variant.parse(text)
    assert str(variant) == shown and Variant.parse(shown) == variant
    assert set(variant.constants()) == {
        each.name for each in matmul_kernels.matmul.signature.constants
    }


@pytest.mark.parametrize("wrong", ["128", "128x256:x", "128x256:c", "1x2x3x4x5"])
def test_variants_that_are_none(wrong):
    with pytest.raises(ValueError):
        Variant.parse(wrong)


@pytest.mark.parametrize("text", ["16x32x16x2", "16x32x16x2:g2:c2", "16x32x16x2:s"])
def test_the_kernels_are_right(text):
    variant = Variant.parse(text)
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((50, 70), (40, 70)))
    c = np.full((50, 40), np.nan, np.float32)
    kernel = matmul_kernels.matmul_static if variant.is_static else matmul_kernels.matmul
    kernel[tw.auto](a, b, c, **variant.constants())
    assert np.allclose(c, a.astype(float) @ b.T.astype(float), atol=1e-2)


def test_buffers_rotate_beyond_the_cache():
    assert copies_beyond_cache(1 << 40) == 2
    assert copies_beyond_cache(6 << 20) * (6 << 20) >= 2 * 50 << 20
    assert copies_beyond_cache(1) == 40


def test_short_calls_are_many():
    calls = {str(shape): shape.calls_of_graph(2) for shape in parse_shapes("1,1024,2048,8192")}
    assert calls == {"1x1x1": 100, "1024x1024x1024": 99, "2048x2048x2048": 19, "8192x8192x8192": 10}


def measured():
    times = Times({"cuBLAS": [100.0, 102.0, 98.0, 101.0], "tilewire": [50.0, 50.0, 51.0, 49.0]})
    return summary(Shape(1024, 1024, 1024), times)


def test_medians_ratios_and_tables():
    found = measured()
    assert found["us"] == {"cuBLAS": 100.5, "tilewire": 50.0}
    assert found["tflops"] == {"cuBLAS": 21.4, "tilewire": 42.9}
    assert found["spread"]["tilewire"] == pytest.approx(0.015, abs=0.01)
    assert ratio(found["us"], ["tilewire"], ["cuBLAS", "absent"]) == 2.01
    assert ratio(found["us"], ["absent"], ["cuBLAS"]) is None
    lines = table("title", {"rested": found}, "cuBLAS").splitlines()
    assert lines[0] == "title" and len(lines) == 3
    assert lines[2].split() == ["tilewire", "rested", "50.00", "us", "42.9", "TFLOP/s", "0.498x"]


def test_clocks():
    lines = ["1980, 650.5, 60\n", "1200, 700, 64\n", "1755, [N/A], 62\n", "1500, 690, 70\n", "no\n"]
    found = clock_summary(lines)
    assert found == {
        "sm_mhz": [1200, 1500, 1980],
        "watts": [650.5, 690, 700],
        "celsius": [60, 64, 70],
    }
    assert clock_summary([]) == {}


def communication_result():
    rested = {"us": {"cuBLAS": 100.0, "cuBLAS, NCCL": 130.0, "tilewire fused": 104.0}}
    return {
        "machine": {"gpus": ["NVIDIA H200, 1"], "torch": "2"},
        "ops": {"reduce-scatter": {"8x8x8": {"rested": rested}}},
    }


def test_relative_times():
    found = relative_times(communication_result(), "rested")
    assert found["reduce-scatter"]["8x8x8"]["tilewire fused"] == 1.04
    alone = {"fp8": {"8x8x8": {"rested": {"us": {"cuBLASLt fast": 4.0, "tilewire": 5.0}}}}}
    assert relative_times({"machine": {}, **alone}, "rested")["fp8"]["8x8x8"]["tilewire"] == 1.25


@pytest.mark.parametrize("end", ["svg", "png"])
def test_pictures(end, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import plot_products

    source, picture = tmp_path / "result.json", tmp_path / f"picture.{end}"
    source.write_text(json.dumps(communication_result()))
    monkeypatch.setattr(sys, "argv", ["plot_products.py", str(source), str(picture)])
    plot_products.main()
    first = picture.read_bytes()
    assert len(first) > 1000 and (end == "png" or b"reduce-scatter" in first)
    plot_products.main()
    assert picture.read_bytes() == first


def test_command_lines():
    found = product_arguments.of_matmul(["--tiles", "128x256", "64x64:g2", "--shapes", "1024"])
    assert [each.BM for each in found.tiles] == [128, 64] and len(found.shapes) == 1
    assert len(product_arguments.of_matmul([]).shapes) == len(
        set(product_arguments.of_matmul([]).shapes)
    )
    found = product_arguments.of_communication(["--ops", "all-gather", "--regimes", "rested"])
    assert (found.ops, found.regimes, found.shapes) == (["all-gather"], ["rested"], None)
    found = product_arguments.of_epilogues(["--shapes", "8192x8192x1024", "--rounds", "3"])
    assert (str(found.shapes[0]), found.tiles, found.rounds) == ("8192x8192x1024", [], 3)
    assert len(product_arguments.of_epilogues([]).shapes) == 3
    with pytest.raises(SystemExit):
        product_arguments.of_communication(["--ops", "all-to-all"])
