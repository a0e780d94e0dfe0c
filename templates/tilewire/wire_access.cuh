// How words of messages are stored and polled: as one relaxed access each, since arrival is seen in
// the data itself and nothing else is ordered by it. `kScope`: kSystem, or kGpu in a world of one.
#pragma once

#include "tilewire/order.cuh"
#include "tilewire/wire.cuh"

namespace tilewire::device {

#if defined(__CUDACC__)

// `what` is the instruction up to its order, `rest` what follows its state space.
#define TILEWIRE_RELAXED(what, rest, ...)                      \
  if constexpr (kScope == Scope::kSystem) {                    \
    asm volatile(what ".relaxed.sys.global" rest __VA_ARGS__); \
  } else {                                                     \
    asm volatile(what ".relaxed.gpu.global" rest __VA_ARGS__); \
  }
// The same where predicate p, which is true where operand `flag` isn't 0, holds: no branch, so that
// all chunks' loads are under way together.
#define TILEWIRE_RELAXED_IF(flag, what, rest, ...)                                                \
  TILEWIRE_RELAXED("{\n\t.reg .pred p;\n\tsetp.ne.u32 p, " flag ", 0;\n\t@p " what, rest "\n\t}", \
                   __VA_ARGS__)

/// A packet: a word and its message's sequence number.
TILEWIRE_DEVICE uint64_t packet(uint32_t word, uint32_t sequence) {
  return uint64_t{sequence} << 32 | word;
}
TILEWIRE_DEVICE uint32_t low(uint64_t packet) { return static_cast<uint32_t>(packet); }
TILEWIRE_DEVICE uint32_t high(uint64_t packet) { return static_cast<uint32_t>(packet >> 32); }

template <typename C, Scope kScope>
TILEWIRE_DEVICE void store_chunk(char* to, const uint32_t (&words)[C::kWords], uint32_t sequence) {
  if constexpr (C::kHasTags || C::kIsWide) {
    const uint64_t first = packet(words[0], C::kIsWide ? words[C::kWords > 1] : sequence);
    if constexpr (C::kBytes == 16) {
      constexpr int kSecond = C::kIsWide ? 2 : 1;
      const uint64_t second = packet(words[kSecond], C::kIsWide ? words[C::kWords - 1] : sequence);
      TILEWIRE_RELAXED("st", ".v2.b64 [%0], {%1, %2}; // packet", ::"l"(to), "l"(first),
                       "l"(second) : "memory")
    } else {
      TILEWIRE_RELAXED("st", ".b64 [%0], %1; // packet", ::"l"(to), "l"(first) : "memory")
    }
  } else if constexpr (C::kWords == 4) {
    TILEWIRE_RELAXED("st", ".v4.b32 [%0], {%1, %2, %3, %4}; // packet", ::"l"(to), "r"(words[0]),
                     "r"(words[1]), "r"(words[2]), "r"(words[3]) : "memory")
  } else if constexpr (C::kWords == 2) {
    TILEWIRE_RELAXED("st", ".v2.b32 [%0], {%1, %2}; // packet", ::"l"(to), "r"(words[0]),
                     "r"(words[1]) : "memory")
  } else {
    TILEWIRE_RELAXED("st", ".b32 [%0], %1; // packet", ::"l"(to), "r"(words[0]) : "memory")
  }
}

/// Packets, or floats of 64 bits: whether they are there now.
template <typename C, Scope kScope>
TILEWIRE_DEVICE bool poll_pairs(const char* from, uint32_t (&words)[C::kWords], uint32_t flag,
                                uint32_t sequence) {
  constexpr int kSecond = C::kIsWide ? 2 : 1;
  uint64_t first = packet(words[0], C::kIsWide ? words[C::kWords > 1] : sequence);
  uint64_t second = first;
  if constexpr (C::kBytes == 16) {
    second = packet(words[kSecond], C::kIsWide ? words[C::kWords - 1] : sequence);
    TILEWIRE_RELAXED_IF("%3", "ld", ".v2.b64 {%0, %1}, [%2]; // packet", : "+l"(first),
                        "+l"(second) : "l"(from), "r"(flag) : "memory")
  } else {
    TILEWIRE_RELAXED_IF("%2", "ld", ".b64 %0, [%1]; // packet", : "+l"(first) : "l"(from),
                        "r"(flag) : "memory")
    second = first;
  }
  words[0] = low(first);
  if constexpr (C::kIsWide) words[1] = high(first);
  if constexpr (C::kBytes == 16) words[kSecond] = low(second);
  if constexpr (C::kIsWide && C::kBytes == 16) words[3] = high(second);
  if constexpr (C::kIsWide) return first != 0 && second != 0;
  return high(first) == sequence && high(second) == sequence;
}

/// Reads a chunk where `is_missing`, and says whether it is there now.
template <typename C, Scope kScope>
TILEWIRE_DEVICE bool poll_chunk(const char* from, uint32_t (&words)[C::kWords], bool is_missing,
                                uint32_t sequence) {
  const uint32_t flag = is_missing;
  if constexpr (C::kHasTags || C::kIsWide) {
    return poll_pairs<C, kScope>(from, words, flag, sequence);
  } else if constexpr (C::kWords == 4) {
    TILEWIRE_RELAXED_IF("%5", "ld", ".v4.b32 {%0, %1, %2, %3}, [%4]; // packet", : "+r"(words[0]),
                        "+r"(words[1]), "+r"(words[2]), "+r"(words[3]) : "l"(from),
                        "r"(flag) : "memory")
    return words[0] != 0 && words[1] != 0 && words[2] != 0 && words[3] != 0;
  } else if constexpr (C::kWords == 2) {
    TILEWIRE_RELAXED_IF("%3", "ld", ".v2.b32 {%0, %1}, [%2]; // packet", : "+r"(words[0]),
                        "+r"(words[1]) : "l"(from), "r"(flag) : "memory")
    return words[0] != 0 && words[1] != 0;
  } else {
    TILEWIRE_RELAXED_IF("%2", "ld", ".b32 %0, [%1]; // packet", : "+r"(words[0]) : "l"(from),
                        "r"(flag) : "memory")
    return words[0] != 0;
  }
}

template <Scope kScope>
TILEWIRE_DEVICE ChannelCount load_count(const char* from) {
  ChannelCount count;
  TILEWIRE_RELAXED("ld", ".v2.u32 {%0, %1}, [%2]; // own phase", : "=r"(count.sequence),
                   "=r"(count.buffer) : "l"(from) : "memory")
  return count;
}
template <Scope kScope>
TILEWIRE_DEVICE void store_count(char* to, ChannelCount count) {
  TILEWIRE_RELAXED("st", ".v2.u32 [%0], {%1, %2}; // own phase", ::"l"(to), "r"(count.sequence),
                   "r"(count.buffer) : "memory")
}
/// What is done about other instances that used an end of the slot meanwhile: nothing.
struct UncheckedSlot {
  TILEWIRE_DEVICE void fail() const {}
};
/// Stores the count that was `before`. With a check, the launch ends where it no longer was.
template <Scope kScope>
TILEWIRE_DEVICE void store_count(char* to, ChannelCount, ChannelCount count, UncheckedSlot) {
  store_count<kScope>(to, count);
}
template <Scope kScope, typename Check>
TILEWIRE_DEVICE void store_count(char* to, ChannelCount before, ChannelCount count, Check check) {
  const uint64_t expected = packet(before.sequence, before.buffer);
  uint64_t found;
  TILEWIRE_RELAXED("atom", ".cas.b64 %0, [%1], %2, %3; // own phase", : "=l"(found) : "l"(to),
                   "l"(expected), "l"(packet(count.sequence, count.buffer)) : "memory")
  if (found != expected) check.fail();
}
template <Scope kScope>
TILEWIRE_DEVICE uint32_t load_credit(const char* from) {
  uint32_t credit;
  TILEWIRE_RELAXED("ld", ".u32 %0, [%1]; // packet", : "=r"(credit) : "l"(from) : "memory")
  return credit;
}
template <Scope kScope>
TILEWIRE_DEVICE void store_credit(char* to, uint32_t credit) {
  TILEWIRE_RELAXED("st", ".u32 [%0], %1; // packet", ::"l"(to), "r"(credit) : "memory")
}

#undef TILEWIRE_RELAXED_IF
#undef TILEWIRE_RELAXED
#endif

}  // namespace tilewire::device
