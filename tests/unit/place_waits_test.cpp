#include <string>
#include <utility>

#include "tests/catch.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

/// What a program begins with: a flag's generation, an address of it and of a semaphore.
const std::string kStart =
    "%generation = generation(%ready): i64\n"
    "%c0 = constant() {dtype = i64, value = 0}: i64\n"
    "%c64 = constant() {dtype = i64, value = 64}: i64\n"
    "%one = constant() {dtype = u32, value = 1}: u32\n"
    "%yes = lt(%c0, %T): bool\n"
    "%flag = address(%ready, %c64): pointer<u32>\n"
    "%semaphore = address(%free, %c0): pointer<u64>\n"
    "%place = address(%x, %c0): pointer<bf16>\n";

const std::string kFlagWait =
    "flag_wait(%flag, %one, %generation) {producer = true, scope = \"system\", shape = [], "
    "site = 0, strides = []}\n";
const std::string kSemaphoreWait =
    "semaphore_wait(%semaphore, %one) {scope = \"system\", shape = [], site = 1, strides = []}\n";
const std::string kBarrier = "lsa_barrier() {order = \"acq_rel\", site = 2}\n";
const std::string kSet =
    "flag_set(%flag, %generation) {order = \"release\", scope = \"system\", shape = [], strides = "
    "[], told = \"system\"}\n";
const std::string kStore =
    "tile_store(%place, %zero) {masked = [0], shape = [64], strides = [1], vector = 1}\n";

/// A product of x, which others may write, or of `left`; `n`: what its values are called.
std::string product(const std::string& left = "%x", const std::string& n = "") {
  const std::string load =
      " {depth = 1, dimensions = [0, 1], offset = 0, place = 0, product = 0, shape = [64, 64]}: "
      "tile<bf16[64, 64]>\n";
  return "%a" + n + " = operand_load(" + left + ", %c0, %c0)" + load + "%b" + n +
         " = operand_load(%w, %c0, %c0)" + load + "%p" + n + " = matmul(%a" + n + ", %b" + n +
         ") {precision = \"ieee\", staged = true, transpose_b = true}: tile<f32[64, 64]>\n";
}

std::string loop(const std::string& bound, const std::string& body) {
  return "for %i = range(%c0, " + bound + ", %c64) {\n" + body + "yield\n}\n";
}

std::string branch(const std::string& body) {
  return "if %yes {\n" + body + "yield\n} else {\nyield\n}\n";
}

Program parsed(const std::string& statements) {
  return program_of(
      "window %x: bf16[64, 64]\nconstant %w: bf16[64, 64]\nflag %ready: [4]\n"
      "semaphore %free: [4]\ndimension %T",
      kStart + statements, 2);
}

std::string placed(const std::string& statements) {
  return body_of(place_waits(parsed(statements)));
}

/// The producer's branch, then the consumers'.
std::pair<std::string, std::string> roles(const std::string& statements) {
  const std::string text = body_of(split_roles(place_waits(parsed(statements))));
  const std::size_t split = text.find("if %is_producer");
  REQUIRE(split != std::string::npos);
  const std::size_t consumers = text.find("\n} else {", split);
  return {text.substr(split, consumers - split), text.substr(consumers)};
}

/// Which of the words a text has, in its order.
std::string order(const std::string& text) {
  std::string result;
  for (std::size_t at = 0; at < text.size(); ++at) {
    for (const char* word : {"flag_wait", "semaphore_wait", "lsa_barrier", "await_hand_over",
                             "hand_over", "operand_load", "matmul(", "flag_set", "next_index",
                             "give_index", "take_index", "drain_copies", "tile_store"}) {
      if (text.compare(at, std::string(word).size(), word) != 0) continue;
      result += std::string(result.empty() ? "" : " ") + word;
      at += std::string(word).size() - 1;
      break;
    }
  }
  return result;
}

}  // namespace

TEST_CASE("a wait for a flag in front of an operand's load is the producer's") {
  const auto [producer, consumers] = roles(kFlagWait + product());
  CHECK(order(producer) == "flag_wait operand_load operand_load");
  CHECK(order(consumers) == "matmul(");
}

TEST_CASE("a wait between two loads stays between them") {
  const auto [producer, consumers] = roles(branch(product()) + kFlagWait + product("%x", "2"));
  CHECK(order(producer) == "operand_load operand_load flag_wait operand_load operand_load");
  CHECK(order(consumers) == "matmul( matmul(");
}

TEST_CASE("operands that nobody writes are brought before any wait") {
  const auto [producer, consumers] = roles(kFlagWait + kBarrier + product("%w"));
  CHECK(order(producer) == "operand_load operand_load");
  CHECK(order(consumers) == "flag_wait lsa_barrier matmul(");
}

TEST_CASE("the producer polls a flag once where it always waits for the same count") {
  const auto is_once = [](const std::string& statements) {
    const auto [producer, consumers] = roles(statements);
    CHECK(count_of(consumers, "once") == 0);
    return count_of(producer, "once = true") > 0;
  };
  const std::string of_two = "%two = constant() {dtype = u32, value = 2}: u32\n";
  const std::string changing = "%count = cast(%i) {dtype = u32}: u32\n";
  const auto waiting_for = [](const std::string& count) {
    std::string wait = kFlagWait;
    return wait.replace(wait.find("%one"), 4, count);
  };
  const std::string many = loop("%T", kFlagWait + product());
  CHECK(is_once(many));
  CHECK(is_once(of_two + loop("%T", waiting_for("%two") + product())));
  CHECK(!is_once(loop("%T", changing + waiting_for("%count") + product())));
  CHECK(!is_once(of_two + many + waiting_for("%two") + product("%x", "2")));
}

