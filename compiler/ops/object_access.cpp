#include "compiler/ops/object_access.h"

#include <fmt/format.h>

#include "compiler/ops/infer.h"

namespace tilewire {

ObjectAccess ObjectAccess::of(const Statement& statement) {
  ObjectAccess access;
  std::size_t next = 0;
  const auto take = [&] { return statement.operands.at(next++); };
  access.is_at_peer = statement.flag("peer");
  if (statement.operands.at(0)->type.is_view()) {
    access.channel = take();
    access.slot = take();
    if (access.is_at_peer) access.rank = take();
  } else {
    access.pointer = take();
  }
  const std::size_t end = statement.operands.size() - (statement.flag("predicated") ? 1 : 0);
  while (next < end) access.values.push_back(take());
  if (statement.flag("predicated")) access.predicate = take();
  access.shape = statement.integers("shape");
  access.strides = statement.integers("strides");
  return access;
}

std::int64_t ObjectAccess::num_elements() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

std::vector<AttributeSpec> object_access_attributes() {
  return {
      {"shape", AttributeSpec::Kind::kIntegers, true, "extents of the slice; none: one element"},
      {"strides", AttributeSpec::Kind::kIntegers, true, "of the slice, in elements"},
      {"peer", AttributeSpec::Kind::kBool, false, "at a rank that the program names"},
      {"predicated", AttributeSpec::Kind::kBool, false,
       "the last operand, a bool, says whether anything happens"}};
}

void check_object_access(const OpCall& call, std::size_t num_values) {
  std::size_t expected = 1;
  if (call.operands[0].is_view()) {
    require_object(call, 0, Memory::kChannel);
    expected += 1 + (flag_attribute(call, "peer") ? 1 : 0);
    for (std::size_t i = 1; i < expected && i < call.operands.size(); ++i) require_index(call, i);
  } else {
    require_pointer(call, 0);
  }
  const bool is_predicated = flag_attribute(call, "predicated");
  expected += num_values + (is_predicated ? 1 : 0);
  if (call.operands.size() != expected) {
    call.fail(fmt::format("takes {} operands, got {}", expected, call.operands.size()));
  }
  if (is_predicated && call.operands.back() != Type::scalar(DType::kBool)) {
    call.fail("the predicate is a bool scalar");
  }
  const auto& shape = integers_attribute(call, "shape");
  if (shape.size() != integers_attribute(call, "strides").size()) {
    call.fail("a stride per dimension");
  }
  for (const std::int64_t extent : shape) {
    if (extent < 1) call.fail("extents are above 0");
  }
}

void check_telling(const OpCall& call) {
  require_one_of(call, "order", {"release", "relaxed"});
  require_one_of(call, "told", {"gpu", "system"});
}

Resources needs_atomics(const Statement& statement) {
  Resources resources;
  resources.peer_atomics = statement.text("scope") == "system";
  return resources;
}

std::vector<std::int64_t> wait_constants(const Statement& statement) {
  const ObjectAccess access = ObjectAccess::of(statement);
  std::vector<std::int64_t> constants = {statement.integer("site"),
                                         static_cast<std::int64_t>(access.shape.size())};
  constants.insert(constants.end(), access.shape.begin(), access.shape.end());
  constants.insert(constants.end(), access.strides.begin(), access.strides.end());
  return constants;
}

}  // namespace tilewire
