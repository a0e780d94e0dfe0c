"""Programs whose ranks the network joins, on CPU worlds: right under every seed, and caught where
they rely on what it doesn't promise."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest
import tilewire as tw
from litmus import NETWORK
from op_cases import CASES
from op_cases.run import check, run_on_cpu

ROUNDS = 3
# World → seeds, of each program.
WORLDS = {"2x2": 200, "4x1": 20, "1x3": 10, "3": 5, "1": 2}
SLOW_WORLDS = {"3x3": 8, "2x4": 8}


def wrong_values(run, world, seed, rounds=ROUNDS, **variant):
    """How many all ranks saw; a hang counts as well."""
    try:
        return sum(tw.spawn(lambda comm: run(comm, rounds, **variant), world=world, seed=seed))
    except tw.HangError:
        return 1


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", NETWORK)
def test_right_under_every_seed(name, world):
    run, _ = NETWORK[name]
    for seed in range(WORLDS[world]):
        assert sum(tw.spawn(lambda comm: run(comm, ROUNDS), world=world, seed=seed)) == 0, seed


@pytest.mark.parametrize("world", SLOW_WORLDS)
@pytest.mark.parametrize("name", NETWORK)
def test_right_on_larger_worlds_and_several_instances(name, world):
    run, _ = NETWORK[name]
    for seed in range(SLOW_WORLDS[world]):
        wrong = sum(tw.spawn(lambda comm: run(comm, 2, grid=5), world=world, seed=seed))
        assert wrong == 0, seed


@pytest.mark.parametrize("name", ["puts, then signals", "puts of all instances"])
def test_right_on_16x8(name):
    run, _ = NETWORK[name]
    assert sum(tw.spawn(lambda comm: run(comm, 1, grid=1, K=5), world="16x8", seed=1)) == 0


@pytest.mark.parametrize("world", ["2x2", "3x3"])
@pytest.mark.parametrize(
    ("name", "broken"),
    [(name, each) for name, (_, left_out) in NETWORK.items() for each in left_out],
)
def test_what_is_left_out_shows(name, broken, world):
    run, _ = NETWORK[name]
    assert any(wrong_values(run, world, seed, broken=broken) for seed in range(200))


@tw.kernel
def told_by_others(
    x: tw.Window["PUTS", "K"],
    told: tw.Semaphore["G"],
    ch: tw.Channel,
    wrong: tw.Tensor["G"],
    *,
    K: tw.const,
    PUTS: tw.const,
    BY: tw.const,
):
    """Each instance that puts is told of by another one, or by a message."""
    i = tw.program_id(0)
    team = tw.world_size(tw.lsa)
    after, count = (tw.rank() + team) % tw.world_size(), 0
    if i < PUTS:
        tw.put(x.at(after)[i, :], tw.full((K,), 1 + tw.rank(), tw.i32))
    if BY == "message":
        tw.send(ch.at(after)[i], 1)
        count += tw.recv(ch[i]) - 1
    else:
        tw.barrier(team=tw.local, scope="grid")
        if i >= PUTS:
            tw.signal(told.at(after)[i])
            tw.wait(told[i])
    before = (tw.rank() - team) % tw.world_size()
    tw.store(wrong[i], count + tw.sum(tw.load(x[i % PUTS, :]) != 1 + before))


@pytest.mark.parametrize("by", ["signal", "message"])
@pytest.mark.parametrize("puts", [1, 2, 3, 4, 8, 16])
def test_neither_another_instance_nor_a_message_covers_a_put(puts, by):
    """Whatever their numbers: those of a GPU may share a context of its network."""
    grid = puts if by == "message" else 2 * puts
    shown = False
    for seed in range(20):
        with tw.init(virtual="2x1", seed=seed) as comm:
            x, told = comm.window((puts, 8), tw.i32), comm.semaphore(grid)
            ch = comm.channel((grid,), tile=(), dtype=tw.i32)
            wrong = [np.full(grid, -1, np.int32) for _ in range(2)]
            told_by_others[grid](x, told, ch, wrong, BY=by)
            asked = slice(0 if by == "message" else puts, grid)
            shown |= any(each[asked].any() for each in wrong)
    assert shown


@tw.kernel
def put_rows(x: tw.Window["T", "H"], w: tw.Window["T", "H"], to: tw.i32, *, H: tw.const):
    for row in tw.persistent(T):
        tw.put(w.at((tw.rank() + to) % tw.world_size())[row, :], x[row, :])


def test_a_seed_repeats_a_run_of_the_network():
    """What has come when a launch ends depends on the seed alone; all of it is there behind
    `comm.barrier()`."""

    def run(seed):
        with tw.init(virtual="2x2", seed=seed) as comm:
            x, w = comm.window((20, 8), tw.f32), comm.window((20, 8), tw.f32)
            for rank in range(4):
                x.at(rank)[...] = rank + 1
            put_rows[2](x, w, 2)
            seen = np.stack([w.at(rank).copy() for rank in range(4)])
            comm.barrier()
            assert all((w.at(rank) == (rank + 2) % 4 + 1).all() for rank in range(4))
            return seen

    seen = [run(seed) for seed in range(12)]
    assert any((each == 0).any() for each in seen)
    assert len({each.tobytes() for each in seen}) > 1
    for seed in (0, 5):
        assert (run(seed) == seen[seed]).all()


def test_a_world_that_ends_has_delivered_all():
    for seed in range(8):
        with tw.init(virtual="2x2", seed=seed) as comm:
            x, w = comm.window((20, 8), tw.f32), comm.window((20, 8), tw.f32)
            for rank in range(4):
                x.at(rank)[...] = rank + 1
            copies = [w.at(rank) for rank in range(4)]
            put_rows[2](x, w, 2)
        assert all((copies[rank] == (rank + 2) % 4 + 1).all() for rank in range(4)), seed

    def main(comm):
        x, w = comm.window((20, 8), tw.f32), comm.window((20, 8), tw.f32)
        x.numpy()[...] = comm.rank + 1
        put_rows[2](x, w, 2)
        return w.numpy()

    for seed in range(8):
        copies = tw.spawn(main, world="2x2", seed=seed)
        assert all((copies[rank] == (rank + 2) % 4 + 1).all() for rank in range(4)), seed


def test_the_end_of_a_kernel_has_read_what_it_put():
    def main(comm, seed):
        x, w = comm.window((20, 8), tw.f32), comm.window((20, 8), tw.f32)
        x.numpy()[...] = comm.rank + 1
        comm.barrier()
        put_rows[2](x, w, 2)
        x.numpy()[...] = 99
        comm.barrier()
        return bool((w.numpy() == (comm.rank + 2) % 4 + 1).all())

    for seed in range(20):
        assert all(tw.spawn(lambda comm: main(comm, 0), world="2x2", seed=seed)), seed


@tw.kernel
def put_and_leave(x: tw.Window["N"], w: tw.Window["N"]):
    tw.put(w.at((tw.rank() + 1) % tw.world_size())[:], x[:])


def test_what_is_under_way_to_memory_that_is_freed_is_dropped():
    for seed in range(10):
        with tw.init(virtual="4x1", seed=seed) as comm:
            for _ in range(3):
                x, w = comm.window(64, tw.f32), comm.window(64, tw.f32)
                put_and_leave[1](x, w)
                comm.free(x)
                comm.free(w)
                del x, w
            again = comm.window(64, tw.f32)
            comm.barrier()
            assert all((again.at(rank) == 0).all() for rank in range(4))


@tw.kernel
def wait_for_two(sem: tw.Semaphore["N"]):
    if tw.rank() != 0:
        tw.signal(sem.at(0)[0])
    else:
        tw.wait(sem[0], 4)


def test_a_deadlock_comes_when_the_network_has_delivered_all():
    with tw.init(virtual="2x2", seed=3) as comm, pytest.raises(tw.HangError) as caught:
        wait_for_two[1](comm.semaphore(1))
    assert "3 of 4 signals came" in str(caught.value)
    assert "nothing is under way in the network" in str(caught.value)


@tw.kernel
def signal_rank(sem: tw.Semaphore["N"], r: tw.i32):
    tw.signal(sem.at(r)[0])


def test_a_rank_that_does_not_exist():
    with tw.init(virtual="2x2") as comm, pytest.raises(tw.UserError) as caught:
        signal_rank[1](comm.semaphore(1), 4)
    message = str(caught.value)
    assert "the world has no rank 4, ranks are 0 to 3; keep it in there, by `r % tw" in message
    assert re.search(r"\(rank \d, program \(0, 0, 0\)\)", message)
    assert caught.value.line == signal_rank.source.line(signal_rank.source.function) + 1


@tw.kernel
def use_rank(w: tw.Window["N"], sem: tw.Semaphore["S"], ch: tw.Channel["C"], r: tw.i32, *,
             what: tw.const, T: tw.const):  # fmt: skip
    team = tw.rail if T == "rail" else tw.lsa if T == "lsa" else tw.world
    if what == "put":
        tw.put(w.at(r, team=team)[0:2], tw.zeros((2,), tw.f32))
    elif what == "signal":
        tw.signal(sem.at(r, team=team)[0])
    elif what == "load":
        tw.store(w[0], tw.load(w.at(r, team=team)[1]))
    elif tw.rank() == 0:
        tw.send(ch.at(r, team=team)[0], 1.0)


# World, team, how many ranks that has.
SMALL_TEAMS = (("2x3", "rail", 2), ("3", "rail", 1), ("2x3", "lsa", 3), ("3x1", "lsa", 1),
               ("1", "world", 1))  # fmt: skip


@pytest.mark.parametrize(
    ("world", "team", "size", "what"),
    [(*team, what) for team in SMALL_TEAMS for what in ("put", "signal", "send")]
    + [(*team, "load") for team in SMALL_TEAMS[1:]],  # loads don't reach along a rail
)
def test_a_rank_that_a_team_has_not_got(world, team, size, what):
    """None is taken for this rank, nor for one of another team."""
    for rank in (0, -1, size):
        with tw.init(virtual=world) as comm:
            objects = comm.window(4, tw.f32), comm.semaphore(1), comm.channel(1, (), tw.f32)
            if rank == 0:
                use_rank[1](*objects, rank, what=what, T=team)
                continue
            with pytest.raises(tw.Error, match="has no rank") as caught:
                use_rank[1](*objects, rank, what=what, T=team)
        assert f" {rank}" in str(caught.value)
        assert f"{Path(__file__).name}:" in str(caught.value)


@tw.kernel
def put_parts(x: tw.Tensor["T", "H"], w: tw.Window["T", "H"], rows: tw.Tensor["R"], end: tw.i32, *,
              H: tw.const, R: tw.const):  # fmt: skip
    """Rows that an index tile names, a block that the edge cuts, a row that isn't there."""
    other = w.at((tw.rank() + 2) % 4)
    chosen = tw.load(rows[:])
    tw.put(other[chosen, :], tw.load(x[chosen, :]))
    tw.barrier()
    tw.put(other[tw.ds(1, 2), tw.ds(H - 3, 8)], tw.full((2, 8), 7, tw.f32))
    tw.put(other[end, :], tw.full((H,), 8, tw.f32))
    tw.barrier()


