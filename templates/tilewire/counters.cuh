// Counters of a launch, from which loops with a dynamic schedule draw their indices.
#pragma once

#include "tilewire/base.cuh"
#include "tilewire/meet.cuh"

namespace tilewire::device {

/// `kCount` counters in device memory, behind a word that counts the instances that are done. All
/// words are 0 when a launch starts. The last instance to leave sets them to 0 again, so that the
/// next launch on the stream, or the next replay of a graph, finds them so; every way out of the
/// kernel passes through the destructor.
template <int kCount>
class Counters {
 public:
  explicit TILEWIRE_DEVICE Counters(uint64_t* words)
      : words_(reinterpret_cast<unsigned long long*>(words)) {}
  Counters(const Counters&) = delete;
  Counters& operator=(const Counters&) = delete;

  /// The next number of a counter, by one thread. Thread 0 hears of it before the instance's end.
  TILEWIRE_DEVICE int64_t draw(int counter) const {
    return static_cast<int64_t>(atomicAdd(words_ + 1 + counter, 1ull));
  }

  /// The next number of a counter, the same for all threads, which meet inside. Nobody may be using
  /// `shared`.
  TILEWIRE_DEVICE int64_t draw(int counter, void* shared) const {
    int64_t* place = static_cast<int64_t*>(shared);
    if (threadIdx.x == 0) *place = draw(counter);
    meet();
    return *place;
  }

  TILEWIRE_DEVICE ~Counters() {
    if (threadIdx.x != 0) return;
    const unsigned long long num_instances = 1ull * gridDim.x * gridDim.y * gridDim.z;
    __threadfence();  // this instance's draws are over before it counts as done
    if (atomicAdd(words_, 1ull) != num_instances - 1) return;
    __threadfence();
    for (int i = 0; i <= kCount; ++i) words_[i] = 0;
  }

 private:
  unsigned long long* words_;
};

}  // namespace tilewire::device
