#include <fmt/format.h>
#include <fmt/ranges.h>

#include <span>

#include "compiler/ir/names.h"
#include "compiler/ir/text.h"
#include "compiler/ops/op.h"

namespace tilewire {
namespace {

std::string_view keyword(const Parameter& parameter) {
  return parameter.is_constant ? "constant" : name_of(parameter.kind);
}

class Printer {
 public:
  Printer(const Program& program, const PrintOptions& options)
      : program_(program), options_(options), names_(program) {}

  std::string print() {
    header();
    for (const auto& [name, value] : program_.constants) {
      line(1, fmt::format("const {} = {}", name, to_string(value)));
    }
    for (std::size_t i = 0; i < program_.parameters.size(); ++i) parameter(i);
    for (const auto& [name, value] : program_.dimensions) {
      line(1, fmt::format("dimension {}", value_text(value)));
    }
    line(0, "} body {");
    region(program_.body, 1);
    line(0, "}");
    return std::move(text_);
  }

 private:
  void line(int depth, const std::string& content) {
    text_.append(static_cast<std::size_t>(depth) * 2, ' ');
    text_ += content;
    text_ += '\n';
  }

  void header() {
    std::string text = fmt::format("program @{} from {} world {} lsa {}", program_.name,
                                   to_string(Attribute(program_.source_file)), program_.world_size,
                                   program_.lsa_size);
    if (program_.cluster_size != 1) text += fmt::format(" cluster {}", program_.cluster_size);
    if (program_.num_threads != 0) text += fmt::format(" threads {}", program_.num_threads);
    if (!program_.useful_grid.empty()) {
      std::vector<std::string> bounds;
      for (const GridBound& bound : program_.useful_grid) bounds.push_back(bound_text(bound));
      text += fmt::format(" grid [{}]", fmt::join(bounds, ", "));
    }
    if (program_.max_grid != 0) text += fmt::format(" most {}", program_.max_grid);
    line(0, text + " {");
  }

  std::string bound_text(const GridBound& bound) const {
    if (bound.dimension == GridBound::kNone) return std::to_string(bound.number);
    const auto& name = program_.dimensions.at(static_cast<std::size_t>(bound.dimension)).first;
    return bound.number == 1 ? name : fmt::format("{} by {}", name, bound.number);
  }

  void parameter(std::size_t index) {
    const Parameter& parameter = program_.parameters[index];
    std::string text = fmt::format("{} {}: {}", keyword(parameter), value_text(parameter.value),
                                   parameter.is_object() ? "" : name_of(parameter.dtype));
    if (parameter.kind != Parameter::Kind::kScalar) {
      std::vector<std::string> extents;
      for (const Dimension& dimension : parameter.shape) {
        extents.push_back(dimension.size == kDynamic ? dimension.name
                                                     : std::to_string(dimension.size));
      }
      text += fmt::format("[{}]", fmt::join(extents, ", "));
    }
    line(1, text + attributes_text(parameter.is_object() ? channel_attributes(parameter)
                                                         : facts_of(index)));
  }

  static Attributes channel_attributes(const Parameter& parameter) {
    if (parameter.kind != Parameter::Kind::kChannel) return {};
    return {{"message", parameter.channel.message_text()},
            {"depth", parameter.channel.depth},
            {"carrying", std::string(name_of(parameter.channel.carrying))}};
  }

  Attributes facts_of(std::size_t index) const {
    Attributes facts;
    const std::int64_t rotate = program_.parameters[index].rotate;
    if (rotate != 0) facts["rotate"] = rotate;
    if (index < program_.facts.contiguous.size()) {
      facts["contiguous"] = static_cast<bool>(program_.facts.contiguous[index]);
    }
    if (index < program_.facts.alignment.size()) {
      facts["alignment"] = std::int64_t{program_.facts.alignment[index]};
    }
    if (index < program_.facts.local_only.size()) {
      facts["local_only"] = static_cast<bool>(program_.facts.local_only[index]);
    }
    if (index < program_.facts.mappable.size()) {
      facts["mappable"] = static_cast<bool>(program_.facts.mappable[index]);
    }
    return facts;
  }

  void region(const Region& region, int depth) {
    for (const auto& statement : region.statements) print_statement(*statement, depth);
  }

