#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace tilewire {

/// The whole file, or nothing where it can't be read.
std::optional<std::string> read_file(const std::filesystem::path& path);

/// Writes a new file and waits until the disk has it. std::system_error naming the path where that
/// fails, a full disk included.
void write_file_durably(const std::filesystem::path& path, std::string_view bytes);

/// Moves a file, replacing `to` at once and for good: a reader sees the old file or the new one.
/// Both on one file system. std::system_error where that fails.
void publish_file(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace tilewire
