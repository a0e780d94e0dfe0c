#include "runtime/cpu/thread_pool.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace tilewire {
namespace {

constexpr auto kWaitInterval = std::chrono::milliseconds(50);

/// One call of `parallel_for`: indices are taken in chunks.
struct Work {
  Work(std::int64_t count, int num_threads, const std::function<void(std::int64_t)>& body)
      : count(count), chunk(std::max<std::int64_t>(1, count / (8 * num_threads))), body(body) {}

  void run() {
    while (!has_failed.load(std::memory_order_relaxed)) {
      const std::int64_t begin = next.fetch_add(chunk, std::memory_order_relaxed);
      if (begin >= count) return;
      const std::int64_t end = std::min(begin + chunk, count);
      keep_failure([&] {
        for (std::int64_t i = begin; i < end && !has_failed.load(std::memory_order_relaxed); ++i) {
          body(i);
        }
      });
    }
  }

  template <typename Function>
  void keep_failure(const Function& function) {
    try {
      function();
    } catch (...) {
      if (!has_failed.exchange(true)) error = std::current_exception();
    }
  }

  const std::int64_t count;
  const std::int64_t chunk;
  const std::function<void(std::int64_t)>& body;
  std::atomic<std::int64_t> next{0};
  std::atomic<bool> has_failed{false};
  std::exception_ptr error;  ///< written once; read when all threads are done
};

/// Lives until the process ends: at exit, or in a forked child, its threads can't be joined.
class ThreadPool {
 public:
  explicit ThreadPool(int num_workers) {
    for (int i = 0; i < num_workers; ++i) workers_.emplace_back([this] { serve(); });
  }

  int num_threads() const { return static_cast<int>(workers_.size()) + 1; }

  void run(Work& work, const std::function<void()>& while_waiting) {
    {
      const std::lock_guard lock(mutex_);
      work_ = &work;
      num_busy_ = workers_.size();
      ++generation_;
    }
    wake_.notify_all();
    work.run();
    std::unique_lock lock(mutex_);
    while (!done_.wait_for(lock, kWaitInterval, [this] { return num_busy_ == 0; })) {
      lock.unlock();
      if (while_waiting) work.keep_failure(while_waiting);
      lock.lock();
    }
  }

 private:
  void serve() {
    std::uint64_t seen = 0;
    std::unique_lock lock(mutex_);
    while (true) {
      wake_.wait(lock, [&] { return generation_ != seen; });
      seen = generation_;
      lock.unlock();
      work_->run();
      lock.lock();
      if (--num_busy_ == 0) done_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable done_;
  Work* work_ = nullptr;
  std::uint64_t generation_ = 0;
  std::size_t num_busy_ = 0;
  std::vector<std::thread> workers_;
};

/// This process's pool; a new one after a fork, where the parent's threads don't exist.
ThreadPool& pool() {
  static ThreadPool* pool = nullptr;
  static pid_t owner = 0;
  if (owner != getpid()) {
    const auto num_cores = static_cast<int>(std::thread::hardware_concurrency());
    pool = new ThreadPool(std::max(1, num_cores) - 1);
    owner = getpid();
  }
  return *pool;
}

}  // namespace

void parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& body,
                  const std::function<void()>& while_waiting) {
  if (count <= 1) {
    if (count == 1) body(0);
    return;
  }
  static std::mutex turn;
  const std::lock_guard lock(turn);
  ThreadPool& threads = pool();
  Work work(count, threads.num_threads(), body);
  threads.run(work, while_waiting);
  if (work.error) std::rethrow_exception(work.error);
}

}  // namespace tilewire
