#pragma once

// What device code finds in CUDA, for one CTA of host threads: enough to run the templates in
// `templates/tilewire` on any machine. Include it before them.

#include <algorithm>
#include <array>
#include <atomic>
#include <barrier>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "templates/tilewire/base.cuh"

namespace tilewire::device {

struct uint2 {
  uint32_t x, y;
};
struct uint4 {
  uint32_t x, y, z, w;
};

/// Has a name, so that all files of a test binary share one `threadIdx`.
struct ThreadIndex {
  unsigned x = 0;
};
inline thread_local ThreadIndex threadIdx;

/// What a lane shows the others of its warp.
using LaneWords = std::array<uint32_t, 8>;

/// One CTA: its threads, their barriers, and room for shuffles.
class Cta {
 public:
  static void run(int num_threads, const std::function<void()>& body) {
    Cta cta(num_threads);
    current_ = &cta;
    std::vector<std::thread> threads;
    for (int i = 0; i < num_threads; ++i) {
      threads.emplace_back([&body, i] {
        threadIdx.x = static_cast<unsigned>(i);
        body();
      });
    }
    for (std::thread& thread : threads) thread.join();
  }

  static void meet() { current_->all_.arrive_and_wait(); }

  /// The 8 bytes that the lane with the number `lane` of the caller's warp holds.
  static uint64_t exchange(uint64_t bits, unsigned lane) {
    const unsigned warp = threadIdx.x / 32;
    std::barrier<>& barrier = *current_->warps_[warp];
    current_->lanes_[threadIdx.x] = bits;
    barrier.arrive_and_wait();
    const uint64_t result = current_->lanes_[warp * 32 + lane];
    barrier.arrive_and_wait();
    return result;
  }

  /// What all lanes of the caller's warp show, in order.
  static std::array<LaneWords, 32> show(const LaneWords& words) {
    const unsigned warp = threadIdx.x / 32;
    std::barrier<>& barrier = *current_->warps_[warp];
    current_->words_[threadIdx.x] = words;
    barrier.arrive_and_wait();
    std::array<LaneWords, 32> all;
    std::copy_n(current_->words_.begin() + warp * 32, 32, all.begin());
    barrier.arrive_and_wait();
    return all;
  }

 private:
  explicit Cta(int num_threads)
      : all_(num_threads),
        lanes_(static_cast<std::size_t>(num_threads)),
        words_(static_cast<std::size_t>(num_threads)) {
    for (int i = 0; i < num_threads; i += 32) {
      warps_.push_back(std::make_unique<std::barrier<>>(32));
    }
  }

  static inline Cta* current_ = nullptr;
  std::barrier<> all_;
  std::vector<std::unique_ptr<std::barrier<>>> warps_;
  std::vector<uint64_t> lanes_;
  std::vector<LaneWords> words_;
};

inline void __syncthreads() { Cta::meet(); }
inline void __syncwarp() { Cta::exchange(0, 0); }

template <typename T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = Cta::exchange(bits, threadIdx.x % 32 ^ static_cast<unsigned>(mask));
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

template <typename T>
T __shfl_sync(unsigned, T value, int lane) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof(T));
  bits = Cta::exchange(bits, static_cast<unsigned>(lane) % 32);
  std::memcpy(&value, &bits, sizeof(T));
  return value;
}

inline int atomicAdd(int* place, int value) {
  return std::atomic_ref<int>(*place).fetch_add(value);
}

inline float __int_as_float(int bits) { return std::bit_cast<float>(bits); }

}  // namespace tilewire::device

#define __isGlobal(pointer) true
#define __builtin_assume(condition) static_cast<void>(0)
