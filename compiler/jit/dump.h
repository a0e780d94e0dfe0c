#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "compiler/ir/program.h"
#include "compiler/jit/target.h"

namespace tilewire {

/// Writes the stages that TILEWIRE_DUMP names into a folder per program and target,
/// `<TILEWIRE_DUMP_DIR>/<kernel>-<digest>/`. UserError where that can't be written.
class Dump {
 public:
  Dump(const Program& program, const Target& target);

  bool wants(std::string_view stage) const;
  /// The program after a pass: `03_lower_views.txt`. Numbers count the calls.
  void pass(std::string_view name, const Program& program);
  /// `kernel.cu`, `kernel.ptx`, …: bytes as they are.
  void file(std::string_view stage, std::string_view name, std::string_view bytes) const;

 private:
  void write(const std::string& name, std::string_view bytes) const;

  std::filesystem::path folder_;  ///< empty where nothing is to be dumped
  int num_passes_ = 0;
};

}  // namespace tilewire
