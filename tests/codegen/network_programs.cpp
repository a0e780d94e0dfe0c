#include "tests/codegen/network_programs.h"

#include <fmt/format.h>

#include <string_view>

#include "compiler/codegen/cuda/emit.h"
#include "compiler/ir/text.h"
#include "compiler/passes/lower.h"
#include "compiler/passes/passes.h"

namespace tilewire {
namespace {

constexpr std::string_view kPuts =
    R"(program @network_puts from "network_puts.py" world {world} lsa {lsa} threads 128 {
  const H = 128
  window %x: f32[T, 128] {alignment = 16, contiguous = true, local_only = false, mappable = true}
  window %y: f32[T, 128] {alignment = 16, contiguous = true, local_only = false, mappable = true}
  semaphore %sem: [4]
  scalar %p: i64
  dimension %T
} body {
  %c0 = constant() {dtype = i64, value = 0}: i64
  %c1 = constant() {dtype = i64, value = 1}: i64
  %c3 = constant() {dtype = i64, value = 3}: i64
  %c128 = constant() {dtype = i64, value = 128}: i64
  %c256 = constant() {dtype = i64, value = 256}: i64
  %one = constant() {dtype = u32, value = 1}: u32
  %i = program_id() {axis = 0}: i64 @ 4:9
  %first = mul(%i, %c128): i64 @ 4:9
  %address = address(%x, %first): pointer<f32> @ 5:9
  %t = tile_load(%address) {masked = [0], shape = [128], strides = [1], vector = 4}: tile<f32[128], vector 4> @ 5:9
  tile_store(%address, %t) {masked = [0], shape = [128], strides = [1], vector = 4} @ 6:5
  network_put(%y, %p, %c256, %x, %c0, %T, %c128, %c128, %c128, %c1, %c1) {element = 4, known = 16} @ 7:5
  network_store(%y, %p, %c256, %t) {masked = [0], shape = [128], strides = [1], vector = 4} @ 8:5
  network_store(%y, %p, %c256, %t, %first, %T) {masked = [1], shape = [128], strides = [1], vector = 4} @ 9:5
  %positive = gt(%t, %t): tile<bool[128], vector 4> @ 10:20
  network_store(%y, %p, %c256, %t, %positive) {masked = [0], shape = [128], strides = [1], vector = 4, where = true} @ 10:5
  %half = constant() {dtype = f32, value = 0.5}: f32
  network_store(%y, %p, %c3, %half) {masked = [], shape = [], strides = [], vector = 1} @ 11:5
  network_signal(%sem, %p, %c3, %one) {order = "release"} @ 12:5
  %cell = address(%sem, %c3): pointer<u64> @ 13:5
  semaphore_wait(%cell, %one) {network = true, scope = "system", shape = [], site = 0, strides = []} @ 13:5
  network_flush() @ 14:5
  tile_store(%address, %t) {masked = [0], shape = [128], strides = [1], vector = 4} @ 15:5
  network_barrier() {order = "acq_rel", site = 1, team = "rail"} @ 16:5
  network_barrier() {order = "acq_rel", site = 2, team = "world"} @ 17:5
  lsa_barrier() {order = "acq_rel", site = 3} @ 17:5
}
)";

constexpr std::string_view kChannels =
    R"(program @network_channels from "network_channels.py" world {world} lsa {lsa} threads 128 {
  window %x: f32[128] {alignment = 16, contiguous = true, local_only = false, mappable = true}
  channel %ch: [64] {carrying = "tagged", depth = 2, message = "f32[128]"}
  channel %all: [{world}, 64] {carrying = "reserved", depth = 1, message = "f32[128]"}
  scalar %p: i64
} body {
  %c0 = constant() {dtype = i64, value = 0}: i64
  %i = program_id() {axis = 0}: i64 @ 4:9
  %address = address(%x, %c0): pointer<f32> @ 5:9
  %t = tile_load(%address) {masked = [0], shape = [128], strides = [1], vector = 4}: tile<f32[128], vector 4> @ 5:9
  channel_send(%ch, %i, %p, %t) {network = true, peer = true, shape = [], site = 0, strides = []} @ 6:5
  %a = channel_recv(%ch, %i) {message = "f32[128]", network = true, shape = [], site = 1, strides = []}: tile<f32[128], vector 4> @ 7:5
  {parts} = channel_exchange(%all, %i, %a) {network = true, shape = [{world}], site = 2, strides = [64]}: {types} @ 8:5
  tile_store(%address, %p0) {masked = [0], shape = [128], strides = [1], vector = 4} @ 9:5
}
)";

