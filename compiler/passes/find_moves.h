#pragma once

#include <vector>

#include "compiler/ir/program.h"

namespace tilewire {

/// What a mover can do of a program's consumers while they multiply. `roles`: what is the
/// producer's, and what is theirs.
struct Moves {
  std::vector<Statement*> stores;  ///< of tiles, to peers
  std::vector<Statement*> loads;
};
Moves find_moves(const Program& program, Statement& roles);

}  // namespace tilewire
