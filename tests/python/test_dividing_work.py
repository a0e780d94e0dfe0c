"""`tw.tiles`, `tw.ragged`, `tw.instances`, dynamic schedules: who does what, and in which order."""

import numpy as np
import pytest
import tilewire as tw


def chunks(m, parts):
    """As torch.chunk divides m rows: (start, end) per part."""
    size = max(-(-m // parts), 1)
    return [(min(i * size, m), min((i + 1) * size, m)) for i in range(parts)]


@tw.kernel
def count_elements(
    y: tw.Tensor["M", "N"], *, BM: tw.const, BN: tw.const, order: tw.const, schedule: tw.const
):
    for t in tw.persistent(tw.tiles(M, N, BM, BN, order=order, group=2), schedule=schedule):
        tw.store(y[t.m, t.n], tw.load(y[t.m, t.n]) + 1)


@pytest.mark.parametrize("schedule", ["static", "dynamic"])
@pytest.mark.parametrize("order", ["row", "column", "grouped"])
@pytest.mark.parametrize("shape", [(13, 22), (16, 16), (1, 1), (5, 40), (40, 5), (0, 8)])
def test_every_element_once(shape, order, schedule):
    y = np.zeros(shape, np.int32)
    count_elements[3](y, BM=4, BN=8, order=order, schedule=schedule)
    assert (y == 1).all()


@tw.kernel
def count_in_clusters(
    y: tw.Tensor["M", "N"], z: tw.Tensor["M", "N"], *, order: tw.const, cluster: tw.const,
    P: tw.const, start: tw.const
):  # fmt: skip
    for t in tw.persistent(tw.tiles(M, N, 4, 8, order=order, group=4, cluster=cluster)):
        tw.store(y[t.m, t.n], tw.load(y[t.m, t.n]) + 1)
    parts = tw.tiles(M, N, 4, 8, split=P, start=start, order=order, group=4, cluster=cluster)
    for t in tw.persistent(parts):
        tw.store(z[t.m, t.n], tw.load(z[t.m, t.n]) + 1 + 10 * t.part)


@pytest.mark.parametrize("cluster", [2, 4])
@pytest.mark.parametrize("order", ["column", "grouped"])
@pytest.mark.parametrize("shape", [(13, 22), (16, 16), (1, 1), (36, 40), (0, 8)])
def test_every_element_once_in_clusters(shape, order, cluster):
    for parts, start in ((1, 0), (3, 1)):
        y, z = np.zeros(shape, np.int32), np.zeros(shape, np.int32)
        count_in_clusters[3](y, z, order=order, cluster=cluster, P=parts, start=start)
        assert (y == 1).all()
        for part, (first, end) in enumerate(chunks(shape[0], parts)):
            assert (z[first:end] == 1 + 10 * part).all()


@tw.kernel
def split_rows(
    x: tw.Tensor["M", "N"],
    y: tw.Tensor["P", "R", "N"],
    z: tw.Tensor["M", "N"],
    log: tw.Tensor["L", 2],
    start: tw.i64,
    *,
    P: tw.const,
    BM: tw.const,
    BN: tw.const,
    order: tw.const,
):
    for t in tw.persistent(tw.tiles(M, N, BM, BN, split=P, start=start, order=order, group=2)):
        tile = tw.load(x[t.m, t.n])
        tw.store(y[t.part, t.local_m, t.n], tile)
        tw.store(z[t.m, t.n], tw.load(z[t.m, t.n]) + 1)
        tw.store(log[t.index, 0], t.part)
        tw.store(log[t.index, 1], t.local_index)


@pytest.mark.parametrize("order", ["row", "column", "grouped"])
@pytest.mark.parametrize(
    ("m", "parts"), [(20, 3), (21, 3), (7, 8), (0, 2), (16, 4), (9, 5), (5, 1)]
)
def test_split_is_that_of_torch_chunk(m, parts, order):
    n, block_m, block_n = 10, 4, 4
    x = np.random.default_rng(m).standard_normal((m, n)).astype(np.float32)
    ends = chunks(m, parts)
    tiles = [-(-(end - start) // block_m) * -(-n // block_n) for start, end in ends]
    for first in (0, 1, parts - 1, parts + 1):
        y = np.full((parts, max(end - start for start, end in ends) + 5, n), 9, np.float32)
        z = np.zeros((m, n), np.float32)
        log = np.full((sum(tiles) + 1, 2), -1, np.int64)
        split_rows[2](x, y, z, log, first, P=parts, BM=block_m, BN=block_n, order=order)
        expected = np.full_like(y, 9)
        for part, (start, end) in enumerate(ends):
            expected[part, : end - start] = x[start:end]
        assert (y == expected).all()  # no tile crosses parts
        assert (z == 1).all()
        assert log[-1].tolist() == [-1, -1]
        parts_in_order = [
            part
            for i in range(parts)
            for part in [(first + i) % parts] * tiles[(first + i) % parts]
        ]
        if tiles[first % parts] > 0:
            assert log[:-1, 0].tolist() == parts_in_order
        for part in range(parts):
            numbers = log[:-1, 1][log[:-1, 0] == part]
            assert sorted(numbers) == list(range(tiles[part]))


def test_orders():
    @tw.kernel
    def f(log: tw.Tensor["L", 2], M: tw.i64, N: tw.i64, *, order: tw.const, group: tw.const):
        for t in tw.persistent(tw.tiles(M, N, 1, 1, order=order, group=group)):
            row = tw.arange(1)
            tw.store(log[t.index, 0], t.local_index // N)
            tw.store(log[t.index, 1], t.local_index % N)

    def order_of(order, group=2):
        log = np.full((15, 2), -1, np.int64)
        f[4](log, 5, 3, order=order, group=group)
        return [tuple(each) for each in log]

    rows, columns = range(5), range(3)
    assert order_of("row") == [(m, n) for m in rows for n in columns]
    assert order_of("column") == [(m, n) for n in columns for m in rows]
    bands = [range(0, 2), range(2, 4), range(4, 5)]
    assert order_of("grouped") == [(m, n) for band in bands for n in columns for m in band]
    assert order_of("grouped", 8) == order_of("column")


@tw.kernel
def fill_groups(
    sizes: tw.Tensor["G"],
    y: tw.Tensor["T"],
    z: tw.Tensor["G", "R"],
    *,
    B: tw.const,
    schedule: tw.const,
):
    for t in tw.persistent(tw.ragged(sizes, B), schedule=schedule):
        tw.store(y[t.m], tw.load(y[t.m]) + tw.cast(t.group, tw.i32) + 1)
        tw.store(z[t.group, t.local_m], tw.cast(t.local_index, tw.i32))


@pytest.mark.parametrize("schedule", ["static", "dynamic"])
@pytest.mark.parametrize(
    "sizes", [[3, 0, 9, 4, 1], [0, 0], [16], [1, 1, 1, 1, 1, 1, 1], [5, -2, 5]], ids=str
)
def test_ragged(sizes, schedule):
    rows = np.maximum(sizes, 0)
    y = np.zeros(rows.sum() + 3, np.int32)
    z = np.full((len(sizes), 20), 9, np.int32)
    fill_groups[3](np.array(sizes, np.int32), y, z, B=4, schedule=schedule)
    assert y.tolist() == [g + 1 for g, n in enumerate(rows) for _ in range(n)] + [0, 0, 0]
    expected = np.full((len(sizes), 20), 9, np.int32)
    for g, n in enumerate(rows):
        expected[g, :n] = np.arange(n) // 4
    assert (z == expected).all()


@tw.kernel
def two_groups(
    y: tw.Tensor["N"], z: tw.Tensor["N"], ids: tw.Tensor["I", 2], first: tw.i64, count: tw.i64
):
    total = 0
    with tw.instances(first, count):
        total = 100
        for i in tw.persistent(N):
            tw.store(y[i], tw.load(y[i]) + 1)
        tw.store(ids[first + tw.program_id(0), 0], tw.program_id(0))
        tw.store(ids[first + tw.program_id(0), 1], tw.num_programs(0))
    for i in tw.persistent(N):
        tw.store(z[i], tw.load(z[i]) + 1 + total)


@pytest.mark.parametrize(("first", "count"), [(0, 2), (1, 3), (0, 4), (2, 0), (3, 9), (7, 2)])
def test_instances(first, count):
    y, z = np.zeros(11, np.int32), np.zeros(11, np.int32)
    ids = np.full((4, 2), -1, np.int64)
    two_groups[4](y, z, ids, first, count)
    members = [i for i in range(4) if first <= i < first + count]
    assert (y == (1 if members else 0)).all()
    assert z.tolist() == [1 + 100 * (i % 4 in members) for i in range(11)]
    for i in range(4):
        assert ids[i].tolist() == ([i - first, len(members)] if i in members else [-1, -1])


def test_instances_known_at_compile_time_and_nested():
    @tw.kernel
    def f(y: tw.Tensor["N"]):
        with tw.instances(1, 4), tw.instances(1, 2):
            tw.store(y[tw.program_id(0)], tw.num_programs(0))

    y = np.full(6, -1, np.int64)
    f[6](y)
    assert y.tolist() == [2, 2, -1, -1, -1, -1]


@tw.kernel
def dynamic_in_group(y: tw.Tensor["N"], z: tw.Tensor["N"], push: tw.i64):
    with tw.instances(0, push):
        for i in tw.persistent(N, schedule="dynamic"):
            tw.store(y[i], tw.load(y[i]) + 1)
    if tw.program_id(0) == 3:
        return
    for i in tw.persistent(N, schedule="dynamic"):
        tw.store(z[i], tw.load(z[i]) + 1)


@pytest.mark.parametrize("push", [0, 1, 3])
def test_dynamic_schedules(push):
    for _ in range(3):
        y, z = np.zeros(23, np.int32), np.zeros(23, np.int32)
        dynamic_in_group[4](y, z, push)
        assert (y == (push > 0)).all() and (z == 1).all()


@pytest.mark.parametrize("world", ["1", "3", "2x4"])
def test_dynamic_schedules_of_ranks_are_their_own(world):
    @tw.kernel
    def f(x: tw.Window["N"], y: tw.Tensor["N"]):
        tw.barrier(team=tw.lsa)
        for i in tw.persistent(N, schedule="dynamic"):
            tw.store(y[i], tw.load(x[i]) + tw.load(y[i]))
        tw.barrier(team=tw.lsa)

    with tw.init(virtual=world) as comm:
        x = comm.window((17,), tw.i32)
        for r in range(comm.size):
            x.at(r)[...] = r + 1
        y = [np.zeros(17, np.int32) for _ in range(comm.size)]
        f[2](x, y)
        assert all((each == r + 1).all() for r, each in enumerate(y))


def test_carried_values_of_a_dynamic_loop():
    @tw.kernel
    def f(x: tw.Tensor["N"], y: tw.Tensor["K"], *, B: tw.const):
        total = tw.zeros(B, tw.f32)
        for i in tw.persistent(tw.cdiv(N, B), schedule="dynamic"):
            total += tw.load(x[tw.ds(i * B, B)])
        tw.store(y[tw.program_id(0)], tw.sum(total))

    x = np.arange(50, dtype=np.float32)
    y = np.full(3, np.nan, np.float32)
    f[3](x, y, B=8)
    assert y.sum() == x.sum()


def test_auto_grid_with_tiles():
    y = np.zeros((13, 22), np.int32)
    count_elements[tw.auto](y, BM=4, BN=8, order="row", schedule="static")
    assert (y == 1).all()


@pytest.mark.parametrize("order", ["row", "column"])
@pytest.mark.parametrize("split", [None, 4])
def test_no_mask_where_tiles_are_proven_inside(emitted, order, split):
    """Constant extents that blocks (and parts) divide."""

    @tw.kernel
    def f(
        x: tw.Tensor["M", "N"],
        y: tw.Tensor["M", "N"],
        *,
        M: tw.const,
        N: tw.const,
        split: tw.const,
        order: tw.const,
    ):
        parts = None if split == 0 else split
        for t in tw.persistent(tw.tiles(M, N, 32, 64, split=parts, order=order)):
            tw.store(y[t.m, t.n], tw.load(x[t.m, t.n]))

    shapes = {"x": "bf16[384, 320]", "y": "bf16[384, 320]", "M": 384, "N": 320}
    text = emitted(f, "sm_90a", "lowered", order=order, split=split or 0, **shapes)
    assert text.count("masked = [0, 0]") == 2
