#pragma once

#include <pybind11/pybind11.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bindings/arguments.h"
#include "bindings/window.h"
#include "compiler/ir/program.h"
#include "compiler/jit/artifact.h"

namespace tilewire::bindings {

/// One argument of a call as read from Python, before any program exists.
struct Argument {
  enum class Kind : std::uint8_t { kArray, kWindow, kScalar };
  Kind kind = Kind::kScalar;
  ArrayArgument array{};                 ///< kArray; kWindow: this rank's copy
  const WindowObject* window = nullptr;  ///< kWindow
  pybind11::object object;               ///< what was passed
};

/// What a call's arguments are, in the order of the program's parameters (`tw.const` ones are not
/// among them). Checked once: every later step takes it as right.
struct BoundArguments {
  std::vector<Argument> arguments;
  std::vector<std::uint64_t> scalars;    ///< parameter → bits of a scalar, else 0
  std::vector<std::int64_t> dimensions;  ///< in the order of `Artifact::dimensions`
  LocalFacts facts;
  Owners owners;
};

/// Reads one argument as what it is: window, array or scalar. UserError as `read_array`.
Argument read_argument(pybind11::object object, std::string_view what,
                       std::optional<std::uintptr_t> stream, Owners& owners);

/// Binds arguments to the parameters of a program: number, kind, dtype, rank, static extents, named
/// dimensions equal wherever they appear, device (that of `target`), windows of one communicator,
/// arrays that the kernel writes not read-only. UserError names the kernel, the
/// argument, what was found and what was expected.
BoundArguments bind_arguments(const std::string& kernel, std::span<const Parameter> parameters,
                              std::span<const std::string> dimensions,
                              const std::vector<bool>& written, const Target& target,
                              const std::vector<pybind11::object>& values,
                              std::optional<std::uintptr_t> stream);

/// What is known of these arguments on this rank: contiguous row-major and alignment (1, 2, 4, 8
/// or 16) per parameter, whether it is in no window, and whether a tensor map can describe it;
/// windows are contiguous and aligned to 16, scalars false and 0.
LocalFacts facts_of(std::span<const Argument> arguments);

/// Whether code specialised for `assumed` is right for arguments with `facts`. No facts at all
/// (empty vectors) assume nothing.
bool satisfies(const LocalFacts& facts, const LocalFacts& assumed);

/// Adds `Argument`, `read_argument`, `facts_of` to the module; see their docstrings.
void bind_signature(pybind11::module_& module);

}  // namespace tilewire::bindings
