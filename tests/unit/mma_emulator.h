#pragma once

// The tensor cores' instructions for the emulated CTA, by the tables of the PTX ISA ("Matrix
// Fragments for mma.m16n8k16, .m16n8k32, .m16n8k8", "ldmatrix", "stmatrix"): element by element,
// with none of the arithmetic of mma_layout.cuh. Include it behind cta_emulator.h and before the
// templates.

#include <bit>

#include "tests/unit/cta_emulator.h"

namespace tilewire::device {

// What elements are worth; of the templates' own types, their users say it.
inline int number(int8_t x) { return x; }
inline int number(uint8_t x) { return x; }

/// Row `lane / 4` of matrix j comes from the address that lane 8 j + lane / 4 gave.
template <int kMatrices>
void load_matrices(uint32_t (&words)[kMatrices], const void* row) {
  LaneWords own = {};
  std::memcpy(own.data(), &row, sizeof(row));
  const auto all = Cta::show(own);
  const unsigned lane = threadIdx.x % 32;
  for (unsigned j = 0; j < kMatrices; ++j) {
    const char* address = nullptr;
    std::memcpy(&address, all[8 * j + lane / 4].data(), sizeof(address));
    std::memcpy(&words[j], address + 4 * (lane % 4), 4);
  }
}

/// `ldmatrix.trans`: element r of column `lane / 4` of matrix j is in row r.
inline void load_turned_matrices(uint32_t (&words)[4], const void* row) {
  LaneWords own = {};
  std::memcpy(own.data(), &row, sizeof(row));
  const auto all = Cta::show(own);
  const unsigned lane = threadIdx.x % 32;
  for (unsigned j = 0; j < 4; ++j) {
    for (unsigned half = 0; half < 2; ++half) {
      const char* address = nullptr;
      std::memcpy(&address, all[8 * j + lane % 4 * 2 + half].data(), sizeof(address));
      std::memcpy(reinterpret_cast<char*>(&words[j]) + 2 * half, address + 2 * (lane / 4), 2);
    }
  }
}

/// `stmatrix`: row `lane / 4` of matrix j goes to the address that lane 8 j + lane / 4 gave.
template <int kMatrices>
void store_matrices(void* row, const uint32_t (&words)[kMatrices]) {
  LaneWords own = {};
  std::memcpy(own.data(), &row, sizeof(row));
  const auto all = Cta::show(own);
  const unsigned lane = threadIdx.x % 32;
  for (unsigned j = 0; j < kMatrices; ++j) {
    char* address = nullptr;
    std::memcpy(&address, all[8 * j + lane / 4].data(), sizeof(address));
    std::memcpy(address + 4 * (lane % 4), &words[j], 4);
  }
}

/// Where element i of a lane's part of A stands, for elements of `size` bytes.
inline int left_row(int lane, int i, int size) {
  const int group = lane / 4;
  if (size == 4) return i == 0 || i == 2 ? group : group + 8;
  if (size == 2) return i < 2 || (4 <= i && i < 6) ? group : group + 8;
  return i < 4 || (8 <= i && i < 12) ? group : group + 8;
}
inline int left_depth(int lane, int i, int size) {
  const int member = lane % 4;
  if (size == 4) return i < 2 ? member : member + 4;
  if (size == 2) return member * 2 + (i & 1) + (i < 4 ? 0 : 8);
  return member * 4 + (i & 3) + (i < 8 ? 0 : 16);
}
/// The same of B, whose column is the lane's group.
inline int right_depth(int lane, int i, int size) {
  const int member = lane % 4;
  if (size == 4) return i < 1 ? member : member + 4;
  if (size == 2) return member * 2 + (i & 1) + (i < 2 ? 0 : 8);
  return member * 4 + (i & 3) + (i < 4 ? 0 : 16);
}

/// sums += A · B. `number(x)` gives an element's value.
template <typename A, typename B, typename Sum>
void multiply_add(A, B, Sum (&sums)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
  constexpr int kSize = sizeof(A);
  static_assert(sizeof(B) == kSize);
  const auto all = Cta::show({a[0], a[1], a[2], a[3], b[0], b[1]});
  Sum left[16][32 / kSize] = {};
  Sum right[32 / kSize][8] = {};
  for (int lane = 0; lane < 32; ++lane) {
    const char* bytes = reinterpret_cast<const char*>(all[static_cast<std::size_t>(lane)].data());
    for (int i = 0; i < 16 / kSize; ++i) {
      A x;
      std::memcpy(&x, bytes + i * kSize, kSize);
      left[left_row(lane, i, kSize)][left_depth(lane, i, kSize)] = static_cast<Sum>(number(x));
    }
    for (int i = 0; i < 8 / kSize; ++i) {
      B x;
      std::memcpy(&x, bytes + 16 + i * kSize, kSize);
      right[right_depth(lane, i, kSize)][lane / 4] = static_cast<Sum>(number(x));
    }
  }
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int i = 0; i < 4; ++i) {
    const int row = lane / 4 + (i < 2 ? 0 : 8);
    const int column = lane % 4 * 2 + (i & 1);
    for (int k = 0; k < 32 / kSize; ++k) sums[i] += left[row][k] * right[k][column];
  }
}

}  // namespace tilewire::device
