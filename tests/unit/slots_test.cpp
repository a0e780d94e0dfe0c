// Products out of a ring that all threads fill, on the host. A copy happens when it is waited for,
// and not before.
#pragma GCC optimize("no-strict-aliasing")
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include "tests/unit/mma_emulator.h"
// Behind what they need of CUDA.
#include <cmath>
#include <random>
#include <set>
#include <type_traits>
#include <utility>

namespace tilewire::device {

/// A thread's copies: the groups that it has committed, and what it has started since.
struct PendingCopies {
  std::vector<std::vector<std::function<void()>>> groups;
  std::vector<std::function<void()>> started;
};
inline thread_local PendingCopies pending_copies;
inline std::atomic<int> num_unaligned_copies = 0;

template <int kBytes>
void start_copy(void* to, const void* from, int num_bytes) {
  for (const void* place : {static_cast<const void*>(to), from}) {
    if (reinterpret_cast<uintptr_t>(place) % kBytes != 0) ++num_unaligned_copies;
  }
  pending_copies.started.emplace_back([to, from, num_bytes] {
    std::memset(to, 0, kBytes);
    if (num_bytes > 0) std::memcpy(to, from, static_cast<std::size_t>(num_bytes));
  });
}
template <int kBytes>
void start_copy(void* to, const void* from) {
  start_copy<kBytes>(to, from, kBytes);
}
inline void commit_copies() {
  pending_copies.groups.push_back(std::exchange(pending_copies.started, {}));
}
template <int kNewest>
void wait_copies() {
  auto& groups = pending_copies.groups;
  while (groups.size() > kNewest) {
    for (const auto& copy : groups.front()) copy();
    groups.erase(groups.begin());
  }
}

}  // namespace tilewire::device

#include "templates/tilewire/slot_matmul.cuh"
#include "tests/catch.h"

namespace tilewire::device {

inline float number(tf32 x) { return float_of_bits(x.bits); }
inline float number(bf16 x) { return float_of_bits(static_cast<uint32_t>(x.bits) << 16); }

namespace {

template <typename T>
T element_of(int value) {
  if constexpr (std::is_same_v<T, bf16>) {
    return {static_cast<uint16_t>(bits_of_float(static_cast<float>(value)) >> 16)};
  } else {
    return static_cast<T>(value);
  }
}

/// Small whole numbers, so that sums are exact; aligned to 16 bytes.
template <typename T>
struct Matrix {
  Matrix(int rows, int columns, unsigned seed) : columns(columns) {
    words.resize(static_cast<std::size_t>(rows * columns) * sizeof(T) / 16 + 2);
    std::mt19937 random(seed);
    for (int i = 0; i < rows * columns; ++i) {
      numbers.push_back(static_cast<int>(random() % 9) - 4);
      data()[i] = element_of<T>(numbers.back());
    }
  }
  T* data() { return reinterpret_cast<T*>(words.data()); }
  int at(int row, int column) const {
    return numbers[static_cast<std::size_t>(row * columns + column)];
  }

