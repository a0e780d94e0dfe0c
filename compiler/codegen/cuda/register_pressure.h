#pragma once

#include "compiler/ir/program.h"

namespace tilewire {

/// 32-bit registers that tiles take of a thread where most of them are alive, as far as that can be
/// told before the generated text is compiled: element-wise results that are used once are computed
/// where they are used, and take none.
int tile_registers(const Program& lowered);

/// CTAs that the registers of an SM should suffice for, each with at least the registers that its
/// tiles take: told so, ptxas saves registers down to that, and the loads of more CTAs are in
/// flight. At least 1, and no more for programs with ops whose templates take registers of their
/// own (`matmul`, sorts, …).
int resident_ctas(const Program& lowered);

}  // namespace tilewire
