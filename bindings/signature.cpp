#include "bindings/signature.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "compiler/support/error.h"

namespace py = pybind11;

namespace tilewire::bindings {
namespace {

std::string shape_of(const Parameter& parameter) {
  std::vector<std::string> extents;
  for (const Dimension& dimension : parameter.shape) {
    extents.push_back(dimension.size == kDynamic ? dimension.name : std::to_string(dimension.size));
  }
  return fmt::format("[{}]", fmt::join(extents, ", "));
}

std::string shape_of(const ArrayArgument& array) {
  return fmt::format("[{}]", fmt::join(array.shape, array.shape + array.rank, ", "));
}

/// Whether two elements of the array share an address.
bool repeats_elements(const ArrayArgument& array) {
  for (int i = 0; i < array.rank; ++i) {
    if (array.shape[i] > 1 && array.strides[i] == 0) return true;
  }
  return false;
}

/// One call on its way to being bound.
class Binding {
 public:
  Binding(const std::string& kernel, std::span<const Parameter> parameters,
          std::span<const std::string> dimensions, BoundArguments& bound)
      : kernel_(kernel),
        parameters_(parameters),
        names_(dimensions),
        bound_(bound),
        found_in_(dimensions.size()) {
    bound_.scalars.assign(parameters.size(), 0);
    bound_.dimensions.assign(dimensions.size(), kDynamic);
  }

  void bind(std::size_t index, const py::object& value, std::optional<std::uintptr_t> stream) {
    const Parameter& parameter = parameters_[index];
    const std::string what = describe(index);
    if (parameter.kind == Parameter::Kind::kScalar) {
      Argument argument;
      argument.object = value;
      bound_.arguments.push_back(std::move(argument));
      bound_.scalars[index] = read_scalar(value.ptr(), parameter.dtype, what);
      return;
    }
    Argument argument = read_argument(value, what, stream, bound_.owners);
    check_kind(index, argument, value);
    if (argument.kind == Argument::Kind::kScalar) {
      fail(index, "expected an array {}{}, got {}", name_of(parameter.dtype), shape_of(parameter),
           type_name(value.ptr()));
    }
    bound_.arguments.push_back(std::move(argument));
    check_type(index);
  }

  void check_written(std::size_t index) const {
    const Argument& argument = bound_.arguments[index];
    if (argument.kind == Argument::Kind::kScalar) return;
    if (argument.window != nullptr && argument.window->is_filled) {
      fail(index,
           "is filled by copies (flag.fill), and the kernel sets it: flags are either filled or "
           "set; make other ones");
    }
    if (argument.array.read_only) {
      fail(index, "is read-only, and the kernel stores to it; pass a writable array");
    }
    if (!argument.array.is_contiguous() && repeats_elements(argument.array)) {
      fail(index,
           "has elements that share an address (a stride of 0, shape {}), and the kernel stores to "
           "it; pass a copy",
           shape_of(argument.array));
    }
  }

  void check_places(const Target& target) const {
    std::optional<std::size_t> first;
    std::optional<std::size_t> first_window;
    for (std::size_t i = 0; i < bound_.arguments.size(); ++i) {
      const Argument& argument = bound_.arguments[i];
      if (argument.kind == Argument::Kind::kScalar) continue;
      check_device(i, target, first);
      if (!first || bound_.arguments[*first].array.device.index < 0) first = i;
      if (argument.kind != Argument::Kind::kWindow) continue;
      if (first_window) check_same_world(*first_window, i);
      if (!first_window) first_window = i;
      check_taken_once(i);
    }
  }

  void check_dimensions() const {
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (bound_.dimensions[i] == kDynamic) {
        throw InternalError(
            fmt::format("kernel `{}`: no parameter has dimension `{}`", kernel_, names_[i]));
      }
    }
  }

 private:
  std::string describe(std::size_t index) const {
    return fmt::format("kernel `{}`: argument `{}`", kernel_, parameters_[index].name);
  }

  template <typename... Values>
  [[noreturn]] void fail(std::size_t index, fmt::format_string<Values...> format,
                         Values&&... values) const {
    const std::string text = fmt::format(format, std::forward<Values>(values)...);
    const bool is_verb = text.starts_with("is ") || text.starts_with("has ");
    throw UserError(describe(index) + (is_verb ? " " : ": ") + text);
  }

