"""What can't be divided as it was written."""

import tilewire as tw


def test_unknown_order(diagnose):
    def f(x: tw.Tensor["M"]):
        tw.tiles(M, M, 4, 4, order="zigzag")  # error

    message, _ = diagnose(f, x="f32[?]")
    assert "order= is one of 'row', 'column', 'grouped', found 'zigzag'" in message


def test_block_known_at_run_time(diagnose):
    def f(x: tw.Tensor["M"]):
        tw.tiles(M, M, M, 4)  # error

    message, _ = diagnose(f, x="f32[?]")
    assert "BM must be an integer known at compile time" in message


def test_block_of_no_rows(diagnose):
    def f(x: tw.Tensor["M"]):
        tw.tiles(M, M, 0, 4)  # error

    message, _ = diagnose(f, x="f32[?]")
    assert "tiles of 0 by 4: both must be above 0" in message


def test_start_without_split(diagnose):
    def f(x: tw.Tensor["M"]):
        tw.tiles(M, M, 4, 4, start=1)  # error

    message, _ = diagnose(f, x="f32[?]")
    assert "start= names a part: it needs split=" in message


def test_split_into_no_parts(diagnose):
    def f(x: tw.Tensor["M"]):
        tw.tiles(M, M, 4, 4, split=0)  # error

    message, _ = diagnose(f, x="f32[?]")
    assert "split=0" in message


def test_parts_of_k_without_k(diagnose):
    def f(x: tw.Tensor["M"]):
        tw.tiles(M, M, 4, 4, split_k=2)  # error

    message, _ = diagnose(f, x="f32[?]")
    assert "K is divided into parts of whole blocks: give k=, block_k= and split_k=" in message


def test_k_in_no_parts(diagnose):
    def f(x: tw.Tensor["M"]):
        tw.tiles(M, M, 4, 4, k=M, block_k=8, split_k=0)  # error

    message, _ = diagnose(f, x="f32[?]")
    assert "split_k=0: K is divided into 1 part at least" in message


def test_blocks_of_k_below_0(diagnose):
    def f(x: tw.Tensor["M"]):
        tw.tiles(M, M, 4, 4, k=M, block_k=-8, split_k=2)  # error

    message, _ = diagnose(f, x="f32[?]")
    assert "block_k=-8: blocks are above 0" in message


def test_arrival_at_a_tile_with_all_of_k(diagnose):
    def f(x: tw.Tensor["M"]):
        for t in tw.persistent(tw.tiles(M, M, 4, 4)):
            if tw.arrive(t):  # error
                tw.store(x[0], 1.0)

    message, _ = diagnose(f, x="f32[?]")
    assert "takes a tile whose K is divided, of tw.tiles(…, k=, block_k=, split_k=)" in message


def test_arrival_of_nobody_knows_how_many(diagnose):
    def f(x: tw.Tensor["M"]):
        if tw.arrive(0, count=4):  # error
            tw.store(x[0], 1.0)

    message, _ = diagnose(f, x="f32[?]")
    assert "how many arrive there, and how many places there are: count=, places=" in message


def test_ragged_takes_integers_in_memory(diagnose):
    def f(x: tw.Tensor["M"]):
        tw.ragged(x, 4)  # error

    message, _ = diagnose(f, x="f32[?]")
    assert "ragged takes the sizes of groups, integers in memory of rank 1" in message


def test_unknown_schedule(diagnose):
    def f(x: tw.Tensor["M"]):
        for _i in tw.persistent(M, schedule="guided"):  # error
            pass

    message, _ = diagnose(f, x="f32[?]")
    assert 'the schedule is "static" or "dynamic", found \'guided\'' in message


def test_a_dynamic_loop_in_a_loop(diagnose):
    def f(x: tw.Tensor["M"]):
        for _k in range(3):
            for i in tw.persistent(M, schedule="dynamic"):  # error
                tw.store(x[i], 1.0)

    message, _ = diagnose(f, x="f32[?]")
    assert "stands in no other loop" in message


def test_a_barrier_in_a_dynamic_loop(diagnose):
    def f(x: tw.Window["M"]):
        for _i in tw.persistent(M, schedule="dynamic"):
            tw.barrier()  # error

    message, _ = diagnose(f, target="cpu:world=2", x="window:f32[?]")
    assert "never meet" in message and 'schedule="static"' in message


def test_with_something_else(diagnose):
    def f(x: tw.Tensor["M"]):
        with open("file"):  # error
            pass

    message, _ = diagnose(f, x="f32[?]")
    assert "`open`" in message


