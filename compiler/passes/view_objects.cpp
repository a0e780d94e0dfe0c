#include "compiler/passes/view_objects.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/ops/object_access.h"
#include "compiler/ops/op.h"
#include "compiler/passes/view_network.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

/// The element's number in its array, counted in row-major order.
Value* element_of(const LoweredView& view, Inserter& insert) {
  Value* element = nullptr;
  for (const LoweredView::Term& term : view.terms) {
    Value* step = term.index;
    if (!(term.stride.is_constant() && term.stride.constant == 1)) {
      step = insert.op("mul", {step, term.stride.materialise(insert)});
    }
    element = element == nullptr ? step : insert.op("add", {element, step});
  }
  return element == nullptr ? insert.constant(0) : element;
}

/// The offset of an element from the start of the array's memory, in its address's units.
Value* offset_of(Memory memory, Value* element, Inserter& insert) {
  if (memory != Memory::kFlag) return element;
  constexpr auto kWord = sizeof(std::uint32_t);
  const int world_size = insert.program().world_size;
  const auto words = [](std::uint64_t bytes) { return static_cast<std::int64_t>(bytes / kWord); };
  Value* scaled = insert.op("mul", {element, insert.constant(words(sizeof(device::FlagElement)))});
  return insert.op("add", {scaled, insert.constant(words(device::flag_offset(world_size, 0)))});
}

/// True where all of the view lies inside the array; null: that is proven.
Value* is_inside(const LoweredView& view, Inserter& insert) {
  Value* all = nullptr;
  const auto require = [&](Value* condition) {
    all = all == nullptr ? condition : insert.op("and", {all, condition});
  };
  for (Value* guard : view.guards) require(guard);
  for (const ViewDimension& dimension : view.dimensions) {
    if (!dimension.mask) continue;
    Value* end = insert.op("add", {dimension.mask->begin, dimension.extent.materialise(insert)});
    require(insert.op("ge", {dimension.mask->begin, insert.constant(0)}));
    require(insert.op("le", {end, dimension.mask->bound}));
  }
  return all;
}

[[noreturn]] void refuse(const Statement& statement, const std::string& message) {
  throw UserError(fmt::format("{}: {}", statement.op->name, message), statement.location);
}

void check_shape(const Statement& statement, const LoweredView& view) {
  if (view.gather) refuse(statement, "takes no index tiles; go through the elements in a loop");
  for (const ViewDimension& dimension : view.dimensions) {
    if (dimension.extent.is_constant()) continue;
    refuse(statement,
           "takes a slice whose size is known at compile time: use tw.ds(start, size) or `:`");
  }
}

/// Where those are who use the object, and whom an op that tells orders memory with. What it tells
/// covers all that this instance did before, until a later pass finds that nothing is new.
void describe_meeting(const Statement& statement, const LoweredView& view, Attributes& attributes,
                      const Program& program) {
  const Meeting& meeting = statement.op->meeting;
  if (meeting.waits && view.rank != nullptr) refuse_wait_at_peer(statement);
  if (statement.op->effect != Effect::kSynchronises) return;
  const bool is_alone = program.world_size == 1;
  attributes["scope"] = std::string(is_alone ? "gpu" : "system");
  if (!meeting.tells) return;
  attributes["order"] = std::string("release");
  attributes["told"] = std::string(is_alone || view.rank == nullptr ? "gpu" : "system");
}

bool takes(const OpInfo& op, std::string_view attribute) {
  return std::ranges::any_of(op.attributes,
                             [&](const AttributeSpec& spec) { return spec.name == attribute; });
}

/// As `is_inside`, to be asked about when the op runs. `checks`: an assertion does, null.
Value* existing(const LoweredView& view, bool checks, const Statement& statement,
                Inserter& insert) {
  Value* inside = is_inside(view, insert);
  if (inside == nullptr || !checks) return inside;
  const std::string message = fmt::format("`{}`: an index outside of {}", view.base->name,
                                          shape_to_string(view.base->type.shape));
  insert.append(insert.program().new_op(
      "assert", {inside}, {{"text", std::string()}, {"message", message}}, statement.location));
  return nullptr;
}

}  // namespace

void refuse_wait_at_peer(const Statement& statement) {
  refuse(statement, "waits on this rank's own; leave out `.at(…)`");
}

Statement& lower_object_op(const Statement& statement, const LoweredView& view, bool checks,
                           Inserter& insert) {
  check_shape(statement, view);
  const Memory memory = view.base->type.memory;
  Attributes attributes = statement.attributes;
  std::vector<Value*> operands;
  Value* element = element_of(view, insert);
  if (view.is_over_network && memory == Memory::kSemaphore) {
    return signal_over_network(statement, view, element, existing(view, checks, statement, insert),
                               insert);
  }
  if (memory == Memory::kChannel) {
    operands = {view.base, element};
    if (view.rank != nullptr) operands.push_back(view.rank);
  } else {
    Value* offset = offset_of(memory, element, insert);
    operands = {view.rank == nullptr
                    ? insert.op("address", {view.base, offset})
                    : insert.op("address", {view.base, view.rank, offset}, {{"peer", true}})};
  }
  if (view.rank != nullptr) attributes["peer"] = true;
  operands.insert(operands.end(), statement.operands.begin() + 1, statement.operands.end());
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  for (const ViewDimension& dimension : view.dimensions) {
    shape.push_back(dimension.extent.constant);
    strides.push_back(dimension.stride.constant);
  }
  describe_meeting(statement, view, attributes, insert.program());
  if (checks && takes(find_op(statement.op->lowered(memory)), "checked")) {
    attributes["checked"] = true;
  }
  attributes["shape"] = shape;
  attributes["strides"] = strides;
  if (Value* inside = existing(view, checks, statement, insert)) {
    operands.push_back(inside);
    attributes["predicated"] = true;
  }
  return insert.append(insert.program().new_op(statement.op->lowered(memory), std::move(operands),
                                               std::move(attributes), statement.location));
}

}  // namespace tilewire