  void check_kind(std::size_t index, const Argument& argument, const py::object& value) const {
    const Parameter& parameter = parameters_[index];
    const WindowObject* window = argument.window;
    if (parameter.is_symmetric() && (window == nullptr || window->kind != parameter.kind)) {
      fail(index, "expected a {}, made by `comm.{}(…)`, got {}", name_of(parameter.kind),
           name_of(parameter.kind), type_name(value.ptr()));
    }
    if (window == nullptr) return;
    if (parameter.kind == Parameter::Kind::kTensor && !window->has_host_view()) {
      fail(index, "expected an array {}{}, got a {}", name_of(parameter.dtype), shape_of(parameter),
           window->rotate != 0 ? "window that rotates" : name_of(window->kind));
    }
    if (window->rotate != parameter.rotate && parameter.kind == Parameter::Kind::kWindow) {
      fail(index, "expected a window of {} copies, got one of {}",
           std::max<std::int64_t>(parameter.rotate, 1), std::max<std::int64_t>(window->rotate, 1));
    }
    if (window->channel != parameter.channel) {
      fail(index, "expected a channel of {}, got one of {}", parameter.channel.message_text(),
           window->channel.message_text());
    }
  }

  void check_type(std::size_t index) {
    const Parameter& parameter = parameters_[index];
    const ArrayArgument& array = bound_.arguments[index].array;
    if (array.dtype != parameter.dtype) {
      fail(index, "expected dtype {}, got {}", name_of(parameter.dtype), name_of(array.dtype));
    }
    if (static_cast<std::size_t>(array.rank) != parameter.shape.size()) {
      fail(index, "expected rank {} {}, got rank {} {}", parameter.shape.size(),
           shape_of(parameter), array.rank, shape_of(array));
    }
    if (array.alignment() < num_bytes(array.dtype)) {
      fail(index, "is not aligned to its elements of {} bytes; pass a copy",
           num_bytes(array.dtype));
    }
    for (int i = 0; i < array.rank; ++i) {
      const Dimension& dimension = parameter.shape[static_cast<std::size_t>(i)];
      if (dimension.size == kDynamic) {
        unify(index, i, dimension.name);
      } else if (dimension.size != array.shape[i]) {
        fail(index, "expected {} in dimension {} of {}, got {} (shape {})", dimension.size, i,
             shape_of(parameter), array.shape[i], shape_of(array));
      }
    }
  }

  void unify(std::size_t index, int dimension, const std::string& name) {
    const auto position = std::find(names_.begin(), names_.end(), name) - names_.begin();
    const auto slot = static_cast<std::size_t>(position);
    if (slot == names_.size()) {
      throw InternalError(fmt::format("kernel `{}` has no dimension `{}`", kernel_, name));
    }
    const std::int64_t extent = bound_.arguments[index].array.shape[dimension];
    if (bound_.dimensions[slot] == kDynamic) {
      bound_.dimensions[slot] = extent;
      found_in_[slot] = {index, dimension};
    } else if (bound_.dimensions[slot] != extent) {
      const auto [other, other_dimension] = found_in_[slot];
      throw UserError(fmt::format(
          "kernel `{}`: dimension `{}` is {} in argument `{}` (dimension {}) but {} in argument "
          "`{}` (dimension {})",
          kernel_, name, bound_.dimensions[slot], parameters_[other].name, other_dimension, extent,
          parameters_[index].name, dimension));
    }
  }

  void check_device(std::size_t index, const Target& target,
                    std::optional<std::size_t> first) const {
    const ArrayDevice device = bound_.arguments[index].array.device;
    if ((device.kind == DeviceKind::kCuda) != target.is_cuda()) {
      fail(index, "is on {}, but this launch runs on {}", device.to_string(),
           target.is_cuda() ? "a GPU" : "the CPU");
    }
    if (!first || device.index < 0) return;
    const ArrayDevice other = bound_.arguments[*first].array.device;
    if (other.index < 0 || other == device) return;
    throw UserError(fmt::format("kernel `{}`: argument `{}` is on {} but argument `{}` is on {}",
                                kernel_, parameters_[*first].name, other.to_string(),
                                parameters_[index].name, device.to_string()));
  }

