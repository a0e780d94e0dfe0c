#include "compiler/support/error.h"

#include <filesystem>
#include <utility>

namespace tilewire {
namespace {

std::string with_location(const std::string& message, const SourceLocation& location) {
  return location.is_known() ? location.to_string() + ": " + message : message;
}

}  // namespace

std::string SourceLocation::to_string() const {
  return is_known() ? file + ":" + std::to_string(line) : std::string();
}

std::string SourceLocation::file_name() const {
  return std::filesystem::path(file).filename().string();
}

Error::Error(const std::string& message, SourceLocation location)
    : std::runtime_error(with_location(message, location)),
      message_(message),
      location_(std::move(location)) {}

}  // namespace tilewire
