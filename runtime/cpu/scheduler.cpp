#include "runtime/cpu/scheduler.h"

#include <algorithm>
#include <utility>

#include "compiler/support/error.h"
#include "runtime/cpu/deadlock_report.h"

namespace tilewire {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

}  // namespace

void RankLaunch::place(CpuInstance& instance, int rank, std::int64_t program_id) const {
  instance.rank = rank;
  std::copy(grid.begin(), grid.end(), instance.num_programs);
  instance.program_id[0] = program_id % grid[0];
  instance.program_id[1] = program_id / grid[0] % grid[1];
  instance.program_id[2] = program_id / (grid[0] * grid[1]);
}

CpuCounters::CpuCounters(std::span<const RankLaunch> ranks) {
  for (const RankLaunch& launch : ranks) {
    const int count = launch.kernel == nullptr ? 0 : launch.kernel->artifact().launch.num_counters;
    by_rank_.emplace_back(static_cast<std::size_t>(count));
  }
}

Scheduler::Scheduler(std::span<const RankLaunch> ranks, std::int64_t resident_limit,
                     std::mt19937_64& random, FiberStackPool& stacks, CpuLane& lane)
    : ranks_(ranks),
      counters_(ranks),
      resident_limit_(resident_limit),
      random_(random),
      stacks_(stacks),
      lane_(lane),
      states_(ranks.size()),
      free_arenas_(ranks.size()) {
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    const std::int64_t num_instances = ranks[rank].num_instances();
    for (std::int64_t i = 0; i < num_instances; ++i) states_[rank].not_started.push_back(i);
    states_[rank].tasks.resize(at(num_instances));
    states_[rank].finished.resize(at(num_instances));
  }
}

Scheduler::~Scheduler() = default;

void Scheduler::run() {
  try {
    while (FiberTask* task = error_ ? nullptr : next()) {
      resume(*task);
      while (std::exchange(is_checking_in_, false)) {
        control_.poll();
        resume(*task);
      }
      control_.poll();
    }
    if (!error_ && !waiting_.empty()) throw deadlock_error(*this);
  } catch (...) {
    error_ = std::current_exception();
  }
  if (error_) {
    unwind_all();
    std::rethrow_exception(error_);
  }
}

Scheduler& Scheduler::of(const CpuInstance& instance) {
  if (instance.scheduler == nullptr) {
    throw InternalError("a program waits whose artifact says that it never does");
  }
  return *static_cast<Scheduler*>(instance.scheduler);
}

void Scheduler::wait(CpuInstance& instance, const WaitCondition& condition, const void* key,
                     std::uint32_t site) {
  auto& task = static_cast<FiberTask&>(instance);
  task.condition = &condition;
  task.site = site;
  if (condition.is_met()) {
    runnable_.push_back(&task);
  } else {
    waiting_.emplace(key, &task);
  }
  suspend();
  task.condition = nullptr;
}

void Scheduler::notify(const void* key) {
  for (auto [it, end] = waiting_.equal_range(key); it != end;) {
    if (it->second->condition->is_met()) {
      runnable_.push_back(it->second);
      it = waiting_.erase(it);
    } else {
      ++it;
    }
  }
}

void Scheduler::check_in() {
  if (!is_stopping_ && !control_.is_due()) return;
  is_checking_in_ = true;
  suspend();
}

Scheduler::Progress Scheduler::progress(const AwaitedInstance& instance) const {
  if (ranks_[at(instance.rank)].kernel == nullptr) return Progress::kNotLaunched;
  const RankState& state = states_[at(instance.rank)];
  if (at(instance.program_id) >= state.tasks.size()) return Progress::kOutsideGrid;
  if (state.finished[at(instance.program_id)]) return Progress::kFinished;
  return state.tasks[at(instance.program_id)] != nullptr ? Progress::kRuns : Progress::kNotStarted;
}

const FiberTask* Scheduler::task(const AwaitedInstance& instance) const {
  const RankState& state = states_[at(instance.rank)];
  const std::size_t index = at(instance.program_id);
  return index < state.tasks.size() ? state.tasks[index].get() : nullptr;
}

/// A library's distributions differ between implementations; this one doesn't. The bias is 2^-50.
std::uint64_t Scheduler::random_below(std::uint64_t bound) { return random_() % bound; }

bool Scheduler::can_start(int rank) const {
  const RankState& state = states_[at(rank)];
  return !state.not_started.empty() && state.num_resident < resident_limit_;
}

/// One of those that can run, or of the ranks that can start another instance; null if none.
FiberTask* Scheduler::next() {
  std::vector<int> startable;
  for (int rank = 0; rank < static_cast<int>(states_.size()); ++rank) {
    if (can_start(rank)) startable.push_back(rank);
  }
  const std::size_t num_choices = runnable_.size() + startable.size();
  if (num_choices == 0) return nullptr;
  const std::size_t choice = random_below(num_choices);
  if (choice >= runnable_.size()) return start(startable[choice - runnable_.size()]);
  FiberTask* task = std::exchange(runnable_[choice], runnable_.back());
  runnable_.pop_back();
  return task;
}

FiberTask* Scheduler::start(int rank) {
  RankState& state = states_[at(rank)];
  const std::size_t choice = random_below(state.not_started.size());
  const std::int64_t program_id =
      std::exchange(state.not_started[choice], state.not_started.back());
  state.not_started.pop_back();

  auto task = std::make_unique<FiberTask>();
  ranks_[at(rank)].place(*task, rank, program_id);
  task->counters = counters_.of(rank);
  task->memory = take_arena(rank);
  task->arena = task->memory.get();
  task->scheduler = this;
  task->fiber = boost::context::fiber(std::allocator_arg, PooledStack(stacks_),
                                      [this, task = task.get()](boost::context::fiber&& main) {
                                        main_ = std::move(main);
                                        run_instance(*task);
                                        return std::move(main_);
                                      });
  ++state.num_resident;
  state.tasks[at(program_id)] = std::move(task);
  return state.tasks[at(program_id)].get();
}

/// On the instance's fiber. Nothing leaves it: a failure is kept for `run`.
void Scheduler::run_instance(FiberTask& task) {
  const RankLaunch& launch = ranks_[at(task.rank)];
  try {
    launch.kernel->entry()(&task, launch.arguments.data());
  } catch (const LaunchStopped&) {
    return;  // `error_` says why
  } catch (...) {
    if (!error_) error_ = std::current_exception();
  }
}

void Scheduler::resume(FiberTask& task) {
  task.fiber = std::move(task.fiber).resume();
  if (task.fiber) return;
  const auto rank = at(task.rank);
  const auto program_id = at(task.linear_program_id());
  free_arenas_[rank].push_back(std::move(task.memory));
  --states_[rank].num_resident;
  states_[rank].finished[program_id] = true;
  states_[rank].tasks[program_id].reset();
}

void Scheduler::suspend() {
  if (!is_stopping_) main_ = std::move(main_).resume();
  if (is_stopping_) throw LaunchStopped();
}

void Scheduler::unwind_all() {
  is_stopping_ = true;
  for (RankState& state : states_) {
    for (std::unique_ptr<FiberTask>& task : state.tasks) {
      if (task != nullptr) resume(*task);
    }
  }
}

AlignedBuffer Scheduler::take_arena(int rank) {
  auto& free = free_arenas_[at(rank)];
  if (free.empty()) {
    return make_aligned_buffer(at(ranks_[at(rank)].kernel->artifact().arena_bytes));
  }
  AlignedBuffer arena = std::move(free.back());
  free.pop_back();
  return arena;
}

}  // namespace tilewire
