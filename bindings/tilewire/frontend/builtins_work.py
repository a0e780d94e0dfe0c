"""Dividing work: `tw.tiles`, `tw.ragged`, `tw.instances`, `tw.task`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tilewire._tilewire import Value
from tilewire.frontend.builtins_views import require_view
from tilewire.frontend.bundles import NoBundle
from tilewire.frontend.registry import Call, builtin
from tilewire.frontend.values import DynamicSlice, Instances, Task, WorkItem, describe

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
        return WorkItem(self.spelling, fields, made.get("exists"))

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
) -> Work:
    """Tiles of an M x N problem for `tw.persistent`: `t.m` and `t.n` as `tw.ds`. `split` divides M
    into parts as `torch.chunk` does (`t.part`, `t.local_m`, `t.local_index`), `start` is the part
    that comes first; `order` is "row", "column" or "grouped", in bands of `group` rows of tiles.
    `cluster` consecutive tiles lie one below the other: GPUs with clusters launch that many program
    instances side by side, and a matmul's right operand is brought once for all of them."""
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
    )
    return Work(grid, "tw.tiles(…)", False)


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
