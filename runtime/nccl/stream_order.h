#pragma once

#include <cstdint>
#include <optional>

#include "runtime/driver/driver.h"

namespace tilewire {

/// Keeps launches of one lane in order across streams. Eager launches are ordered among themselves,
/// and so are those that are recorded into one graph.
class StreamOrder {
 public:
  /// A launch on `stream` needs no look at captures and no waiting: the last launch was eager and
  /// went there.
  bool is_settled(cuda::Stream stream) const { return is_settled_ && stream == eager_stream_; }

  /// The stream whose work a launch on `stream` must wait for, if any; the launch counts as made.
  std::optional<cuda::Stream> next(cuda::Stream stream, Capture capture) {
    std::optional<cuda::Stream> before;
    if (capture.active) {
      if (has_captured_ && capture.id == capture_id_ && stream != captured_stream_) {
        before = captured_stream_;
      }
      has_captured_ = true;
      capture_id_ = capture.id;
      captured_stream_ = stream;
      is_settled_ = false;
      return before;
    }
    if (has_eager_ && stream != eager_stream_) before = eager_stream_;
    has_eager_ = true;
    eager_stream_ = stream;
    is_settled_ = true;
    return before;
  }

 private:
  bool is_settled_ = false;
  bool has_eager_ = false;
  cuda::Stream eager_stream_ = nullptr;
  bool has_captured_ = false;
  std::uint64_t capture_id_ = 0;
  cuda::Stream captured_stream_ = nullptr;
};

}  // namespace tilewire
