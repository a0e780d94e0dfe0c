#pragma once

#include <map>

#include "compiler/ir/program.h"

namespace tilewire {

/// Bytes of shared memory that the statement passes data through, threads meeting inside; 0: none.
int shared_bytes_of(const Statement& statement, int num_threads);

/// Where in shared memory each statement passes its data through.
struct SharedPlaces {
  /// Statement → its place. Statements of one place have the same bytes. 0 and 1: small uses, in
  /// turn, so that one needs no meeting before it while the one before is still being read; 2:
  /// large ones.
  std::map<const Statement*, int> places;
  std::map<const Statement*, int> offsets;  ///< bytes from the start of the buffer
  int num_bytes = 0;
};

SharedPlaces place_shared_memory(const Program& lowered);

}  // namespace tilewire
