#include "compiler/codegen/cuda/staging.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "compiler/codegen/cuda/common_ring.h"
#include "compiler/codegen/cuda/emitter.h"
#include "compiler/codegen/cuda/shared_memory.h"
#include "compiler/ops/matmul.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/mover.h"
#include "compiler/ops/put.h"
#include "compiler/ops/staging.h"
#include "compiler/support/error.h"
#include "templates/tilewire/copy_layout.cuh"
#include "templates/tilewire/fragment_layout.cuh"
#include "templates/tilewire/staged_layout.cuh"

namespace tilewire {
namespace {

constexpr int kMaxSharedBytes = 227 * 1024;  // of a CTA of sm_90
constexpr int kBarrierBytes = 256;           // for the ring's barriers, and what is handed over
constexpr int kTurnsBytes = 16;              // for the mover's barriers
constexpr int kSeenBytes = 128;              // for an array's flags that were seen
constexpr int kMaxStages = 8;
constexpr int kMinStages = 2;

/// An operand as it lies in a slot of the ring.
struct StagedOperand {
  DType dtype = DType::kBF16;
  std::int64_t lines = 0;  ///< along M or N
  std::int64_t depth = 0;
  bool depth_is_contiguous = true;
  std::int64_t shares = 1;  ///< instances of a cluster that bring a part each

  /// `made`: an `operand_load` or a `staged_operand`.
  static StagedOperand of(const Statement& made, std::size_t depth, bool is_by_columns,
                          const Program& program) {
    const Type& tile = made.result()->type;
    return {tile.dtype, tile.shape.at(1 - depth), tile.shape.at(depth),
            (depth == 1) == is_by_columns, made.flag("shared") ? program.cluster_size : 1};
  }
  static StagedOperand of_load(const Statement& load, const Program& program) {
    return of(load, static_cast<std::size_t>(load.integer("depth")),
              MapAccess::of(load).is_contiguous_along(1), program);
  }