  int columns;
  struct alignas(16) Word {
    char bytes[16];
  };
  std::vector<Word> words;
  std::vector<int> numbers;
};

/// What a kernel's products are like.
struct Shape {
  int rows, columns, depth;  ///< of a slot
  int vector = 8;
  int stages = 3;
  int threads = 128;
  bool left_by_depth = true;
  bool right_by_depth = true;
};

/// Two tiles one after the other, of `M` x `N` x `K` with `K` any: c = a · b + start.
template <typename T, typename Sum, Shape kShape>
void check_products(int M, int N, int K) {
  constexpr int kRows = kShape.rows, kColumns = kShape.columns, kDepth = kShape.depth;
  using L = SlotTile<T, kRows, kDepth, kShape.left_by_depth>;
  using R = SlotTile<T, kColumns, kDepth, kShape.right_by_depth>;
  using F = Fragment<kRows, kColumns, kShape.threads>;
  constexpr int kSlotBytes = L::kBytes + R::kBytes;
  Matrix<T> a(kShape.left_by_depth ? M : K, kShape.left_by_depth ? K : M, 1);
  Matrix<T> b(kShape.right_by_depth ? N : K, kShape.right_by_depth ? K : N, 2);
  std::vector<Sum> sums(static_cast<std::size_t>(2 * kRows * kColumns), Sum(-1));
  struct alignas(128) Line {
    char bytes[128];
  };
  std::vector<Line> shared(kShape.stages * kSlotBytes / 128);
  std::memset(shared.data(), 0x7f, shared.size() * sizeof(Line));
  Cta::run(kShape.threads, [&] {
    pending_copies = {};
    CommonRing<kShape.stages, kSlotBytes> ring(shared.data());
    const auto fill = [&](int k) {
      if (k < K) {
        const auto copy = [&]<typename S, int kOffset>(Matrix<T>& from, int lines, int extent) {
          T* start = from.data();
          if constexpr (S::kDepthIsContiguous) {
            ring.template copy<S, kOffset, kShape.vector, kShape.threads>(access(
                start + k, masked_dim<S::kLines>(K, 0, extent), masked_dim<kDepth>(1, k, K)));
          } else {
            ring.template copy<S, kOffset, kShape.vector, kShape.threads>(
                access(start + int64_t{k} * extent, masked_dim<kDepth>(extent, k, K),
                       masked_dim<S::kLines>(1, 0, extent)));
          }
          static_cast<void>(lines);
        };
        copy.template operator()<L, 0>(a, kRows, M);
        copy.template operator()<R, L::kBytes>(b, kColumns, N);
      }
      ring.fill();
    };
    for (int tile = 0; tile < 2; ++tile) {
      auto acc = full<Tile<Sum, F>>(Sum(tile));
      const int64_t ahead = ring.begin();
      for (int i = 0; i < ahead; ++i) fill(i * kDepth);
      for (int k = 0; k < K; k += kDepth) {
        ring.await();
        fill(k + static_cast<int>(ahead) * kDepth);
        multiply_slot<L, 0, R, L::kBytes>(acc, ring);
      }
      for (int i = 0; i < F::kRegisters; ++i) {
        const int element = F::element(static_cast<int>(threadIdx.x), i);
        sums[static_cast<std::size_t>(tile * kRows * kColumns + element)] = acc.get(i);
      }
    }
  });
  for (int i = 0; i < 2 * kRows * kColumns; ++i) {
    const int tile = i / (kRows * kColumns);
    const int row = i / kColumns % kRows;
    const int column = i % kColumns;
    double expected = tile;
    for (int k = 0; k < K && row < M && column < N; ++k) {
      expected += (kShape.left_by_depth ? a.at(row, k) : a.at(k, row)) *
                  (kShape.right_by_depth ? b.at(column, k) : b.at(k, column));
    }
    REQUIRE(static_cast<double>(sums[static_cast<std::size_t>(i)]) == expected);
  }
  REQUIRE(num_unaligned_copies == 0);
}

/// Each 16 bytes of a tile have a place of their own, and 8 rows that `ldmatrix` reads at once, of
/// which lane `first` names the first, lie in different banks.
template <typename S>
void check_places() {
  std::set<int> places;
  for (int outer = 0; outer < S::kOuter; ++outer) {
    for (int inner = 0; inner < S::kInnerBytes; inner += 16) {
      const int place = S::place(outer, inner);
      REQUIRE(place % 16 == 0);
      REQUIRE((place >= 0 && place + 16 <= S::kBytes));
      places.insert(place);
    }
  }
  REQUIRE(static_cast<int>(places.size()) * 16 == S::kBytes);
  constexpr int kSteps = S::kDepth * S::kElementBytes / kMmaBytes;
  for (int first = 0; first < 32; first += 8) {
    for (int lines = 0; lines + 16 <= S::kLines; lines += 16) {
      for (int step = 0; step < kSteps; ++step) {
        std::set<int> banks;
        for (int lane = first; lane < first + 8; ++lane) {
          banks.insert(place_behind<S>(right_place<S>(lane), lines, step) / 16 % 8);
        }
        REQUIRE(banks.size() == 8);
      }
    }
  }
}

/// What a slot of ones adds to `start`: 16 of them in each sum.
template <bool kIsApart>
float add_ones(float start) {
  constexpr int kRows = 64, kColumns = 16, kDepth = 16, kThreads = 128;
  using L = SlotTile<bf16, kRows, kDepth, true>;
  using R = SlotTile<bf16, kColumns, kDepth, true>;
  using F = Fragment<kRows, kColumns, kThreads>;
  Matrix<bf16> ones(kRows, kDepth, 1);
  std::fill_n(ones.data(), kRows * kDepth, element_of<bf16>(1));
  struct alignas(128) Slot {
    char bytes[L::kBytes + R::kBytes];
  };
  std::vector<Slot> shared(2);
  std::atomic<float> sum = 0;
  Cta::run(kThreads, [&] {
    pending_copies = {};
    CommonRing<2, L::kBytes + R::kBytes> ring(shared.data());
    const auto all = [&](int lines) {
      return access(ones.data(), masked_dim<kRows>(kDepth, 0, lines), masked_dim<kDepth>(1, 0, 16));
    };
    ring.begin();
    ring.template copy<L, 0, 8, kThreads>(all(kRows));
    ring.template copy<R, L::kBytes, 8, kThreads>(all(kColumns));
    ring.fill();
    ring.await();
    auto acc = full<Tile<float, F>>(start);
    add_staged_products<L, 0, R, L::kBytes, kIsApart>(acc, ring);
    if (threadIdx.x == 0) sum = acc.get(0);
  });
  return sum;
}

/// acc + left · right, where every thread has its part of `left` in registers.
template <int kRows, int kColumns, int kDepth, bool kIsByDepth>
void check_held_products() {
  constexpr int kThreads = 128;
  using L = Fragment<kRows, kDepth, kThreads>;
  using R = SlotTile<bf16, kColumns, kDepth, kIsByDepth>;
  using F = Fragment<kRows, kColumns, kThreads>;
  Matrix<bf16> a(kRows, kDepth, 1);
  Matrix<bf16> b(kIsByDepth ? kColumns : kDepth, kIsByDepth ? kDepth : kColumns, 2);
  struct alignas(128) Slot {
    char bytes[R::kBytes];
  };
  std::vector<Slot> shared(2);
  std::vector<float> sums(static_cast<std::size_t>(kRows * kColumns));
  Cta::run(kThreads, [&] {
    pending_copies = {};
    CommonRing<2, R::kBytes> ring(shared.data());
    constexpr int kOuter = kIsByDepth ? kColumns : kDepth, kInner = kIsByDepth ? kDepth : kColumns;
    ring.begin();
    ring.template copy<R, 0, 8, kThreads>(
        access(b.data(), masked_dim<kOuter>(kInner, 0, kOuter), masked_dim<kInner>(1, 0, kInner)));
    ring.fill();
    ring.await();
    auto acc = full<Tile<float, F>>(1.0f);
    Tile<bf16, L> left;
    for (int i = 0; i < L::kRegisters; ++i) {
      left.set(i, a.data()[L::element(static_cast<int>(threadIdx.x), i)]);
    }
    multiply_held_slot<R, 0>(acc, left, ring);
    for (int i = 0; i < F::kRegisters; ++i) {
      const int element = F::element(static_cast<int>(threadIdx.x), i);
      sums[static_cast<std::size_t>(element)] = acc.get(i);
    }
  });
  for (int i = 0; i < kRows * kColumns; ++i) {
    float expected = 1;
    for (int k = 0; k < kDepth; ++k) {
      const int column = i % kColumns;
      expected += static_cast<float>(a.at(i / kColumns, k) *
                                     (kIsByDepth ? b.at(column, k) : b.at(k, column)));
    }
    REQUIRE(sums[static_cast<std::size_t>(i)] == expected);
  }
}

}  // namespace

TEST_CASE("operands in a slot are read from all banks at once") {
  check_places<SlotTile<bf16, 128, 16, true>>();
  check_places<SlotTile<bf16, 128, 32, true>>();
  check_places<SlotTile<bf16, 64, 48, true>>();
  check_places<SlotTile<bf16, 64, 64, true>>();
  check_places<SlotTile<bf16, 64, 128, true>>();
  check_places<SlotTile<bf16, 16, 32, false>>();
  check_places<SlotTile<bf16, 96, 64, false>>();
  check_places<SlotTile<bf16, 256, 16, false>>();
  check_places<SlotTile<float, 64, 32, true>>();
  check_places<SlotTile<int8_t, 48, 32, true>>();
}

TEST_CASE("products of slots, whose copies come at the last moment") {
  check_products<bf16, float, Shape{64, 32, 32}>(64, 32, 160);
  check_products<bf16, float, Shape{64, 16, 32, 8, 2}>(64, 16, 96);
  check_products<bf16, float, Shape{64, 16, 16, 8, 5}>(64, 16, 80);
  check_products<bf16, float, Shape{64, 48, 64, 8, 4}>(64, 48, 64);
  check_products<bf16, float, Shape{128, 16, 64, 8, 4}>(128, 16, 128);
  check_products<bf16, float, Shape{128, 32, 32, 8, 3, 256}>(128, 32, 96);
  check_products<int8_t, int32_t, Shape{64, 32, 64, 16}>(64, 32, 192);
  check_products<float, float, Shape{64, 16, 16, 4}>(64, 16, 48);
}

TEST_CASE("products of slots whose lines are neighbours in memory") {
  check_products<bf16, float, Shape{64, 32, 32, 8, 3, 128, false, true}>(64, 32, 96);
  check_products<bf16, float, Shape{128, 32, 32, 8, 3, 128, true, false}>(128, 32, 96);
  check_products<bf16, float, Shape{128, 144, 16, 8, 3, 256, false, false}>(128, 144, 48);
}

TEST_CASE("left operands in registers are multiplied with a slot") {
  check_held_products<64, 32, 32, true>();
  check_held_products<64, 32, 48, false>();
  check_held_products<128, 16, 32, false>();  // two blocks of a warpgroup
}

TEST_CASE("sums go through the tensor cores, but for those that these would shorten") {
  const float whole = 1 << 24;  // + 1 is rounded away
  REQUIRE(add_ones<false>(whole) == whole);
  REQUIRE(add_ones<true>(whole) == whole + 16);
}

TEST_CASE("what lies outside of an operand counts as 0 in a slot") {
  check_products<bf16, float, Shape{64, 32, 32}>(40, 24, 72);
  check_products<bf16, float, Shape{64, 32, 32, 2}>(50, 30, 70);
  check_products<bf16, float, Shape{64, 32, 32, 4}>(64, 32, 60);
  check_products<bf16, float, Shape{64, 32, 32, 8, 3, 128, false, false}>(56, 24, 70);
  check_products<bf16, float, Shape{64, 32, 32}>(64, 32, 8);
}

}  // namespace tilewire::device
