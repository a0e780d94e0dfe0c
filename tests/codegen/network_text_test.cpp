// Properties of the CUDA text of programs over the network.
#include <string>
#include <string_view>

#include "tests/catch.h"
#include "tests/codegen/network_programs.h"

namespace tilewire {
namespace {

const Target& target() {
  static const Target target = Target::parse("sm_90a:world=8,lsa=4,gin=1");
  return target;
}

std::string body(const Program& lowered) {
  const std::string text = cuda_of_lowered(lowered, target());
  return text.substr(text.find("extern \"C\""));
}

/// Whether these stand in the text, in this order.
bool stand_in_order(const std::string& text, std::initializer_list<std::string_view> parts) {
  std::size_t at = 0;
  for (const std::string_view part : parts) {
    at = text.find(part, at);
    if (at == std::string::npos) return false;
    at += part.size();
  }
  return true;
}

}  // namespace

TEST_CASE("threads meet between stores, what is put, and the signal that tells of it") {
  const std::string text = body(network_puts(target()));
  INFO(text);
  CHECK(stand_in_order(text, {"tw::store<4>(", "__syncthreads();", "network.put<4>(y, p, "}));
  CHECK(stand_in_order(text, {"network.put_value<float>(", "__syncthreads();",
                              "network.signal<tw::Order::kRelease>(sem, p, "}));
  CHECK(stand_in_order(text, {"network.stage(", "__syncthreads();", "network.put_staged("}));
  CHECK(stand_in_order(text,
                       {"network.stage_elements(", "__syncthreads();", "network.put_elements("}));
}

TEST_CASE("what a flush has freed is written behind a meeting") {
  const std::string text = body(network_puts(target()));
  INFO(text);
  CHECK(stand_in_order(text, {"network.flush();", "__syncthreads();", "tw::store<4>("}));
}

TEST_CASE("a rank passes the network's barrier before it meets its team") {
  const std::string text = body(network_puts(target()));
  INFO(text);
  CHECK(stand_in_order(
      text,
      {"network_barrier.sync<tw::NetworkTeam::kRail, tw::Order::kAcqRel>(1);", "__syncthreads();",
       "network_barrier.sync<tw::NetworkTeam::kWorld, tw::Order::kAcqRel>(2);", "__syncthreads();",
       "barrier.sync<tw::Order::kAcqRel>(3);"}));
}

TEST_CASE("a grid meets its peers on each of the network's contexts, then all of it again") {
  const std::string text = body(network_grid(target()));
  INFO(text);
  CHECK(stand_in_order(
      text, {"local_grid_barrier.sync<tw::Order::kAcqRel>(0);", "__syncthreads();",
             "if (slot < lane.num_contexts) {",
             "network_barrier.sync<tw::NetworkTeam::kWorld, tw::Order::kAcqRel>(0);",
             "__syncthreads();", "  barrier.sync<tw::Order::kAcqRel>(0);", "__syncthreads();", "}",
             "local_grid_barrier.sync<tw::Order::kAcqRel>(0);"}));
}

TEST_CASE("a wait sums the semaphore's word and its signals of all contexts") {
  const std::string text = body(network_puts(target()));
  INFO(text);
  CHECK(text.find("tw::wait_network_semaphore(sem, ") != std::string::npos);
}

TEST_CASE("a message over the network is delivered when all threads have laid down their parts") {
  const std::string text = body(network_channels(target()));
  INFO(text);
  CHECK(
      stand_in_order(text, {"tw::NetworkSender<Channel_ch, 4> to_ch(network, ch, lane.rank, p, ",
                            "to_ch.begin(0);", "to_ch.send<0, ", "to_ch.advance();",
                            "if (to_ch.is_far()) {", "__syncthreads();", "to_ch.deliver();", "}"}));
  CHECK(stand_in_order(text, {"from_ch.begin(1);", "from_ch.receive<0, ", "__syncthreads();",
                              "from_ch.acknowledge(1);"}));
  CHECK(stand_in_order(text, {"all_slot.stage();", "all_slot.send<0, ", "__syncthreads();",
                              "all_slot.deliver();", "all_slot.await(2);", "__syncthreads();",
                              "all_slot.receive<0, ", "all_slot.advance();"}));
}

TEST_CASE("what is read from a peer is used behind a flush and a meeting") {
  const std::string text = body(network_get(target()));
  INFO(text);
  CHECK(stand_in_order(
      text, {"network.get<4>(y, ", "network.flush();", "__syncthreads();", "tw::load<"}));
}

}  // namespace tilewire
