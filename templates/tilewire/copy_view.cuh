// Copies of what a view holds to another, here or at a peer: extents and strides known at run time.
//
// Large pieces of whole 16-byte words go through shared memory by the bulk copy engine, several in
// flight, issued by one thread. Everything else goes through registers, eight words of each thread
// in flight at once.
//
// Bulk copies are done in the async proxy. What the generic proxy wrote before, this CTA or whoever
// it has acquired from, is made visible to them by a `fence.proxy.async`. Their own writes are
// done, and may be released, only behind `drain`: `wait_group 0`, not `.read`, which is said when
// shared memory has been read.
#pragma once

#include "tilewire/bulk_copy.cuh"
#include "tilewire/copy_layout.cuh"
#include "tilewire/copy_rows.cuh"
#include "tilewire/group.cuh"
#include "tilewire/memory.cuh"
#include "tilewire/task.cuh"

namespace tilewire::device {

/// How a group of threads copies: bytes of a stage, stages whose store may still be reading while
/// the others load, 16-byte words that a thread has in flight.
template <typename Group>
struct CopyShape {
  static constexpr int kStageBytes = kCopyStageBytes;
  static constexpr int kStores = kCopyStores;
  static constexpr int kWords = 8;
};
template <>
struct CopyShape<TaskWarp> {
  static constexpr int kStageBytes = kTaskStageBytes;
  static constexpr int kStores = kTaskStores;
  static constexpr int kWords = 8;
};
template <>
struct CopyShape<LeanTaskWarp> : CopyShape<TaskWarp> {
  static constexpr int kWords = 2;
};

/// The next piece of at most kStageBytes.
template <int kOuter, int kStageBytes>
struct CopyCursor {
  int64_t row = 0;
  int64_t done = 0;  ///< bytes of that row

  TILEWIRE_DEVICE int take(const CopyRows<kOuter>& rows, int64_t& to, int64_t& from) {
    rows.offsets(row, to, from);
    to += done;
    from += done;
    const int64_t left = rows.run - done;
    const int size = left < kStageBytes ? static_cast<int>(left) : kStageBytes;
    done += size;
    if (done == rows.run) {
      done = 0;
      ++row;
    }
    return size;
  }
};

/// Where bulk stores may be under way.
struct BulkRange {
  uint64_t begin;
  uint64_t end;  ///< 0: none are
};

/// One copy by the `kThreads` threads of a group. `kStages` = 0: none by the bulk copy engine.
template <int kThreads, int kStages, typename Group>
class Copying {
  using Shape = CopyShape<Group>;
  /// Fewer bytes in a row, or in all, are better loaded and stored.
  static constexpr int64_t kLeastRow = 4096;
  static constexpr int64_t kLeastBulk = 64 * 1024;

 public:
  TILEWIRE_DEVICE Copying(char* shared, BulkRange under_way)
      : shared_(shared), begin_(under_way.begin), end_(under_way.end) {}
  Copying(const Copying&) = delete;
  Copying& operator=(const Copying&) = delete;

  TILEWIRE_DEVICE BulkRange under_way() const { return {begin_, end_}; }

