#pragma once

#include <cstdint>
#include <functional>

namespace tilewire {

/// Calls `body(i)` once for every i below `count`, on all cores, the calling thread included, and
/// returns when all have returned. Where calls throw, no new ones begin and one of the exceptions
/// is thrown here. Calls from several threads take turns. The threads are made at the first use
/// and again in a forked child.
///
/// `while_waiting`: called now and then on the calling thread once no index is left for it; it may
/// throw, as `body` may.
void parallel_for(std::int64_t count, const std::function<void(std::int64_t)>& body,
                  const std::function<void()>& while_waiting = {});

}  // namespace tilewire
