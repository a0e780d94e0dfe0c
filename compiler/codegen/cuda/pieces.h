#pragma once

#include <set>

#include "compiler/ir/program.h"

namespace tilewire {

/// Which tiles come in pieces (templates/tilewire/pieces.cuh) where products of several warpgroups
/// take most registers. Elements per column take fewer instructions so, too: a thread looks for
/// those of its own that exist, not for all that it needs.
struct PiecePlan {
  /// What is loaded so, and what stands between that and `computed`: parts of one expression.
  std::set<const Value*> in_pieces;
  /// Results of the statements that such expressions are: computed there, all of them.
  std::set<const Value*> computed;
};

/// Whether it loads an element per column of products, and nothing but masks takes any away.
bool is_of_columns(const Statement& statement);

/// A load of rows or of an element per column comes in pieces where one element-wise statement on
/// products is all that reads it, and nothing in front of that writes or waits.
/// `are_rows_dear`: whether the registers of whole rows are needed otherwise.
PiecePlan plan_pieces(const Program& lowered, bool are_rows_dear);

}  // namespace tilewire