  /// As `Copier::copy`, of elements of `kSize` bytes.
  template <int kSize, int kKnown, bool kBulk, typename... Dims>
  TILEWIRE_DEVICE void copy(char* to, char* from, const Dims&... dims) {
    __builtin_assume(__isGlobal(to));
    __builtin_assume(__isGlobal(from));
    constexpr int kRank = sizeof...(Dims);
    CopyDim all[kRank] = {dims...};
    int64_t count = 1;
    TILEWIRE_UNROLL
    for (int i = 0; i < kRank; ++i) {
      if (all[i].extent < 0) all[i].extent = 0;
      count *= all[i].extent;
    }
    if (count == 0) return;
    join_runs<kRank>(all);
    CopyRows<kRank - 1> rows;
    rows.rows = count / all[kRank - 1].extent;
    int64_t bits = reinterpret_cast<int64_t>(to) | reinterpret_cast<int64_t>(from);
    TILEWIRE_UNROLL
    for (int i = 0; i + 1 < kRank; ++i) {
      rows.outer[i] = {all[i].extent, all[i].to_stride * kSize, all[i].from_stride * kSize};
      if (all[i].extent > 1) bits |= rows.outer[i].to_stride | rows.outer[i].from_stride;
    }
    const CopyDim inner = all[kRank - 1];
    if (inner.extent > 1 && (inner.to_stride != 1 || inner.from_stride != 1)) {
      rows.run = inner.extent * kSize;
      before_words(to, from, rows, inner.to_stride * kSize, inner.from_stride * kSize);
      return words<kSize, kRank - 1>(to, from, rows, inner.to_stride * kSize,
                                     inner.from_stride * kSize);
    }
    rows.run = inner.extent * kSize;
    bits |= rows.run;
    by_width<kSize, kKnown, kBulk>(to, from, rows, bits);
  }

  TILEWIRE_DEVICE void drain() {
    if constexpr (kStages > 0) {
      wait_bulk_stores();
      fence_proxy_async();
      begin_ = end_ = 0;
    }
  }

 private:
  template <int kSize, int kKnown, bool kBulk, int kOuter>
  TILEWIRE_DEVICE void by_width(char* to, char* from, const CopyRows<kOuter>& rows, int64_t bits) {
    if (kKnown >= 16 || bits % 16 == 0) {
      if constexpr (kBulk && kStages > 0) {
        if (rows.run >= kLeastRow && rows.run * rows.rows >= kLeastBulk) {
          return bulk(to, from, rows);
        }
      }
      before_words(to, from, rows, 16, 16);
      return words<16>(to, from, rows, 16, 16);
    }
    if constexpr (kKnown < 16) {
      before_words(to, from, rows, 16, 16);
      if constexpr (kSize <= 4 && kKnown < 16) {
        if (bits % 4 == 0) return words<4>(to, from, rows, 4, 4);
      }
      words<kSize>(to, from, rows, kSize, kSize);
    }
  }

  /// A run of bytes that hold all rows, from the first to the end of the last.
  template <int kOuter>
  TILEWIRE_DEVICE static void span(char* address, const CopyRows<kOuter>& rows, int64_t run,
                                   bool is_to, uint64_t& begin, uint64_t& end) {
    int64_t low = run < 0 ? run : 0;
    int64_t high = run < 0 ? 0 : run;
    TILEWIRE_UNROLL
    for (int i = 0; i < kOuter; ++i) {
      const int64_t step = is_to ? rows.outer[i].to_stride : rows.outer[i].from_stride;
      const int64_t last = (rows.outer[i].extent - 1) * step;
      if (last < 0) {
        low += last;
      } else {
        high += last;
      }
    }
    begin = reinterpret_cast<uint64_t>(address) + low;
    end = reinterpret_cast<uint64_t>(address) + high + 16;
  }

  /// Earlier bulk stores are in no order with what is done now: where both may touch the same
  /// bytes, those must be over.
  template <int kOuter>
  TILEWIRE_DEVICE bool meets_bulk_stores(char* to, char* from, const CopyRows<kOuter>& rows,
                                         int64_t to_run, int64_t from_run) {
    if (end_ == 0) return false;
    uint64_t begin;
    uint64_t end;
    span(to, rows, to_run, true, begin, end);
    const bool is_written = begin < end_ && begin_ < end;
    span(from, rows, from_run, false, begin, end);
    return is_written || (begin < end_ && begin_ < end);
  }

  template <int kOuter>
  TILEWIRE_DEVICE void before_words(char* to, char* from, const CopyRows<kOuter>& rows,
                                    int64_t to_step, int64_t from_step) {
    if constexpr (kStages > 0) {
      const int64_t num_steps = rows.run / (to_step == 16 ? 16 : 1) + 1;
      if (meets_bulk_stores(to, from, rows, num_steps * to_step, num_steps * from_step)) {
        drain();
        Group::meet();
      }
    }
  }

