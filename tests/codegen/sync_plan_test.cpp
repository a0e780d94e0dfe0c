#include "compiler/codegen/cuda/sync_plan.h"

#include <fmt/format.h>

#include <string>

#include "compiler/ir/text.h"
#include "tests/catch.h"

namespace tilewire {
namespace {

/// How many meetings of the threads the statements need, beyond those inside them. `%x` and `%y`
/// are tensors of 1024 floats, `%sem` semaphores.
std::size_t meetings(const std::string& statements, int world_size = 2, int lsa_size = 2) {
  const Program program = parse_program(
      fmt::format("program @p from \"f.py\" world {} lsa {} threads 128 {{\n", world_size,
                  lsa_size) +
      "  tensor %x: f32[1024]\n  tensor %y: f32[1024]\n  semaphore %sem: [8]\n} body {\n"
      "  %c0 = constant() {dtype = i64, value = 0}: i64\n"
      "  %c1 = constant() {dtype = i64, value = 1}: i64\n"
      "  %c9 = constant() {dtype = i64, value = 9}: i64\n"
      "  %px = address(%x, %c0): pointer<f32>\n  %py = address(%y, %c0): pointer<f32>\n"
      "  %shifted = address(%x, %c1): pointer<f32>\n" +
      statements + "}\n");
  verify(program);
  return plan_synchronisation(program).syncs_before.size();
}

std::string load(const std::string& name, const std::string& pointer, int vector = 4) {
  return fmt::format(
      "  %{} = tile_load(%{}) {{masked = [0], shape = [512], strides = [1], vector = {}}}: "
      "tile<f32[512], vector {}>\n",
      name, pointer, vector, vector);
}

std::string store(const std::string& pointer, const std::string& tile) {
  return fmt::format(
      "  tile_store(%{}, %{}) {{masked = [0], shape = [512], strides = [1], vector = 4}}\n",
      pointer, tile);
}

std::string atomic(const std::string& pointer, const std::string& tile, const std::string& order,
                   const std::string& before = "") {
  const std::string result = before.empty() ? "" : fmt::format("%{} = ", before);
  return fmt::format(
      "  {}tile_atomic(%{}, %{}) {{kind = \"add\", masked = [0], order = \"{}\", {}scope = "
      "\"gpu\", shape = [512], strides = [1], vector = 4}}{}\n",
      result, pointer, tile, order, before.empty() ? "" : "returns = true, ",
      before.empty() ? "" : ": tile<f32[512], vector 4>");
}

const std::string kBarrier = "  lsa_barrier() {order = \"acq_rel\", site = 0}\n";

std::string grid_barrier(const std::string& team) {
  return fmt::format("  grid_barrier() {{order = \"acq_rel\", site = 0, team = \"{}\"}}\n", team);
}

const std::string kSignal =
    "  %one = constant() {dtype = u32, value = 1}: u32\n"
    "  %at = address(%sem, %c1, %c0) {peer = true}: pointer<u64>\n"
    "  semaphore_signal(%at, %one) {order = \"release\", peer = true, scope = \"system\", shape = "
    "[], "
    "strides = [], told = \"system\"}\n";
const std::string kWait =
    "  %two = constant() {dtype = u32, value = 2}: u32\n"
    "  %own = address(%sem, %c0): pointer<u64>\n"
    "  semaphore_wait(%own, %two) {scope = \"system\", shape = [], site = 1, strides = []}\n";

}  // namespace

TEST_CASE("a tile written where it was read, by the same threads, needs no meeting") {
  CHECK(meetings(load("a", "px") + store("px", "a")) == 0);
  CHECK(meetings(load("a", "px") + store("py", "a")) == 0);
  CHECK(meetings(load("a", "px") + store("px", "a") + load("b", "px") + store("py", "b")) == 0);
}

TEST_CASE("other threads' elements need one") {
  CHECK(meetings(load("a", "shifted") + store("px", "a")) == 1);  // write after read
  CHECK(meetings(load("a", "px") + store("px", "a") + load("b", "shifted")) == 1);
  CHECK(meetings(load("a", "px") + store("px", "a") + load("b", "px", 1)) == 1);  // other layout
  CHECK(meetings(load("a", "px") + store("px", "a") + store("shifted", "a")) == 1);
}

TEST_CASE("products are stored by other threads of the warp than load them") {
  const std::string type = "tile<f32[16, 32], vector 2, fragment>";
  const auto place = [](int vector) {
    return fmt::format("{{masked = [0, 0], shape = [16, 32], strides = [32, 1], vector = {}}}",
                       vector);
  };
  // One element at a time, by the thread that holds it.
  const auto load = [&](const std::string& name, const std::string& pointer, int vector = 1) {
    return fmt::format("  %{} = tile_load(%{}) {}: {}\n", name, pointer, place(vector), type);
  };
  const auto store = [&](const std::string& pointer) {
    return fmt::format("  tile_store(%{}, %a) {}\n", pointer, place(4));
  };
  CHECK(meetings(load("a", "px") + store("px")) == 0);  // the warp has met behind its reads
  CHECK(meetings(load("a", "px") + store("py") + store("py")) == 0);
  CHECK(meetings(load("a", "px") + store("py") + load("b", "py")) == 1);
  CHECK(meetings(load("a", "px") + load("b", "shifted") + store("px")) == 1);
  // As rows, too.
  CHECK(meetings(load("a", "px", 4) + store("px")) == 0);
  CHECK(meetings(load("a", "px", 4) + store("py") + load("b", "py", 4)) == 0);
  CHECK(meetings(load("a", "shifted", 4) + store("px")) == 1);
}

TEST_CASE("reads alone need none") {
  CHECK(meetings(load("a", "px") + load("b", "shifted") + load("c", "py", 1)) == 0);
}

TEST_CASE("a barrier needs one before it for what was accessed, one behind it for what will be") {
  CHECK(meetings(kBarrier) == 0);
  CHECK(meetings(kBarrier + load("a", "px")) == 1);
  CHECK(meetings(load("a", "px") + kBarrier) == 1);
  CHECK(meetings(load("a", "px") + kBarrier + load("b", "px")) == 2);
}

TEST_CASE("one thread tells of a barrier at which several have waited") {
  CHECK(meetings(kBarrier + kSignal, 2, 2) == 0);  // thread 0 did both
  CHECK(meetings(kBarrier + kSignal, 3, 3) == 1);
  CHECK(meetings(kBarrier + load("a", "px") + kSignal, 3, 3) == 2);
  CHECK(meetings(kSignal + kBarrier, 3, 3) == 0);
  CHECK(meetings(kBarrier + kWait, 3, 3) == 0);  // tells nobody
  CHECK(meetings(grid_barrier("lsa") + kSignal, 2, 2) == 1);
  CHECK(meetings(grid_barrier("local") + kSignal, 4, 4) == 0);
}

TEST_CASE("a barrier of some tells of one of others") {
  CHECK(meetings(kBarrier + kBarrier, 4, 4) == 0);
  CHECK(meetings(kBarrier + grid_barrier("local"), 4, 4) == 1);
  CHECK(meetings(grid_barrier("local") + kBarrier, 4, 4) == 1);
  CHECK(meetings(kBarrier + grid_barrier("local"), 2, 2) == 0);
  // Everybody at the one was at the other.
  CHECK(meetings(kBarrier + grid_barrier("lsa"), 4, 4) == 0);
  CHECK(meetings(grid_barrier("lsa") + kBarrier, 4, 4) == 0);
  CHECK(meetings(grid_barrier("lsa") + grid_barrier("local"), 4, 4) == 0);
}

TEST_CASE("one thread tells of a barrier over the network at which several have waited") {
  const auto network = [](const std::string& team) {
    return fmt::format("  network_barrier() {{order = \"acq_rel\", site = 0, team = \"{}\"}}\n",
                       team);
  };
  CHECK(meetings(network("rail") + kSignal, 6, 2) == 1);
  CHECK(meetings(network("rail") + kSignal, 4, 2) == 0);  // one far rank, by thread 0
  CHECK(meetings(network("world") + kBarrier + kSignal, 4, 2) == 1);
}

TEST_CASE("a reduction's own meeting serves what stands around it") {
  const std::string sum = "  %s = sum(%a): f32\n";
  CHECK(meetings(load("a", "shifted") + sum + store("px", "a")) == 0);
  CHECK(meetings(load("a", "px") + store("px", "a") + sum + load("b", "shifted")) == 1);
}

TEST_CASE("reductions take turns between two places in shared memory") {
  const std::string sums = "  %s = sum(%a): f32\n  %t = max(%a): f32\n  %u = min(%a): f32\n";
  CHECK(meetings(load("a", "px") + sums) == 0);
}

TEST_CASE("a loop's only reduction meets the one of the iteration before") {
  const std::string head = "  for %i = range(%c0, %c9, %c1) {\n";
  const std::string tail = "    yield\n  }\n";
  CHECK(meetings(load("a", "px") + head + "  %s = sum(%a): f32\n" + tail) == 1);
  CHECK(meetings(load("a", "px") + head + "  %s = sum(%a): f32\n  %t = max(%a): f32\n" + tail) ==
        0);
}

TEST_CASE("an iteration's store meets the next one's load") {
  const std::string head =
      "  for %i = range(%c0, %c9, %c1) {\n  %p = address(%x, %i): "
      "pointer<f32>\n";
  const std::string tail = "    yield\n  }\n";
  CHECK(meetings(head + load("a", "p") + tail) == 0);
  CHECK(meetings(head + load("a", "p") + store("p", "a") + tail) == 1);
}

TEST_CASE("a while's condition meets its body, and the iteration before") {
  const auto loop = [](const std::string& condition, const std::string& body) {
    return load("z", "py") + "  while {\n" + condition +
           "  %goes = lt(%c0, %c1): bool\n  yield %goes\n  } do {\n" + body + "  yield\n  }\n";
  };
  CHECK(meetings(loop(load("a", "shifted"), "")) == 0);
  CHECK(meetings(loop(load("a", "shifted"), load("b", "px"))) == 0);
  CHECK(meetings(loop(load("a", "shifted"), store("px", "z"))) == 2);
}

TEST_CASE("what either branch does counts behind them") {
  const std::string branch = "  %less = lt(%c0, %c1): bool\n  if %less {\n" + store("px", "a") +
                             "    yield\n  } else {\n    yield\n  }\n";
  CHECK(meetings(load("a", "px") + branch + load("b", "px")) == 0);
  CHECK(meetings(load("a", "px") + branch + load("b", "shifted")) == 1);
}

TEST_CASE("iterations that stay apart in memory need no meeting between them") {
  const auto with_step = [](int step) {
    const std::string rows = fmt::format(
        "  %stride = constant() {{dtype = i64, value = {}}}: i64\n"
        "  for %i = range(%c0, %c9, %c1) {{\n  %row = mul(%i, %stride): i64\n"
        "  %p = address(%x, %row): pointer<f32>\n  %q = address(%y, %row): pointer<f32>\n",
        step);
    return meetings(rows + load("a", "p") + store("q", "a") + "    yield\n  }\n");
  };
  CHECK(with_step(512) == 0);
  CHECK(with_step(513) == 0);
  CHECK(with_step(511) == 1);
  CHECK(with_step(-512) == 0);
}

TEST_CASE("an offset that another loop changes too isn't proven to stay apart") {
  const std::string loops =
      "  %stride = constant() {dtype = i64, value = 512}: i64\n"
      "  for %i = range(%c0, %c9, %c1) {\n  for %j = range(%c0, %c9, %c1) {\n"
      "  %row = mul(%j, %stride): i64\n  %place = add(%row, %i): i64\n"
      "  %p = address(%x, %place): pointer<f32>\n";
  const std::string tails = "    yield\n  }\n    yield\n  }\n";
  CHECK(meetings(loops + load("a", "p") + store("p", "a") + tails) == 1);
}

TEST_CASE("parameters of two shapes are two pieces of memory") {
  const auto meetings_with = [](const std::string& shape) {
    const Program program = parse_program(
        "program @p from \"f.py\" world 1 lsa 1 threads 128 {\n  tensor %x: f32[1024]\n"
        "  tensor %y: f32[" +
        shape +
        "]\n  dimension %T\n} body {\n"
        "  %c0 = constant() {dtype = i64, value = 0}: i64\n"
        "  %c1 = constant() {dtype = i64, value = 1}: i64\n"
        "  %p = address(%x, %c0): pointer<f32>\n  %q = address(%y, %c1): pointer<f32>\n" +
        load("a", "p") + store("q", "a") + "}\n");
    verify(program);
    return plan_synchronisation(program).syncs_before.size();
  };
  CHECK(meetings_with("1024") == 1);
  CHECK(meetings_with("T") == 1);
  CHECK(meetings_with("2048") == 0);
  CHECK(meetings_with("1024, 1024") == 0);
}

TEST_CASE("what an atomic releases is what all threads did, what it acquires is for all") {
  const std::string written = load("a", "px") + store("px", "a");
  CHECK(meetings(written + atomic("px", "a", "relaxed")) == 0);
  CHECK(meetings(written + atomic("px", "a", "acquire")) == 0);
  CHECK(meetings(written + atomic("px", "a", "release")) == 1);
  CHECK(meetings(written + atomic("shifted", "a", "relaxed")) == 1);  // other threads' elements
  const std::string one = "  %one = constant() {dtype = f32, value = 1.0}: f32\n";
  const std::string tile = "  %a = full(%one) {shape = [512]}: tile<f32[512], vector 4>\n";
  CHECK(meetings(one + tile + atomic("px", "a", "acq_rel", "b") + load("c", "py")) == 1);
  CHECK(meetings(one + tile + atomic("px", "a", "acq_rel") + load("c", "py")) == 0);  // unseen
  CHECK(meetings(one + tile + atomic("px", "a", "relaxed", "b") + load("c", "py")) == 0);
}

}  // namespace tilewire
