#include <utility>

#include "compiler/passes/passes.h"
#include "compiler/passes/rewrite.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

class Chooser {
 public:
  explicit Chooser(const Target& target) : target_(target) {}

  void region(Region& region) {
    Statements old = std::exchange(region.statements, {});
    for (auto& statement : old) {
      replaced_.resolve_all(statement->operands);
      for (Region& inner : statement->regions) this->region(inner);
      if (!statement->is("inline_cuda")) {
        region.statements.push_back(std::move(statement));
      } else if (target_.is_cuda()) {
        drop_reference(*statement);
        region.statements.push_back(std::move(statement));
      } else {
        take_reference(*statement);
        removed_.push_back(std::move(statement));
      }
    }
  }

 private:
  static void drop_reference(Statement& statement) {
    if (!statement.flag("reference")) return;
    statement.operands.pop_back();
    statement.attributes.erase("reference");
  }

  void take_reference(const Statement& statement) {
    if (!statement.flag("reference")) {
      throw UserError(
          "inline_cuda: the CPU can't run CUDA; give it reference=, a @tw.function or a function "
          "of tw that computes the same",
          statement.location);
    }
    replaced_.replace(statement.result(), statement.operands.back());
  }

  const Target& target_;
  Replacements replaced_;
  Statements removed_;  ///< kept, so that no new statement takes their address
};

}  // namespace

Program choose_inline(Program program, const Target& target) {
  Chooser(target).region(program.body);
  return program;
}

}  // namespace tilewire