  /// Through registers: runs of words of `kBytes`, so many bytes apart. Threads lie along a row as
  /// far as it goes, then over rows.
  template <int kBytes, int kOuter>
  TILEWIRE_DEVICE static void words(char* to, char* from, const CopyRows<kOuter>& rows,
                                    int64_t to_step, int64_t from_step) {
    const int64_t per_row = rows.run / kBytes;
    int lanes = kThreads;
    while (lanes / 2 >= per_row && lanes > 1) lanes /= 2;
    const int first = static_cast<uint32_t>(Group::index()) % lanes;
    const int num_rows = kThreads / lanes;
    // Rows are found by 32-bit divisions.
    const bool is_long = kOuter > 1 && rows.rows > int64_t{0x7fffffff};
    CopyRows<kOuter> part = rows;
    const int64_t num_parts = is_long ? rows.outer[0].extent : 1;
    part.rows = rows.rows / num_parts;
    if (is_long) part.outer[0].extent = 1;
    TILEWIRE_ROLLED
    for (int64_t i = 0; i < num_parts; ++i) {
      words_of<kBytes>(to + i * rows.outer[0].to_stride, from + i * rows.outer[0].from_stride, part,
                       to_step, from_step, lanes, first, num_rows);
    }
  }

  template <int kBytes, int kOuter>
  TILEWIRE_DEVICE static void words_of(char* to, char* from, const CopyRows<kOuter>& rows,
                                       int64_t to_step, int64_t from_step, int lanes, int first,
                                       int num_rows) {
    using W = typename Word<kBytes>::type;
    constexpr int kInFlight =
        kBytes == 16 ? Shape::kWords : (Shape::kWords + 1) / 2;  // words of a thread
    const int64_t per_row = rows.run / kBytes;
    int64_t row = static_cast<uint32_t>(Group::index()) / lanes;
    int64_t word = first;
    TILEWIRE_ROLLED
    while (row < rows.rows) {
      W values[kInFlight];
      char* places[kInFlight];
      TILEWIRE_UNROLL
      for (int i = 0; i < kInFlight; ++i) {
        places[i] = nullptr;
        if (row >= rows.rows) continue;
        int64_t to_offset;
        int64_t from_offset;
        rows.offsets(row, to_offset, from_offset);
        if (word < per_row) {
          places[i] = to + to_offset + word * to_step;
          values[i] =
              fetch<Cache::kDefault>(reinterpret_cast<W*>(from + from_offset + word * from_step));
        }
        word += lanes;
        if (word >= per_row) {
          word = first;
          row += num_rows;
        }
      }
      TILEWIRE_UNROLL
      for (int i = 0; i < kInFlight; ++i) {
        if (places[i] != nullptr) put<Cache::kDefault>(reinterpret_cast<W*>(places[i]), values[i]);
      }
    }
  }

  /// Through shared memory, by the first thread. All rows are whole 16-byte words.
  template <int kOuter>
  TILEWIRE_DEVICE void bulk(char* to, char* from, const CopyRows<kOuter>& rows) {
    if (meets_bulk_stores(to, from, rows, rows.run, rows.run)) drain();
    fence_proxy_async();  // by each thread for what it wrote or acquired
    Group::meet();
    uint64_t begin;
    uint64_t end;
    span(to, rows, rows.run, true, begin, end);
    begin_ = end_ == 0 || begin < begin_ ? begin : begin_;
    end_ = end > end_ ? end : end_;
    if (Group::index() == 0) run_stages(to, from, rows);
  }