TEST_CASE("waits behind the last load are the consumers' alone") {
  const auto [producer, consumers] = roles(product() + kFlagWait + kSemaphoreWait + kBarrier);
  CHECK(order(producer) == "operand_load operand_load");
  CHECK(order(consumers) == "matmul( flag_wait semaphore_wait lsa_barrier");
}

TEST_CASE("semaphores and barriers are waited for by consumers, who hand over") {
  for (const std::string& wait : {kSemaphoreWait, kBarrier}) {
    const auto [producer, consumers] = roles(wait + product());
    CHECK(order(producer) == "await_hand_over operand_load operand_load");
    CHECK(order(consumers) == order(wait) + " hand_over matmul(");
  }
  // A flag whose place the producer can't find.
  std::string wait = kFlagWait;
  wait.erase(wait.find("producer = true, "), 17);
  CHECK(order(placed(wait + product())) == "flag_wait hand_over operand_load operand_load matmul(");
}

TEST_CASE("in a loop each iteration's loads stand behind the waits of it and of those before") {
  const auto [producer, consumers] = roles(loop("%T", product() + kFlagWait + kSemaphoreWait));
  CHECK(order(producer) == "operand_load operand_load flag_wait await_hand_over");
  CHECK(order(consumers) == "matmul( semaphore_wait hand_over");
}

TEST_CASE("structures without loads are handed over as a whole") {
  const std::string text = placed(branch(kBarrier + kFlagWait) + product());
  CHECK(order(text) == "lsa_barrier flag_wait hand_over operand_load operand_load matmul(");
  CHECK(text.find("} else {") < text.find("hand_over"));
  const auto [producer, consumers] = roles(branch(kFlagWait) + product());
  CHECK(order(producer) == "flag_wait operand_load operand_load");
  CHECK(producer.find("if %yes") < producer.find("flag_wait"));
}

TEST_CASE("consumers wait too where they may not learn from the ring") {
  const std::string zero =
      "%z = constant() {dtype = bf16, value = 0.0}: bf16\n"
      "%zero = full(%z) {shape = [64]}: tile<bf16[64]>\n";
  const auto consumers = [&](const std::string& statements) {
    return order(roles(zero + statements).second);
  };
  // Behind a product they know; in front of it, and where it may be left out, they don't.
  CHECK(consumers(kFlagWait + product() + kSet) == "matmul( flag_set");
  CHECK(consumers(kFlagWait + kSet + product()) == "flag_wait flag_set matmul(");
  CHECK(consumers(kFlagWait + branch(product()) + kSet) == "flag_wait matmul( flag_set");
  CHECK(consumers(loop("%T", kFlagWait + product()) + kSet) == "matmul( flag_set");
  CHECK(consumers(kFlagWait + loop("%c64", product()) + kSet) == "matmul( flag_set");
}

TEST_CASE("a loop without iterations teaches nothing: then alone the consumers wait") {
  const auto [producer, consumers] = roles(kFlagWait + loop("%T", product()) + kSet);
  CHECK(order(producer) == "flag_wait operand_load operand_load");
  CHECK(order(consumers) == "flag_wait matmul( flag_set");
  CHECK(count_of(producer, "predicated") == 0);
  CHECK(count_of(consumers, "= le(%T, ") == 1);
  CHECK(count_of(consumers, "predicated = true") == 1);
}

TEST_CASE("what the kernel itself writes of its operands is handed over") {
  const std::string store =
      "%z = constant() {dtype = bf16, value = 0.0}: bf16\n"
      "%zero = full(%z) {shape = [64]}: tile<bf16[64]>\n" +
      kStore;
  CHECK(order(placed(store + product())) ==
        "tile_store hand_over operand_load operand_load matmul(");
  CHECK(order(placed(product() + store)) == "operand_load operand_load matmul( tile_store");
  CHECK(order(placed(store + product("%w"))) == "tile_store operand_load operand_load matmul(");
}

TEST_CASE("all threads read at the start which launch it is") {
  const std::string text = body_of(split_roles(place_waits(parsed(kFlagWait + product()))));
  CHECK(count_of(text, "= generation(") == 1);
  CHECK(text.find("= generation(") < text.find("if %is_producer"));
}

TEST_CASE("without products waits are everybody's") {
  CHECK(count_of(placed(kFlagWait + kBarrier), "producer") == 0);
}

TEST_CASE("the producer draws the indices of loops with products, the consumers all others") {
  const auto dynamic = [](int counter, const std::string& body) {
    const std::string n = std::to_string(counter);
    const std::string next = " = next_index() {counter = " + n + "}: i64\n";
    return "%first" + n + next + "%end" + n + " = while carry (%t" + n + " = %first" + n +
           "): i64 {\n%more" + n + " = lt(%t" + n + ", %T): bool\nyield %more" + n + "\n} do (%u" +
           n + ") {\n" + body + "%next" + n + next + "yield %next" + n + "\n}\n";
  };
  const auto [producer, consumers] = roles(dynamic(0, kSet) + dynamic(1, product()));
  CHECK(order(producer) == "give_index operand_load operand_load give_index");
  CHECK(count_of(producer, "counter = 1") == 2);
  CHECK(order(consumers) == "next_index flag_set next_index take_index matmul( take_index");
}

}  // namespace tilewire
