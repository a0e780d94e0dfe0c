// Copies of views (`templates/tilewire/copy_view.cuh`), run by host threads with a lazy engine.

// The emulated loads and stores read arrays as words of other types, as device code may.
#pragma GCC optimize("no-strict-aliasing")

#include "tests/unit/cta_emulator.h"
// Behind what it needs of CUDA.
#include "tests/unit/bulk_emulator.h"
// Behind what they need of both.
#include <algorithm>
#include <numeric>
#include <random>
#include <type_traits>
#include <vector>

#include "templates/tilewire/copy_view.cuh"
#include "tests/catch.h"

namespace tilewire::device {
namespace {

constexpr int kThreads = 64;
constexpr int kStages = 5;
using TestCopier = Copier<kThreads, kStages>;

/// Shared memory for all stages, aligned as on a GPU.
struct Stages {
  std::vector<char> memory = std::vector<char>(kStages * (kCopyStageBytes + 8) + 128);
  char* begin() {
    return memory.data() + (128 - reinterpret_cast<uint64_t>(memory.data()) % 128) % 128;
  }
};

/// Elements with room around them, the first of which lies `shift` elements behind a whole word.
template <typename T>
struct Memory {
  std::vector<T> elements;
  T* first;
  Memory(int64_t count, int64_t shift) : elements(static_cast<std::size_t>(count + 64)) {
    const uint64_t misfit = reinterpret_cast<uint64_t>(elements.data()) % 16;
    first = elements.data() + (misfit == 0 ? 0 : (16 - misfit) / sizeof(T)) + shift;
  }
};

template <typename T>
void fill(std::vector<T>& elements, int start) {
  for (std::size_t i = 0; i < elements.size(); ++i) {
    elements[i] = static_cast<T>(start + static_cast<int>(i % 30011));
  }
}

/// Copies by both and compares every byte.
template <typename T, typename SomeCopier = TestCopier>
void check(const CopyDim (&dims)[3], int64_t to_shift, int64_t from_shift) {
  int64_t to_size = 1;
  int64_t from_size = 1;
  for (const CopyDim& dim : dims) {
    to_size += std::max<int64_t>(dim.extent - 1, 0) * dim.to_stride;
    from_size += std::max<int64_t>(dim.extent - 1, 0) * dim.from_stride;
  }
  Memory<T> to(to_size, to_shift);
  Memory<T> from(from_size, from_shift);
  fill(from.elements, 1);
  fill(to.elements, 77);
  std::vector<T> expected = to.elements;
  T* const first = expected.data() + (to.first - to.elements.data());
  for (int64_t i = 0; i < dims[0].extent; ++i) {
    for (int64_t j = 0; j < dims[1].extent; ++j) {
      for (int64_t k = 0; k < dims[2].extent; ++k) {
        first[i * dims[0].to_stride + j * dims[1].to_stride + k * dims[2].to_stride] =
            from.first[i * dims[0].from_stride + j * dims[1].from_stride + k * dims[2].from_stride];
      }
    }
  }
  Stages stages;
  Cta::run(std::is_same_v<SomeCopier, TestCopier> ? kThreads : kWarpThreads, [&] {
    SomeCopier copier(stages.begin());
    copier.template copy<sizeof(T), true>(to.first, from.first, dims[0], dims[1], dims[2]);
    copier.drain();
  });
  CHECK(to.elements == expected);
  CHECK(bulk_engine.num_errors == 0);
  CHECK(bulk_engine.stores.empty());
}

}  // namespace

TEST_CASE("views of any shape and stride are copied, and nothing beside them") {
  std::mt19937 random(7);
  const auto below = [&](int64_t bound) { return static_cast<int64_t>(random() % bound); };
  for (int turn = 0; turn < 60; ++turn) {
    CAPTURE(turn);
    const int64_t sizes[3] = {below(4), 1 + below(9), 1 + below(turn % 2 == 0 ? 70 : 9)};
    const int64_t gap = turn % 3 == 0 ? 0 : below(5);
    const int64_t inner = turn % 5 == 0 ? 2 : 1;
    CopyDim dims[3];
    int64_t to_stride = inner;
    int64_t from_stride = 1;
    for (int i = 2; i >= 0; --i) {
      dims[i] = {sizes[i], to_stride, from_stride};
      to_stride = to_stride * std::max<int64_t>(sizes[i], 1) + gap;
      from_stride = from_stride * std::max<int64_t>(sizes[i], 1) + (turn % 4 == 0 ? 0 : gap);
    }
    if (turn % 7 == 0) std::swap(dims[0].from_stride, dims[2].from_stride);
    if (turn % 7 == 0) std::swap(dims[0].extent, dims[2].extent);
    check<uint8_t>(dims, below(16), below(16));
    check<uint16_t>(dims, below(3), 0);
    check<uint32_t>(dims, 0, below(4));
    check<double>(dims, 0, 0);
  }
}

TEST_CASE("large views go through shared memory, each stage read before it is filled again") {
  const int before = bulk_engine.num_bulk;
  // One run; rows of their own, of whole stages, of parts, of less than one.
  check<uint32_t>({{1, 0, 0}, {1, 0, 0}, {500'000, 1, 1}}, 0, 0);
  check<uint32_t>({{1, 0, 0}, {1, 0, 0}, {kCopyStageBytes / 4 * kStages, 1, 1}}, 4, 8);
  check<uint16_t>({{3, 400'000, 300'000}, {4, 80'000, 70'000}, {60'008, 1, 1}}, 0, 0);
  check<uint8_t>({{1, 0, 0}, {40, 4112, 5008}, {4112, 1, 1}}, 0, 0);
  const int num_bulk = bulk_engine.num_bulk - before;
  CHECK(num_bulk == (2'000'000 + kCopyStageBytes - 1) / kCopyStageBytes + kStages + 12 * 8 + 40);
  // Not whole words: by loads and stores.
  check<uint32_t>({{1, 0, 0}, {1, 0, 0}, {100'001, 1, 1}}, 0, 0);
  check<uint32_t>({{1, 0, 0}, {1, 0, 0}, {100'000, 1, 1}}, 1, 0);
  CHECK(bulk_engine.num_bulk - before == num_bulk);
}

TEST_CASE("a task's warp copies the same, through stages of its own") {
  using Warp = Copier<kWarpThreads, kTaskStages, TaskWarp>;
  using Lean = Copier<kWarpThreads, kTaskStages, LeanTaskWarp>;
  const int before = bulk_engine.num_bulk;
  check<uint32_t, Warp>({{1, 0, 0}, {1, 0, 0}, {50'000, 1, 1}}, 0, 0);
  check<uint8_t, Lean>({{1, 0, 0}, {40, 4112, 5008}, {4112, 1, 1}}, 0, 0);
  CHECK(bulk_engine.num_bulk - before == (200'000 + kTaskStageBytes - 1) / kTaskStageBytes + 80);
  check<uint32_t, Warp>({{2, 5000, 4000}, {7, 500, 300}, {251, 1, 1}}, 1, 0);
  check<uint16_t, Lean>({{3, 1, 900}, {5, 40, 7}, {33, 400, 1}}, 0, 1);
  check<uint32_t, Lean>({{1, 0, 0}, {3, 1000, 2000}, {1000, 1, 1}}, 0, 0);
}

TEST_CASE("copies that meet earlier bulk stores wait for them") {
  constexpr int64_t kCount = 40'000;
  Memory<uint32_t> a(kCount, 0);
  Memory<uint32_t> b(kCount, 0);
  Memory<uint32_t> c(kCount, 0);
  fill(a.elements, 1);
  Stages stages;
  Cta::run(kThreads, [&] {
    TestCopier copier(stages.begin());
    const CopyDim all{kCount, 1, 1};
    copier.copy<4, true>(b.first, a.first, all);  // a → b
    __syncthreads();                              // as generated code has it where copies meet
    copier.copy<4, true>(c.first, b.first, all);  // b → c, of what came
    __syncthreads();
    copier.copy<4, true>(b.first, c.first, CopyDim{17, 1, 1});  // by words, of what is under way
    __syncthreads();
    copier.copy<4, true>(c.first + 1, a.first + 3, CopyDim{100, 1, 1});
    copier.drain();
  });
  CHECK(bulk_engine.num_errors == 0);
  CHECK(std::equal(a.first, a.first + kCount, b.first));
  CHECK(c.first[0] == a.first[0]);
  CHECK(std::equal(a.first + 3, a.first + 103, c.first + 1));
  CHECK(std::equal(a.first + 101, a.first + kCount, c.first + 101));
}

}  // namespace tilewire::device
