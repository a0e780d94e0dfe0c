#include "runtime/nccl/stream_order.h"

#include "tests/catch.h"

namespace tilewire {
namespace {

cuda::Stream stream(std::uintptr_t number) { return reinterpret_cast<cuda::Stream>(number); }

constexpr Capture kEager{};
constexpr Capture kGraph{.active = true, .id = 7};
constexpr Capture kOtherGraph{.active = true, .id = 8};

}  // namespace

TEST_CASE("launches on one stream are in order already") {
  StreamOrder order;
  CHECK_FALSE(order.is_settled(stream(1)));
  CHECK(order.next(stream(1), kEager) == std::nullopt);
  CHECK(order.is_settled(stream(1)));
  CHECK_FALSE(order.is_settled(stream(2)));
  CHECK(order.next(stream(1), kEager) == std::nullopt);
}

TEST_CASE("an eager launch waits for the stream of the one before") {
  StreamOrder order;
  order.next(stream(1), kEager);
  CHECK(order.next(stream(2), kEager) == stream(1));
  CHECK(order.next(stream(2), kEager) == std::nullopt);
  CHECK(order.next(stream(1), kEager) == stream(2));
}

TEST_CASE("the legacy stream is a stream like others") {
  StreamOrder order;
  CHECK(order.next(nullptr, kEager) == std::nullopt);
  CHECK(order.is_settled(nullptr));
  CHECK(order.next(stream(1), kEager) == std::optional<cuda::Stream>(nullptr));
}

TEST_CASE("recorded launches wait for those of the same graph only") {
  StreamOrder order;
  order.next(stream(1), kEager);
  CHECK(order.next(stream(2), kGraph) == std::nullopt);
  CHECK(order.next(stream(3), kGraph) == stream(2));
  CHECK(order.next(stream(3), kGraph) == std::nullopt);
  CHECK(order.next(stream(4), kOtherGraph) == std::nullopt);
}

TEST_CASE("a capture leaves the order of eager launches as it was") {
  StreamOrder order;
  order.next(stream(1), kEager);
  order.next(stream(2), kGraph);
  // On the captured stream itself, after its capture: the last eager launch was on another.
  CHECK_FALSE(order.is_settled(stream(1)));
  CHECK(order.next(stream(2), kEager) == stream(1));
  CHECK(order.is_settled(stream(2)));
}

TEST_CASE("an eager stream that is captured later is looked at again") {
  StreamOrder order;
  order.next(stream(1), kEager);
  order.next(stream(2), kGraph);
  CHECK(order.next(stream(1), kGraph) == stream(2));
  CHECK(order.next(stream(1), kEager) == std::nullopt);
}

}  // namespace tilewire