  void print_statement(const Statement& statement, int depth) {
    switch (statement.kind) {
      case StatementKind::kOp:
        return line(depth, fmt::format("{}{}({}){}{}{}", results_text(statement),
                                       statement.op->name, values_text(statement.operands),
                                       attributes_text(statement.attributes), types_text(statement),
                                       location_text(statement)));
      case StatementKind::kFor:
        return print_for(statement, depth);
      case StatementKind::kWhile:
        return print_while(statement, depth);
      case StatementKind::kIf:
        return print_if(statement, depth);
      case StatementKind::kYield:
        return line(depth, "yield" + std::string(statement.operands.empty() ? "" : " ") +
                               values_text(statement.operands) + location_text(statement));
      case StatementKind::kReturn:
        return line(depth, "return" + location_text(statement));
    }
  }

  void print_for(const Statement& statement, int depth) {
    const Region& body = statement.regions.at(0);
    const std::span<Value* const> bounds(statement.operands.data(), 3);
    std::string text =
        fmt::format("{}for {} = {}({}){}", results_text(statement),
                    value_text(body.arguments.at(0)), name_of(statement.iterate()),
                    values_text(bounds), attributes_text(statement.attributes, " with", "iterate"));
    line(depth,
         text + carried_text(statement) + types_text(statement) + location_text(statement) + " {");
    region(body, depth + 1);
    line(depth, "}");
  }

  void print_while(const Statement& statement, int depth) {
    line(depth, results_text(statement) + "while" + attributes_text(statement.attributes, " with") +
                    carried_text(statement) + types_text(statement) + location_text(statement) +
                    " {");
    region(statement.regions.at(0), depth + 1);
    const std::vector<Value*>& arguments = statement.regions.at(1).arguments;
    const std::string inside =
        arguments.empty() ? "" : fmt::format(" ({})", values_text(arguments));
    line(depth, fmt::format("}} do{} {{", inside));
    region(statement.regions.at(1), depth + 1);
    line(depth, "}");
  }

  /// ` carry (%a = %initial, …)`, with the arguments of a loop's first region.
  std::string carried_text(const Statement& loop) const {
    std::vector<std::string> carried;
    const std::vector<Value*>& arguments = loop.regions.at(0).arguments;
    const std::size_t num_before = loop.num_bounds() == 0 ? 0 : 1;
    for (std::size_t i = num_before; i < arguments.size(); ++i) {
      carried.push_back(
          fmt::format("{} = {}", value_text(arguments[i]),
                      value_text(loop.operands.at(loop.num_bounds() + i - num_before))));
    }
    return carried.empty() ? "" : fmt::format(" carry ({})", fmt::join(carried, ", "));
  }

  void print_if(const Statement& statement, int depth) {
    line(depth, fmt::format("{}if {}{}{}{} {{", results_text(statement),
                            value_text(statement.operands.at(0)),
                            attributes_text(statement.attributes, " with"), types_text(statement),
                            location_text(statement)));
    region(statement.regions.at(0), depth + 1);
    line(depth, "} else {");
    region(statement.regions.at(1), depth + 1);
    line(depth, "}");
  }

  std::string value_text(const Value* value) const { return fmt::format("%{}", names_.of(value)); }

  std::string values_text(std::span<Value* const> values) const {
    std::vector<std::string> texts;
    for (const Value* value : values) texts.push_back(value_text(value));
    return fmt::format("{}", fmt::join(texts, ", "));
  }

  std::string results_text(const Statement& statement) const {
    return statement.results.empty() ? "" : values_text(statement.results) + " = ";
  }

  static std::string types_text(const Statement& statement) {
    if (statement.results.empty()) return "";
    std::vector<std::string> types;
    for (const Value* result : statement.results) types.push_back(result->type.to_string());
    return fmt::format(": {}", fmt::join(types, ", "));
  }

  static std::string attributes_text(const Attributes& attributes, std::string_view before = "",
                                     std::string_view except = "") {
    std::vector<std::string> texts;
    for (const auto& [name, value] : attributes) {
      if (name != except) {
        texts.push_back(fmt::format("{} = {}", name, to_string(value)));
      }
    }
    return texts.empty() ? "" : fmt::format("{} {{{}}}", before, fmt::join(texts, ", "));
  }

  std::string location_text(const Statement& statement) const {
    const SourceLocation& location = statement.location;
    if (!options_.locations || !location.is_known()) return "";
    const std::string file =
        location.file == program_.source_file ? "" : to_string(Attribute(location.file)) + ":";
    return fmt::format(" @ {}{}:{}", file, location.line, location.column);
  }

  const Program& program_;
  PrintOptions options_;
  ValueNames names_;
  std::string text_;
};

}  // namespace

std::string print(const Program& program, const PrintOptions& options) {
  return Printer(program, options).print();
}

}  // namespace tilewire
