// Atomic changes of elements in global memory, here or at a peer: one instruction where the GPU has
// it, else by comparing and swapping until nobody came between. What an order asks for is a fence
// before or behind all of a tile's elements, so that each of them may be relaxed.
//
// A fence covers what its own thread knows of: the CTA's threads meet before an atomic that
// releases and behind one that acquires (the code generator sees to it).
#pragma once

#include "tilewire/atomic_instructions.cuh"
#include "tilewire/gather.cuh"
#include "tilewire/meet.cuh"
#include "tilewire/order.cuh"
#include "tilewire/shape.cuh"

namespace tilewire::device {

template <int kBytes>
struct BitsOf;
template <>
struct BitsOf<2> {
  using type = uint16_t;
};
template <>
struct BitsOf<4> {
  using type = uint32_t;
};
template <>
struct BitsOf<8> {
  using type = uint64_t;
};

template <typename To, typename From>
TILEWIRE_DEVICE To same_bits(const From& value) {
  static_assert(sizeof(To) == sizeof(From));
  To result;
  __builtin_memcpy(&result, &value, sizeof(To));
  return result;
}

/// `value` goes where `compare` is, bit for bit; returns what was there.
template <typename Operation, Scope kScope, typename T>
TILEWIRE_DEVICE T fetch_one(T* place, T value, T compare) {
  using Bits = typename BitsOf<sizeof(T)>::type;
  return same_bits<T>(swap<kScope>(place, same_bits<Bits>(value), same_bits<Bits>(compare)));
}
template <typename Operation, Scope kScope, typename T>
TILEWIRE_DEVICE T fetch_one(T* place, T value) {
  if constexpr (Operation::template kIsInstruction<T>) {
    return fetch<kScope>(Operation(), place, value);
  } else {
    using Bits = typename BitsOf<sizeof(T)>::type;
    Bits seen = *reinterpret_cast<volatile Bits*>(place);
    while (true) {
      const T next = Operation::of(same_bits<T>(seen), value);
      const Bits before = swap<kScope>(place, same_bits<Bits>(next), seen);
      if (before == seen) return same_bits<T>(before);
      seen = before;
    }
  }
}
/// The same where nobody looks at what was there.
template <typename Operation, Scope kScope, typename T, typename... V>
TILEWIRE_DEVICE void update_one(T* place, T value, V... compare) {
  if constexpr (sizeof...(V) == 0) {
    if constexpr (Operation::kReduces && Operation::template kIsInstruction<T>) {
      return update<kScope>(Operation(), place, value);
    }
  }
  fetch_one<Operation, kScope>(place, value, compare...);
}

template <Order kOrder, Scope kScope>
TILEWIRE_DEVICE void release() {
  if constexpr (kOrder == Order::kRelease || kOrder == Order::kAcqRel) fence<kScope>();
}
template <Order kOrder, Scope kScope>
TILEWIRE_DEVICE void acquire() {
  if constexpr (kOrder == Order::kAcquire || kOrder == Order::kAcqRel) fence<kScope>();
}

/// Calls `change(slot, place)` for each element that this thread owns, and that exists.
template <typename TileType, typename A, typename Where, typename Change>
TILEWIRE_DEVICE void for_each_owned(const A& access, const Where& where, const Change& change) {
  using L = typename TileType::Layout;
  TILEWIRE_UNROLL
  for (int i = 0; i < L::kRegisters; ++i) {
    if (!L::owns(threadIdx.x, i)) continue;
    const Run run = run_of<L, 1>(access, i);
    if (run.first <= 0 && run.last >= 1 && element(where, i))
      change(i, access.pointer + run.offset);
  }
}

/// Changes the elements of a tile, nobody looks at what was there: nothing is acquired. `values`:
/// what with, and for `AtomicCas` what must be there.
template <typename TileType, typename Operation, Order kOrder, Scope kScope, typename A,
          typename Where, typename... V>
TILEWIRE_DEVICE void atomic(const A& access, const Where& where, const V&... values) {
  release<kOrder, kScope>();
  for_each_owned<TileType>(access, where, [&](int slot, auto* place) {
    update_one<Operation, kScope>(place, element(values, slot)...);
  });
}
/// The same; gives what was there before, 0 where no element is. Threads that hold an element
/// without owning it get it through `shared`; the CTA's threads meet then.
template <typename TileType, typename Operation, Order kOrder, Scope kScope, typename A,
          typename Where, typename... V>
TILEWIRE_DEVICE TileType atomic_fetch(void* shared, const A& access, const Where& where,
                                      const V&... values) {
  TileType before = full<TileType>(typename TileType::Element{});
  release<kOrder, kScope>();
  for_each_owned<TileType>(access, where, [&](int slot, auto* place) {
    before.set(slot, fetch_one<Operation, kScope>(place, element(values, slot)...));
  });
  acquire<kOrder, kScope>();
  if constexpr (!TileType::Layout::kIsReplicated) return before;
  meet();  // offsets of the access may lie there
  return relayout<TileType>(before, shared);
}

/// One element, by one thread.
template <typename Operation, Order kOrder, Scope kScope, typename T, typename... V>
TILEWIRE_DEVICE void atomic(T* place, bool exists, V... values) {
  if (threadIdx.x != 0 || !exists) return;
  release<kOrder, kScope>();
  update_one<Operation, kScope>(place, values...);
}
/// The same; every thread gets what was there before. The CTA's threads meet inside.
template <typename Operation, Order kOrder, Scope kScope, typename T, typename... V>
TILEWIRE_DEVICE T atomic_fetch(void* shared, T* place, bool exists, V... values) {
  T* before = static_cast<T*>(shared);
  meet();
  if (threadIdx.x == 0) {
    *before = T{};
    if (exists) {
      release<kOrder, kScope>();
      *before = fetch_one<Operation, kScope>(place, values...);
      acquire<kOrder, kScope>();
    }
  }
  meet();
  return *before;
}

}  // namespace tilewire::device