constexpr std::string_view kGrid =
    R"(program @network_grid from "network_grid.py" world {world} lsa {lsa} threads 128 {
  window %x: f32[T, 128] {alignment = 16, contiguous = true, local_only = false, mappable = true}
  window %y: f32[T, 128] {alignment = 16, contiguous = true, local_only = false, mappable = true}
  scalar %p: i64
  dimension %T
} body {
  %c0 = constant() {dtype = i64, value = 0}: i64
  %c1 = constant() {dtype = i64, value = 1}: i64
  %c128 = constant() {dtype = i64, value = 128}: i64
  %address = address(%y, %c0): pointer<f32> @ 4:5
  %t = tile_load(%address) {masked = [0], shape = [128], strides = [1], vector = 4}: tile<f32[128], vector 4> @ 4:5
  tile_store(%address, %t) {masked = [0], shape = [128], strides = [1], vector = 4} @ 4:5
  network_grid_barrier() {order = "acq_rel", site = 0, team = "world"} @ 5:5
  network_grid_barrier() {order = "acq_rel", site = 1, team = "rail"} @ 8:5
}
)";

constexpr std::string_view kGet =
    R"(program @network_get from "network_get.py" world {world} lsa {lsa} threads 128 {
  window %x: f32[T, 128] {alignment = 16, contiguous = true, local_only = false, mappable = true}
  window %y: f32[T, 128] {alignment = 16, contiguous = true, local_only = false, mappable = true}
  scalar %p: i64
  dimension %T
} body {
  %c0 = constant() {dtype = i64, value = 0}: i64
  %c1 = constant() {dtype = i64, value = 1}: i64
  %c128 = constant() {dtype = i64, value = 128}: i64
  network_get(%y, %c0, %x, %p, %c0, %T, %c128, %c128, %c128, %c1, %c1) {element = 4, known = 16} @ 4:5
  network_flush() @ 5:5
  %address = address(%y, %c0): pointer<f32> @ 6:9
  %t = tile_load(%address) {masked = [0], shape = [128], strides = [1], vector = 4}: tile<f32[128], vector 4> @ 6:9
  tile_store(%address, %t) {masked = [0], shape = [128], strides = [1], vector = 4} @ 7:5
}
)";

std::string replaced(std::string text, std::string_view what, const std::string& with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), with);
    at += with.size();
  }
  return text;
}

Program parsed(std::string_view text, const Target& target) {
  std::string filled = replaced(std::string(text), "{world}", fmt::format("{}", target.world_size));
  filled = replaced(filled, "{lsa}", fmt::format("{}", target.lsa_size));
  return parse_program(filled);
}

}  // namespace

Program network_puts(const Target& target) { return parsed(kPuts, target); }

Program network_channels(const Target& target) {
  std::string parts;
  std::string types;
  for (int rank = 0; rank < target.world_size; ++rank) {
    parts += fmt::format("{}%p{}", rank == 0 ? "" : ", ", rank);
    types += fmt::format("{}tile<f32[128], vector 4>", rank == 0 ? "" : ", ");
  }
  const std::string text = replaced(std::string(kChannels), "{parts}", parts);
  return parsed(replaced(text, "{types}", types), target);
}

Program network_grid(const Target& target) { return parsed(kGrid, target); }

Program network_get(const Target& target) { return parsed(kGet, target); }

std::string cuda_of_lowered(const Program& lowered, const Target& target) {
  return emit_cuda_source(lowered, describe(lowered, target));
}

}  // namespace tilewire
