#include "runtime/cpu/symbols.h"

#include <cmath>
#include <cstdint>
#include <cstring>

#include "compiler/support/error.h"
#include "runtime/cpu/absent_rank.h"
#include "runtime/cpu/barrier.h"
#include "runtime/cpu/channel.h"
#include "runtime/cpu/flag.h"
#include "runtime/cpu/launch_control.h"
#include "runtime/cpu/launch_state.h"
#include "runtime/cpu/multimem.h"
#include "runtime/cpu/network_references.h"
#include "runtime/cpu/report_references.h"
#include "runtime/cpu/scheduler.h"
#include "runtime/cpu/semaphore.h"
#include "runtime/cpu/tile_references.h"

namespace tilewire {
namespace {

void lsa_barrier(CpuInstance* instance, std::uint32_t site) {
  cpu_barrier(*instance, CpuTeam::kLsa, site);
}

void world_barrier(CpuInstance* instance, std::uint32_t site) {
  cpu_barrier(*instance, CpuTeam::kWorld, site);
}

void interrupt(CpuInstance* instance) { Scheduler::of(*instance).interrupt(*instance); }

void lsa_grid_barrier(CpuInstance* instance, std::uint32_t site) {
  cpu_grid_barrier(*instance, false, site);
}

void local_grid_barrier(CpuInstance* instance, std::uint32_t site) {
  cpu_grid_barrier(*instance, true, site);
}

void no_such_rank(CpuInstance* instance, std::int64_t rank, std::int64_t team_size,
                  std::int64_t is_world, const char* file, std::int64_t line) {
  throw absent_rank_error(*instance, rank, is_world != 0 ? CountedIn::kWorld : CountedIn::kLsa,
                          team_size, {file, static_cast<int>(line), 0});
}

template <typename Function>
CpuSymbol symbol(std::string_view name, Function* function) {
  return {name, reinterpret_cast<void*>(function)};
}

std::vector<CpuSymbol> steps_and_mathematics() {
  return {
      symbol("tilewire_lsa_barrier", lsa_barrier),
      symbol("tilewire_world_barrier", world_barrier),
      symbol("tilewire_interrupt", interrupt),
      symbol("tilewire_lsa_grid_barrier", lsa_grid_barrier),
      symbol("tilewire_local_grid_barrier", local_grid_barrier),
      symbol("tilewire_no_such_rank", no_such_rank),
      symbol("tilewire_check_in", cpu_check_in),
      symbol("expf", ::expf),
      symbol("exp", static_cast<double (*)(double)>(::exp)),
      symbol("exp2f", ::exp2f),
      symbol("exp2", static_cast<double (*)(double)>(::exp2)),
      symbol("logf", ::logf),
      symbol("log", static_cast<double (*)(double)>(::log)),
      symbol("log2f", ::log2f),
      symbol("log2", static_cast<double (*)(double)>(::log2)),
      symbol("tanhf", ::tanhf),
      symbol("tanh", static_cast<double (*)(double)>(::tanh)),
      symbol("erff", ::erff),
      symbol("erf", static_cast<double (*)(double)>(::erf)),
      symbol("sinf", ::sinf),
      symbol("sin", static_cast<double (*)(double)>(::sin)),
      symbol("cosf", ::cosf),
      symbol("cos", static_cast<double (*)(double)>(::cos)),
      symbol("powf", ::powf),
      // What LLVM makes of calls of the others: sin with cos, powers of 2 and 10.
      symbol("sincosf", ::sincosf),
      symbol("sincos", static_cast<void (*)(double, double*, double*)>(::sincos)),
      symbol("ldexpf", ::ldexpf),
      symbol("ldexp", static_cast<double (*)(double, int)>(::ldexp)),
      symbol("exp10f", ::exp10f),
      symbol("exp10", static_cast<double (*)(double)>(::exp10)),
      symbol("pow", static_cast<double (*)(double, double)>(::pow)),
      symbol("fmodf", ::fmodf),
      symbol("fmod", static_cast<double (*)(double, double)>(::fmod)),
      symbol("fmaf", ::fmaf),
      symbol("fma", static_cast<double (*)(double, double, double)>(::fma)),
      symbol("floorf", ::floorf),
      symbol("floor", static_cast<double (*)(double)>(::floor)),
      symbol("ceilf", ::ceilf),
      symbol("ceil", static_cast<double (*)(double)>(::ceil)),
      symbol("truncf", ::truncf),
      symbol("trunc", static_cast<double (*)(double)>(::trunc)),
      symbol("roundevenf", ::roundevenf),
      symbol("roundeven", ::roundeven),
      symbol("memcpy", ::memcpy),
      symbol("memmove", ::memmove),
      symbol("memset", ::memset),
  };
}

}  // namespace

const std::vector<CpuSymbol>& cpu_symbols() {
  static const std::vector<CpuSymbol> symbols = [] {
    std::vector<CpuSymbol> all = steps_and_mathematics();
    for (const std::vector<CpuSymbol>& references :
         {tile_references(), report_references(), semaphore_references(), channel_references(),
          flag_references(), launch_state_references(), multimem_references(),
          network_references()}) {
      all.insert(all.end(), references.begin(), references.end());
    }
    return all;
  }();
  return symbols;
}

}  // namespace tilewire
