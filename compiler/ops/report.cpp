#include "compiler/ops/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "compiler/codegen/cpu/emitter.h"
#include "compiler/codegen/cuda/report.h"
#include "compiler/ops/all_ops.h"
#include "compiler/ops/infer.h"
#include "templates/tilewire/report_layout.cuh"

namespace tilewire {
namespace {

/// printf on a GPU takes 32 arguments; four say who is speaking.
constexpr int kMaxPrinted = 28;

std::size_t first_value(const OpCall& call) { return flag_attribute(call, "ranked") ? 1 : 0; }

void check_values(const OpCall& call, std::size_t first) {
  for (std::size_t i = first; i < call.operands.size(); ++i) {
    if (call.operands[i].is_scalar() || call.operands[i].is_tile()) continue;
    call.fail(fmt::format("shows tiles and scalars, found {}", call.operands[i].to_string()));
  }
  const std::size_t num_places = report_pieces(text_attribute(call, "text")).size() - 1;
  if (num_places != call.operands.size() - first) {
    call.fail(fmt::format("the text has {} places {{}} for {} values", num_places,
                          call.operands.size() - first));
  }
}

/// All tiles from operand `first` on have one shape.
void require_one_shape(const OpCall& call, std::size_t first, std::string_view why) {
  const Type* tile = nullptr;
  for (std::size_t i = first; i < call.operands.size(); ++i) {
    const Type& type = call.operands[i];
    if (!type.is_tile()) continue;
    if (tile != nullptr && tile->shape != type.shape) {
      call.fail(fmt::format("{}, found {} and {}", why, shape_to_string(tile->shape),
                            shape_to_string(type.shape)));
    }
    tile = &type;
  }
}

std::vector<Type> infer_print(const OpCall& call) {
  const std::size_t first = first_value(call);
  check_values(call, first);
  int num_printed = 0;
  const bool shows_all = flag_attribute(call, "all");
  for (std::size_t i = first; i < call.operands.size(); ++i) {
    const Type& type = call.operands[i];
    num_printed += type.is_scalar() || shows_all
                       ? 1
                       : device::shown_elements(static_cast<int>(type.num_elements()));
  }
  if (num_printed > kMaxPrinted) {
    call.fail(fmt::format("would show {} numbers in a line, {} is the most: print in several calls",
                          num_printed, kMaxPrinted));
  }
  if (shows_all) require_one_shape(call, first, "all=True shows tiles of one shape together");
  return {};
}

std::vector<Type> infer_assert(const OpCall& call) {
  const std::size_t first = first_value(call);
  if (call.operands.size() <= first) call.fail("needs a condition");
  const Type& condition = call.operands[first];
  if (condition.dtype != DType::kBool || !(condition.is_scalar() || condition.is_tile())) {
    call.fail(
        fmt::format("takes a bool scalar or tile, found {}; compare it", condition.to_string()));
  }
  check_values(call, first + 1);
  if (call.operands.size() - first - 1 > kMaxPrinted - 3) call.fail("shows too many values");
  require_one_shape(call, first, "the condition and the shown tiles have one shape");
  for (std::size_t i = first + 1; condition.is_scalar() && i < call.operands.size(); ++i) {
    if (call.operands[i].is_tile()) call.fail("a scalar condition shows scalars only");
  }
  return {};
}

std::string place_of(const Statement& statement) {
  return fmt::format("{}:{}", statement.location.file_name(), statement.location.line);
}

void emit_cpu_print(const Statement& statement, CpuEmitter& emitter) {
  const Report report = Report::of(statement);
  std::vector<std::string> texts = report_pieces(report.text);
  texts.insert(texts.begin(), place_of(statement));
  std::vector<std::int64_t> constants = {report.rank != nullptr ? 1 : 0,
                                         statement.flag("all") ? 1 : 0,
                                         static_cast<std::int64_t>(statement.operands.size())};
  for (const std::int64_t word : pack_texts(texts)) constants.push_back(word);
  emitter.call_reference(statement, "tilewire_print", constants);
}

void emit_cpu_assert(const Statement& statement, CpuEmitter& emitter) {
  const Report report = Report::of(statement);
  std::vector<std::string> texts = report_pieces(report.text);
  texts.insert(texts.begin(), {statement.location.file, report.message});
  std::vector<std::int64_t> constants = {report.rank != nullptr ? 1 : 0, statement.location.line,
                                         static_cast<std::int64_t>(statement.operands.size())};
  for (const std::int64_t word : pack_texts(texts)) constants.push_back(word);
  emitter.call_reference(statement, "tilewire_assert", constants);
}

OpInfo report_op(std::string_view name, std::string_view summary,
                 std::vector<Type> (*infer)(const OpCall&)) {
  OpInfo op;
  op.name = name;
  op.summary = summary;
  op.max_operands = -1;
  op.attributes = {
      {"text", AttributeSpec::Kind::kText, true, "what is said, `{}` where a value stands"},
      {"ranked", AttributeSpec::Kind::kBool, false, "the first operand is this rank"}};
  op.effect = Effect::kReports;
  op.infer = infer;
  return op;
}

OpInfo print_op() {
  OpInfo op = report_op("print",
                        "A line of text with values: who says it, where, and of large tiles the "
                        "first and last elements, or a line per element.",
                        infer_print);
  op.attributes.push_back({"all", AttributeSpec::Kind::kBool, false, "a line per element"});
  op.emit_cpu = emit_cpu_print;
  op.emit_cuda = emit_print_cuda;
  op.cuda_shared_bytes = print_shared_bytes;
  return op;
}

OpInfo assert_op() {
  OpInfo op =
      report_op("assert",
                "Ends the launch with an error unless the condition holds, everywhere if it "
                "is a tile; says where it doesn't, and the values there.",
                infer_assert);
  op.min_operands = 1;
  op.attributes.push_back({"message", AttributeSpec::Kind::kText, true, "what went wrong"});
  op.emit_cpu = emit_cpu_assert;
  op.emit_cuda = emit_assert_cuda;
  return op;
}

}  // namespace

Report Report::of(const Statement& statement) {
  Report report;
  std::size_t next = 0;
  if (statement.flag("ranked")) report.rank = statement.operands.at(next++);
  if (statement.is("assert")) {
    report.condition = statement.operands.at(next++);
    report.message = statement.text("message");
  }
  report.values.assign(statement.operands.begin() + static_cast<std::ptrdiff_t>(next),
                       statement.operands.end());
  report.text = statement.text("text");
  return report;
}

std::vector<std::string> report_pieces(std::string_view text) {
  std::vector<std::string> pieces(1);
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::string_view two = text.substr(i, 2);
    if (two == "{}") {
      pieces.emplace_back();
      ++i;
      continue;
    }
    if (two == "{{" || two == "}}") ++i;
    pieces.back() += text[i];
  }
  return pieces;
}

std::vector<std::int64_t> pack_texts(const std::vector<std::string>& texts) {
  std::vector<std::int64_t> words;
  for (const std::string& text : texts) {
    words.push_back(static_cast<std::int64_t>(text.size()));
    for (std::size_t i = 0; i < text.size(); i += sizeof(std::int64_t)) {
      std::int64_t word = 0;
      std::memcpy(&word, text.data() + i, std::min(sizeof(word), text.size() - i));
      words.push_back(word);
    }
  }
  return words;
}

std::vector<OpInfo> report_ops() { return {print_op(), assert_op()}; }

}  // namespace tilewire