def test_with_a_name(diagnose):
    def f(x: tw.Tensor["M"]):
        with tw.instances(0, 2) as group:  # error
            tw.store(x[0], group)

    message, _ = diagnose(f, x="f32[?]")
    assert "`with` takes `tw.instances(first, count)`" in message


def test_a_tile_has_no_such_field(diagnose):
    def f(x: tw.Tensor["M"]):
        for t in tw.persistent(tw.tiles(M, M, 4, 4)):
            tw.load(x[t.rows])  # error

    message, _ = diagnose(f, x="f32[?]")
    assert "has no attribute `rows`; it has m, local_m, local_index, index, n, part" in message


def test_parts_of_k_that_nobody_made(diagnose):
    def f(x: tw.Tensor["M"]):
        for t in tw.persistent(tw.tiles(M, M, 4, 4)):
            tw.load(x[t.k])  # error

    message, _ = diagnose(f, x="f32[?]")
    assert message.endswith("and k and k_part where tw.tiles(…, k=, block_k=, split_k=) made it")


def test_tiles_are_no_loop_by_themselves(diagnose):
    def f(x: tw.Tensor["M"]):
        for t in tw.tiles(M, M, 4, 4):  # error
            tw.load(x[t.m])

    message, _ = diagnose(f, x="f32[?]")
    assert "can't loop over" in message and "tw.persistent" in message


def test_unknown_team(diagnose):
    def f(x: tw.Tensor["M"]):
        for r in tw.peers(team="node"):  # error
            tw.store(x[r], 1.0)

    message, _ = diagnose(f, target="cpu:world=4", x="f32[?]")
    assert "the team must be one of world, lsa, rail, local" in message


def test_is_lsa_of_no_rank(diagnose):
    def f(x: tw.Tensor["M"]):
        tw.is_lsa(4)  # error

    message, _ = diagnose(f, target="cpu:world=2x2", x="f32[?]")
    assert "there is no rank 4 in a world of 4" in message


def test_instances_below_none(diagnose):
    def first(x: tw.Tensor["N"]):
        with tw.instances(-1, 2):  # error
            tw.store(x[0], 1.0)

    def count(x: tw.Tensor["N"]):
        with tw.instances(0, -2):  # error
            tw.store(x[0], 1.0)

    assert diagnose(first, x="f32[?]")[0] == "instances are counted from 0, found -1"
    assert diagnose(count, x="f32[?]")[0] == "instances are counted from 0, found -2"


def test_break_among_iterations_that_are_taken_one_by_one(diagnose):
    def f(x: tw.Tensor["M"]):
        for i in tw.persistent(M, schedule="dynamic"):  # error
            if i > 3:
                break
            tw.store(x[i], 0.0)

    message, _ = diagnose(f, x="f32[?]")
    assert "would lose those that it takes after a `break`" in message
    assert 'use schedule="static"' in message


def test_cluster_of_three(diagnose):
    def f(x: tw.Tensor["M"]):
        tw.tiles(M, M, 4, 4, order="grouped", cluster=3)  # error

    message, _ = diagnose(f, x="f32[?]")
    assert "cluster=3: a cluster has 1, 2, 4 or 8 program instances" in message


def test_cluster_in_row_order(diagnose):
    def f(x: tw.Tensor["M"]):
        tw.tiles(M, M, 4, 4, cluster=2)  # error

    message, _ = diagnose(f, x="f32[?]")
    assert 'cluster= is for order="grouped" and "column"' in message


def test_band_that_a_cluster_does_not_divide(diagnose):
    def f(x: tw.Tensor["M"]):
        tw.tiles(M, M, 4, 4, order="grouped", group=6, cluster=4)  # error

    message, _ = diagnose(f, x="f32[?]")
    assert "a band of 6 rows of tiles isn't divided by cluster=4" in message


def test_tiles_whose_parts_arrive_in_two_loops(diagnose):
    def f(x: tw.Tensor["M", "K"], *, K: tw.const):
        for _ in range(3):
            for t in tw.persistent(tw.tiles(M, M, 8, 8, k=K, block_k=8, split_k=2)):
                if tw.arrive(t):  # error
                    tw.store(x[t.m, t.n], 0.0)

    message, _ = diagnose(f, x="f32[?, ?]", K=64)
    assert "each part of a tile arrives once in a launch" in message


def test_places_where_nobody_arrives(diagnose):
    def f(x: tw.Tensor["M"]):
        if tw.arrive(0, count=0, places=1):  # error
            tw.store(x[0], 0.0)

    message, _ = diagnose(f, x="f32[?]")
    assert "arrive: count=0: 1 to 2147483647 instances arrive at a place" in message
