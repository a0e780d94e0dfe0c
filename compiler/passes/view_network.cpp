#include "compiler/passes/view_network.h"

#include <utility>

namespace tilewire {

Value* bytes_of(const LoweredView& view, Inserter& insert) {
  Value* elements = nullptr;
  for (const LoweredView::Term& term : view.terms) {
    Value* step = insert.op("mul", {term.index, term.stride.materialise(insert)});
    elements = elements == nullptr ? step : insert.op("add", {elements, step});
  }
  Value* bytes = insert.constant(view.byte_offset);
  if (elements != nullptr) {
    Value* size = insert.constant(static_cast<std::int64_t>(num_bytes(view.dtype)));
    bytes = insert.op("add", {insert.op("mul", {elements, size}), bytes});
  }
  if (view.start == nullptr) return bytes;
  const std::int64_t base_bytes = num_bytes(view.base->type.dtype);
  return insert.op("add", {insert.op("mul", {view.start, insert.constant(base_bytes)}), bytes});
}

void copy_over_network(const LoweredView& to, const LoweredView& from,
                       const std::vector<Value*>& dimensions, int known_bytes, Inserter& insert) {
  const bool is_put = to.is_over_network;
  Value* to_bytes = bytes_of(to, insert);
  Value* from_bytes = bytes_of(from, insert);
  std::vector<Value*> operands;
  if (is_put) {
    operands = {to.base, to.rank, to_bytes, from.base, from_bytes};
  } else {
    operands = {to.base, to_bytes, from.base, from.rank, from_bytes};
  }
  operands.insert(operands.end(), dimensions.begin(), dimensions.end());
  insert.append(
      insert.program().new_op(is_put ? "network_put" : "network_get", std::move(operands),
                              {{"element", static_cast<std::int64_t>(num_bytes(to.dtype))},
                               {"known", static_cast<std::int64_t>(known_bytes)}},
                              insert.location()));
}

Statement& signal_over_network(const Statement& signal, const LoweredView& view, Value* element,
                               Value* inside, Inserter& insert) {
  std::vector<Value*> operands = {view.base, view.rank, element, signal.operands.at(1)};
  Attributes attributes = {{"order", std::string("release")}};
  if (inside != nullptr) {
    operands.push_back(inside);
    attributes["predicated"] = true;
  }
  return insert.append(insert.program().new_op("network_signal", std::move(operands),
                                               std::move(attributes), insert.location()));
}

}  // namespace tilewire