  std::string type(CudaEmitter& emitter) const {
    emitter.include("staged_layout.cuh");
    const std::string name =
        fmt::format("Staged_{}_{}x{}{}{}", name_of(dtype), lines, depth,
                    depth_is_contiguous ? "" : "_by_lines", shares > 1 ? "_shared" : "");
    return emitter.type_alias(
        name, fmt::format("tw::StagedTile<{}, {}, {}, {}{}>", device_type(dtype),
                          emitter.size(lines), emitter.size(depth), depth_is_contiguous,
                          shares > 1 ? fmt::format(", {}", shares) : ""));
  }
  /// Elements of a box of its tensor map, along what is contiguous and along the other dimension.
  std::pair<std::int64_t, std::int64_t> box() const {
    const std::int64_t inner = device::kPanelRowBytes / num_bytes(dtype);
    const std::int64_t outer = (depth_is_contiguous ? lines : depth) / shares;
    return {inner, device::box_extent(static_cast<int>(outer))};
  }
};

/// A map of a parameter: first the dimension of neighbours, then the tile's other one, then the
/// parameter's others, in which a box has one element.
TensorMapSpec map_of(const Program& program, const MapAccess& access,
                     std::pair<std::int64_t, std::int64_t> box) {
  TensorMapSpec map;
  while (program.parameters.at(static_cast<std::size_t>(map.parameter)).value != access.parameter) {
    ++map.parameter;
  }
  map.dtype = access.tile->type.dtype;
  const int last = access.parameter->type.rank() - 1;
  const std::size_t other = access.is_contiguous_along(1) ? 0 : 1;
  map.dimensions = {last, static_cast<int>(access.dimensions.at(other))};
  for (int i = last; i >= 0; --i) {
    if (std::ranges::find(map.dimensions, i) == map.dimensions.end()) map.dimensions.push_back(i);
  }
  if (access.rank != nullptr) map.dimensions.push_back(TensorMapSpec::kLsaRank);
  map.box.assign(map.dimensions.size(), 1);
  map.box[0] = box.first;
  map.box[1] = box.second;
  map.swizzle = TensorMapSpec::Swizzle::k128Bytes;
  map.rounds_to_tf32 = map.dtype == DType::kF32;  // what products of f32 are staged for
  return map;
}

/// `m, n`: where a tile begins, in the order of its map.
std::string coordinates_text(const TensorMapSpec& map, const MapAccess& access,
                             const CudaEmitter& emitter) {
  std::vector<std::string> texts;
  for (const int dimension : map.dimensions) {
    const Value* coordinate = dimension == TensorMapSpec::kLsaRank
                                  ? access.rank
                                  : access.coordinates.at(static_cast<std::size_t>(dimension));
    texts.push_back(
        fmt::format("static_cast<int>({})", emitter.operand(coordinate, Binding::kChoose)));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// Of an `operand_load`.
TensorMapSpec map_of(const Program& program, const Statement& load) {
  return map_of(program, MapAccess::of(load), StagedOperand::of_load(load, program).box());
}

/// The map of an `operand_load`, and where its tile begins.
std::pair<std::string, std::string> map_arguments(const Statement& statement,
                                                  const CudaEmitter& emitter) {
  const TensorMapSpec map = map_of(emitter.program(), statement);
  const std::vector<TensorMapSpec> maps = tensor_maps_of(emitter.program());
  const auto number = std::ranges::find(maps, map) - maps.begin();
  return {emitter.tensor_map(static_cast<int>(number)),
          coordinates_text(map, MapAccess::of(statement), emitter)};
}

/// What a product's operands take of a slot.
std::int64_t bytes_brought(const Program& lowered, std::int64_t product) {
  std::int64_t bytes = 0;
  for_each_statement(lowered.body, [&](const Statement& statement) {
    if (!statement.is("operand_load") || statement.integer("product") != product) return;
    const Type& tile = statement.result()->type;
    bytes =
        std::max(bytes, statement.integer("offset") + tile.num_elements() * num_bytes(tile.dtype));
  });
  return bytes;
}

}  // namespace

bool goes_as_rows(const Statement& statement) {
  constexpr int kLeastBytes = 8;  // of a load's vector: smaller ones gain nothing
  const bool is_load = statement.is("tile_load");
  if (!is_load && !statement.is("tile_store")) return false;
  if (statement.flag("where") || statement.has("gather") || statement.flag("other")) return false;
  const Type& tile = is_load ? statement.result()->type : statement.operands.at(1)->type;
  const std::int64_t vector_bytes = statement.integer("vector") * num_bytes(tile.dtype);
  if (is_load && (vector_bytes < kLeastBytes || num_bytes(tile.dtype) > 4)) return false;
  return tile.layout.kind == Layout::Kind::kFragment && tile.shape.back() != 1;
}

int StagingPlan::num_bytes() const { return copy_offset() + copy_bytes; }

StagingPlan plan_staging(const Program& lowered) {
  StagingPlan plan;
  if (!has_roles(lowered)) return plan;
  std::int64_t wanted = 0;
  bool has_rows = false;
  bool has_bulk_copies = false;
  for_each_statement(lowered.body, [&](const Statement& statement) {
    if (is_staged(statement)) {
      plan.slot_bytes = std::max(plan.slot_bytes, static_cast<int>(slot_bytes(statement)));
      if (statement.has("stages")) wanted = std::max(wanted, statement.integer("stages"));
    } else if (statement.is("view_copy")) {
      has_bulk_copies |= statement.flag("bulk");
    }
    if (is_moved(statement)) {
      plan.moved_bytes = std::max(plan.moved_bytes, moved_bytes(statement));
    } else {
      has_rows |= goes_as_rows(statement);
    }
  });
  if (has_rows) plan.rows_bytes = device::fragment_rows_bytes(lowered.num_threads);
  constexpr int kAlignment = device::kStagedAlignment;
  const int own_bytes = place_shared_memory(lowered).num_bytes + kBarrierBytes +
                        (plan.moved_bytes > 0 ? kTurnsBytes : 0) +
                        static_cast<int>(arrays_waited_for_once(lowered).size()) * kSeenBytes;
  int room = kMaxSharedBytes - (own_bytes + kAlignment - 1) / kAlignment * kAlignment -
             plan.moved_offset() - plan.moved_bytes;
  // Copies that find no room for stages go through registers.
  const bool are_tasks = task_has_bulk_copies(lowered);
  const int copy_bytes = are_tasks ? device::task_copy_shared_bytes()
                                   : device::copy_shared_bytes_of(device::kFewestCopyStages);
  if (has_bulk_copies && room - copy_bytes >= kMinStages * plan.slot_bytes) {
    plan.num_copy_stages = are_tasks ? device::kTaskStages : device::kFewestCopyStages;
    plan.copy_bytes = copy_bytes;
    room -= copy_bytes;
  }
  plan.num_stages = static_cast<int>(std::min<std::int64_t>(wanted > 0 ? wanted : kMaxStages,
                                                            room / std::max(plan.slot_bytes, 1)));
  return plan;
}

std::vector<const Value*> arrays_waited_for_once(const Program& lowered) {
  std::vector<const Value*> arrays;
  for_each_statement(lowered.body, [&arrays](const Statement& statement) {
    if (!statement.is("flag_wait") || !statement.flag("once")) return;
    const Value* array = parameter_behind(statement.operands.at(0));
    if (std::ranges::find(arrays, array) == arrays.end()) arrays.push_back(array);
  });
  return arrays;
}

std::vector<TensorMapSpec> tensor_maps_of(const Program& lowered) {
  std::vector<TensorMapSpec> maps;
  for_each_statement(lowered.body, [&](const Statement& statement) {
    if (!statement.is("operand_load")) return;
    const TensorMapSpec map = map_of(lowered, statement);
    if (std::ranges::find(maps, map) == maps.end()) maps.push_back(map);
  });
  return maps;
}

void emit_operand_load_cuda(const Statement& statement, CudaEmitter& emitter) {
  const std::string slot =
      emitter.shared_name(fmt::format("slot {}", statement.integer("product")), "next");
  if (statement.integer("offset") == 0) {
    const std::int64_t bytes = bytes_brought(emitter.program(), statement.integer("product"));
    const bool is_whole = bytes == plan_staging(emitter.program()).slot_bytes;
    emitter.statement(fmt::format("const auto {} = ring.fill{}();", slot,
                                  is_whole ? "" : fmt::format("<{}>", bytes)));
  }
  const std::string type = StagedOperand::of_load(statement, emitter.program()).type(emitter);
  const auto [map, coordinates] = map_arguments(statement, emitter);
  emitter.statement(fmt::format("{}.load<{}, {}>({}, {});", slot, type, statement.integer("offset"),
                                map, coordinates));
}

void emit_staged_product_cuda(const Statement& matmul, CudaEmitter& emitter) {
  const Matmul product = Matmul::of(matmul);
  emitter.include("staged_matmul.cuh");
  std::vector<std::string> types;
  const std::size_t first = first_staged_operand(matmul);
  for (std::size_t place = first; place < 2; ++place) {
    const Statement& operand = *matmul.operands.at(place)->definition;
    const bool is_transposed =
        place == 0 ? product.left_is_transposed : product.right_is_transposed;
    types.push_back(StagedOperand::of(operand, depth_dimension(place, is_transposed),
                                      operand.flag("by_columns"), emitter.program())
                        .type(emitter));
  }
  const bool is_carried = product.acc != nullptr && product.acc->definition == nullptr;
  const std::string before = is_carried ? emitter.argument(product.acc) : "";
  const std::string name = emitter.updated(matmul.result(), product.acc, "product");
  if (name != before) emitter.statement(fmt::format("tw::prepare({});", name));
  if (first > 0) {
    emitter.include("held_matmul.cuh");
    emitter.statement(fmt::format("tw::multiply_{}<{}>({}, {}, ring);",
                                  matmul.flag("kept") ? "kept" : "held", types.front(), name,
                                  emitter.argument(product.left)));
    return;
  }
  emitter.statement(fmt::format("tw::multiply{}<{}>({}, ring);",
                                product.is_exact_fp8 ? "_exactly" : "", fmt::join(types, ", "),
                                name));
}

void emit_skip_product_cuda(const Statement&, CudaEmitter& emitter) {
  emitter.statement("ring.skip();");
}

void emit_finish_product_cuda(const Statement& statement, CudaEmitter& emitter) {
  const std::string name = emitter.updated(statement.result(), statement.operands.at(0), "product");
  emitter.statement(fmt::format("tw::finish({}, ring);", name));
}

void emit_is_producer_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.define(statement.result(), "tw::is_producer<kThreads>()");
}

void emit_give_index_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.define_here(
      statement.result(),
      fmt::format("index_ring.give(launch_counters.draw({}))", statement.integer("counter")),
      "next");
}

void emit_take_index_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.define_here(statement.result(), "index_ring.take()", "next");
}

void emit_hand_over_cuda(const Statement&, CudaEmitter& emitter) {
  emitter.statement("hand_over.give();");
}

void emit_await_hand_over_cuda(const Statement&, CudaEmitter& emitter) {
  emitter.statement("hand_over.await();");
}

void emit_nothing_cuda(const Statement&, CudaEmitter&) {}

std::string CudaEmitter::rows_place() const {
  const int ring_bytes = has_roles_ ? plan_staging(program_).ring_bytes()
                                    : plan_common_ring(program_, description_.target).ring_bytes();
  return fmt::format("staged + {}", ring_bytes);
}

}  // namespace tilewire
