#include "compiler/codegen/cpu/llvm_scalars.h"

namespace tilewire {

CpuScalar LlvmScalars::exp(CpuScalar x) { return call_math("exp", {x}); }
CpuScalar LlvmScalars::exp2(CpuScalar x) { return call_math("exp2", {x}); }
CpuScalar LlvmScalars::log(CpuScalar x) { return call_math("log", {x}); }
CpuScalar LlvmScalars::log2(CpuScalar x) { return call_math("log2", {x}); }
CpuScalar LlvmScalars::tanh(CpuScalar x) { return call_math("tanh", {x}); }
CpuScalar LlvmScalars::erf(CpuScalar x) { return call_math("erf", {x}); }
CpuScalar LlvmScalars::sin(CpuScalar x) { return call_math("sin", {x}); }
CpuScalar LlvmScalars::cos(CpuScalar x) { return call_math("cos", {x}); }
CpuScalar LlvmScalars::pow(CpuScalar a, CpuScalar b) { return call_math("pow", {a, b}); }

CpuScalar LlvmScalars::sigmoid(CpuScalar x) {
  const CpuScalar one = number(1.0, compute_dtype(x.dtype));
  return div(one, add(one, exp(neg(x))));
}

}  // namespace tilewire
