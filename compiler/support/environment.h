#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tilewire {

/// Every environment variable that tilewire reads, read once (`Environment::get()`).
/// `docs/environment.md` lists them; a test compares the two.
struct Environment {
  /// TILEWIRE_CACHE_DIR: the folder of compiled kernels. Default `$XDG_CACHE_HOME/tilewire`,
  /// else `$HOME/.cache/tilewire`; empty turns the disk cache off.
  std::filesystem::path cache_dir;
  /// TILEWIRE_DUMP: comma-separated stages to write: `ir`, `passes`, `cuda`, `ptx`, `cubin`; for
  /// the CPU `llvm`, `object`.
  std::vector<std::string> dump;
  /// TILEWIRE_DUMP_DIR: where dumps go. Default `tilewire-dump` in the working folder.
  std::filesystem::path dump_dir;
  /// TILEWIRE_TIMEOUT: seconds until a wait gives up, stops the launch and traps. Default 600.
  double timeout_s = 600.0;
  /// TILEWIRE_REPORT_AFTER: seconds until a wait reports itself and goes on. Default 30, at most
  /// half of the timeout.
  double report_after_s = 30.0;
  /// TILEWIRE_SEED: seed of the virtual world's scheduler. Default 0.
  std::uint64_t seed = 0;
  /// TILEWIRE_CHECK: 1: kernels on GPUs look for misuse of synchronisation objects, for ranks that
  /// aren't there, and for views outside of memory, as those on the CPU always do. Default 0.
  bool check = false;
  /// TILEWIRE_GIN_CONTEXTS: contexts of the network that a communicator asks NCCL for where its
  /// ranks don't all reach each other by loads and stores. Default 4. NCCL may give fewer.
  int gin_contexts = 4;
  /// TILEWIRE_GIN_SIGNALS: signals of the network that such a communicator asks for. Default 32768:
  /// the proxy of NCCL 2.28 has 16 bits for their numbers, of which NCCL takes some itself.
  int gin_signals = 32768;
  /// TILEWIRE_CUDA_HOME, else CUDA_HOME, else CUDA_PATH: a CUDA toolkit to look in.
  std::filesystem::path cuda_home;
  /// TILEWIRE_NCCL_HOME, else NCCL_HOME: a folder with NCCL's `include` and `lib`.
  std::filesystem::path nccl_home;
  /// NCCL_NVLS_ENABLE and NCCL_GIN_ENABLE, which are NCCL's: where one is 0, multicast (multimem)
  /// or the network (GIN) is never asked for.
  std::string nccl_nvls_enable;
  std::string nccl_gin_enable;
  /// TILEWIRE_SITE_PACKAGES: path-separated folders with Python wheels to look in (the bindings
  /// add the interpreter's own).
  std::vector<std::filesystem::path> site_packages;

  static const Environment& get();
  /// Reads the process's environment anew; throws UserError on a value that can't be read.
  static Environment read();
  /// Names of all variables above, in the order of the fields.
  static std::vector<std::string_view> variable_names();
};

}  // namespace tilewire
