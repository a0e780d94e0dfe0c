"""The programs of `examples/`: right on worlds of 1, 2, 3 and 8, in odd sizes, under several seeds,
and printing what the README says."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import tilewire as tw
from example_programs import (
    ANY_TOPOLOGY,
    EXAMPLES,
    MULTIMEM,
    SHAPES,
    cases,
    load,
    load_without,
    names,
)

# TILEWIRE_TEST_SEEDS=200 looks closer.
SEEDS = int(os.environ.get("TILEWIRE_TEST_SEEDS", "3"))


@pytest.fixture(scope="module")
def example():
    loaded = {}
    return lambda name: loaded.setdefault(name, load(name))


def test_every_example_is_tested():
    assert names() == sorted(SHAPES)


@pytest.mark.parametrize("world", ["1", "2", "3", "8"])
@pytest.mark.parametrize(("name", "shape"), cases(), ids=str)
def test_is_right(example, name, shape, world):
    main = example(name).main
    for seed in range(SEEDS):
        lines = tw.spawn(lambda comm: main(comm, *shape), world=world, seed=seed)
        assert len(lines) == int(world)


def across_the_network():
    """(world, name, shape): each on worlds of several LSA teams, one on 16x8."""
    found = []
    for name in ANY_TOPOLOGY:
        shapes = [[int(part) for part in shape.split(",")] for shape in SHAPES[name]]
        for world in ("2x4", "3x3", "8x1"):
            found += [(world, name, shape) for shape in shapes]
        found.append(("16x8", name, shapes[-2]))
    return found


@pytest.mark.parametrize(("world", "name", "shape"), across_the_network(), ids=str)
def test_is_right_across_the_network(example, world, name, shape):
    main = example(name).main
    for seed in range(SEEDS if world != "16x8" else 1 + SEEDS // 100):
        tw.spawn(lambda comm: main(comm, *shape), world=world, seed=seed)


@pytest.mark.parametrize("world", ["2", "3", "8"])
@pytest.mark.parametrize("name", MULTIMEM)
def test_is_right_with_multimem(example, name, world):
    main = example(name).main
    for shape in SHAPES[name]:
        sizes = [int(part) for part in shape.split(",")]

        def on_rank(comm, sizes=sizes):
            return main(comm, *sizes)

        for seed in range(3):
            lines = tw.spawn(on_rank, world=world, seed=seed, multimem=True)
            assert all(" by multimem " in line for line in lines)


# By their number in the file; not those that only the next launch needs.
BARRIERS = [
    ("02_all_reduce", 0),
    ("03_all_reduce_two_shot", 0),
    ("03_all_reduce_two_shot", 1),
    ("06_all_gather", 0),
    ("07_reduce_scatter", 0),
    ("08_all_to_all", 0),
    ("09_all_to_all_v", 0),
    ("10_rms_norm_sharded", 0),
    ("10_rms_norm_sharded", 1),
    ("11_vocabulary_parallel", 1),  # behind `embed`
    ("11_vocabulary_parallel", 2),  # in the middle of `choose`
    ("11_vocabulary_parallel", 4),  # in the middle of `cross_entropy`
    ("16_gemm_all_reduce", 0),
    ("18_all_reduce_multimem_one_shot", 0),
    ("19_all_reduce_multimem_two_shot", 0),
    ("26_rms_norm_multimem", 0),
]


LEFT_OUT = [(name, "tw.barrier()", number) for name, number in BARRIERS] + [
    ("05_all_reduce_ring", "tw.send(to_next, total)", 1),
    ("05_all_reduce_ring", "total = tw.recv(ch[slot])", 0),
    ("12_pipeline", "tw.wait(full[half])", 0),
    ("12_pipeline", "tw.wait(free[half])", 0),
    ("12_pipeline", "tw.signal(full", 0),
    ("12_pipeline", "tw.signal(free", 0),
    ("14_gemm_reduce_scatter", "tw.wait(ready", 0),
    ("14_gemm_reduce_scatter", "tw.set(ready", 0),
    ("15_all_gather_gemm", "tw.wait(ready", 0),
    ("15_all_gather_gemm", "tw.set(ready", 0),
    ("16_gemm_all_reduce", "tw.wait(ready", 0),
    ("17_gated_mlp", "tw.wait(ready", 0),
    ("17_gated_mlp", "tw.wait(ready", 1),
]


# On a world of several LSA teams.
LEFT_OUT_BETWEEN_TEAMS = [
    ("20_all_to_all_put", "tw.barrier()", 1),
    ("21_hierarchical_all_reduce", "tw.barrier(team=tw.lsa)", 0),
    ("21_hierarchical_all_reduce", "tw.barrier(team=tw.rail)", 0),
    ("21_hierarchical_all_reduce", "tw.barrier()", 0),
    ("22_hierarchical_all_gather", "tw.barrier(team=tw.rail)", 0),
    ("22_hierarchical_all_gather", "tw.barrier(team=tw.lsa)", 0),
    ("23_hierarchical_reduce_scatter", "tw.barrier(team=tw.lsa)", 0),
    ("23_hierarchical_reduce_scatter", "tw.barrier(team=tw.rail)", 0),
    ("24_hierarchical_all_to_all", 'tw.barrier(team=tw.lsa, scope="grid")', 0),
    ("24_hierarchical_all_to_all", "tw.barrier()", 1),
    ("25_rms_norm_hybrid", "tw.barrier()", 0),
    ("25_rms_norm_hybrid", "tw.barrier(team=tw.rail)", 0),
    ("25_rms_norm_hybrid", "tw.barrier()", 1),
]


def require_that_it_shows(name, statement, number, folder, world):
    main = load_without(name, statement, number, folder).main
    shape = [int(part) for part in SHAPES[name][-1].split(",")]
    with pytest.raises((ValueError, tw.HangError)):
        for seed in range(200):
            multimem = name in MULTIMEM
            tw.spawn(lambda comm: main(comm, *shape), world=world, seed=seed, multimem=multimem)


@pytest.mark.parametrize(("name", "statement", "number"), LEFT_OUT)
def test_what_is_left_out_shows(name, statement, number, tmp_path):
    require_that_it_shows(name, statement, number, tmp_path, world="3")


@pytest.mark.parametrize(("name", "statement", "number"), LEFT_OUT_BETWEEN_TEAMS)
def test_what_is_left_out_between_teams_shows(name, statement, number, tmp_path):
    require_that_it_shows(name, statement, number, tmp_path, world="2x2")


def test_wrong_results_are_noticed(example):
    import numpy as np

    check = example("02_all_reduce").check
    expected = np.array([1.0, -20.0, 0.5])
    assert check(expected, expected) == 0
    assert check(expected * 1.001, expected, tolerance=0.002) > 0.0005
    for wrong in (1.01, np.nan, -1.0):
        with pytest.raises(ValueError, match="off, more than"):
            check(expected * [1, wrong, 1], expected, tolerance=1e-3)


def kernels_of(name):
    """The sources of a file's kernels."""
    text = (EXAMPLES / f"{name}.py").read_text()
    return re.findall(r"^@tw\.kernel\n(def .*?)\n\n\n", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", names())
def test_kernels_are_short(name):
    found = kernels_of(name)
    assert found
    for text in found:
        assert len(text.splitlines()) < 30, text.splitlines()[0]


def shown():
    """`$ python examples/…` and the line that follows it, in the README."""
    text = (EXAMPLES / "README.md").read_text()
    return re.findall(r"^\$ python (examples/\S+)(.*)\n(.*)$", text, flags=re.MULTILINE)


def test_readme_shows_every_example():
    assert [Path(file).stem for file, _, _ in shown()] == names()


@pytest.mark.parametrize(("file", "arguments", "expected"), shown())
def test_prints_what_the_readme_says(file, arguments, expected):
    result = subprocess.run(
        [sys.executable, file, *arguments.split()],
        cwd=EXAMPLES.parent,
        env={**os.environ, "PYTHONPATH": str(EXAMPLES.parent / "bindings")},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    number = r"\d\.\d+e-\d+"  # how far off: depends on the processor
    assert re.sub(number, "~", result.stdout.strip()) == re.sub(number, "~", expected)
