#pragma once

#include <string>
#include <string_view>

#include "compiler/ir/program.h"

namespace tilewire {

struct PrintOptions {
  bool locations = true;  ///< `@ line:column` behind each statement
};

/// IR text. Names are made unique in order of definition, so that equal programs print equally.
/// The grammar is in docs/ir.md. `parse(print(p))` prints the same text again.
std::string print(const Program& program, const PrintOptions& options = {});

/// Reads IR text back; UserError with the line of the text where it can't.
Program parse_program(std::string_view text);

/// Throws InternalError naming the statement where a rule of the IR is broken: a value used before
/// its definition or outside its region, operand or result types that the op's `infer` doesn't
/// give, a missing yield, an attribute of the wrong type.
void verify(const Program& program);

}  // namespace tilewire
