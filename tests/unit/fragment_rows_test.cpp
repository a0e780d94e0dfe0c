// The emulated loads and stores read arrays as words of other types, as device code may.
#pragma GCC optimize("no-strict-aliasing")
// Padding of a tile holds any value.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include <atomic>

#include "tests/unit/mma_emulator.h"
// Behind what they need of CUDA.
#include "templates/tilewire/fragment_rows.cuh"
#include "tests/unit/check_layout.h"

namespace tilewire::device {
namespace {

template <typename T>
T numbered(int element) {
  if constexpr (kKind<T> == Kind::kNarrowFloat) {
    T result = {};
    std::memcpy(&result, &element, sizeof(T));  // any bits
    return result;
  } else {
    return static_cast<T>(element);
  }
}

template <typename T, typename F>
Tile<T, F> numbered_tile() {
  Tile<T, F> tile;
  for (int i = 0; i < F::kRegisters; ++i) {
    tile.set(i, numbered<T>(F::element(static_cast<int>(threadIdx.x), i)));
  }
  return tile;
}

/// Stores a tile to the middle of memory that must stay as it is around it; so many rows and
/// columns at its edges lie outside.
template <typename T, typename F, int kVector>
void check_store(int above, int below, int before, int behind) {
  constexpr int kStride = F::kColumns + 16;
  constexpr int kFirst = 16 * kStride;
  std::vector<T> memory(static_cast<std::size_t>((F::kRows + 32) * kStride), numbered<T>(-1));
  std::vector<char> shared(static_cast<std::size_t>(fragment_rows_bytes(F::kThreads)));
  Cta::run(F::kThreads, [&] {
    const auto to = access(memory.data() + kFirst,
                           masked_dim<F::kRows>(kStride, -above, F::kRows - above - below),
                           masked_dim<F::kColumns>(1, -before, F::kColumns - before - behind));
    store_rows<kVector>(to, numbered_tile<T, F>(), shared.data());
  });
  for (int row = -16; row < F::kRows + 16; ++row) {
    for (int column = 0; column < kStride; ++column) {
      const bool is_inside = row >= above && row < F::kRows - below && column >= before &&
                             column < F::kColumns - behind;
      const T expected = numbered<T>(is_inside ? row * F::kColumns + column : -1);
      const T& found = memory.at(static_cast<std::size_t>(kFirst + row * kStride + column));
      REQUIRE(std::memcmp(&found, &expected, sizeof(T)) == 0);
    }
  }
}

/// Loads what the same access stores: elements outside are 0.
template <typename T, typename F, int kVector>
void check_load(int above, int below, int before, int behind) {
  constexpr int kStride = F::kColumns + 16;
  std::vector<T> memory(static_cast<std::size_t>(F::kRows * kStride), numbered<T>(-1));
  for (int row = 0; row < F::kRows; ++row) {
    for (int column = 0; column < F::kColumns; ++column) {
      memory.at(static_cast<std::size_t>(row * kStride + column)) =
          numbered<T>(row * F::kColumns + column);
    }
  }
  std::vector<char> shared(static_cast<std::size_t>(fragment_rows_bytes(F::kThreads)));
  std::atomic<int> wrong = 0;
  Cta::run(F::kThreads, [&] {
    const auto from =
        access(memory.data(), masked_dim<F::kRows>(kStride, -above, F::kRows - above - below),
               masked_dim<F::kColumns>(1, -before, F::kColumns - before - behind));
    const auto tile = load_rows<Tile<T, F>, kVector>(from, shared.data());
    const int thread = static_cast<int>(threadIdx.x);
    for (int i = 0; F::has_rows(thread) && i < F::kRegisters; ++i) {
      const int row = F::row(thread, i);
      const int column = F::column(thread, i);
      const bool is_inside = row >= above && row < F::kRows - below && column >= before &&
                             column < F::kColumns - behind;
      const T expected = numbered<T>(is_inside ? row * F::kColumns + column : 0);
      const T found = tile.get(i);
      if (std::memcmp(&found, &expected, sizeof(T)) != 0) ++wrong;
    }
  });
  REQUIRE(wrong == 0);
}

template <typename T, typename F, int kVector>
void check_store() {
  check_load<T, F, kVector>(0, 0, 0, 0);
  check_load<T, F, kVector>(0, 0, 1, 2);
  check_load<T, F, kVector>(2, 13, 0, 3);
  check_layout<FragmentRows<F, sizeof(T), row_vector(kVector, F::kColumns, sizeof(T))>>(1);
  check_store<T, F, kVector>(0, 0, 0, 0);
  check_store<T, F, kVector>(0, 0, 1, 2);
  check_store<T, F, kVector>(2, 1, 0, 0);
  check_store<T, F, kVector>(0, 13, 0, 3);
  check_store<T, F, kVector>(F::kRows, 0, 0, 0);
}

}  // namespace

TEST_CASE("products become rows") {
  check_store<bf16, Fragment<64, 64, 128>, 8>();
  check_store<bf16, Fragment<64, 96, 128>, 4>();
  check_store<f16, Fragment<128, 24, 128>, 8>();
  check_store<f16, Fragment<64, 8, 128>, 8>();
  check_store<int16_t, Fragment<64, 32, 128>, 8>();
  check_store<float, Fragment<64, 40, 128>, 4>();
  check_store<float, Fragment<32, 64, 128>, 1>();
  check_store<e4m3, Fragment<64, 160, 128>, 16>();
  check_store<uint8_t, Fragment<16, 48, 128>, 2>();
  check_store<int64_t, Fragment<64, 16, 128>, 2>();
  check_store<bf16, Fragment<128, 128, 256>, 8>();
}

TEST_CASE("an expression is computed on its way to rows") {
  using F = Fragment<64, 32, 128>;
  std::vector<float> memory(F::kElements);
  std::vector<char> shared(static_cast<std::size_t>(fragment_rows_bytes(F::kThreads)));
  Cta::run(F::kThreads, [&] {
    const auto to = access(memory.data(), dim<F::kRows>(F::kColumns), dim<F::kColumns>(1));
    store_rows<4>(to, apply<Add>(numbered_tile<float, F>(), 0.5f), shared.data());
  });
  for (int i = 0; i < F::kElements; ++i) {
    REQUIRE(memory.at(static_cast<std::size_t>(i)) == static_cast<float>(i) + 0.5f);
  }
}

}  // namespace tilewire::device
