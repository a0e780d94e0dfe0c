#include "runtime/cpu/network.h"

#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "tests/catch.h"

namespace tilewire {
namespace {

/// Four words that rank 0 puts to rank 1, one put each, then a signal, and one put more.
struct Exchange {
  std::vector<std::uint32_t> source = {1, 2, 3, 4, 5};
  std::vector<std::uint32_t> target = {0, 0, 0, 0, 0};
  std::mt19937_64 random;
  Network network{random};
  Network::Ticket ticket = std::make_shared<std::int64_t>(0);
  std::vector<const void*> notified;

  explicit Exchange(std::uint64_t seed) : random(seed) {}

  Network::Run word(std::size_t i) {
    return {reinterpret_cast<std::byte*>(&target[i]),
            reinterpret_cast<const std::byte*>(&source[i]), sizeof(std::uint32_t)};
  }
  void put(std::size_t i, int context = 0) { network.put({0, context, 1}, {word(i)}, ticket); }
  bool deliver() {
    return network.deliver_one([this](const void* key) { notified.push_back(key); });
  }
};

}  // namespace

TEST_CASE("a signal comes behind all that its context put to its peer before", "[cpu]") {
  bool was_late = false;
  bool was_overtaken = false;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    Exchange exchange(seed);
    for (const std::size_t i : {0U, 1U, 2U}) exchange.put(i);
    exchange.network.signal({0, 0, 1}, {&exchange}, 5);
    exchange.put(3);     // behind the signal
    exchange.put(4, 1);  // on another context
    const Network::Place place{&exchange};
    while (exchange.network.signals(place) == 0) REQUIRE(exchange.deliver());
    CHECK(exchange.network.signals(place) == 5);
    CHECK(std::vector(exchange.target.begin(), exchange.target.begin() + 3) ==
          std::vector<std::uint32_t>{1, 2, 3});
    CHECK(exchange.notified.back() == &exchange);
    was_late |= exchange.target[4] == 0;
    was_overtaken |= exchange.target[3] == 4;
    while (exchange.deliver()) {
    }
    CHECK(exchange.target == exchange.source);
    CHECK(exchange.network.num_under_way() == 0);
  }
  CHECK(was_late);
  CHECK(was_overtaken);
}

TEST_CASE("puts come in any order, in halves, from what their source holds then", "[cpu]") {
  std::set<std::vector<std::uint32_t>> seen;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Exchange exchange(seed);
    exchange.network.put({0, 0, 1}, {exchange.word(0), exchange.word(1)}, exchange.ticket);
    exchange.put(2);
    CHECK(*exchange.ticket == 2);
    int steps = 0;
    while (*exchange.ticket > 0) {
      REQUIRE(exchange.deliver());
      seen.insert(exchange.target);
      ++steps;
    }
    CHECK(steps >= 2);
    CHECK(exchange.notified.back() == exchange.ticket.get());
    exchange.source = {9, 9, 9, 9, 9};  // flushed: they may change
    while (exchange.deliver()) seen.insert(exchange.target);
    CHECK(exchange.target == std::vector<std::uint32_t>{1, 2, 3, 0, 0});
  }
  using Words = std::vector<std::uint32_t>;
  CHECK(seen.contains(Words{1, 0, 0, 0, 0}));
  CHECK(seen.contains(Words{0, 0, 3, 0, 0}));
  CHECK(seen.contains(Words{1, 0, 3, 0, 0}));
}

TEST_CASE("a get is counted until it is there, and orders no signal", "[cpu]") {
  bool was_signalled_first = false;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Exchange exchange(seed);
    exchange.source[0] = 0x10001;  // half of it is another number
    exchange.network.get({0, 0, 1}, {exchange.word(0)}, exchange.ticket);
    exchange.network.signal({0, 0, 1}, {&exchange}, 1);
    while (*exchange.ticket > 0) {
      CHECK(exchange.target[0] != exchange.source[0]);
      REQUIRE(exchange.deliver());
      was_signalled_first |= *exchange.ticket > 0 && exchange.network.signals({&exchange}) == 1;
    }
    CHECK(exchange.target[0] == exchange.source[0]);
  }
  CHECK(was_signalled_first);
}

TEST_CASE("a signal that orders nothing overtakes puts, but no signal", "[cpu]") {
  bool was_first = false;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Exchange exchange(seed);
    exchange.put(0);
    exchange.network.signal({0, 0, 1}, {&exchange, 0}, 1, false);
    exchange.network.signal({0, 0, 1}, {&exchange, 1}, 1, true);
    exchange.network.signal({0, 0, 1}, {&exchange, 2}, 1, false);
    while (exchange.network.signals({&exchange, 2}) == 0) {
      was_first |= exchange.network.signals({&exchange, 0}) == 1 && exchange.target[0] == 0;
      REQUIRE(exchange.deliver());
    }
    CHECK(exchange.target[0] == 1);
    exchange.network.take({&exchange, 1}, 1);
    CHECK(exchange.network.signals({&exchange, 1}) == 0);
  }
  CHECK(was_first);
}

TEST_CASE("memory that is freed is neither read nor written", "[cpu]") {
  Exchange exchange(1);
  exchange.put(0);
  exchange.put(1);
  exchange.network.signal({0, 0, 1}, {exchange.target.data()}, 1);
  const auto forget = [&](std::vector<std::uint32_t>& words) {
    exchange.network.forget(reinterpret_cast<const std::byte*>(words.data()), words.size() * 4);
  };
  forget(exchange.source);
  exchange.source = {9, 9, 9, 9, 9};
  CHECK(*exchange.ticket == 0);
  while (exchange.network.num_under_way() > 1) exchange.deliver();
  CHECK(exchange.target == std::vector<std::uint32_t>{1, 2, 0, 0, 0});
  exchange.put(2);
  forget(exchange.target);
  while (exchange.deliver()) {
  }
  CHECK(exchange.target == std::vector<std::uint32_t>{1, 2, 0, 0, 0});
  CHECK(exchange.network.signals({exchange.target.data()}) == 0);
}

TEST_CASE("nothing is drawn while nothing is under way", "[cpu]") {
  Exchange exchange(7);
  const std::mt19937_64 before = exchange.random;
  for (int i = 0; i < 100; ++i) exchange.network.pass([](const void*) {});
  CHECK(exchange.random == before);
  exchange.put(0);
  exchange.network.drain([](const void*) {});
  CHECK(exchange.target[0] == 1);
}

}  // namespace tilewire
