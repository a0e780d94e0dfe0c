#include "runtime/cpu/report_references.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <type_traits>

#include "runtime/cpu/absent_rank.h"
#include "runtime/cpu/reference.h"
#include "templates/tilewire/report_layout.cuh"

namespace tilewire {
namespace {

/// Reads texts that `pack_texts` wrote.
class Texts {
 public:
  explicit Texts(const std::int64_t* words) : words_(words) {}

  std::string next() {
    const auto size = static_cast<std::size_t>(*words_++);
    std::string text(size, '\0');
    std::memcpy(text.data(), words_, size);
    words_ += (size + sizeof(std::int64_t) - 1) / sizeof(std::int64_t);
    return text;
  }

 private:
  const std::int64_t* words_;
};

/// As a GPU's printf has it: `%g` for floats.
std::string number(const CpuTile& tile, std::int64_t element) {
  std::string text;
  visit_dtype(tile, [&](auto type) {
    using T = decltype(type);
    const T value = elements<T>(tile)[static_cast<std::size_t>(element)];
    if constexpr (std::is_same_v<T, bool>) {
      text = value ? "True" : "False";
    } else if constexpr (std::is_integral_v<T>) {
      text = fmt::format("{}", value);
    } else {
      text = fmt::format("{:g}", static_cast<double>(value));
    }
  });
  return text;
}

/// All elements of a small tile, the first and the last ones of a large one.
std::string shown(const CpuTile& tile) {
  if (tile.rank == 0) return number(tile, 0);
  const int count = static_cast<int>(tile.num_elements());
  std::string text = "[";
  for (int place = 0; place < device::shown_elements(count); ++place) {
    const int element = device::shown_element(count, place);
    if (place > 0) {
      text += element != device::shown_element(count, place - 1) + 1 ? ", …, " : ", ";
    }
    text += number(tile, element);
  }
  return text + "]";
}

/// `[3, 4]`
std::string coordinates(const CpuTile& tile, std::int64_t element) {
  std::string text = "]";
  for (std::int64_t i = tile.rank - 1; i >= 0; --i) {
    const std::int64_t extent = tile.shape[i];
    text = fmt::format("{}{}", element % extent, text.size() > 1 ? ", " + text : text);
    element /= extent;
  }
  return "[" + text;
}

void write(const std::string& line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fflush(stdout);
}

/// tiles: the rank if there are several, then values. constants: whether there are, whether a line
/// per element, number of tiles; texts: the place, then the pieces around the values.
void print(CpuInstance* instance, const CpuTile* tiles, const std::int64_t* constants) {
  const bool has_rank = constants[0] != 0;
  const auto first = static_cast<std::int64_t>(has_rank ? 1 : 0);
  const std::int64_t last = constants[2];
  Texts texts(constants + 3);
  const std::string place = texts.next();
  std::vector<std::string> pieces;
  for (std::int64_t i = first; i <= last; ++i) pieces.push_back(texts.next());
  const CpuTile* tile = nullptr;
  for (std::int64_t i = last - 1; i >= first; --i) tile = tiles[i].rank > 0 ? &tiles[i] : tile;

  const std::string head = fmt::format("[{}] {}: ", describe_instance(*instance, has_rank), place);
  const auto say = [&](std::string line, const auto& value) {
    for (std::int64_t i = first; i < last; ++i) {
      line += value(tiles[i]) + pieces[static_cast<std::size_t>(i - first + 1)];
    }
    write(line + "\n");
  };
  if (constants[1] == 0 || tile == nullptr) return say(head + pieces.front(), shown);
  for (std::int64_t element = 0; element < tile->num_elements(); ++element) {
    say(head + coordinates(*tile, element) + " " + pieces.front(),
        [&](const CpuTile& each) { return number(each, each.rank > 0 ? element : 0); });
  }
}

/// tiles: the rank if there are several, the condition, values. constants: whether there are, the
/// line, number of tiles; texts: the file, the message, the pieces around the values.
void check(CpuInstance* instance, const CpuTile* tiles, const std::int64_t* constants) {
  const bool has_rank = constants[0] != 0;
  const std::int64_t first = has_rank ? 1 : 0;
  const CpuTile& condition = tiles[first];
  const auto holds = elements<std::uint8_t>(condition);
  const void* failed = std::memchr(holds.data(), 0, holds.size());
  if (failed == nullptr) return;
  const std::int64_t element = static_cast<const std::uint8_t*>(failed) - holds.data();
  Texts texts(constants + 3);
  const std::string file = texts.next();
  std::string message = "assertion failed: " + texts.next();
  message += fmt::format(" ({}", describe_instance(*instance, has_rank));
  if (condition.rank > 0) message += ", element " + coordinates(condition, element);
  if (constants[2] > first + 1) message += ": ";
  message += texts.next();
  for (std::int64_t i = first + 1; i < constants[2]; ++i) {
    message += number(tiles[i], tiles[i].rank > 0 ? element : 0) + texts.next();
  }
  throw DeviceAssertionError(message + ")", {file, static_cast<int>(constants[1]), 0});
}

}  // namespace

std::vector<CpuSymbol> report_references() {
  return {{"tilewire_print", reinterpret_cast<void*>(print)},
          {"tilewire_assert", reinterpret_cast<void*>(check)}};
}

}  // namespace tilewire
