#include "compiler/frontend/builder.h"

namespace tilewire {

Value* Builder::inline_cuda(std::string_view code, const std::vector<Operand>& inputs,
                            const InlineCudaOptions& options) {
  std::vector<std::int64_t> shape = common_shape_of("inline_cuda", inputs);
  if (!options.shape.empty()) shape = options.shape;
  Values operands;
  for (const Operand& input : inputs) {
    Value* value = materialise(input, common_dtype_of({input}));
    operands.push_back(value->type.is_tile() ? broadcast(value, shape) : value);
  }
  std::optional<DType> dtype = options.dtype;
  if (!dtype && options.reference != nullptr) dtype = options.reference->type.dtype;
  if (!dtype) fail("inline_cuda: needs dtype=, or a reference= that has one");
  Attributes attributes = {
      {"code", std::string(code)},
      {"dtype", *dtype},
      {"line", std::int64_t{options.line > 0 ? options.line : location_.line}}};
  if (!shape.empty()) attributes.emplace("shape", shape);
  if (options.reference != nullptr) {
    const Type result = shape.empty() ? Type::scalar(*dtype) : Type::tile(*dtype, shape);
    operands.push_back(options.reference->type.is_view()
                           ? options.reference
                           : fit(options.reference, result, "the reference"));
    attributes.emplace("reference", true);
  }
  return emit("inline_cuda", std::move(operands), std::move(attributes))->result();
}

}  // namespace tilewire
