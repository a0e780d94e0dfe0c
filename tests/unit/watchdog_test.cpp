#include "runtime/driver/watchdog.h"

#include <thread>

#include "compiler/support/error.h"
#include "runtime/driver/wait_sites.h"
#include "tests/catch.h"

namespace tilewire {
namespace {

/// A hang page in ordinary memory, written as a kernel writes it.
struct FakePage {
  device::HangPage page{};

  void report(std::uint32_t rank, std::uint32_t program_id, std::uint32_t site, std::uint32_t peer,
              bool final) {
    const int kind = final ? 1 : 0;
    const std::uint32_t index = __atomic_fetch_add(&page.num_reports[kind], 1u, __ATOMIC_RELAXED);
    if (index >= device::kMaxHangReports) return;
    device::HangReport& report = page.reports[kind][index];
    report.rank = rank;
    report.program_id = program_id;
    report.site = site;
    report.peer = peer;
    report.expected = 3;
    report.seen = 2;
    report.final = final ? 1 : 0;
    __atomic_store_n(&report.state, 2u, __ATOMIC_RELEASE);
  }
};

/// Two sites of one kernel; returns the number of the first.
std::uint32_t sites() {
  Artifact artifact;
  artifact.kernel = "norm";
  artifact.wait_sites = {{{"norm.py", 12, 5}, "barrier(team=world)"},
                         {{"norm.py", 20, 5}, "barrier(team=world)"}};
  return register_wait_sites(artifact);
}

constexpr HangLimits kLimits{.report_after_s = 2.5, .timeout_s = 5};
constexpr auto kNever = std::chrono::hours(1);

std::string message_of_hang(Watchdog& watchdog) {
  try {
    watchdog.raise_if_hung();
  } catch (const HangError& error) {
    return error.what();
  }
  return "no HangError";
}

}  // namespace

TEST_CASE("a first report is printed once and is no error") {
  std::vector<std::string> printed;
  Watchdog watchdog([&](const std::string& line) { printed.push_back(line); }, kNever);
  FakePage fake;
  watchdog.watch(&fake.page, kLimits);
  fake.report(0, 7, sites() + 1, 1, false);
  watchdog.scan();
  watchdog.scan();
  REQUIRE(printed.size() == 1);
  CHECK(printed[0] ==
        "tilewire: norm.py:20: rank 0 has waited for rank 1 for 2.5 s and gives up after 5 s: "
        "barrier(team=world) of kernel `norm` (program instance 7; expected 3, saw 2)");
  CHECK(watchdog.lines() == printed);
  CHECK_NOTHROW(watchdog.raise_if_hung());
}

TEST_CASE("reports of many program instances make one line") {
  Watchdog watchdog([](const std::string&) {}, kNever);
  FakePage fake;
  watchdog.watch(&fake.page, kLimits);
  const std::uint32_t base = sites();
  for (std::uint32_t id = 0; id < 132; ++id) fake.report(0, id, base, 1, false);
  watchdog.scan();
  REQUIRE(watchdog.lines().size() == 1);
  CHECK_THAT(watchdog.lines()[0],
             test::contains("program instances 0, 1, 2, 3 and at least 28 more"));
}

TEST_CASE("a wait that gave up is a HangError with the missing rank and the line") {
  Watchdog watchdog([](const std::string&) {}, kNever);
  FakePage fake;
  watchdog.watch(&fake.page, kLimits);
  const std::uint32_t base = sites();
  fake.report(0, 4, base, 1, true);
  fake.report(0, 5, base, 1, true);
  fake.page.stop = 1;
  const std::string expected =
      "norm.py:12: rank 1 never arrived: rank 0 gave up after 5 s at barrier(team=world) of kernel "
      "`norm` (program instances 4, 5; expected 3, saw 2). This process's GPU context is lost: "
      "only a new process can go on";
  CHECK(message_of_hang(watchdog) == expected);
  CHECK(message_of_hang(watchdog) == expected);  // and stays so
  watchdog.unwatch(&fake.page);
  CHECK(message_of_hang(watchdog) == expected);
}

TEST_CASE("a wait that anybody could end blames nobody") {
  Watchdog watchdog([](const std::string&) {}, kNever);
  FakePage fake;
  watchdog.watch(&fake.page, kLimits);
  const std::uint32_t base = sites();
  fake.report(0, 4, base, device::kAnyPeer, false);
  watchdog.scan();
  REQUIRE(watchdog.lines().size() == 1);
  CHECK_THAT(watchdog.lines()[0], test::contains("rank 0 has waited for whoever ends it for"));
  fake.report(0, 4, base, device::kAnyPeer, true);
  fake.page.stop = 1;
  CHECK_THAT(message_of_hang(watchdog),
             test::contains("what was waited for never arrived: rank 0 gave up after 5 s"));
}

TEST_CASE("several missing ranks are all named") {
  Watchdog watchdog([](const std::string&) {}, kNever);
  FakePage first;
  FakePage second;
  watchdog.watch(&first.page, kLimits);
  watchdog.watch(&second.page, kLimits);
  const std::uint32_t base = sites();
  first.report(0, 0, base, 3, true);
  second.report(1, 0, base, 2, true);
  CHECK_THAT(message_of_hang(watchdog), test::contains("ranks 2, 3 never arrived"));
}

TEST_CASE("first reports of a large grid leave room for final ones") {
  Watchdog watchdog([](const std::string&) {}, kNever);
  FakePage fake;
  watchdog.watch(&fake.page, kLimits);
  const std::uint32_t base = sites();
  for (std::uint32_t id = 0; id < 200; ++id) fake.report(0, id, base, 1, false);
  watchdog.scan();
  for (std::uint32_t id = 200; id < 400; ++id) fake.report(0, id, base, 1, true);
  CHECK_THAT(message_of_hang(watchdog), test::contains("program instances 200, 201"));
  REQUIRE(watchdog.lines().size() == 2);
  CHECK_THAT(watchdog.lines()[1], test::contains("rank 0 gave up after 5 s: rank 1 never arrived"));
}

TEST_CASE("where no final report is written yet, first ones say who is missing") {
  Watchdog watchdog([](const std::string&) {}, kNever);
  FakePage fake;
  watchdog.watch(&fake.page, kLimits);
  const std::uint32_t base = sites();
  for (std::uint32_t id = 0; id < 200; ++id) fake.report(0, id, base, 1, false);
  CHECK(message_of_hang(watchdog) == "no HangError");
  fake.page.stop = 1;
  CHECK_THAT(message_of_hang(watchdog), test::contains("rank 1 never arrived"));
}

TEST_CASE("a report that is still being written is left for later") {
  Watchdog watchdog([](const std::string&) {}, kNever);
  FakePage fake;
  watchdog.watch(&fake.page, kLimits);
  fake.page.num_reports[0] = 1;
  fake.page.reports[0][0].state = 1;
  watchdog.scan();
  CHECK(watchdog.lines().empty());
}

TEST_CASE("an aborted lane is not a hang") {
  Watchdog watchdog([](const std::string&) {}, kNever);
  FakePage fake;
  watchdog.watch(&fake.page, kLimits);
  fake.report(0, 0, sites(), 1, false);
  fake.page.stop = 2;
  CHECK(message_of_hang(watchdog) == "no HangError");
}

TEST_CASE("its thread prints without being asked") {
  Watchdog watchdog([](const std::string&) {}, std::chrono::milliseconds(1));
  FakePage fake;
  watchdog.watch(&fake.page, kLimits);
  fake.report(0, 0, sites(), 1, false);
  for (int i = 0; i < 2000 && watchdog.lines().empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(watchdog.lines().size() == 1);
}

TEST_CASE("a site of no kernel is told as such") {
  Watchdog watchdog([](const std::string&) {}, kNever);
  FakePage fake;
  watchdog.watch(&fake.page, kLimits);
  fake.report(0, 0, 0xfffffff0u, 1, true);
  CHECK_THAT(message_of_hang(watchdog), test::contains("a wait that no loaded kernel has"));
}

}  // namespace tilewire
