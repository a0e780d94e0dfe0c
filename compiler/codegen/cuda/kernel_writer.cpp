#include "compiler/codegen/cuda/kernel_writer.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/codegen/cuda/common_ring.h"
#include "compiler/codegen/cuda/register_pressure.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

/// Smaller numbers are too common to stand for the user's constant.
constexpr std::int64_t kLeastNamedSize = 16;

/// Above it a thread's part of a tile lives in local memory in any case, and loops over it that
/// were unrolled would take minutes to compile.
constexpr std::int64_t kMostUnrolledElements = 128;

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

void KernelWriter::write_signature() {
  Writer& writer = emitter_.writer_;
  const CommonRingPlan ring = plan_common_ring(program_, description_.target);
  const int num_ctas = ring.slot_bytes > 0
                           ? ring.num_ctas
                           : resident_ctas(program_, max_threads_of_sm(description_.target));
  const std::string_view beside =
      emitter_.has_roles() ? "tw::kWarpgroupThreads" : "tw::kWarpThreads";
  writer.raw_line(
      emitter_.has_roles() || emitter_.has_task()
          ? fmt::format("extern \"C\" __global__ void __launch_bounds__(kThreads + {}, 1)", beside)
          : fmt::format("extern \"C\" __global__ void __launch_bounds__(kThreads, {})", num_ctas));
  writer.open(fmt::format("{}({})", description_.entry, fmt::join(arguments_, ", ")));
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
    if (emitter_.has_few_registers()) {
      writer.raw_line(
          "#define TILEWIRE_FEW_REGISTERS  // beside those of tiles: places are computed again");
    }
    writer.blank();
    emitter_.include("roles.cuh");
  } else if (emitter_.has_task()) {
    writer.raw_line(
        fmt::format("#define TILEWIRE_CONSUMERS {}  // threads that meet: all but the task's",
                    program_.num_threads));
    writer.blank();
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