@pytest.mark.parametrize("world", ["2x2", "4"])
def test_parts_of_windows(world):
    rows = np.array([4, -1, 0, 9], np.int32)  # some outside of the window
    with tw.init(virtual=world) as comm:
        w = comm.window((6, 12), tw.f32)
        x = [np.full((6, 12), rank + 1, np.float32) for rank in range(4)]
        put_parts[1](x, w, [rows] * 4, 6)
        expected = np.zeros((4, 6, 12), np.float32)
        for rank in range(4):
            expected[rank, [0, 4]] = (rank + 2) % 4 + 1
            expected[rank, 1:3, 9:] = 7
            assert (w.at(rank) == expected[rank]).all()


@tw.kernel
def put_records(x: tw.Window["N"], w: tw.Window["N"], y: tw.Window["N"]):
    other = (tw.rank() + 2) % 4
    tw.put(w.at(other)[0:3], x[0:3])
    tw.put(y.at(other)[1], tw.load(x[0]))
    tw.put_value(w.at(other).source[3], tw.rank())
    tw.barrier()


def test_records():
    kind = tw.record(q=tw.f16[4], source=tw.i32)
    with tw.init(virtual="2x2") as comm:
        x, w, y = (comm.window(4, kind) for _ in range(3))
        for rank in range(4):
            x.at(rank)["q"] = rank + 1
            x.at(rank)["source"] = 10 * rank
        put_records[1](x, w, y)
        for rank in range(4):
            other = (rank + 2) % 4
            assert (w.at(rank)["q"] == [[other + 1] * 4] * 3 + [[0] * 4]).all()
            assert w.at(rank)["source"].tolist() == [10 * other] * 3 + [other]
            assert y.at(rank)["source"].tolist() == [0, 10 * other, 0, 0]