  template <int kOuter>
  TILEWIRE_DEVICE void run_stages(char* to, char* from, const CopyRows<kOuter>& rows) {
    constexpr int kStageBytes = Shape::kStageBytes;
    constexpr int kLoads = kStages - Shape::kStores;
    uint64_t* full = reinterpret_cast<uint64_t*>(shared_ + kStages * kStageBytes);
    TILEWIRE_ROLLED
    for (int i = 0; i < kStages; ++i) begin_bulk_loads(full + i);
    fence_proxy_async();
    const int64_t per_row = (rows.run + kStageBytes - 1) / kStageBytes;
    const int64_t count = per_row * rows.rows;
    CopyCursor<kOuter, kStageBytes> loads;
    CopyCursor<kOuter, kStageBytes> stores;
    int64_t num_loaded = 0;
    int load_stage = 0;
    const auto load_next = [&] {
      int64_t to_offset;
      int64_t from_offset;
      const int size = loads.take(rows, to_offset, from_offset);
      bulk_load(shared_ + load_stage * kStageBytes, from + from_offset, size, full + load_stage);
      load_stage = load_stage + 1 == kStages ? 0 : load_stage + 1;
      ++num_loaded;
    };
    TILEWIRE_ROLLED
    while (num_loaded < kLoads && num_loaded < count) load_next();
    int stage = 0;
    uint32_t parity = 0;
    TILEWIRE_ROLLED
    for (int64_t i = 0; i < count; ++i) {
      wait_bulk_load(full + stage, parity);
      int64_t to_offset;
      int64_t from_offset;
      const int size = stores.take(rows, to_offset, from_offset);
      bulk_store(to + to_offset, shared_ + stage * kStageBytes, size);
      if (++stage == kStages) {
        stage = 0;
        parity ^= 1;
      }
      if (num_loaded < count) {
        wait_bulk_read<Shape::kStores>();  // the stage that is loaded next
        load_next();
      }
    }
    wait_bulk_read<0>();  // the next copy begins with any stage
    TILEWIRE_ROLLED
    for (int i = 0; i < kStages; ++i) end_bulk_loads(full + i);
  }

  char* shared_;
  uint64_t begin_;
  uint64_t end_;
};

#if defined(__CUDACC__)
#define TILEWIRE_COPY_FUNCTION static __device__ __noinline__
#else
#define TILEWIRE_COPY_FUNCTION
#endif
/// One function for all copies of a kind: a kernel may have one to each of many ranks.
template <int kThreads, int kStages, typename Group, int kSize, int kKnown, bool kBulk,
          typename... Dims>
TILEWIRE_COPY_FUNCTION BulkRange copy_views(char* shared, BulkRange under_way, char* to, char* from,
                                            Dims... dims) {
  Copying<kThreads, kStages, Group> copying(shared, under_way);
  copying.template copy<kSize, kKnown, kBulk>(to, from, dims...);
  return copying.under_way();
}
#undef TILEWIRE_COPY_FUNCTION

/// The copies of one program instance, or of its task.
template <int kThreads, int kStages, typename Group = ProgramThreads>
class Copier {
 public:
  /// `shared`: copy_shared_bytes, if there are stages.
  explicit TILEWIRE_DEVICE Copier(char* shared) : shared_(shared) {}
  Copier(const Copier&) = delete;
  Copier& operator=(const Copier&) = delete;

  /// Copies elements from the outermost dimension to the innermost. The group's threads meet inside
  /// where the engine is used. `kKnown`: bytes that divide both addresses, all strides but the
  /// innermost, and the innermost dimension. `kBulk`: it may be large.
  template <int kKnown, bool kBulk, typename T, typename... Dims>
  TILEWIRE_DEVICE void copy(T* to, T* from, const Dims&... dims) {
    under_way_ = copy_views<kThreads, kStages, Group, sizeof(T), kKnown, kBulk>(
        shared_, under_way_, reinterpret_cast<char*>(to), reinterpret_cast<char*>(from), dims...);
  }

  /// Waits until all copies are done. For the releasing threads too only behind a __syncthreads.
  TILEWIRE_DEVICE void drain() {
    Copying<kThreads, kStages, Group> copying(shared_, under_way_);
    copying.drain();
    under_way_ = copying.under_way();
  }

 private:
  char* shared_;
  BulkRange under_way_ = {0, 0};
};

}  // namespace tilewire::device
