#include "compiler/codegen/cuda/emitter.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "compiler/codegen/cuda/register_pressure.h"
#include "compiler/codegen/cuda/staging.h"
#include "compiler/ops/layouts.h"
#include "compiler/ops/op.h"
#include "compiler/ops/staging.h"
#include "compiler/ops/task.h"
#include "compiler/support/error.h"
#include "templates/tilewire/fragment_layout.cuh"

namespace tilewire {
namespace {

/// A longer expression gets a variable even where it is used once.
constexpr std::size_t kMaxInlined = 80;
/// Of tiles where registers are few: a variable would be as many of them as the tile has.
constexpr std::size_t kMaxInlinedTile = 400;

const Attribute* constant_of(const Value* value) {
  const Statement* definition = value->definition;
  if (definition == nullptr || !definition->is("constant")) return nullptr;
  return &definition->attributes.find("value")->second;
}

bool is_of_fragments(Layout::Kind kind) {
  return kind == Layout::Kind::kFragment || kind == Layout::Kind::kFragmentPerRow ||
         kind == Layout::Kind::kFragmentPerColumn;
}

bool is_loop(const Statement& statement) {
  return statement.kind == StatementKind::kFor || statement.kind == StatementKind::kWhile;
}

std::string upper(std::string_view text) {
  std::string result(text);
  for (char& c : result) c = static_cast<char>(std::toupper(c));
  return result;
}

}  // namespace

CudaEmitter::CudaEmitter(const Program& lowered, const Artifact& description)
    : program_(lowered),
      description_(description),
      plan_(plan_synchronisation(lowered)),
      has_roles_(tilewire::has_roles(lowered)),
      has_few_registers_(tilewire::has_few_registers(lowered)),
      has_task_(find_task(lowered) != nullptr) {
  const auto collect = [this](const auto& self, const Region& region, const Region* loop) -> void {
    loops_[&region] = loop;
    for (const auto& statement : region.statements) {
      regions_[statement.get()] = &region;
      for (const Value* value : statement->operands) {
        Use& use = uses_[value];
        use = {use.count + 1, statement.get(), &region};
      }
      for (const Region& inner : statement->regions) {
        self(self, inner, is_loop(*statement) ? &inner : loop);
      }
    }
  };
  collect(collect, program_.body, nullptr);
  if (has_roles_ && lowered.num_threads > device::kWarpgroupThreads) {
    pieces_ = plan_pieces(lowered, has_few_registers_);
  }
}

void CudaEmitter::bind(const Value* value, std::string text, Binding binding) {
  expressions_[value] = {std::move(text), binding};
}

const CudaEmitter::Expression& CudaEmitter::expression(const Value* value) const {
  const auto found = expressions_.find(value);
  if (found == expressions_.end()) {
    throw InternalError(fmt::format("value '{}' of type {} is used before it was emitted",
                                    value->name, value->type.to_string()));
  }
  return found->second;
}

std::string CudaEmitter::argument(const Value* value) const {
  if (const Attribute* constant = constant_of(value)) {
    return literal(*constant, value->type.dtype, true);
  }
  return expression(value).text;
}

std::string CudaEmitter::operand(const Value* value, Binding binding) const {
  if (const Attribute* constant = constant_of(value)) {
    const auto* integer = std::get_if<std::int64_t>(constant);
    if (integer != nullptr && value->type.dtype == kIndex) return size(*integer);
    return literal(*constant, value->type.dtype, false);
  }
  const Expression& found = expression(value);
  return found.binding < binding || found.binding == Binding::kAtom
             ? found.text
             : fmt::format("({})", found.text);
}

std::string CudaEmitter::call(std::string_view function,
                              const std::vector<const Value*>& arguments) const {
  std::vector<std::string> texts;
  for (const Value* value : arguments) texts.push_back(argument(value));
  return fmt::format("{}({})", function, fmt::join(texts, ", "));
}

/// Whether the expression of a value contains a division by a number that only the launch knows.
bool CudaEmitter::divides(const Value* value) const {
  const Statement* definition = value->definition;
  if (definition == nullptr || definition->kind != StatementKind::kOp) return false;
  const auto found = expressions_.find(value);
  const bool is_computed =
      found != expressions_.end() && found->second.text == to_identifier(found->second.text);
  if (is_computed) return false;
  const bool is_division = definition->is("floordiv") || definition->is("mod");
  return (is_division && constant_of(definition->operands.at(1)) == nullptr) ||
         std::ranges::any_of(definition->operands,
                             [this](const Value* operand) { return divides(operand); });
}

bool CudaEmitter::is_inlined(const Value* value, const std::string& text) const {
  if (pieces_.in_pieces.contains(value)) return true;
  if (pieces_.computed.contains(value)) return false;
  const auto found = uses_.find(value);
  const bool is_dear = has_few_registers_ && value->type.is_tile();
  if (found == uses_.end() || found->second.count != 1 ||
      text.size() > (is_dear ? kMaxInlinedTile : kMaxInlined)) {
    return false;
  }
  const Statement& user = *found->second.user;
  const Region* region = regions_.at(value->definition);
  const bool is_same_region = found->second.region == region;
  // Compilers move no division out of a loop, which may have no iteration, while the divisor may
  // be 0.
  const bool enters_loop = loops_.at(found->second.region) != loops_.at(region) ||
                           (user.kind == StatementKind::kFor && user.operands.at(1) == value);
  if (enters_loop && divides(value)) return false;
  // What a loop starts from, and what an iteration or a branch hands out alone: the variable that
  // takes it has the user's name.
  if (user.kind == StatementKind::kFor || user.kind == StatementKind::kWhile) return is_same_region;
  if (user.kind == StatementKind::kYield) return is_same_region && user.operands.size() == 1;
  if (value->type == Type::scalar(kIndex) && value->name.empty()) return true;
  return is_same_region && value->name.empty() &&
         user.location.line == value->definition->location.line;
}

std::string CudaEmitter::variable(const Value* value, std::string_view hint) {
  std::string name = names_.make(value->name.empty() ? hint : value->name);
  bind(value, name);
  return name;
}

void CudaEmitter::define(const Value* result, std::string text, Binding binding) {
  const bool is_used = uses_.find(result) != uses_.end();
  if (text == to_identifier(text)) return bind(result, std::move(text));
  if (!is_used || is_inlined(result, text)) return bind(result, std::move(text), binding);
  const Statement& definition = *result->definition;
  const bool is_arithmetic = result->type == Type::scalar(kIndex) && definition.op->is_elementwise;
  define_here(result, text, is_arithmetic ? "offset" : definition.op->name);
}

void CudaEmitter::define_here(const Value* result, const std::string& text, std::string_view hint) {
  const std::string name = variable(result, hint);
  if (result->type.is_pointer()) {
    return statement(fmt::format("{} const {} = {};", type(result->type), name, text));
  }
  statement(fmt::format("const {} {} = {};", type(result->type), name, text));
}

std::string CudaEmitter::declare(const Value* result, std::string_view hint) {
  const std::string name = variable(result, hint);
  statement(fmt::format("{} {};", type(result->type), name));
  return name;
}

std::string CudaEmitter::updated(const Value* result, const Value* before, std::string_view hint) {
  const auto uses = uses_.find(before);
  const bool is_variable = before != nullptr && constant_of(before) == nullptr &&
                           variables_.contains(expression(before).text);
  if (is_variable && uses != uses_.end() && uses->second.count == 1) {
    bind(result, expression(before).text);
    return expression(before).text;
  }
  const std::string name = variable(result, hint);
  variables_.insert(name);
  statement(fmt::format("{} {} = {};", type(result->type), name,
                        before == nullptr ? "{}" : argument(before)));
  return name;
}

void CudaEmitter::alias(const Value* result, const Value* source) {
  if (constant_of(source) != nullptr) return define(result, argument(source));
  const Expression from = expression(source);
  define(result, from.text, from.binding);
}

void CudaEmitter::statement(std::string_view text) {
  tell();
  writer_.line(text);
}

void CudaEmitter::open(std::string_view head) {
  tell();
  writer_.open(head);
}

void CudaEmitter::close() { writer_.close(); }

void CudaEmitter::meet() {
  if (is_in_task_) return statement("__syncwarp();");
  const bool is_among_some = has_roles_ || has_task_;
  if (is_among_some) include("meet.cuh");
  statement(is_among_some ? "tw::meet();" : "__syncthreads();");
}

void CudaEmitter::announce_launch() {
  if (std::exchange(is_announced_, true)) return;
  statement("launch.announce();");
}

std::string CudaEmitter::unique_name(std::string_view hint) { return names_.make(hint); }

std::string CudaEmitter::shared_name(const std::string& key, std::string_view hint) {
  const auto found = shared_names_.find(key);
  return found != shared_names_.end() ? found->second : shared_names_[key] = names_.make(hint);
}

std::string CudaEmitter::type_alias(const std::string& name, const std::string& meaning) {
  tile_aliases_[name] = meaning;
  return name;
}

std::string CudaEmitter::type(const Type& type) {
  switch (type.kind) {
    case Type::Kind::kScalar:
      return std::string(device_type(type.dtype));
    case Type::Kind::kPointer:
      return fmt::format("{}*", device_type(type.dtype));
    case Type::Kind::kView:
      throw InternalError("a view is left in a lowered program");
    case Type::Kind::kTile:
      break;
  }
  if (!type.layout.is_known()) {
    throw InternalError(fmt::format("{} has no layout", type.to_string()));
  }
  include("tile.cuh");
  std::string name =
      fmt::format("Tile{}_{}", upper(name_of(type.dtype)), fmt::join(type.shape, "x"));
  const bool is_of_fragment = is_of_fragments(type.layout.kind);
  if (is_of_fragment) include("fragment_layout.cuh");
  if (type.layout.is_per_row()) name += "_per_row";
  if (type.layout.is_per_column()) name += "_per_column";
  const std::string meaning =
      fmt::format("tw::Tile<{}, {}>", device_type(type.dtype), layout(type));
  // A second layout of one shape says so in its name.
  const auto is_taken = [&] {
    return tile_aliases_.contains(name) && tile_aliases_[name] != meaning;
  };
  if (is_taken() && type.layout.kind == Layout::Kind::kRows) name += "_rows";
  if (is_taken() && is_of_fragment) name += "_fragment";
  if (is_taken()) name += fmt::format("_by_{}", type.layout.vector);
  if (is_taken()) name += fmt::format("_{}", type.layout.lanes);
  tile_aliases_[name] = meaning;
  return name;
}

std::string CudaEmitter::layout(const Type& tile) const {
  const auto product = [this](auto begin, auto end) {
    std::vector<std::string> factors;
    for (auto extent = begin; extent != end; ++extent) {
      if (*extent != 1) factors.push_back(size(*extent));
    }
    if (factors.empty()) factors.emplace_back("1");
    return fmt::format("{}", fmt::join(factors, " * "));
  };
  const auto begin = tile.shape.begin();
  const auto end = tile.shape.end();
  const Layout& layout = tile.layout;
  switch (layout.kind) {
    case Layout::Kind::kBlocked:
      return fmt::format("tw::Blocked<{}, {}, kThreads>", product(begin, end), layout.vector);
    case Layout::Kind::kRows:
      return fmt::format("tw::Rows<{}, {}, {}, {}, kThreads>", product(begin, end - 1),
                         size(tile.shape.back()), layout.vector, layout.lanes);
    case Layout::Kind::kPerRow:
      return fmt::format("tw::PerRow<{}, {}, kThreads>", product(begin, end), layout.lanes);
    case Layout::Kind::kPerColumn:
      return fmt::format("tw::PerColumn<{}, {}, {}, kThreads>", product(begin, end), layout.vector,
                         layout.lanes);
    case Layout::Kind::kFragment:
      return fmt::format("tw::Fragment<{}, {}, kThreads>",
                         size(tile.num_elements() / fragment_columns(tile)),
                         size(fragment_columns(tile)));
    case Layout::Kind::kFragmentPerRow:
      return fmt::format("tw::FragmentPerRow<{}, kThreads>", product(begin, end));
    case Layout::Kind::kFragmentPerColumn:
      return fmt::format("tw::FragmentPerColumn<{}, kThreads>", product(begin, end));
    case Layout::Kind::kStaged:
      throw InternalError("a staged operand is in no register");
  }
  throw InternalError("a layout of unknown kind");
}

std::string CudaEmitter::extents(const Type& tile) const {
  std::vector<std::string> sizes;
  for (const std::int64_t extent : tile.shape) sizes.push_back(size(extent));
  return fmt::format("tw::Extents<{}>", fmt::join(sizes, ", "));
}

std::string CudaEmitter::parameter(const Value* view) const { return expression(view).text; }

std::string CudaEmitter::companion(const Value* parameter, std::string_view suffix) {
  const auto [found, is_new] = companions_.try_emplace({parameter, std::string(suffix)});
  if (is_new) found->second = names_.make(fmt::format("{}_{}", this->parameter(parameter), suffix));
  return found->second;
}

std::string CudaEmitter::window(const Value* view) {
  const auto found = windows_.find(view);
  if (found != windows_.end()) return found->second;
  return windows_[view] = names_.make(parameter(view) + "_window");
}

std::optional<std::int64_t> constant_rank(const Value* rank) {
  const Attribute* constant = constant_of(rank);
  return constant == nullptr ? std::nullopt : std::optional(std::get<std::int64_t>(*constant));
}

std::string CudaEmitter::peer_address(const Value* view, const Value* rank) {
  if (const auto constant = constant_rank(rank)) {
    const auto found = peer_addresses_.find({view, *constant});
    if (found != peer_addresses_.end()) return found->second;
  }
  include("peer.cuh");
  return fmt::format("tw::at_rank<{}>({}, lane, {})", device_type(view->type.dtype),
                     parameter(view), operand(rank, Binding::kChoose));
}

std::string CudaEmitter::multicast_address(const Value* view) {
  return companion(view, "multicast");
}

std::string CudaEmitter::copies(const Value* view) { return companion(view, "copies"); }

std::string CudaEmitter::stride(const Value* view, int dimension) const {
  const auto found = strides_.find({view, dimension});
  if (found != strides_.end()) return found->second;
  throw InternalError(fmt::format("stride {} of '{}' is no argument", dimension, view->name));
}

std::string CudaEmitter::tensor_map(int index) const {
  const auto found = tensor_maps_.find(index);
  if (found != tensor_maps_.end()) return found->second;
  throw InternalError(fmt::format("tensor map {} is no argument", index));
}

std::string CudaEmitter::size(std::int64_t number) const {
  const auto found = named_sizes_.find(number);
  return found == named_sizes_.end() ? fmt::format("{}", number) : found->second;
}

std::string CudaEmitter::shared(const Statement& statement) const {
  const auto found = plan_.shared_offsets.find(&statement);
  if (found == plan_.shared_offsets.end()) return "nullptr";
  return found->second == 0 ? "shared" : fmt::format("shared + {}", found->second);
}

void CudaEmitter::include(std::string_view header) { includes_.emplace(header); }

std::string CudaEmitter::device_function(std::string_view hint,
                                         const std::function<std::string(std::string_view)>& text) {
  std::string name = names_.make(hint);
  device_functions_.push_back(text(name));
  return name;
}

void CudaEmitter::begin(const Statement& statement) { current_ = &statement; }

void CudaEmitter::tell() {
  if (current_ == nullptr || !current_->location.is_known()) return;
  const std::pair place(current_->location.file_name(), current_->location.line);
  if (place == told_) return;
  told_ = place;
  told_places_.insert(place);
  writer_.blank();
  writer_.raw_line(fmt::format("// {}{}:{}", kPlaceMark, place.first, place.second));
}

}  // namespace tilewire
