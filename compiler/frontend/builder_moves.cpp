#include "compiler/frontend/builder.h"
#include "compiler/ops/op.h"

namespace tilewire {

Value* Builder::histogram(Value* tile, std::int64_t num_bins) {
  return emit("histogram", {tile}, {{"num_bins", num_bins}})->result();
}

}  // namespace tilewire
