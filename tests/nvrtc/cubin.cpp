#include "tests/nvrtc/cubin.h"

#include <elf.h>

#include <cstring>

namespace {

template <typename T>
T at(std::string_view bytes, std::size_t offset) {
  T value{};
  if (offset + sizeof(T) <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

}  // namespace

std::string machine_code(std::string_view cubin, std::string_view kernel) {
  const auto file = at<Elf64_Ehdr>(cubin, 0);
  const auto section = [&](std::size_t number) {
    return at<Elf64_Shdr>(cubin, file.e_shoff + number * file.e_shentsize);
  };
  const auto names = section(file.e_shstrndx);
  const std::string wanted = ".text." + std::string(kernel);
  for (std::size_t i = 0; i < file.e_shnum; ++i) {
    const auto each = section(i);
    const std::size_t name = names.sh_offset + each.sh_name;
    if (name + wanted.size() >= cubin.size() ||
        wanted != std::string_view(cubin.data() + name, wanted.size() + 1).data()) {
      continue;
    }
    return std::string(cubin.substr(each.sh_offset, each.sh_size));
  }
  return {};
}