# Op cases of two ranks that use nothing but what reaches any rank.
ANYWHERE = ("exchange_rows", "all_reduce_rows", "exchange_by_row", "swap_rows", "put_tiles")


@pytest.mark.parametrize("name", ANYWHERE)
def test_op_cases_with_the_network_between_their_ranks(name):
    case = dataclasses.replace(CASES[name], teams=2)
    for shape in case.shapes:
        for seed in range(3):
            arguments = case.arguments(case.dtypes[-1], shape)
            expected = arguments.expected()
            run_on_cpu(case, arguments, seed=seed)
            check(case, arguments, expected)


@tw.kernel
def exchange_in_turn(ch: tw.Channel["W", "G"], y: tw.Tensor["G", "W"], launch: tw.i32, *,
                     K: tw.const):  # fmt: skip
    slot = (tw.program_id(0) + launch) % tw.num_programs(0)
    value = (100 * launch + tw.rank()).to(tw.f32)
    parts = tw.exchange(ch[:, slot], tw.full((K,), value, tw.f32))
    for r in tw.unroll(tw.world_size()):
        tw.store(y[slot, r], tw.max(parts[r]) + tw.min(parts[r]))


@pytest.mark.parametrize("signed_zero", [True, False])
def test_slots_that_other_instances_take_in_the_next_launch(signed_zero):
    """Instances have contexts of the network, and a slot's messages come in their order all the
    same."""

    def main(comm):
        ch = comm.channel(
            (comm.size, 3), tile=(40,), dtype=tw.f32, exchange=True, signed_zero=signed_zero
        )
        y = np.zeros((3, comm.size), np.float32)
        right = True
        for launch in range(1, 7):
            exchange_in_turn[3](ch, y, launch, K=40)
            right &= bool((y == 2 * (100 * launch + np.arange(comm.size))).all())
        return right

    for seed in range(60):
        assert all(tw.spawn(main, world="3x1", seed=seed)), seed


