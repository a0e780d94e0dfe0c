#include "compiler/codegen/cuda/kernel_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "compiler/codegen/cuda/multimem.h"
#include "compiler/codegen/cuda/register_pressure.h"
#include "compiler/codegen/cuda/staging.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/multimem.h"
#include "compiler/ops/op.h"
#include "compiler/ops/put.h"
#include "compiler/support/error.h"
#include "templates/tilewire/copy_layout.cuh"

namespace tilewire {
namespace {

/// Smaller numbers are too common to stand for the user's constant.
constexpr std::int64_t kLeastNamedSize = 16;

/// Above it a thread's part of a tile lives in local memory in any case, and loops over it that
/// were unrolled would take minutes to compile.
constexpr std::int64_t kMostUnrolledElements = 128;

/// `signal sem`: what an op on synchronisation objects does, of which one.
std::string object_story(const Statement& statement) {
  if (statement.operands.empty()) return std::string(statement.op->name);
  const Value* place = statement.operands[0];
  if (place->definition != nullptr) place = place->definition->operands.at(0);
  const std::string_view name = statement.op->name;
  return fmt::format("{} {}", name.substr(name.find('_') + 1), place->name);
}

/// The same of what goes over the network.
std::string network_story(const Statement& statement) {
  if (statement.is("network_flush")) return "flush";
  const std::string_view word = statement.is("network_signal") ? "signal"
                                : statement.is("network_get")  ? "get"
                                                               : "put to";
  const Value* object = statement.operands.at(statement.is("network_get") ? 2 : 0);
  return fmt::format("{} {}", word, object->name);
}

/// What a statement does, in a word or two; empty where only the generated text would care.
std::string story_of(const Statement& statement, const Artifact& description) {
  if (statement.kind == StatementKind::kFor) return "for";
  if (statement.kind == StatementKind::kWhile) return "while";
  if (statement.kind == StatementKind::kIf) return "if";
  if (statement.kind == StatementKind::kReturn) return "return";
  if (statement.kind == StatementKind::kYield || statement.is("constant")) return "";
  if (statement.op->wait_site != nullptr) {
    return description.wait_sites.at(static_cast<std::size_t>(statement.integer("site"))).what;
  }
  if (statement.op->name.starts_with("network_")) return network_story(statement);
  if (statement.op->effect == Effect::kSynchronises) return object_story(statement);
  if (statement.is("operand_load")) return "bring " + statement.operands.at(0)->name;
  for (const char* name : {"staged_operand", "finish_product", "hand_over", "await_hand_over",
                           "give_index", "take_index"}) {
    if (statement.is(name)) return "";
  }
  if (statement.is("fence_aliases")) return "";
  if (is_multimem(statement)) {
    const std::string& window = parameter_behind(statement.operands.at(0))->name;
    if (statement.is("multimem_store")) return fmt::format("store to all copies of {}", window);
    return fmt::format("{} {} all copies of {}", statement.text("operation"),
                       statement.is("multimem_load") ? "of" : "into", window);
  }
  if (statement.is("tile_load") || statement.is("tile_store") || statement.is("tile_prefetch")) {
    const Statement* address = statement.operands.at(0)->definition;
    if (address != nullptr && address->is("pointer_cast")) {
      address = address->operands.at(0)->definition;
    }
    const std::string_view word = statement.op->name.substr(std::string_view("tile_").size());
    if (address == nullptr || address->operands.empty()) return std::string(word);
    return fmt::format("{} {}", word, address->operands.front()->name);
  }
  if (statement.is("view_copy")) {
    const auto name = [&](std::size_t operand) {
      const Statement* address = statement.operands.at(operand)->definition;
      if (address->is("pointer_cast")) address = address->operands.at(0)->definition;
      return address->operands.at(0)->name;
    };
    return fmt::format("put {} to {}", name(1), name(0));
  }
  if (statement.is("tile_atomic")) {
    const Statement* address = statement.operands.at(0)->definition;
    return fmt::format("atomic {} {}", statement.text("kind"), address->operands.front()->name);
  }
  for (const Value* result : statement.results) {
    if (result->type.is_pointer() || result->type == Type::scalar(kIndex)) return "";
  }
  return std::string(statement.op->name);
}

/// Threads that an SM of the architecture can hold: the large chips' more than the others'.
int max_threads_of_sm(const Target& target) {
  const int capability = target.compute_capability;
  return capability == 80 || capability == 90 || capability / 10 == 10 ? 2048 : 1536;
}

/// Whether a thread has so many elements of some tile that the loops over them stay loops.
bool rolls_loops(const Program& program) {
  bool is_large = false;
  for_each_statement(program.body, [&](const Statement& statement) {
    for (const Value* result : statement.results) {
      is_large |= result->type.is_tile() &&
                  result->type.num_elements() > kMostUnrolledElements * program.num_threads;
    }
  });
  return is_large;
}

/// Ends the stretches that count lines of the user's file: what follows is `file`'s own line again.
std::string with_own_lines(const std::string& text, const std::string& file) {
  std::string result;
  std::size_t line = 1;
  for (std::size_t begin = 0; begin < text.size(); ++line) {
    const std::size_t end = text.find('\n', begin);
    const std::string_view own = std::string_view(text).substr(begin, end - begin);
    result += own == CudaEmitter::kLineMark ? fmt::format("#line {} \"{}\"", line + 1, file)
                                            : std::string(own);
    result += '\n';
    begin = end + 1;
  }
  return result;
}

}  // namespace

KernelWriter::KernelWriter(const Program& lowered, const Artifact& description)
    : program_(lowered), description_(description), emitter_(lowered, description) {}

std::string KernelWriter::write() {
  if (program_.num_threads <= 0) throw InternalError("the program has no layout yet");
  for_each_statement(program_.body, [this](const Statement& statement) {
    has_barrier_ |= statement.is("lsa_barrier");
    has_network_barrier_ |= statement.is("network_barrier");
    if (statement.is("network_grid_barrier")) {
      has_network_barrier_ = has_local_grid_barrier_ = true;
      has_barrier_ |= statement.text("team") == "world" && program_.lsa_size > 1;
    }
    if (!statement.is("grid_barrier")) return;
    (statement.text("team") == "local" ? has_local_grid_barrier_ : has_grid_barrier_) = true;
  });
  name_sizes();
  name_arguments();
  write_signature();
  write_preamble();
  write_region(program_.body);
  emitter_.writer_.close();
  return with_own_lines(top() + body_with_stories(), program_.name + ".cu");
}

/// The user's integer constants, where each stands for a number of its own.
void KernelWriter::name_sizes() {
  std::map<std::int64_t, int> counts;
  for (const auto& [name, value] : program_.constants) {
    if (const auto* integer = std::get_if<std::int64_t>(&value)) ++counts[*integer];
  }
  for (const auto& [name, value] : program_.constants) {
    const auto* integer = std::get_if<std::int64_t>(&value);
    if (integer == nullptr || *integer < kLeastNamedSize || counts[*integer] > 1) continue;
    emitter_.named_sizes_[*integer] = emitter_.names_.make(name);
  }
}

void KernelWriter::name_arguments() {
  for (const ArgumentSlot& slot : description_.arguments) {
    arguments_.push_back(argument_text(slot));
  }
}

/// Names the argument, binds the value that it holds, and gives its declaration.
std::string KernelWriter::argument_text(const ArgumentSlot& slot) {
  using Kind = ArgumentSlot::Kind;
  const auto index = static_cast<std::size_t>(slot.index);
  const auto named = [this](const std::string& hint, const Value* value) {
    std::string name = emitter_.names_.make(hint);
    if (value != nullptr) emitter_.bind(value, name);
    return name;
  };
  switch (slot.kind) {
    case Kind::kTensor: {
      const Parameter& parameter = program_.parameters.at(index);
      return fmt::format("{}* {}", device_type(parameter.dtype),
                         named(parameter.name, parameter.value));
    }
    case Kind::kWindow: {
      emitter_.include("abi.cuh");
      const Parameter& parameter = program_.parameters.at(index);
      return fmt::format("const __grid_constant__ tw::WindowHandle {}",
                         named(parameter.name, parameter.value));
    }
    case Kind::kScalar: {
      const Parameter& parameter = program_.parameters.at(index);
      return fmt::format("{} {}", device_type(parameter.dtype),
                         named(parameter.name, parameter.value));
    }
    case Kind::kExtent: {
      const auto& [name, value] = program_.dimensions.at(index);
      return fmt::format("int64_t {}", named(name, value));
    }
    case Kind::kStride: {
      const Parameter& parameter = program_.parameters.at(index);
      const std::string name =
          named(fmt::format("{}_stride_{}", parameter.name, slot.dimension), nullptr);
      emitter_.strides_[{parameter.value, slot.dimension}] = name;
      return fmt::format("int64_t {}", name);
    }
    case Kind::kDeviceComm:
      has_comm_ = true;
      return "const __grid_constant__ ncclDevComm comm";
    case Kind::kLane:
      emitter_.include("abi.cuh");
      return "const __grid_constant__ tw::Lane lane";
    case Kind::kCounters:
      return "uint64_t* counter_words";
    case Kind::kTensorMap: {
      emitter_.include("abi.cuh");
      const TensorMapSpec& map = description_.tensor_maps.at(index);
      const std::string& parameter =
          program_.parameters.at(static_cast<std::size_t>(map.parameter)).name;
      emitter_.tensor_maps_[slot.index] = named(parameter + "_map", nullptr);
      return fmt::format("const __grid_constant__ tw::TensorMap {}",
                         emitter_.tensor_maps_[slot.index]);
    }
  }
  throw InternalError("an argument of unknown kind");
}

/// What happens on each line of the user's program that has text of its own.
std::map<std::string, std::string> KernelWriter::stories() const {
  std::map<CudaEmitter::Place, std::vector<std::string>> words;
  for_each_statement(program_.body, [&](const Statement& statement) {
    const std::string word = story_of(statement, description_);
    if (word.empty() || !statement.location.is_known()) return;
    auto& list = words[{statement.location.file_name(), statement.location.line}];
    if (std::ranges::find(list, word) == list.end()) list.push_back(word);
  });
  std::map<std::string, std::string> stories;
  for (const CudaEmitter::Place& place : emitter_.told_places_) {
    const std::string name = fmt::format("{}:{}", place.first, place.second);
    const auto what = words.find(place);
    stories[name] =
        fmt::format("{}. {}{}", stories.size() + 1, name,
                    what == words.end() ? "" : fmt::format(": {}", fmt::join(what->second, ", ")));
  }
  return stories;
}

std::string KernelWriter::body_with_stories() const {
  const auto comments = stories();
  const std::string& text = emitter_.writer_.text();
  std::string result;
  std::size_t at = 0;
  for (std::size_t mark = text.find(CudaEmitter::kPlaceMark); mark != std::string::npos;
       mark = text.find(CudaEmitter::kPlaceMark, at)) {
    const std::size_t end = text.find('\n', mark);
    result.append(text, at, mark - at).append(comments.at(text.substr(mark + 1, end - mark - 1)));
    at = end;
  }
  return result.append(text, at);
}

void KernelWriter::write_signature() {
  Writer& writer = emitter_.writer_;
  const int num_ctas = resident_ctas(program_, max_threads_of_sm(description_.target));
  writer.raw_line(
      emitter_.has_roles()
          ? "extern \"C\" __global__ void __launch_bounds__(kThreads + tw::kWarpgroupThreads, 1)"
          : fmt::format("extern \"C\" __global__ void __launch_bounds__(kThreads, {})", num_ctas));
  writer.open(fmt::format("{}({})", description_.entry, fmt::join(arguments_, ", ")));
}

void KernelWriter::write_preamble() {
  Writer& writer = emitter_.writer_;
  if (emitter_.plan_.num_shared_bytes > 0) {
    writer.line(
        fmt::format("__shared__ alignas(16) char shared[{}];", emitter_.plan_.num_shared_bytes));
  }
  if (description_.resources.two_sided) {
    emitter_.include("launch_guard.cuh");
    writer.line("tw::LaunchGuard<kThreads> launch(lane, comm.rank);");
  }
  write_peer_addresses();
  write_multicast_addresses();
  if (description_.launch.num_counters > 0) {
    emitter_.include("counters.cuh");
    writer.line(fmt::format("const tw::Counters<{}> launch_counters(counter_words);",
                            description_.launch.num_counters));
  }
  if (emitter_.has_roles()) writer.line("extern __shared__ __align__(1024) char staged[];");
  write_copier();
  write_barriers();
  write_network();
}

/// Behind the book-keeping of the launch: its destructor comes first.
void KernelWriter::write_network() {
  if (!description_.resources.network) return;
  emitter_.include("network.cuh");
  emitter_.writer_.line(
      "tw::Network network(comm, lane);  // ncclGin(comm, program id % lane.num_contexts)");
}

/// The ring between producer and consumers, behind which all threads know that it is ready.
void KernelWriter::write_staging() {
  Writer& writer = emitter_.writer_;
  const StagingPlan plan = plan_staging(program_);
  bool hands_over = false;
  bool gives_indices = false;
  for_each_statement(program_.body, [&](const Statement& statement) {
    hands_over |= statement.is("hand_over");
    gives_indices |= statement.is("give_index");
  });
  writer.line(fmt::format(
      "using StagedRing = tw::Ring<{}, {}, kThreads{}>;", plan.num_stages, plan.slot_bytes,
      program_.cluster_size > 1 ? fmt::format(", {}", program_.cluster_size) : ""));
  writer.line("__shared__ alignas(8) char ring_barriers[StagedRing::kBarriersBytes];");
  if (hands_over) {
    emitter_.include("hand_over.cuh");
    writer.line("__shared__ uint32_t handed_over;");
    writer.line("tw::HandOver hand_over(handed_over);");
  }
  if (gives_indices) {
    emitter_.include("index_ring.cuh");
    writer.line("__shared__ alignas(8) char index_places[tw::IndexRing<kThreads>::kBytes];");
    writer.line("tw::IndexRing<kThreads> index_ring(index_places);");
  }
  emitter_.include("ring.cuh");
  if (!emitter_.tensor_maps_.empty()) {
    writer.open("if (threadIdx.x == kThreads)");
    for (const auto& [number, name] : emitter_.tensor_maps_) {
      writer.line(fmt::format("tw::prefetch_map({});", name));
    }
    writer.close();
  }
  writer.line("StagedRing ring(staged, ring_barriers);");
}

void KernelWriter::write_copier() {
  if (!has_view_copies(program_)) return;
  Writer& writer = emitter_.writer_;
  int num_stages = 0;
  std::string stages = "nullptr";
  if (emitter_.has_roles()) {
    const StagingPlan plan = plan_staging(program_);
    num_stages = plan.num_copy_stages;
    if (num_stages > 0) stages = fmt::format("staged + {}", plan.copy_offset());
  } else if (has_bulk_copies(program_, description_.target)) {
    num_stages = device::num_copy_stages(description_.target.compute_capability);
    stages = "copy_stages";
    writer.line("extern __shared__ __align__(128) char copy_stages[];");
  }
  writer.line(fmt::format("tw::Copier<kThreads, {}> copier({});", num_stages, stages));
}

void KernelWriter::write_barriers() {
  if (!has_barrier_ && !has_local_grid_barrier_ && !has_grid_barrier_ && !has_network_barrier_) {
    return;
  }
  Writer& writer = emitter_.writer_;
  const int num_ranks = description_.target.lsa_size;
  writer.line(
      "const uint32_t slot = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);");
  if (has_barrier_) {
    emitter_.include("lsa_barrier.cuh");
    writer.line(fmt::format("tw::LsaBarrier<{}, kThreads> barrier(comm, lane, slot);", num_ranks));
  }
  if (has_network_barrier_) {
    emitter_.include("network_barrier.cuh");
    writer.line(fmt::format("tw::NetworkBarrier<{}, {}> network_barrier(comm, lane, slot);",
                            description_.target.world_size, num_ranks));
  }
  if (has_local_grid_barrier_) {
    emitter_.include("grid_barrier.cuh");
    writer.line("tw::LocalGridBarrier local_grid_barrier(comm, lane, slot);");
  }
  if (has_grid_barrier_) {
    writer.line(fmt::format("tw::LsaGridBarrier<{}> grid_barrier(comm, lane, slot);", num_ranks));
  }
}

/// NCCL's window handles, and the addresses at ranks that are constants. They are read from NCCL's
/// structs in device memory: here that is over before the first wait is.
void KernelWriter::write_peer_addresses() {
  Writer& writer = emitter_.writer_;
  for_each_statement(program_.body, [&](const Statement& statement) {
    if (!statement.is("address") || !statement.flag("peer")) return;
    const Value* view = statement.operands.at(0);
    const Value* rank = statement.operands.at(1);
    if (!emitter_.windows_.contains(view)) write_window(view);
    const auto constant = constant_rank(rank);
    if (!constant || emitter_.peer_addresses_.contains({view, *constant})) return;
    const std::string address = emitter_.peer_address(view, rank);
    const std::string name =
        emitter_.names_.make(fmt::format("{}_rank_{}", emitter_.parameter(view), *constant));
    writer.line(fmt::format("{}* const {} = {};", device_type(view->type.dtype), name, address));
    emitter_.peer_addresses_[{view, *constant}] = name;
  });
}

/// The same of addresses that stand for all copies, and what finds each copy where some elements
/// are written one by one.
void KernelWriter::write_multicast_addresses() {
  Writer& writer = emitter_.writer_;
  std::set<const Value*> views;
  std::set<const Value*> found;
  for_each_statement(program_.body, [&](const Statement& statement) {
    if (!is_multimem(statement)) return;
    const Value* view = parameter_behind(statement.operands.at(0));
    const std::string& name = emitter_.parameter(view);
    const bool is_first = views.insert(view).second;
    if (is_first && !emitter_.windows_.contains(view)) write_window(view);
    const std::string window = emitter_.window(view);
    if (is_first) {
      writer.line(fmt::format(
          "{0}* const {1} = static_cast<{0}*>(ncclGetLsaMultimemPointer({2}, {3}.offset, comm));",
          device_type(view->type.dtype), emitter_.multicast_address(view), window, name));
    }
    if (!writes_single_copies(statement) || !found.insert(view).second) return;
    writer.line(
        fmt::format("const tw::Copies<{0}> {1}({2}, ncclGetLsaPointer({3}, {4}.offset, 0), "
                    "ncclGetLsaPointer({3}, {4}.offset, 1));",
                    description_.target.lsa_size, emitter_.copies(view),
                    emitter_.multicast_address(view), window, name));
  });
}

void KernelWriter::write_window(const Value* view) {
  emitter_.writer_.line(fmt::format("const ncclWindow_t {} = static_cast<ncclWindow_t>({}.window);",
                                    emitter_.window(view), emitter_.parameter(view)));
}

std::string KernelWriter::top() {
  Writer writer;
  write_description(writer);
  writer.blank();
  if (has_comm_) {
    writer.raw_line("#include <nccl_device.h>");
    writer.blank();
  }
  if (rolls_loops(program_)) {
    writer.raw_line(
        "#define TILEWIRE_TILES_IN_LOCAL_MEMORY  // the loops over a thread's elements stay");
    writer.blank();
  }
  if (emitter_.has_roles()) {
    writer.raw_line(
        fmt::format("#define TILEWIRE_CONSUMERS {}  // threads that meet: all but the producer's",
                    program_.num_threads));
    writer.blank();
    emitter_.include("roles.cuh");
  }
  if (emitter_.includes_.empty()) emitter_.include("base.cuh");
  for (const std::string& header : emitter_.includes_) {
    writer.raw_line(fmt::format("#include \"tilewire/{}\"", header));
  }
  writer.blank();
  writer.raw_line("namespace tw = tilewire::device;");
  writer.blank();
  writer.line(fmt::format("constexpr int kThreads = {};", program_.num_threads));
  for (const auto& [number, name] : emitter_.named_sizes_) {
    writer.line(fmt::format("constexpr int {} = {};", name, number));
  }
  writer.blank();
  for (const auto& [name, meaning] : emitter_.tile_aliases_) {
    writer.line(fmt::format("using {} = {};", name, meaning));
  }
  writer.blank();
  std::string text = writer.text();
  for (const std::string& function : emitter_.device_functions_) text += function + '\n';
  return text;
}

}  // namespace tilewire
