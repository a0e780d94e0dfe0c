// Dividing work: tiles of a matrix, ragged tiles, groups of program instances.
#include <fmt/format.h>

#include "compiler/frontend/builder.h"

namespace tilewire {

TileGrid Builder::tiles(Operand m, Operand n, std::int64_t block_m, std::int64_t block_n,
                        const TileOrder& order) {
  if (block_m <= 0 || block_n <= 0) {
    fail(fmt::format("tiles of {} by {}: both must be above 0", block_m, block_n));
  }
  if (order.order != "row" && order.order != "column" && order.order != "grouped") {
    fail(fmt::format("the order of tiles must be row, column or grouped, found '{}'", order.order));
  }
  if (order.group <= 0) fail(fmt::format("a band of {} rows of tiles", order.group));
  check_cluster(order);
  const auto* parts_known = order.split ? std::get_if<std::int64_t>(&*order.split) : nullptr;
  if (parts_known != nullptr && *parts_known <= 0) {
    fail(fmt::format("split={}: M is divided into 1 part at least", *parts_known));
  }
  if (order.start && !order.split) fail("start= names a part: it needs split=");
  TileGrid grid;
  grid.block_m = block_m;
  grid.block_n = block_n;
  grid.cluster = order.cluster;
  grid.group = order.order == "grouped" ? order.group / order.cluster : 0;
  grid.is_row_order = order.order == "row";
  grid.is_split = order.split.has_value();
  grid.m = to_index(m, "M");
  grid.columns = cdiv(to_index(n, "N"), block_n);
  if (!grid.is_split) {
    grid.num_rows = cdiv(grid.m, block_m * grid.cluster);
    grid.count = num_tiles(grid);
    divide_k(grid, order);
    return grid;
  }
  const auto* rows_known = std::get_if<std::int64_t>(&m);
  grid.is_even = parts_known != nullptr && rows_known != nullptr && *rows_known % *parts_known == 0;
  Value* parts = to_index(*order.split, "split");
  if (parts_known == nullptr) parts = binary("maximum", parts, std::int64_t{1});
  grid.chunk = binary("maximum", cdiv(grid.m, parts), std::int64_t{1});
  grid.part_rows = cdiv(grid.chunk, block_m * grid.cluster);
  Value* whole = binary("floordiv", grid.m, grid.chunk);
  Value* rest = binary("sub", grid.m, binary("mul", whole, grid.chunk));
  grid.num_rows =
      binary("add", binary("mul", whole, grid.part_rows), cdiv(rest, block_m * grid.cluster));
  grid.count = num_tiles(grid);
  divide_k(grid, order);
  if (order.start) {
    Value* first = binary("mod", to_index(*order.start, "start"), parts);
    Value* row = binary("minimum", binary("mul", first, grid.part_rows), grid.num_rows);
    grid.shift = binary("mul", row, grid.columns);
  }
  return grid;
}

Value* Builder::non_negative(Value* index, std::optional<std::int64_t> tiles) {
  Attributes attributes;
  if (tiles) attributes["tiles"] = *tiles;
  return emit("non_negative", {index}, std::move(attributes))->result();
}

void Builder::check_cluster(const TileOrder& order) {
  constexpr std::int64_t kMaxCluster = 8;  // what every GPU with clusters can launch
  if (order.cluster == 1) return;
  const bool is_power = order.cluster > 0 && (order.cluster & (order.cluster - 1)) == 0;
  if (!is_power || order.cluster > kMaxCluster) {
    fail(fmt::format("cluster={}: a cluster has 1, 2, 4 or 8 program instances", order.cluster));
  }
  if (order.order == "row") {
    fail("cluster= is for order=\"grouped\" and \"column\": its tiles lie one below the other");
  }
  if (order.order == "grouped" && order.group % order.cluster != 0) {
    fail(fmt::format("a band of {} rows of tiles isn't divided by cluster={}", order.group,
                     order.cluster));
  }
  program_.cluster_size = std::max(program_.cluster_size, order.cluster);
}

Value* Builder::num_tiles(const TileGrid& grid) {
  return binary("mul", binary("mul", grid.num_rows, grid.columns), grid.cluster);
}

/// `index` is the number of a tile; below, rows and indices are those of clusters of tiles.
Work Builder::tile(const TileGrid& grid, Value* index) {
  Work work;
  std::optional<std::int64_t> number;
  if (!grid.parts_of_k) number = num_tilings_++;  // else several indices have one tile
  Value* member = nullptr;
  if (grid.cluster > 1) {
    Value* whole = binary("floordiv", index, grid.cluster);
    member = binary("sub", index, binary("mul", whole, grid.cluster));
    index = whole;
  }
  if (grid.parts_of_k) index = without_part_of_k(grid, index, member, work);
  if (grid.shift != nullptr) {
    Value* count = binary("mul", grid.num_rows, grid.columns);
    Value* shifted = binary("add", index, grid.shift);  // below twice the count
    index = where(binary("lt", shifted, count), shifted, binary("sub", shifted, count));
  }
  Value* rows = grid.num_rows;
  Value* start = nullptr;  // of the part's rows
  if (grid.is_split) {
    Value* per_part = binary("mul", grid.part_rows, grid.columns);
    work.part = non_negative(binary("floordiv", index, per_part), number);
    index = binary("sub", index, binary("mul", work.part, per_part));
    Value* behind = binary("sub", rows, binary("mul", work.part, grid.part_rows));
    rows = grid.is_even ? grid.part_rows : binary("minimum", grid.part_rows, behind);
    start = binary("mul", work.part, grid.chunk);
  } else {
    work.part = constant(std::int64_t{0}, kIndex);
  }
  Value* row = nullptr;
  Value* column = nullptr;
  if (grid.group > 0) {
    Value* width = binary("mul", grid.columns, grid.group);
    Value* band = binary("floordiv", index, width);
    Value* first = binary("mul", band, grid.group);
    Value* height = binary("minimum", binary("sub", rows, first), grid.group);
    Value* inside = binary("sub", index, binary("mul", band, width));
    column = binary("floordiv", inside, height);
    row = binary("add", first, binary("sub", inside, binary("mul", column, height)));
  } else if (grid.is_row_order) {
    row = binary("floordiv", index, grid.columns);
    column = binary("sub", index, binary("mul", row, grid.columns));
  } else {
    column = binary("floordiv", index, rows);
    row = binary("sub", index, binary("mul", column, rows));
  }
  if (member != nullptr) row = binary("add", binary("mul", row, grid.cluster), member);
  row = non_negative(row, number);
  column = non_negative(column, number);
  Value* local = binary("mul", row, grid.block_m);
  work.n = Index::ds(binary("mul", column, grid.block_n), grid.block_n);
  work.local_index = binary("add", binary("mul", row, grid.columns), column);
  if (start == nullptr) {
    work.m = work.local_m = Index::ds(local, grid.block_m);
    if (member != nullptr) work.exists = binary("lt", local, grid.m);
    return work;
  }
  Value* end = binary("minimum", binary("add", start, grid.chunk), grid.m);
  work.m = Index::ds(binary("add", start, local), grid.block_m, end);
  work.local_m = Index::ds(local, grid.block_m, binary("sub", end, start));
  if (member != nullptr) work.exists = binary("lt", local, binary("sub", end, start));
  return work;
}

RaggedGrid Builder::ragged(Value* sizes, std::int64_t block) {
  if (!sizes->type.is_view() || sizes->type.rank() != 1 || !is_integer(sizes->type.dtype)) {
    fail(fmt::format("ragged takes the sizes of groups, integers in memory of rank 1, found {}",
                     sizes->type.to_string()));
  }
  if (block <= 0) fail(fmt::format("tiles of {} rows", block));
  RaggedGrid grid;
  grid.sizes = sizes;
  grid.block = block;
  grid.count = for_range(std::int64_t{0}, extent(sizes, 0), std::int64_t{1},
                         {constant(std::int64_t{0}, kIndex)},
                         [&](Value* group, const Values& seen) -> std::vector<Operand> {
                           return {binary("add", seen[0], cdiv(group_size(sizes, group), block))};
                         })[0];
  return grid;
}

/// A group's rows.
Value* Builder::group_size(Value* sizes, Value* group) {
  Value* size = cast(load(slice(sizes, {Index::at(group)})), kIndex);
  return binary("maximum", size, std::int64_t{0});
}

/// Goes through the groups, and keeps what was true at the one that has the tile.
Work Builder::tile(const RaggedGrid& grid, Value* index) {
  Value* zero = constant(std::int64_t{0}, kIndex);
  const Values found = for_range(
      std::int64_t{0}, extent(grid.sizes, 0), std::int64_t{1}, {zero, zero, zero, zero, zero, zero},
      [&](Value* group, const Values& carried) -> std::vector<Operand> {
        Value* tiles = carried[0];  // before this group
        Value* rows = carried[1];
        Value* size = group_size(grid.sizes, group);
        Value* end = binary("add", tiles, cdiv(size, grid.block));
        Value* is_here = binary("and", binary("ge", index, tiles), binary("lt", index, end));
        return {end,
                binary("add", rows, size),
                where(is_here, group, carried[2]),
                where(is_here, binary("sub", index, tiles), carried[3]),
                where(is_here, rows, carried[4]),
                where(is_here, size, carried[5])};
      });
  Work work;
  work.part = found[2];
  work.local_index = found[3];
  Value* local = binary("mul", found[3], grid.block);
  work.local_m = Index::ds(local, grid.block, found[5]);
  work.m = Index::ds(binary("add", found[4], local), grid.block, binary("add", found[4], found[5]));
  return work;
}

Value* Builder::next_index(std::int64_t counter) {
  return emit("next_index", {}, {{"counter", counter}})->result();
}

Builder::Loop Builder::begin_dynamic(Operand count, const std::vector<Operand>& initial) {
  for (const Open& open : open_) {
    if (open.statement->kind == StatementKind::kIf) continue;
    fail(
        "a loop with schedule=\"dynamic\" stands in no other loop: its counter runs through once "
        "per "
        "launch; make one loop of both, or use schedule=\"static\"");
  }
  Value* end = to_index(count, "the count of tw.persistent");
  const std::int64_t counter = num_counters_++;
  std::vector<Operand> carried = {next_index(counter)};
  carried.insert(carried.end(), initial.begin(), initial.end());
  const Values tested = begin_while(carried);
  const Values taken = begin_do(binary("lt", tested.front(), end));
  open_.back().counter = counter;
  return {taken.front(), Values(taken.begin() + 1, taken.end())};
}

Values Builder::for_dynamic(Operand count, const std::vector<Operand>& initial,
                            const LoopBody& body) {
  const Loop loop = begin_dynamic(count, initial);
  return end_for(body(loop.index, loop.carried));
}

Value* Builder::enter_instances(Operand first, Operand count) {
  for (const Operand& each : {first, count}) {
    const auto* literal = std::get_if<std::int64_t>(&each);
    if (literal != nullptr && *literal < 0) {
      fail(fmt::format("instances are counted from 0, found {}", *literal));
    }
  }
  Value* from = to_index(first, "the first instance");
  Value* wanted = to_index(count, "the number of instances");
  Value* id = binary("sub", program_id(), from);
  Value* there = binary("minimum", wanted, binary("sub", num_programs(), from));
  Value* is_one = binary("and", binary("ge", id, std::int64_t{0}), binary("lt", id, wanted));
  instances_.push_back({id, there});
  return is_one;
}

void Builder::leave_instances() {
  if (instances_.empty()) fail("leave_instances without enter_instances");
  instances_.pop_back();
}

void Builder::instances(Operand first, Operand count, const std::function<void()>& body) {
  begin_if(enter_instances(first, count));
  body();
  leave_instances();
  begin_else({});
  end_if({});
}

void Builder::begin_task() { begin_if(emit("in_task", {})->result()); }

void Builder::end_task() {
  begin_else({});
  end_if({});
}

void Builder::task(const std::function<void()>& body) {
  begin_task();
  body();
  end_task();
}

}  // namespace tilewire
