#include "runtime/cpu/scheduler.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "compiler/support/error.h"
#include "runtime/cpu/deadlock_report.h"

namespace tilewire {
namespace {

/// How often the scheduler chooses again where it met a rank that is slow.
constexpr int kMaxTries = 8;

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

}  // namespace

Scheduler::Scheduler(int world_size, std::int64_t resident_limit, std::mt19937_64& random,
                     FiberStackPool& stacks, Network& network)
    : ranks_(at(world_size)),
      resident_limit_(resident_limit),
      pace_(random, world_size),
      stacks_(stacks),
      network_(network),
      notify_([this](const void* key) { notify(key); }),
      states_(at(world_size)) {}

Scheduler::~Scheduler() { unwind_all(); }

void Scheduler::begin(int rank, const RankLaunch& launch, CpuLane& lane) {
  RankState& state = states_[at(rank)];
  if (state.is_under_way) throw InternalError("a rank launches while its last launch is under way");
  std::erase_if(claims_, [rank](const auto& claim) { return claim.second.instance.rank == rank; });
  state = RankState();
  state.lane = &lane;
  ranks_[at(rank)] = launch;
  if (launch.kernel == nullptr) return;
  state.kernel = *launch.kernel;
  ranks_[at(rank)].kernel = &*state.kernel;
  state.counters = launch.words();
  state.num_unfinished = launch.num_instances();
  for (std::int64_t i = 0; i < state.num_unfinished; ++i) state.not_started.push_back(i);
  state.tasks.resize(at(state.num_unfinished));
  if (launch.kernel->artifact().launch.has_task) state.beside.resize(at(state.num_unfinished));
  state.finished.resize(at(state.num_unfinished));
  state.is_under_way = true;
  pace_.change();
}

int Scheduler::run_until_one_ends() {
  try {
    control_.emplace(&is_ended_);
    while (ended_.empty() && !error_) {
      network_.pass(notify_);
      FiberTask* task = next();
      if (task == nullptr && (network_.deliver_one(notify_) || wake_met())) continue;
      if (task == nullptr) throw deadlock_error(*this);
      give_turn(*task);
    }
  } catch (...) {
    error_ = std::current_exception();
  }
  throw_error();
  const int rank = ended_.front();
  ended_.pop_front();
  return rank;
}

void Scheduler::throw_error() {
  if (!error_) return;
  unwind_all();
  std::rethrow_exception(std::exchange(error_, nullptr));
}

void Scheduler::run_for_a_while() {
  control_.emplace(&is_ended_);
  try {
    for (std::int64_t turns = pace_.turns_meanwhile(); turns > 0 && ended_.empty(); --turns) {
      network_.pass(notify_);
      FiberTask* task = next();
      if (task == nullptr && network_.deliver_one(notify_)) continue;
      if (task == nullptr) return;
      give_turn(*task);
      if (error_) break;
    }
  } catch (...) {
    error_ = std::current_exception();
  }
  throw_error();
}

void Scheduler::run() {
  const auto is_busy = [](const RankState& state) { return state.is_under_way; };
  while (std::any_of(states_.begin(), states_.end(), is_busy)) run_until_one_ends();
  ended_.clear();
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

bool Scheduler::wake_met() {
  const std::size_t num_before = waiting_.size();
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if (it->second->condition->is_met()) {
      runnable_.push_back(it->second);
      it = waiting_.erase(it);
    } else {
      ++it;
    }
  }
  return waiting_.size() < num_before;
}

namespace {

/// The network has nothing left to do for an instance.
class IsFlushed final : public WaitCondition {
 public:
  explicit IsFlushed(const Network::Ticket& ticket) : ticket_(ticket) {}
  bool is_met() const override { return *ticket_ == 0; }

