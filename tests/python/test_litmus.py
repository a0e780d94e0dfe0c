"""Litmus tests on CPU worlds: right under every seed, wrong under some with a piece left out."""

import pytest
import tilewire as tw
from litmus import COUNTED, LITMUS

SEEDS = 200
ROUNDS = 3


def wrong_values(run, world, seed, **variant):
    """How many all ranks saw; a hang counts as well."""
    try:
        return sum(tw.spawn(lambda comm: run(comm, ROUNDS, **variant), world=world, seed=seed))
    except tw.HangError:
        return 1


@pytest.mark.parametrize("world", ["1", "2", "3"])
@pytest.mark.parametrize("name", LITMUS)
def test_right_under_every_seed(name, world):
    run, _ = LITMUS[name]
    for seed in range(SEEDS // 4 if world == "1" else SEEDS):
        wrong = sum(tw.spawn(lambda comm: run(comm, ROUNDS), world=world, seed=seed))
        assert wrong == 0, f"seed {seed}"


@pytest.mark.parametrize("name", LITMUS)
def test_on_eight_ranks_and_many_instances(name):
    run, _ = LITMUS[name]
    for seed in range(5):
        assert wrong_values(run, "8", seed, grid=3) == 0, f"seed {seed}"


@pytest.mark.parametrize("world", ["2", "3"])
@pytest.mark.parametrize(
    ("name", "broken"),
    [(name, each) for name, (_, left_out) in LITMUS.items() for each in left_out],
)
def test_what_is_left_out_shows(name, broken, world):
    run, _ = LITMUS[name]
    assert any(wrong_values(run, world, seed, broken=broken) for seed in range(SEEDS))


def test_slots_beyond_132():
    run, _ = LITMUS["message passing by barriers"]
    assert wrong_values(run, "2", 0, grid=264) == 0


@pytest.mark.parametrize("world", ["1", "3"])
@pytest.mark.parametrize("name", COUNTED)
def test_counters_wrap_around(name, world):
    run, _ = LITMUS[name]
    for start in range(2**32 - 8, 2**32):
        assert wrong_values(run, world, start % 7, start=start) == 0
