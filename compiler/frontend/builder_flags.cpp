#include "compiler/frontend/builder.h"

namespace tilewire {

void Builder::set(Value* flag) { emit("set", {flag}); }

}  // namespace tilewire