 private:
  const Network::Ticket& ticket_;
};

}  // namespace

void Scheduler::flush(CpuInstance& instance) {
  auto& task = static_cast<FiberTask&>(instance);
  if (task.ticket == nullptr || *task.ticket == 0) return;
  wait(instance, IsFlushed(task.ticket), task.ticket.get(), 0);
}

namespace {

/// An instance's task has ended.
class HasEnded final : public WaitCondition {
 public:
  HasEnded(const std::unique_ptr<FiberTask>& task, AwaitedInstance who) : task_(task), who_(who) {}
  bool is_met() const override { return task_ == nullptr; }
  std::vector<AwaitedInstance> awaited() const override { return {who_}; }

 private:
  const std::unique_ptr<FiberTask>& task_;
  AwaitedInstance who_;
};

}  // namespace

void Scheduler::join_task(CpuInstance& instance, std::uint32_t site) {
  const AwaitedInstance who{static_cast<int>(instance.rank), instance.linear_program_id(), true};
  const auto& task = states_[at(instance.rank)].beside[at(who.program_id)];
  wait(instance, HasEnded(task, who), &task, site);
}

void Scheduler::check_in() {
  if (!is_stopping_ && !control_->is_due()) return;
  is_checking_in_ = true;
  suspend();
}

void Scheduler::pass_access(CpuInstance& instance) {
  if (--instance.accesses_left <= 0) interrupt(instance);
}

void Scheduler::interrupt(CpuInstance& instance) {
  runnable_.push_back(&static_cast<FiberTask&>(instance));
  suspend();
}

void Scheduler::claim(const CpuInstance& instance, const void* object, std::uint32_t site,
                      std::string_view what) {
  const AwaitedInstance self{static_cast<int>(instance.rank), instance.linear_program_id(),
                             instance.in_task != 0};
  const auto [found, is_first] = claims_.try_emplace(object, Claim{self, site});
  const Claim& other = found->second;
  if (is_first ||
      (other.instance.rank == self.rank && other.instance.program_id == self.program_id &&
       other.instance.in_task == self.in_task)) {
    return;
  }
  const auto place = [this](int rank, std::uint32_t number) -> const WaitSite& {
    return ranks_[at(rank)].kernel->artifact().wait_sites.at(number);
  };
  const WaitSite& own = place(self.rank, site);
  const WaitSite& first = place(other.instance.rank, other.site);
  throw UserError(
      fmt::format("{}: rank {}, program {} {} as rank {}, program {} at {}; only one instance of a "
                  "launch may",
                  own.what, self.rank, self.program_id, what, other.instance.rank,
                  other.instance.program_id, first.location.to_string()),
      own.location);
}

Scheduler::Progress Scheduler::progress(const AwaitedInstance& instance) const {
  if (ranks_[at(instance.rank)].kernel == nullptr) return Progress::kNotLaunched;
  const RankState& state = states_[at(instance.rank)];
  if (at(instance.program_id) >= state.tasks.size()) return Progress::kOutsideGrid;
  if (state.finished[at(instance.program_id)]) return Progress::kFinished;
  if (instance.in_task && task(instance) == nullptr) return Progress::kFinished;
  return state.tasks[at(instance.program_id)] != nullptr ? Progress::kRuns : Progress::kNotStarted;
}

const FiberTask* Scheduler::task(const AwaitedInstance& instance) const {
  const RankState& state = states_[at(instance.rank)];
  const std::size_t index = at(instance.program_id);
  const auto& fibers = instance.in_task ? state.beside : state.tasks;
  return index < fibers.size() ? fibers[index].get() : nullptr;
}

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
  const auto rank_of = [&](std::size_t choice) {
    return choice < runnable_.size() ? static_cast<int>(runnable_[choice]->rank)
                                     : startable[choice - runnable_.size()];
  };
  std::size_t choice = pace_.below(num_choices);
  for (int tries = 0; tries < kMaxTries && pace_.holds_back(rank_of(choice)); ++tries) {
    choice = pace_.below(num_choices);
  }
  if (choice >= runnable_.size()) return start(startable[choice - runnable_.size()]);
  FiberTask* task = std::exchange(runnable_[choice], runnable_.back());
  runnable_.pop_back();
  return task;
}

