#include "runtime/cpu/arguments.h"

#include <fmt/format.h>

#include "compiler/support/error.h"

namespace tilewire {
namespace {

/// The arguments of one call, checked against the kernel's parameters.
class Packing {
 public:
  Packing(const Artifact& artifact, const std::vector<HostArgument>& arguments)
      : artifact_(artifact), arguments_(arguments), extents_(artifact.dimensions.size(), kDynamic) {
    const std::size_t expected = artifact.parameters.size();
    if (arguments.size() != expected) {
      throw UserError(fmt::format("kernel `{}` takes {} arguments, got {}", artifact.kernel,
                                  expected, arguments.size()));
    }
    for (std::size_t i = 0; i < expected; ++i) check(i);
  }

  std::uint64_t slot(const ArgumentSlot& slot) const {
    const auto index = static_cast<std::size_t>(slot.index);
    switch (slot.kind) {
      case ArgumentSlot::Kind::kTensor:
        return reinterpret_cast<std::uintptr_t>(std::get<HostTensor>(arguments_[index]).data);
      case ArgumentSlot::Kind::kWindow:
        return reinterpret_cast<std::uintptr_t>(
            std::get<HostWindowArgument>(arguments_[index]).window->addresses());
      case ArgumentSlot::Kind::kScalar:
        return std::get<HostScalar>(arguments_[index]).bits;
      case ArgumentSlot::Kind::kExtent:
        return static_cast<std::uint64_t>(extents_[index]);
      case ArgumentSlot::Kind::kStride:
        return static_cast<std::uint64_t>(stride(index, static_cast<std::size_t>(slot.dimension)));
      case ArgumentSlot::Kind::kDeviceComm:
      case ArgumentSlot::Kind::kLane:
      case ArgumentSlot::Kind::kCounters:
      case ArgumentSlot::Kind::kTensorMap:
        return 0;  // the virtual world's own
    }
    throw InternalError("an argument slot of an unknown kind");
  }

 private:
  [[noreturn]] void fail(std::size_t index, const std::string& message) const {
    throw UserError(fmt::format("kernel `{}`: argument `{}`: {}", artifact_.kernel,
                                artifact_.parameters[index].name, message));
  }

  static std::string_view kind_of(const Parameter& parameter) {
    if (parameter.is_symmetric()) return "a HostWindowArgument";
    return parameter.kind == Parameter::Kind::kTensor ? "a HostTensor" : "a HostScalar";
  }

  void check(std::size_t index) {
    const Parameter& parameter = artifact_.parameters[index];
    const HostArgument& argument = arguments_[index];
    const std::string_view wanted = kind_of(parameter);
    const std::size_t fits = parameter.is_symmetric()                     ? 1
                             : parameter.kind == Parameter::Kind::kTensor ? 0
                                                                          : 2;
    if (argument.index() != fits) fail(index, fmt::format("expected {}, got another kind", wanted));
    const DType dtype = std::visit([](const auto& each) { return each.dtype; }, argument);
    if (dtype != parameter.dtype) {
      fail(index, fmt::format("expected elements of {}, got {}", name_of(parameter.dtype),
                              name_of(dtype)));
    }
    if (const auto* tensor = std::get_if<HostTensor>(&argument)) {
      if (!tensor->strides.empty() && tensor->strides.size() != tensor->shape.size()) {
        fail(index, fmt::format("{} strides for a shape of rank {}", tensor->strides.size(),
                                tensor->shape.size()));
      }
      check_shape(index, tensor->shape);
      check_facts(index, *tensor);
    } else if (const auto* window = std::get_if<HostWindowArgument>(&argument)) {
      if (window->window == nullptr) fail(index, "the window is null");
      check_shape(index, window->shape);
    }
  }

  void check_shape(std::size_t index, const std::vector<std::int64_t>& shape) {
    const std::vector<Dimension>& expected = artifact_.parameters[index].shape;
    if (shape.size() != expected.size()) {
      fail(index, fmt::format("expected rank {}, got {}", expected.size(), shape.size()));
    }
    for (std::size_t i = 0; i < shape.size(); ++i) {
      std::int64_t size = expected[i].size;
      if (size == kDynamic) {
        std::int64_t& extent = extents_[dimension(expected[i].name)];
        if (extent == kDynamic) extent = shape[i];
        size = extent;
      }
      if (size != shape[i]) {
        fail(index, fmt::format("expected {} elements in dimension {}, got {}", size, i, shape[i]));
      }
    }
  }

  /// What the kernel was compiled for beyond the signature.
  void check_facts(std::size_t index, const HostTensor& tensor) const {
    const LocalFacts& facts = artifact_.facts;
    if (index < facts.contiguous.size() && facts.contiguous[index]) {
      for (std::size_t i = 0; i < tensor.strides.size(); ++i) {
        if (tensor.shape[i] > 1 && tensor.strides[i] != contiguous_stride(tensor, i)) {
          fail(index, "the kernel was compiled for a contiguous tensor");
        }
      }
    }
    if (index < facts.alignment.size() && facts.alignment[index] > 1) {
      const auto address = reinterpret_cast<std::uintptr_t>(tensor.data);
      if (address % static_cast<std::uintptr_t>(facts.alignment[index]) != 0) {
        fail(index, fmt::format("the kernel was compiled for an address that {} divides",
                                facts.alignment[index]));
      }
    }
  }

  std::size_t dimension(const std::string& name) const {
    for (std::size_t i = 0; i < artifact_.dimensions.size(); ++i) {
      if (artifact_.dimensions[i] == name) return i;
    }
    throw InternalError(fmt::format("kernel `{}` has no dimension `{}`", artifact_.kernel, name));
  }

  static std::int64_t contiguous_stride(const HostTensor& tensor, std::size_t dimension) {
    std::int64_t stride = 1;
    for (std::size_t i = dimension + 1; i < tensor.shape.size(); ++i) stride *= tensor.shape[i];
    return stride;
  }

  std::int64_t stride(std::size_t index, std::size_t dimension) const {
    const auto& tensor = std::get<HostTensor>(arguments_[index]);
    return tensor.strides.empty() ? contiguous_stride(tensor, dimension)
                                  : tensor.strides[dimension];
  }

  const Artifact& artifact_;
  const std::vector<HostArgument>& arguments_;
  std::vector<std::int64_t> extents_;
};

}  // namespace

std::vector<std::uint64_t> pack_arguments(const Artifact& artifact,
                                          const std::vector<HostArgument>& arguments) {
  const Packing packing(artifact, arguments);
  std::vector<std::uint64_t> slots;
  slots.reserve(artifact.arguments.size());
  for (const ArgumentSlot& slot : artifact.arguments) slots.push_back(packing.slot(slot));
  return slots;
}

}  // namespace tilewire
