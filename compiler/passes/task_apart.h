#pragma once

#include <memory>

#include "compiler/ir/program.h"

namespace tilewire {

/// Takes a program's task out, for passes that are about the rest of it.
class TaskApart {
 public:
  explicit TaskApart(Program& program);
  /// In front of the rest; in a program with roles, of what the producer does.
  void give_back(Program& program);

 private:
  std::unique_ptr<Statement> task_;  ///< null: there is none
};

}  // namespace tilewire