@tw.kernel
def move_blocks(
    x: tw.Window["A", "B", "C"],
    w: tw.Window["A", "B", "C"],
    got: tw.Window["A", "B", "C"],
    to: tw.i32,
    low: tw.Tensor[4],
    high: tw.Tensor[4],
):
    """A block of x to a block of a far rank's w, and of that rank's x into a block of `got`."""
    a, b, c, d = tw.load(low[0]), tw.load(low[1]), tw.load(low[2]), tw.load(low[3])
    e, f, g, h = tw.load(high[0]), tw.load(high[1]), tw.load(high[2]), tw.load(high[3])
    other = (tw.rank() + to) % tw.world_size()
    tw.put(w.at(other)[a:e, :, b:f].T, x[c:g, :, d:h].T)
    tw.get(got[a:e, :, b:f], x.at(other)[c:g, :, d:h])
    tw.flush()
    tw.barrier()


def moved(into, where, block, of):
    """What `move_blocks` makes of `into`: the elements that both blocks have."""
    (a, b), (c, d) = where[0], block[0]
    (e, f), (g, h) = where[1], block[1]
    target = into[max(a, 0) : max(e, 0), :, max(b, 0) : max(f, 0)]
    source = of[max(c, 0) : max(g, 0), :, max(d, 0) : max(h, 0)]
    rows, columns = (min(target.shape[i], source.shape[i]) for i in (0, 2))
    target[:rows, :, :columns] = source[:rows, :, :columns]


@pytest.mark.parametrize("world", ["2x2", "4"])
def test_blocks_of_any_place_and_size(world):
    random = np.random.default_rng(7)
    shape = (5, 3, 9)
    with tw.init(virtual=world, seed=11) as comm:
        x, w, got = (comm.window(shape, tw.i16) for _ in range(3))
        for _ in range(40):
            first = [random.integers(0, shape[i], 2) for i in (0, 2)]
            last = [random.integers(0, shape[i] + 2, 2) for i in (0, 2)]
            low = np.array([first[0][0], first[1][0], first[0][1], first[1][1]], np.int64)
            high = np.array([last[0][0], last[1][0], last[0][1], last[1][1]], np.int64)
            where = ((low[0], low[1]), (high[0], high[1]))
            block = ((low[2], low[3]), (high[2], high[3]))
            filled = [random.integers(1, 999, shape).astype(np.int16) for _ in range(4)]
            expected = np.zeros((2, 4, *shape), np.int16)
            to = int(random.integers(1, 4))
            for rank in range(4):
                x.at(rank)[...], w.at(rank)[...], got.at(rank)[...] = filled[rank], 0, 0
                moved(expected[0, (rank + to) % 4], where, block, filled[rank])
                moved(expected[1, rank], where, block, filled[(rank + to) % 4])
            move_blocks[1](x, w, got, to, low, high)
            for rank in range(4):
                assert (w.at(rank) == expected[0, rank]).all()
                assert (got.at(rank) == expected[1, rank]).all()
