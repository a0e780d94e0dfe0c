// Parts of K as work of their own, and places at which instances arrive.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "compiler/frontend/builder.h"

namespace tilewire {

void Builder::divide_k(TileGrid& grid, const TileOrder& order) {
  if (!order.k && order.block_k == 0 && !order.split_k) return;
  if (!order.k || order.block_k == 0) {
    fail("K is divided into parts of whole blocks: give k=, block_k= and split_k=");
  }
  if (order.block_k < 0) fail(fmt::format("block_k={}: blocks are above 0", order.block_k));
  grid.parts_of_k = order.split_k.value_or(std::int64_t{1});
  const auto* known = std::get_if<std::int64_t>(&*grid.parts_of_k);
  if (known != nullptr && *known <= 0) {
    fail(fmt::format("split_k={}: K is divided into 1 part at least", *known));
  }
  if (known == nullptr) {
    grid.parts_of_k = binary("maximum", to_index(*grid.parts_of_k, "split_k"), std::int64_t{1});
  }
  Value* blocks = cdiv(cdiv(to_index(*order.k, "k"), order.block_k), *grid.parts_of_k);
  if (known == nullptr) blocks = non_negative(blocks);
  grid.chunk_of_k = binary("mul", blocks, order.block_k);
  grid.num_tiles = grid.count;
  grid.count = binary("mul", grid.count, *grid.parts_of_k);
}

/// `member`: of the cluster; null: it has one tile.
Value* Builder::without_part_of_k(const TileGrid& grid, Value* index, Value* member, Work& work) {
  Value* tile = binary("floordiv", index, *grid.parts_of_k);
  const bool is_known = std::holds_alternative<std::int64_t>(*grid.parts_of_k);
  work.k_part = is_known
                    ? binary("mod", index, *grid.parts_of_k)
                    : non_negative(binary("sub", index, binary("mul", tile, *grid.parts_of_k)));
  Value* begin = binary("mul", work.k_part, grid.chunk_of_k);
  work.k = Index::range(begin, binary("add", begin, grid.chunk_of_k));
  work.place = member == nullptr ? tile : binary("add", binary("mul", tile, grid.cluster), member);
  return tile;
}

Value* Builder::arrive(Operand place, Operand count, Operand places) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const auto* known = std::get_if<std::int64_t>(&count);
  if (known != nullptr && (*known < 1 || *known > kMost)) {
    fail(fmt::format("arrive: count={}: 1 to {} instances arrive at a place", *known, kMost));
  }
  return emit("arrive",
              {to_index(place, "the place"), to_index(count, "count"), to_index(places, "places")})
      ->result();
}

Value* Builder::arrive(const TileGrid& grid, Value* place) {
  const auto is_loop = [](const Open& open) { return open.statement->kind != StatementKind::kIf; };
  if (std::ranges::count_if(open_, is_loop) > 1) {
    fail(
        "arrive: each part of a tile arrives once in a launch, so the tiles' loop is the only one "
        "around it: make one loop of both, or count at places of your own (count=, places=)");
  }
  return emit("arrive", {place, to_index(*grid.parts_of_k, "split_k"), grid.num_tiles},
              {{"inside", true}})
      ->result();
}

}  // namespace tilewire
