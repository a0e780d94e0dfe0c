#include "compiler/codegen/cuda/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "compiler/ops/report.h"
#include "templates/tilewire/report_layout.cuh"

namespace tilewire {
namespace {

/// A call of printf under construction. The format has no values in its text: `%` is doubled.
struct Line {
  std::string format;
  std::vector<std::string> arguments;

  void say(std::string_view text) {
    for (const char c : text) {
      format += c;
      if (c == '%') format += c;
    }
  }
  void show(DType dtype, std::string argument) {
    format += is_float(dtype)         ? "%g"
              : dtype == DType::kBool ? "%s"
              : is_signed(dtype)      ? "%lld"
                                      : "%llu";
    arguments.push_back(std::move(argument));
  }
  void show_int(std::string argument) {
    format += "%d";
    arguments.push_back(std::move(argument));
  }
};

/// A C++ string literal.
std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '\n') {
      result += "\\n";
    } else {
      if (c == '"' || c == '\\') result += '\\';
      result += c;
    }
  }
  return result + '"';
}

std::string call_of(const Line& line) {
  std::string text = fmt::format("printf({}", quoted(line.format));
  for (const std::string& argument : line.arguments) text += ", " + argument;
  return text + ")";
}

/// `program (3, 0, 0)`, with the rank in a world of several.
void say_who(Line& line, const Report& report, CudaEmitter& emitter) {
  if (report.rank != nullptr) {
    line.say("rank ");
    line.show_int(fmt::format("static_cast<int>({})", emitter.argument(report.rank)));
    line.say(", ");
  }
  line.say("program (");
  line.show_int("blockIdx.x");
  line.say(", ");
  line.show_int("blockIdx.y");
  line.say(", ");
  line.show_int("blockIdx.z");
  line.say(")");
}

/// `[3, 4]`: the coordinates of the element `index` of a shape.
void say_element(Line& line, const std::vector<std::int64_t>& shape) {
  line.say("[");
  std::int64_t inner = 1;
  for (const std::int64_t extent : shape) inner *= extent;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    inner /= shape[i];
    std::string coordinate = inner > 1 ? fmt::format("index / {}", inner) : "index";
    if (i > 0) coordinate += fmt::format(" % {}", shape[i]);
    if (i > 0) line.say(", ");
    line.show_int(coordinate);
  }
  line.say("]");
}

std::string place_of(const Statement& statement) {
  return fmt::format("{}:{}", statement.location.file_name(), statement.location.line);
}

/// The text with values at the element `slot` of each tile.
void say_values(Line& line, const Report& report, CudaEmitter& emitter) {
  const std::vector<std::string> pieces = report_pieces(report.text);
  line.say(pieces.front());
  for (std::size_t i = 0; i < report.values.size(); ++i) {
    const Value* value = report.values[i];
    const std::string argument = emitter.argument(value);
    line.show(value->type.dtype, value->type.is_tile()
                                     ? fmt::format("tw::printable(tw::element({}, slot))", argument)
                                     : fmt::format("tw::printable({})", argument));
    line.say(pieces[i + 1]);
  }
}

const Value* first_tile(const Report& report) {
  for (const Value* value : report.values) {
    if (value->type.is_tile()) return value;
  }
  return nullptr;
}

/// `[1, 2, …, 9]`, from shared memory.
void say_shown(Line& line, const Type& tile, const std::string& shared) {
  const int elements = static_cast<int>(tile.num_elements());
  line.say("[");
  for (int place = 0; place < device::shown_elements(elements); ++place) {
    const bool is_gap = place > 0 && device::shown_element(elements, place) !=
                                         device::shown_element(elements, place - 1) + 1;
    if (place > 0) line.say(is_gap ? ", …, " : ", ");
    line.show(tile.dtype,
              fmt::format("tw::shown<{}>({}, {})", device_type(tile.dtype), shared, place));
  }
  line.say("]");
}

void print_all(const Statement& statement, const Report& report, CudaEmitter& emitter) {
  const Value* tile = first_tile(report);
  Line line;
  line.say("[");
  say_who(line, report, emitter);
  line.say("] " + place_of(statement) + ": ");
  say_element(line, tile->type.shape);
  line.say(" ");
  say_values(line, report, emitter);
  line.say("\n");
  emitter.statement(
      fmt::format("tw::for_each_element({}, [&](int index, int slot) {{", emitter.argument(tile)));
  emitter.statement(fmt::format("  {};", call_of(line)));
  emitter.statement("});");
}

}  // namespace

int print_shared_bytes(const Statement& statement, int) {
  if (statement.flag("all")) return 0;
  int num_tiles = 0;
  for (const Value* value : statement.operands) num_tiles += value->type.is_tile() ? 1 : 0;
  return num_tiles * device::kShownBytes;
}

void emit_print_cuda(const Statement& statement, CudaEmitter& emitter) {
  const Report report = Report::of(statement);
  emitter.include("report.cuh");
  if (statement.flag("all") && first_tile(report) != nullptr) {
    return print_all(statement, report, emitter);
  }
  Line line;
  line.say("[");
  say_who(line, report, emitter);
  line.say("] " + place_of(statement) + ": ");
  const std::vector<std::string> pieces = report_pieces(report.text);
  line.say(pieces.front());
  int num_tiles = 0;
  for (std::size_t i = 0; i < report.values.size(); ++i) {
    const Value* value = report.values[i];
    if (value->type.is_tile()) {
      const int offset = num_tiles++ * device::kShownBytes;
      std::string shared = emitter.shared(statement);
      if (offset > 0) shared += fmt::format(" + {}", offset);
      emitter.statement(fmt::format("tw::show({}, {});", emitter.argument(value), shared));
      say_shown(line, value->type, shared);
    } else {
      line.show(value->type.dtype, fmt::format("tw::printable({})", emitter.argument(value)));
    }
    line.say(pieces[i + 1]);
  }
  line.say("\n");
  if (num_tiles > 0) emitter.meet();
  emitter.statement(fmt::format("if (threadIdx.x == 0) {};", call_of(line)));
}

std::string assertion(std::string_view message, const Statement& statement, CudaEmitter& emitter) {
  emitter.include("report.cuh");
  return fmt::format("tw::Assertion{{{}, {}, {}, {}}}", quoted(message),
                     quoted(statement.location.file_name()), statement.location.line,
                     quoted(emitter.kernel()));
}

void emit_assert_cuda(const Statement& statement, CudaEmitter& emitter) {
  const Report report = Report::of(statement);
  const bool is_tile = report.condition->type.is_tile();
  Line line;
  line.say(place_of(statement) + ": assertion failed: " + report.message + " (");
  say_who(line, report, emitter);
  if (is_tile) {
    line.say(", element ");
    say_element(line, report.condition->type.shape);
  }
  if (!report.values.empty()) line.say(": ");
  say_values(line, report, emitter);
  line.say(")\n");
  const std::string site = assertion(report.message, statement, emitter);
  emitter.statement(fmt::format("tw::check{}{}({}, {}, [&]({}) {{", is_tile ? "_all" : "",
                                emitter.is_in_task() ? "<tw::TaskWarp>" : "",
                                emitter.argument(report.condition), site,
                                is_tile ? "int index, int slot" : ""));
  emitter.statement(fmt::format("  {};", call_of(line)));
  emitter.statement("});");
}

}  // namespace tilewire
