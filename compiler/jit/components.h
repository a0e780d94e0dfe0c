#pragma once

#include <string>
#include <vector>

namespace tilewire {

/// One thing that tilewire stands on, for `tilewire doctor`.
struct ComponentReport {
  std::string name;
  std::string found_path;  ///< empty where there is none
  std::string version;     ///< empty where there is none to tell
  std::string usable_for;  ///< what works with it
  std::string problem;     ///< empty: fine
  std::string remedy;      ///< what to do; empty where nothing is to be done
};

/// Driver, NVRTC, CUDA headers, NCCL library, NCCL headers, cache folder, LLVM, in this order.
/// Loads the libraries. Never throws for what is missing: that is what it reports.
std::vector<ComponentReport> report_components();

}  // namespace tilewire
