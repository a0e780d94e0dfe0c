#include "compiler/ops/network.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/network.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"
#include "compiler/ops/object_access.h"

namespace tilewire {
namespace {

constexpr AttributeSpec kPredicated = {"predicated", AttributeSpec::Kind::kBool, false,
                                       "the last operand, a bool, says whether anything happens"};
constexpr AttributeSpec kSite = {"site", AttributeSpec::Kind::kInteger, true,
                                 "its number in hang reports"};
constexpr AttributeSpec kOrder = {"order", AttributeSpec::Kind::kText, true, "as for `barrier`"};
constexpr AttributeSpec kTeam = {"team", AttributeSpec::Kind::kText, true, "`world` or `rail`"};

void require_window(const OpCall& call, std::size_t operand) {
  const Type& type = require_view(call, operand);
  if (type.memory == Memory::kWindow) return;
  call.fail(fmt::format("the network reaches windows, found {}", type.to_string()));
}

void check_copy(const OpCall& call) {
  if (call.operands.size() < NetworkCopy::kNumPlaces + 3 ||
      (call.operands.size() - NetworkCopy::kNumPlaces) % 3 != 0) {
    call.fail(
        "operands: two places and a rank, then extent, to's stride and from's for each "
        "dimension");
  }
  for (std::size_t i = NetworkCopy::kNumPlaces; i < call.operands.size(); ++i)
    require_index(call, i);
}

std::vector<Type> infer_put(const OpCall& call) {
  check_copy(call);
  require_window(call, 0);
  require_index(call, 1);
  require_index(call, 2);
  require_window(call, 3);
  require_index(call, 4);
  return {};
}

std::vector<Type> infer_get(const OpCall& call) {
  check_copy(call);
  require_window(call, 0);
  require_index(call, 1);
  require_window(call, 2);
  require_index(call, 3);
  require_index(call, 4);
  return {};
}

std::vector<Type> infer_store(const OpCall& call) {
  require_window(call, 0);
  require_index(call, 1);
  require_index(call, 2);
  const auto& shape = integers_attribute(call, "shape");
  const DType dtype = call.operands[NetworkStore::kNumPlaces].dtype;
  const Type tile = shape.empty() ? Type::scalar(dtype) : Type::tile(dtype, shape);
  check_fits(call, call.operands[NetworkStore::kNumPlaces], tile, "the value");
  check_access(call, tile, NetworkStore::kNumPlaces + 1);
  return {};
}

std::vector<Type> infer_signal(const OpCall& call) {
  require_object(call, 0, Memory::kSemaphore);
  require_index(call, 1);
  require_index(call, 2);
  if (call.operands[3] != Type::scalar(DType::kU32)) call.fail("the number of signals is u32");
  const bool is_predicated = flag_attribute(call, "predicated");
  if (call.operands.size() != (is_predicated ? 5U : 4U) ||
      (is_predicated && call.operands.back() != Type::scalar(DType::kBool))) {
    call.fail("operands: semaphore, rank, element, n, a bool if predicated");
  }
  require_one_of(call, "order", {"release", "relaxed"});
  return {};
}

std::vector<Type> infer_flush(const OpCall&) { return {}; }

std::vector<Type> infer_barrier(const OpCall& call) {
  require_one_of(call, "team", {"world", "rail"});
  require_one_of(call, "order", {"acq_rel", "acquire", "release", "relaxed"});
  return {};
}

Resources needs_network(const Statement&) {
  Resources resources;
  resources.lane = resources.network = true;
  return resources;
}

Resources needs_staging(const Statement& statement) {
  Resources resources = needs_network(statement);
  resources.staging_bytes = staged_bytes(statement);
  return resources;
}

Resources needs_barrier(const Statement& statement) {
  Resources resources = needs_network(statement);
  resources.world_barrier = resources.waits = resources.two_sided = true;
  return resources;
}

Resources needs_grid_barrier(const Statement& statement) {
  Resources resources = needs_barrier(statement);
  resources.grid_barrier = true;
  return resources;
}

std::string describe_barrier(const Statement& statement, const Program&) {
  return fmt::format("barrier(team={})", statement.text("team"));
}

std::string describe_grid_barrier(const Statement& statement, const Program&) {
  return fmt::format("barrier(team={}, scope=grid)", statement.text("team"));
}

/// constants: dimensions, bytes of an element, the user's line.
template <const std::string_view& kName>
void emit_cpu_copy(const Statement& statement, CpuEmitter& emitter) {
  const NetworkCopy copy = NetworkCopy::of(statement);
  const std::int64_t constants[] = {static_cast<std::int64_t>(copy.dimensions.size()),
                                    copy.element_bytes, statement.location.line};
  emitter.call_reference(statement, kName, constants);
}

/// constants: the user's line, dimensions, then 1 or 0 for `predicated` and `where`, the first
/// dimension that is gathered or -1, then for each dimension extent, stride, whether it is masked.
void emit_cpu_store(const Statement& statement, CpuEmitter& emitter) {
  const TileAccess access = NetworkStore::of(statement).access;
  std::vector<std::int64_t> constants = {
      statement.location.line, static_cast<std::int64_t>(access.dimensions.size()),
      access.predicate != nullptr ? 1 : 0, access.where != nullptr ? 1 : 0,
      access.offsets != nullptr ? static_cast<std::int64_t>(access.gather) : -1};
  for (const AccessDimension& dimension : access.dimensions) {
    constants.insert(constants.end(), {dimension.size, dimension.stride, dimension.mask ? 1 : 0});
  }
  emitter.call_reference(statement, "tilewire_network_store", constants);
}

/// constants: the user's line, whether there is a predicate.
void emit_cpu_signal(const Statement& statement, CpuEmitter& emitter) {
  const std::int64_t constants[] = {statement.location.line, statement.flag("predicated") ? 1 : 0};
  emitter.call_reference(statement, "tilewire_network_signal", constants);
}

void emit_cpu_flush(const Statement&, CpuEmitter& emitter) {
  emitter.call_runtime("tilewire_network_flush", {});
}

/// Arguments: the site, whether the team is the rail, whether it releases.
template <const std::string_view& kName>
void emit_cpu_barrier(const Statement& statement, CpuEmitter& emitter) {
  ScalarEmitter& scalars = emitter.scalars();
  const std::string& order = statement.text("order");
  const bool releases = order == "acq_rel" || order == "release";
  const CpuScalar arguments[] = {
      scalars.integer(statement.integer("site"), DType::kU32),
      scalars.integer(statement.text("team") == "rail" ? 1 : 0, DType::kU32),
      scalars.integer(releases ? 1 : 0, DType::kU32)};
  emitter.call_runtime(kName, arguments);
}

constexpr std::string_view kPut = "tilewire_network_put";
constexpr std::string_view kGet = "tilewire_network_get";
constexpr std::string_view kBarrier = "tilewire_network_barrier";
constexpr std::string_view kGridBarrier = "tilewire_network_grid_barrier";

OpInfo lowered_op(std::string_view name, std::string_view summary, Effect effect,
                  std::vector<Type> (*infer)(const OpCall&)) {
  OpInfo op;
  op.name = name;
  op.summary = summary;
  op.effect = effect;
  op.stage = Stage::kLowered;
  op.infer = infer;
  op.resources = needs_network;
  return op;
}

OpInfo copy_op(std::string_view name, std::string_view summary,
               std::vector<Type> (*infer)(const OpCall&)) {
  OpInfo op = lowered_op(name, summary, Effect::kWrites, infer);
  op.min_operands = static_cast<int>(NetworkCopy::kNumPlaces + 3);
  op.max_operands = -1;
  op.attributes = {{"element", AttributeSpec::Kind::kInteger, true, "bytes of one"},
                   {"known", AttributeSpec::Kind::kInteger, true,
                    "bytes that divide places, strides and the last dimension"}};
  return op;
}

std::vector<OpInfo> copy_ops() {
  OpInfo put = copy_op("network_put",
                       "`put` of a view of this rank's own window to one of any rank, over the "
                       "network.",
                       infer_put);
  put.emit_cpu = emit_cpu_copy<kPut>;
  put.emit_cuda = emit_network_put_cuda;
  OpInfo get = copy_op("network_get",
                       "`get` of a view of any rank's window, over the network: complete behind "
                       "`network_flush`.",
                       infer_get);
  get.emit_cpu = emit_cpu_copy<kGet>;
  get.emit_cuda = emit_network_get_cuda;
  return {put, get};
}

OpInfo store_op() {
  OpInfo op = lowered_op("network_store",
                         "`put` of a tile to a window of any rank, over the network: the tile may "
                         "change at once.",
                         Effect::kWrites, infer_store);
  op.min_operands = static_cast<int>(NetworkStore::kNumPlaces + 1);
  op.max_operands = -1;
  op.attributes = access_attributes();
  std::erase_if(op.attributes, [](const AttributeSpec& spec) {
    return spec.name == "other" || spec.name == "constant" || spec.name == "cache";
  });
  op.resources = needs_staging;
  op.emit_cpu = emit_cpu_store;
  op.emit_cuda = emit_network_store_cuda;
  op.cuda_shared_bytes = network_store_shared_bytes;
  return op;
}

OpInfo signal_op() {
  OpInfo op = lowered_op("network_signal",
                         "A signal to a semaphore of any rank, over the network: seen there behind "
                         "all that this instance put to that rank before.",
                         Effect::kSynchronises, infer_signal);
  op.min_operands = 4;
  op.max_operands = 5;
  op.attributes = {kPredicated, kTellingOrder};
  op.meeting = {.tells = true, .waits = false};
  op.emit_cpu = emit_cpu_signal;
  op.emit_cuda = emit_network_signal_cuda;
  return op;
}

OpInfo flush_op() {
  OpInfo op = lowered_op("network_flush",
                         "Waits until what this instance has put over the network is read, and "
                         "what it gets is there.",
                         Effect::kSynchronises, infer_flush);
  op.meeting = {.tells = false, .waits = true};
  op.emit_cpu = emit_cpu_flush;
  op.emit_cuda = emit_network_flush_cuda;
  return op;
}

OpInfo barrier_op(std::string_view name, std::string_view summary) {
  OpInfo op = lowered_op(name, summary, Effect::kSynchronises, infer_barrier);
  op.attributes = {kTeam, kOrder, kSite};
  return op;
}

std::vector<OpInfo> barrier_ops_of_network() {
  OpInfo barrier = barrier_op("network_barrier",
                              "A barrier between one instance of this rank and of each rank of the "
                              "team that loads and stores don't reach.");
  barrier.resources = needs_barrier;
  barrier.wait_site = describe_barrier;
  barrier.emit_cpu = emit_cpu_barrier<kBarrier>;
  barrier.emit_cuda = emit_network_barrier_cuda;
  OpInfo grid = barrier_op("network_grid_barrier",
                           "A barrier between all instances of all ranks of a team that the "
                           "network joins.");
  grid.resources = needs_grid_barrier;
  grid.wait_site = describe_grid_barrier;
  grid.emit_cpu = emit_cpu_barrier<kGridBarrier>;
  grid.emit_cuda = emit_network_grid_barrier_cuda;
  return {barrier, grid};
}

}  // namespace

std::vector<OpInfo> network_ops() {
  std::vector<OpInfo> ops = copy_ops();
  ops.insert(ops.end(), {store_op(), signal_op(), flush_op()});
  for (const OpInfo& barrier : barrier_ops_of_network()) ops.push_back(barrier);
  return ops;
}

}  // namespace tilewire
