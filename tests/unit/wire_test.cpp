// Registers are read as words of other types, as device code may.
#pragma GCC optimize("no-strict-aliasing")
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include "templates/tilewire/wire.cuh"

#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "tests/catch.h"

namespace tilewire::device {
namespace {

/// A field in a buffer, by the byte of each word.
using Buffer = std::map<int, std::uint32_t>;

template <typename T>
T random_element(std::mt19937_64& random) {
  if constexpr (std::is_same_v<T, bool>) {
    return (random() & 1) != 0;
  } else {
    const std::uint64_t bits = random();
    T element;
    std::memcpy(&element, &bits, sizeof(T));
    return element;
  }
}

/// What all threads of a CTA store.
template <typename T, typename L, bool kIsPacked, Carrying kCarrying>
Buffer stored(const std::vector<T>& values) {
  using P = Piece<Tile<T, L>, kIsPacked>;
  using C = Chunk<P, kCarrying>;
  static_assert(C::kBytes <= 16);
  Buffer buffer;
  for (int thread = 0; thread < L::kThreads; ++thread) {
    Tile<T, L> tile;
    for (int slot = 0; slot < L::kRegisters; ++slot) {
      const int element = L::holds(thread, slot) ? L::element(thread, slot) : 0;
      tile.set(slot, values[static_cast<std::size_t>(element)]);
    }
    Words<P, kCarrying> words;
    to_words(tile, words);
    for (int chunk = 0; chunk < C::kCount; ++chunk) {
      if (!C::sends(thread, chunk)) continue;
      const int offset = C::offset(thread, chunk);
      REQUIRE(offset % C::kBytes == 0);
      for (int j = 0; j < C::kWords; ++j) {
        REQUIRE(buffer.emplace(offset + j * C::kWordStride, words.of[chunk][j]).second);
      }
    }
  }
  return buffer;
}

/// What all threads of a CTA read, by element.
template <typename T, typename L, bool kIsPacked, Carrying kCarrying>
std::vector<T> read(const Buffer& buffer) {
  using P = Piece<Tile<T, L>, kIsPacked>;
  using C = Chunk<P, kCarrying>;
  std::vector<T> values(L::kElements);
  for (int thread = 0; thread < L::kThreads; ++thread) {
    Words<P, kCarrying> words = {};
    for (int chunk = 0; chunk < C::kCount; ++chunk) {
      for (int j = 0; j < C::kWords && C::reads(thread, chunk); ++j) {
        words.of[chunk][j] = buffer.at(C::offset(thread, chunk) + j * C::kWordStride);
      }
    }
    Tile<T, L> tile;
    from_words(words, tile);
    for (int slot = 0; slot < L::kRegisters; ++slot) {
      if (!L::holds(thread, slot)) continue;
      values[static_cast<std::size_t>(L::element(thread, slot))] = tile.get(slot);
    }
  }
  return values;
}

/// What `Sender` puts into a buffer, `Receiver` finds: both have layouts of their own.
template <typename T, typename Sender, typename Receiver, bool kIsPacked, Carrying kCarrying>
void check_crossing() {
  std::mt19937_64 random(7);
  std::vector<T> values;
  for (int i = 0; i < Sender::kElements; ++i) values.push_back(random_element<T>(random));
  const Buffer buffer = stored<T, Sender, kIsPacked, kCarrying>(values);
  CHECK(static_cast<std::int64_t>(buffer.size()) ==
        field_words(Sender::kElements, sizeof(T), kIsPacked));
  if (kCarrying == Carrying::kReserved && sizeof(T) < 8) {
    for (const auto& [offset, word] : buffer) REQUIRE(word != 0);
  }
  const std::vector<T> found = read<T, Receiver, kIsPacked, kCarrying>(buffer);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto bits = bits_of(static_cast<T>(values[i]));
    using Bits = std::remove_const_t<decltype(bits)>;
    constexpr Bits kNegativeZero = Bits{1} << (8 * sizeof(T) - 1);
    const bool is_lost = kCarrying == Carrying::kReserved && bits == kNegativeZero;
    REQUIRE(bits_of(static_cast<T>(found[i])) == (is_lost ? Bits{0} : bits));
  }
}

template <typename T, int kElements, int kVectorA, int kVectorB, bool kIsPacked>
void check_all() {
  using A = Blocked<kElements, kVectorA, 64>;
  using B = Blocked<kElements, kVectorB, 32>;
  check_crossing<T, A, B, kIsPacked, Carrying::kTagged>();
  check_crossing<T, B, A, kIsPacked, Carrying::kExchange>();
  if constexpr (kKind<T> == Kind::kFloat || kKind<T> == Kind::kNarrowFloat) {
    check_crossing<T, A, B, kIsPacked, Carrying::kReserved>();
    check_crossing<T, B, A, kIsPacked, Carrying::kReserved>();
  }
}

TEST_CASE("a message is the same whatever threads send and read it") {
  check_all<bf16, 1024, 8, 4, true>();
  check_all<bf16, 36, 2, 4, true>();
  check_all<bf16, 3, 1, 1, false>();
  check_all<f16, 520, 8, 2, true>();
  check_all<e4m3, 512, 16, 4, true>();
  check_all<e4m3, 6, 2, 1, false>();
  check_all<float, 300, 4, 1, true>();
  check_all<double, 100, 2, 4, true>();
  check_all<double, 104, 1, 8, true>();
  check_all<std::int64_t, 12, 2, 1, true>();
  check_all<std::int32_t, 257, 1, 1, true>();
  check_all<std::uint16_t, 256, 8, 2, true>();
  check_all<std::int8_t, 7, 1, 1, false>();
  check_all<bool, 64, 16, 4, true>();
}

TEST_CASE("rows and blocks agree about a message") {
  using ByRows = Rows<6, 64, 8, 4, 64>;
  using InBlocks = Blocked<6 * 64, 4, 128>;
  check_crossing<bf16, ByRows, InBlocks, true, Carrying::kTagged>();
  check_crossing<bf16, InBlocks, ByRows, true, Carrying::kReserved>();
  check_crossing<float, Rows<5, 12, 4, 1, 32>, Blocked<60, 2, 32>, true, Carrying::kReserved>();
}

TEST_CASE("a scalar takes a word, or two") {
  using P = Piece<double, true>;
  Words<P, Carrying::kReserved> words;
  to_words(-1.5, words);
  double value = 0;
  from_words(words, value);
  CHECK(value == -1.5);
  to_words(-0.0, words);
  from_words(words, value);
  CHECK(bits_of(value) == 0);
  using Q = Piece<bf16, false>;
  Words<Q, Carrying::kTagged> narrow;
  to_words(bf16{0x8000}, narrow);
  CHECK(narrow.of[0][0] == 0x8000);
  bf16 half = {1};
  from_words(narrow, half);
  CHECK(half.bits == 0x8000);
}

}  // namespace
}  // namespace tilewire::device
