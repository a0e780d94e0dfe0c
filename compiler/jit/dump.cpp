#include "compiler/jit/dump.h"

#include <algorithm>
#include <fstream>

#include <fmt/format.h>

#include "compiler/ir/text.h"
#include "compiler/jit/cache.h"
#include "compiler/support/environment.h"
#include "compiler/support/error.h"

namespace tilewire {

Dump::Dump(const Program& program, const Target& target) {
  const Environment& environment = Environment::get();
  if (environment.dump.empty()) return;
  const std::string text = print(program);
  const std::string digest =
      CacheKey().add("ir", text).add("target", target.to_string()).hex().substr(0, 12);
  folder_ = environment.dump_dir / fmt::format("{}-{}", program.name, digest);
  if (wants("ir")) write("00_ir.txt", text);
}

bool Dump::wants(std::string_view stage) const {
  const auto& stages = Environment::get().dump;
  return std::find(stages.begin(), stages.end(), stage) != stages.end();
}

void Dump::pass(std::string_view name, const Program& program) {
  ++num_passes_;
  if (wants("passes")) write(fmt::format("{:02}_{}.txt", num_passes_, name), print(program));
}

void Dump::file(std::string_view stage, std::string_view name, std::string_view bytes) const {
  if (wants(stage)) write(std::string(name), bytes);
}

void Dump::write(const std::string& name, std::string_view bytes) const {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  std::ofstream file(folder_ / name, std::ios::binary);
  file << bytes;
  file.close();
  if (!file) {
    throw UserError(fmt::format("TILEWIRE_DUMP: {} can't be written; set TILEWIRE_DUMP_DIR",
                                (folder_ / name).string()));
  }
}

}  // namespace tilewire