FiberTask* Scheduler::start(int rank) {
  RankState& state = states_[at(rank)];
  const std::size_t choice = pace_.below(state.not_started.size());
  const std::int64_t program_id =
      std::exchange(state.not_started[choice], state.not_started.back());
  state.not_started.pop_back();

  ++state.num_resident;
  state.tasks[at(program_id)] = new_fiber(rank, program_id, false);
  FiberTask* first = state.tasks[at(program_id)].get();
  if (state.beside.empty()) return first;
  state.beside[at(program_id)] = new_fiber(rank, program_id, true);
  FiberTask* second = state.beside[at(program_id)].get();
  if (pace_.below(2) == 1) std::swap(first, second);
  runnable_.push_back(second);
  return first;
}

std::unique_ptr<FiberTask> Scheduler::new_fiber(int rank, std::int64_t program_id, bool in_task) {
  auto task = std::make_unique<FiberTask>();
  ranks_[at(rank)].place(*task, rank, program_id);
  task->in_task = in_task ? 1 : 0;
  task->counters = states_[at(rank)].counters.data();
  task->memory = take_arena(rank);
  task->arena = task->memory.get();
  task->scheduler = this;
  task->fiber = boost::context::fiber(std::allocator_arg, PooledStack(stacks_),
                                      [this, task = task.get()](boost::context::fiber&& main) {
                                        main_ = std::move(main);
                                        run_instance(*task);
                                        return std::move(main_);
                                      });
  return task;
}

/// On the instance's fiber. Nothing leaves it: a failure is kept for `run`.
void Scheduler::run_instance(FiberTask& task) {
  if (is_stopping_) return;  // before it began
  const RankLaunch& launch = ranks_[at(task.rank)];
  try {
    launch.kernel->entry()(&task, launch.arguments.data());
    flush(task);  // the end of an instance implies it
  } catch (const LaunchStopped&) {
    return;  // `error_` says why
  } catch (...) {
    if (!error_) error_ = std::current_exception();
  }
}

void Scheduler::give_turn(FiberTask& task) {
  task.accesses_left = pace_.next_turn();
  resume(task);
  while (std::exchange(is_checking_in_, false)) {
    control_->poll();
    resume(task);
  }
  control_->poll();
}

void Scheduler::resume(FiberTask& task) {
  task.fiber = std::move(task.fiber).resume();
  if (task.fiber) return;
  const auto rank = static_cast<int>(task.rank);
  const auto program_id = at(task.linear_program_id());
  RankState& state = states_[at(rank)];
  state.free_arenas.push_back(std::move(task.memory));
  if (task.in_task != 0) {  // the rest of the instance ends behind it
    state.beside[program_id].reset();
    notify(&state.beside[program_id]);
    return;
  }
  --state.num_resident;
  state.finished[program_id] = true;
  state.tasks[program_id].reset();
  if (--state.num_unfinished > 0) return;
  if (!error_ && !is_stopping_) ranks_[at(rank)].check_arrivals(state.counters);
  state.is_under_way = false;
  ended_.push_back(rank);
}

void Scheduler::suspend() {
  if (!is_stopping_) main_ = std::move(main_).resume();
  if (is_stopping_) throw LaunchStopped();
}

/// Ends all launches under way.
void Scheduler::unwind_all() {
  is_stopping_ = true;
  waiting_.clear();
  for (RankState& state : states_) {
    for (auto* fibers : {&state.beside, &state.tasks}) {
      for (std::unique_ptr<FiberTask>& task : *fibers) {
        if (task != nullptr) resume(*task);
      }
    }
    state.is_under_way = false;
  }
  runnable_.clear();
  ended_.clear();
  is_stopping_ = false;
}

AlignedBuffer Scheduler::take_arena(int rank) {
  auto& free = states_[at(rank)].free_arenas;
  if (free.empty()) {
    return make_aligned_buffer(at(ranks_[at(rank)].kernel->artifact().arena_bytes));
  }
  AlignedBuffer arena = std::move(free.back());
  free.pop_back();
  return arena;
}

}  // namespace tilewire
