#include "compiler/passes/view_check.h"

#include <utility>

namespace tilewire {
namespace {

/// Numbers of elements, in f64: products that an integer can't hold still compare.
class Distances {
 public:
  explicit Distances(Inserter& insert) : insert_(insert) {}

  Value* number(double value) { return insert_.constant(Attribute(value), DType::kF64); }
  Value* of(const Amount& amount) { return of(amount.materialise(insert_)); }
  Value* of(Value* index) { return insert_.op("cast", {index}, {{"dtype", DType::kF64}}); }
  Value* op(std::string_view name, Value* a, Value* b) { return insert_.op(name, {a, b}); }

  /// How far the first and the last element in memory lie from the parameter's first element.
  std::pair<Value*, Value*> ends(const LoweredView& view) {
    Value* low = number(0.0);
    for (const LoweredView::Term& term : view.terms) {
      low = op("add", low, op("mul", of(term.index), of(term.stride)));
    }
    Value* high = low;
    for (const ViewDimension& dimension : view.dimensions) {
      Value* last = op("sub", of(dimension.extent), number(1.0));
      Value* reach = op("mul", last, of(dimension.stride));
      low = op("add", low, op("minimum", reach, number(0.0)));
      high = op("add", high, op("maximum", reach, number(0.0)));
    }
    return {low, high};
  }

  Value* is_empty(const LoweredView& view) {
    Value* empty = insert_.constant(Attribute(false), DType::kBool);
    for (const ViewDimension& dimension : view.dimensions) {
      empty = op("or", empty, op("lt", of(dimension.extent), number(1.0)));
    }
    return empty;
  }

 private:
  Inserter& insert_;
};

}  // namespace

void check_view(const LoweredView& view, const LoweredView& whole, Inserter& insert) {
  // Fields of records count in other elements than their parameter.
  if (view.dtype != whole.dtype || view.byte_offset != 0) return;
  Distances distances(insert);
  const auto [low, high] = distances.ends(view);
  const auto [first, last] = distances.ends(whole);
  Value* is_within =
      distances.op("and", distances.op("le", first, low), distances.op("le", high, last));
  Value* exists = distances.op("and", is_within,
                               distances.op("xor", distances.is_empty(whole),
                                            insert.constant(Attribute(true), DType::kBool)));
  Value* holds = distances.op("or", distances.is_empty(view), exists);
  insert.append(insert.program().new_op(
      "assert", {holds, low, high, first, last},
      {{"text", std::string("elements {} to {} of {} to {}")},
       {"message", std::string("tw.view reaches beyond the memory of `") + view.base->name + "`"}},
      insert.location()));
}

}  // namespace tilewire
