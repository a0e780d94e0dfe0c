#pragma once

#include <string>

#include "compiler/ir/program.h"
#include "compiler/jit/target.h"

namespace tilewire {

/// Programs over the network as legalisation leaves them: puts of views, tiles and elements, with
/// masks and at scattered places, signals, waits, barriers.
Program network_puts(const Target& target);
/// Messages between any ranks, and exchanges between all.
Program network_channels(const Target& target);
/// Barriers of all instances of all ranks.
Program network_grid(const Target& target);
/// A read from a peer, which NCCL has since 2.30.
Program network_get(const Target& target);

/// The CUDA text of a program that is lowered already.
std::string cuda_of_lowered(const Program& lowered, const Target& target);

}  // namespace tilewire
