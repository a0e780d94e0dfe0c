#include "compiler/codegen/cuda/inline_cuda.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cctype>

#include "compiler/ops/op.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

/// `{2}` becomes the third name; other braces are C++'s.
std::string with_inputs(std::string_view code, const std::vector<std::string>& names,
                        const Statement& statement) {
  std::string text;
  for (std::size_t i = 0; i < code.size(); ++i) {
    std::size_t end = i + 1;
    while (end < code.size() && std::isdigit(static_cast<unsigned char>(code[end])) != 0) ++end;
    const bool is_place =
        code[i] == '{' && end > i + 1 && end - i < 5 && end < code.size() && code[end] == '}';
    if (!is_place) {
      text += code[i];
      continue;
    }
    const auto input = static_cast<std::size_t>(std::stoi(std::string(code.substr(i + 1))));
    if (input >= names.size()) {
      throw UserError(
          fmt::format("inline_cuda: {{{}}} names an input, there are {}", input, names.size()),
          statement.location);
    }
    text += names[input];
    i = end;
  }
  return text;
}

bool is_statements(std::string_view code) { return code.find(';') != std::string_view::npos; }

}  // namespace

void emit_inline_cuda(const Statement& statement, CudaEmitter& emitter) {
  emitter.include("inline_cuda.cuh");
  std::vector<std::string> names;
  std::vector<std::string> parameters;
  std::vector<std::string> arguments;
  for (const Value* input : statement.operands) {
    names.push_back(fmt::format("x{}", names.size()));
    parameters.push_back(
        fmt::format("{} {}", device_type(compute_dtype(input->type.dtype)), names.back()));
    arguments.push_back(emitter.argument(input));
  }
  const std::string& code = statement.text("code");
  std::string body = with_inputs(code, names, statement);
  if (!is_statements(code)) body = fmt::format("    return ({});", body);
  const Type& type = statement.result()->type;
  const std::string name = emitter.device_function("InlineCuda", [&](std::string_view unique) {
    return fmt::format(
        "/// inline_cuda of {}:{}\n"
        "struct {} {{\n"
        "  static __device__ __forceinline__ {} of({}) {{\n"
        "#line {} \"{}\"\n"
        "{}\n"
        "{}\n"
        "  }}\n"
        "}};\n",
        statement.location.file_name(), statement.location.line, unique,
        device_type(compute_dtype(type.dtype)), fmt::join(parameters, ", "),
        statement.integer("line"), statement.location.file_name(), body, CudaEmitter::kLineMark);
  });
  std::string text = fmt::format("tw::inline_map<{}, {}>({})", emitter.type(type), name,
                                 fmt::join(arguments, ", "));
  emitter.define(statement.result(), std::move(text));
}

}  // namespace tilewire
