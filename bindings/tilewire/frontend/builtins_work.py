"""Dividing work: `tw.tiles`, `tw.ragged`, `tw.instances`, `tw.task`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewire._tilewire import Value
from tilewire.frontend.builtins_views import require_view
from tilewire.frontend.bundles import NoBundle
from tilewire.frontend.registry import Call, builtin
from tilewire.frontend.values import (
    DynamicSlice,
    Instances,
    RangeSlice,
    Task,
    WorkItem,
    describe,
)

ORDERS = ("row", "column", "grouped")


@dataclass(frozen=True)
class Work(NoBundle):
    """What `tw.tiles` and `tw.ragged` return: `tw.persistent` goes through it."""

    grid: Any
    spelling: str
    is_ragged: bool

    @property
    def count(self) -> Value:
        return self.grid.count

    def item(self, build: Any, index: Value) -> WorkItem:
        """The tile number `index`."""
        made = build("tile", self.grid, index)
        fields = {
            "m": DynamicSlice(*made["m"]),
            "local_m": DynamicSlice(*made["local_m"]),
            "local_index": made["local_index"],
            "index": index,
        }
        if self.is_ragged:
            fields["rows"] = fields["m"]
            fields["group"] = made["part"]
        else:
            fields["n"] = DynamicSlice(*made["n"])
            fields["part"] = made["part"]
        place = made.get("place")
        if place is not None:
            fields["k"] = RangeSlice(*made["k"])
            fields["k_part"] = made["k_part"]
        return WorkItem(self.spelling, fields, made.get("exists"), self.grid, place)

    def __repr__(self) -> str:
        return self.spelling


@builtin
def tiles(
    call: Call,
    M: Any,
    N: Any,
    BM: Any,
    BN: Any,
    *,
    split: Any = None,
    start: Any = None,
    order: Any = "row",
    group: Any = 16,
    cluster: Any = 1,
    k: Any = None,
    block_k: Any = 0,
    split_k: Any = None,
) -> Work:
    """Tiles of an M x N problem for `tw.persistent`: `t.m` and `t.n` as `tw.ds`. `split` divides M
    into parts as `torch.chunk` does (`t.part`, `t.local_m`, `t.local_index`), `start` is the part
    that comes first; `order` is "row", "column" or "grouped", in bands of `group` rows of tiles.
    `cluster` consecutive tiles lie one below the other: GPUs with clusters launch that many program
    instances side by side, and a matmul's right operand is brought once for all of them.
    `split_k` divides `k` into so many parts of whole blocks of `block_k`, each an item of its own:
    `t.k` indexes a view as `lower:upper` does, `t.k_part` is the part's number; `tw.arrive(t)`."""
    if order not in ORDERS:
        call.fail(f"order= is one of {', '.join(map(repr, ORDERS))}, found {describe(order)}")
    grid = call.build(
        "tiles",
        M,
        N,
        call.static_int(BM, "BM"),
        call.static_int(BN, "BN"),
        split,
        start,
        order,
        call.static_int(group, "group"),
        call.static_int(cluster, "cluster"),
        k,
        call.static_int(block_k, "block_k"),
        split_k,
    )
    return Work(grid, "tw.tiles(…)", False)


@builtin
def arrive(call: Call, place: Any, *, count: Any = None, places: Any = None) -> Value:
    """Counts this instance's arrival at a place, behind everything that it did before. True for the
    last of `count` that arrive there in this launch, which sees what all of them did; False for the
    others. Nobody waits. `place` is an integer below `places`, which is computed from extents and
    constants; or a tile of `tw.tiles(…, split_k=)`, at which each part of K arrives once."""
    if isinstance(place, WorkItem):
        if place.place is None:
            call.fail(
                "takes a tile whose K is divided, of tw.tiles(…, k=, block_k=, split_k=), found "
                f"one of {place.spelling}"
            )
        if count is not None or places is not None:
            call.fail("count= and places= are for places that are integers: a tile has its own")
        return call.build("arrive_at_tile", place.grid, place.place)
    if count is None or places is None:
        call.fail(
            "takes a place, how many arrive there, and how many places there are: count=, places="
        )
    for each, what in ((place, "the place"), (count, "count="), (places, "places=")):
        call.operand(each, what)
    return call.build("arrive", place, count, places)


@builtin
def ragged(call: Call, sizes: Any, B: Any) -> Work:
    """Tiles of `B` rows over groups whose sizes lie on the device, for `tw.persistent`: `t.group`,
    `t.m` (also `t.rows`; groups lie one behind the other), `t.local_m`, `t.local_index`."""
    block = call.static_int(B, "B")
    return Work(call.build("ragged", require_view(call, sizes), block), "tw.ragged(…)", True)


@builtin
def instances(call: Call, first: Any, count: Any) -> Instances:
    """`with tw.instances(first, count):` what `count` of the program instances do, from number
    `first` on. Inside, `tw.program_id`, `tw.num_programs` and `tw.persistent` are the group's."""
    return Instances(first, count)


@builtin
def task(call: Call) -> Task:
    """`with tw.task():` what another warp of each program instance does beside the rest of it:
    copies of views (`tw.put(view, view)`, `tw.get`), `tw.wait`, `tw.set`, `tw.signal`,
    `tw.prefetch`, scalars, loops, branches. It may use what is computed from parameters and
    program ids before it, and loads what it needs besides. Nothing orders it with the rest but
    flags and semaphores; the instance ends when both have. Several run one after the other."""
    return Task()
