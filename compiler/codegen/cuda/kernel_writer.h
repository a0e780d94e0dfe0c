#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/codegen/cuda/emitter.h"

namespace tilewire {

/// Writes what stands around the ops: the header block, the includes, the signature, control flow.
class KernelWriter {
 public:
  KernelWriter(const Program& lowered, const Artifact& description);
  std::string write();

 private:
  /// A variable that regions assign when they end.
  struct CarriedVariable {
    std::string name;
    const Value* held = nullptr;  ///< the region argument whose value it has until then
  };

  void name_sizes();
  void name_arguments();
  void write_signature();
  void write_preamble();  ///< shared memory, addresses at peers, barriers
  void write_barriers();
  void write_network();
  void write_copier();  ///< of views
  void write_task_copier(const Region& task);
  /// How many stages copies by the copy engine have, and where: the task's, where it has such.
  std::pair<int, std::string> copy_stages(bool for_task) const;
  void write_staging();
  void write_common_ring();
  void write_peer_addresses();
  void write_multicast_addresses();

  void write_region(const Region& region);
  void write_statement(const Statement& statement);
  void write_for(const Statement& loop);
  void write_while(const Statement& loop);
  /// Variables for a loop's carried values, which hold the initial ones; its regions' arguments
  /// and its results are bound to them.
  std::vector<CarriedVariable> write_carried(const Statement& loop);
  /// A region whose last statement hands its operands to `variables`.
  void write_body(const Region& region, const std::vector<CarriedVariable>& variables);
  bool is_read_only_by(const Region& region, const Value* value, const Statement& branch) const;
  void share_variables(const Region& region, const std::vector<CarriedVariable>& variables);
  void write_if(const Statement& branch);
  void write_roles(const Statement& split);
  void write_task(const Statement& task);
  /// The last statement of a region: hands its operands to `variables`, where it is reached.
  void write_yield(const Region& region, const std::vector<CarriedVariable>& variables);

  /// `FILE:LINE` → the comment that stands for it: number, place, what happens there.
  std::map<std::string, std::string> stories() const;
  std::string body_with_stories() const;

  /// Header block, includes, constants and tile types: known when the body is.
  std::string top();
  void write_description(Writer& writer);
  std::string argument_text(const ArgumentSlot& slot);

  const Program& program_;
  const Artifact& description_;
  CudaEmitter emitter_;
  std::vector<std::string> arguments_;
  std::map<const Value*, CarriedVariable> shared_;  ///< results of branches → what they assign
  bool has_barrier_ = false;
  bool has_local_grid_barrier_ = false;
  bool has_grid_barrier_ = false;
  bool has_network_barrier_ = false;
  bool has_comm_ = false;
  bool is_in_producer_ = false;  ///< writes the producer's branch
};

}  // namespace tilewire
