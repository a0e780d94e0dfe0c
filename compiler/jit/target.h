#pragma once

#include <string>
#include <string_view>

namespace tilewire {

/// What code is specialised for. Never the rank.
///
/// Text: `sm_90a:world=2,lsa=2,multimem=0,gin=0` or `cpu:world=2x4` (teams × ranks in a team).
/// What is left out: world=1, lsa=world, multimem=0, gin=1 where lsa < world, else 0.
/// `gin=virtual`: of virtual ranks on one GPU.
struct Target {
  enum class Backend { kCuda, kCpu };
  Backend backend = Backend::kCpu;
  std::string architecture = "cpu";  ///< `sm_90a`, …; `cpu`
  int compute_capability = 0;        ///< 90 for sm_90a; 0 for the CPU
  int world_size = 1;
  int lsa_size = 1;  ///< ranks whose memory loads and stores reach
  bool multimem = false;
  bool gin = false;
  /// The network between virtual ranks on one GPU: no NCCL
  /// (templates/tilewire/virtual_network.cuh).
  bool has_virtual_gin = false;

  bool is_cuda() const { return backend == Backend::kCuda; }

  /// UserError says which part is wrong and what a target looks like.
  static Target parse(std::string_view text);
  std::string to_string() const;  ///< canonical: every field named
  bool operator==(const Target&) const = default;
};

}  // namespace tilewire
