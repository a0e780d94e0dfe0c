#pragma once

#include <span>
#include <string_view>

namespace tilewire {

/// A device header as it lies in `templates/`, by the name that generated code includes it with
/// (`tilewire/abi.cuh`). Both views live as long as the process.
struct EmbeddedFile {
  std::string_view name;
  std::string_view text;
};

/// All device headers, sorted by name. The table is generated at build (`templates/embed.cmake`).
std::span<const EmbeddedFile> embedded_templates();

}  // namespace tilewire