  void check_same_world(std::size_t first, std::size_t second) const {
    const WindowObject& a = *bound_.arguments[first].window;
    const WindowObject& b = *bound_.arguments[second].window;
    if (a.communicator == b.communicator) return;
    throw UserError(
        fmt::format("kernel `{}`: arguments `{}` and `{}` are windows of two "
                    "communicators; one launch takes those of one",
                    kernel_, parameters_[first].name, parameters_[second].name));
  }

  /// A launch counts itself in each array of flags and rotating window that it takes.
  void check_taken_once(std::size_t index) const {
    const WindowObject* window = bound_.arguments[index].window;
    if (!parameters_[index].is_launch_wide()) return;
    for (std::size_t i = 0; i < index; ++i) {
      if (bound_.arguments[i].window != window || !parameters_[i].is_launch_wide()) continue;
      throw UserError(
          fmt::format("kernel `{}`: arguments `{}` and `{}` are one {}, which a launch takes once",
                      kernel_, parameters_[i].name, parameters_[index].name,
                      window->rotate != 0 ? "rotating window" : "array of flags"));
    }
  }

  const std::string& kernel_;
  std::span<const Parameter> parameters_;
  std::span<const std::string> names_;
  BoundArguments& bound_;
  std::vector<std::pair<std::size_t, int>> found_in_;  ///< dimension → argument and its dimension
};

}  // namespace

Argument read_argument(py::object object, std::string_view what,
                       std::optional<std::uintptr_t> stream, Owners& owners) {
  Argument argument;
  if (const WindowObject* window = as_window(object.ptr())) {
    argument.kind = Argument::Kind::kWindow;
    argument.window = window;
    argument.array = window->as_argument();
  } else if (!is_number(object.ptr())) {
    argument.kind = Argument::Kind::kArray;
    argument.array = read_array(object.ptr(), what, stream, owners);
  }
  argument.object = std::move(object);
  return argument;
}

BoundArguments bind_arguments(const std::string& kernel, std::span<const Parameter> parameters,
                              std::span<const std::string> dimensions,
                              const std::vector<bool>& written, const Target& target,
                              const std::vector<py::object>& values,
                              std::optional<std::uintptr_t> stream) {
  if (values.size() != parameters.size()) {
    throw UserError(fmt::format("kernel `{}` takes {} arguments besides its constants, got {}",
                                kernel, parameters.size(), values.size()));
  }
  BoundArguments bound;
  Binding binding(kernel, parameters, dimensions, bound);
  for (std::size_t i = 0; i < values.size(); ++i) binding.bind(i, values[i], stream);
  binding.check_dimensions();
  binding.check_places(target);
  for (std::size_t i = 0; i < written.size(); ++i) {
    if (written[i]) binding.check_written(i);
  }
  bound.facts = facts_of(bound.arguments);
  return bound;
}

LocalFacts facts_of(std::span<const Argument> arguments) {
  LocalFacts facts;
  for (const Argument& argument : arguments) {
    const bool is_array = argument.kind != Argument::Kind::kScalar;
    const bool is_window = argument.kind == Argument::Kind::kWindow;
    facts.contiguous.push_back(is_array && argument.array.is_contiguous());
    facts.alignment.push_back(is_window ? 16 : is_array ? argument.array.alignment() : 0);
    facts.local_only.push_back(is_array && !is_window && argument.array.is_local_only());
    facts.mappable.push_back(is_window ? argument.window->is_mappable()
                                       : is_array && argument.array.is_mappable());
  }
  return facts;
}

bool satisfies(const LocalFacts& facts, const LocalFacts& assumed) {
  for (std::size_t i = 0; i < assumed.contiguous.size(); ++i) {
    if (assumed.contiguous[i] && !facts.contiguous.at(i)) return false;
  }
  for (std::size_t i = 0; i < assumed.alignment.size(); ++i) {
    const bool is_scalar = facts.alignment.at(i) == 0;
    if (!is_scalar && facts.alignment[i] < assumed.alignment[i]) return false;
  }
  for (std::size_t i = 0; i < assumed.local_only.size(); ++i) {
    if (assumed.local_only[i] && !facts.local_only.at(i)) return false;
  }
  for (std::size_t i = 0; i < assumed.mappable.size(); ++i) {
    if (assumed.mappable[i] && !facts.mappable.at(i)) return false;
  }
  return true;
}

}  // namespace tilewire::bindings
