#include "compiler/passes/facts.h"

#include <algorithm>
#include <ranges>

#include "compiler/jit/tensor_map.h"
#include "compiler/passes/passes.h"

namespace tilewire {
namespace {

constexpr std::int64_t kUsualExtent = 16;  ///< any that leaves rows aligned, whatever the dtype

bool is_usually_mappable(const Parameter& parameter) {
  std::vector<std::int64_t> extents;
  for (const Dimension& dimension : parameter.shape) {
    extents.push_back(dimension.size == kDynamic ? kUsualExtent : dimension.size);
  }
  std::vector<std::int64_t> strides(extents.size(), 1);
  for (std::size_t i = extents.size(); i > 1; --i) strides[i - 2] = strides[i - 1] * extents[i - 1];
  return is_mappable(parameter.dtype, 0, extents, strides);
}

/// Whether it takes a launch to know where its rows begin.
bool has_rows_anywhere(const Parameter& parameter) {
  if (parameter.shape.size() < 2) return false;
  if (parameter.kind == Parameter::Kind::kTensor) return true;  // which may have gaps
  return parameter.kind == Parameter::Kind::kWindow &&
         std::ranges::any_of(parameter.shape | std::views::drop(1),
                             [](const Dimension& dimension) { return dimension.size == kDynamic; });
}

}  // namespace

LocalFacts ordinary_facts(const Program& program) {
  LocalFacts facts;
  for (const Parameter& parameter : program.parameters) {
    const bool is_tensor = parameter.kind == Parameter::Kind::kTensor;
    const bool is_array = is_tensor || parameter.is_symmetric();
    const bool is_memory = is_tensor || parameter.kind == Parameter::Kind::kWindow;
    facts.contiguous.push_back(is_array);
    facts.alignment.push_back(is_array ? 16 : 1);
    facts.local_only.push_back(is_tensor);
    facts.mappable.push_back(is_memory && is_usually_mappable(parameter));
  }
  return facts;
}

bool depends_on_maps(const Program& program, const Target& target) {
  if (std::ranges::any_of(program.parameters, has_rows_anywhere)) return true;
  if (!has_staged_products(target) && !has_products_ahead(target)) return false;
  bool multiplies = false;
  for_each_statement(program.body, [&multiplies](const Statement& statement) {
    multiplies |= statement.is("matmul");
  });
  return multiplies;
}

}  // namespace tilewire
