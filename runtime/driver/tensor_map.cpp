#include "runtime/driver/tensor_map.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <utility>

#include "compiler/support/error.h"
#include "runtime/driver/driver.h"

namespace tilewire {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

/// A load that copies bits: the element's size is all that counts.
int data_type_of(const TensorMapSpec& spec) {
  if (spec.rounds_to_tf32) return cuda::kMapTfloat32;
  switch (num_bytes(spec.dtype)) {
    case 1:
      return cuda::kMapUint8;
    case 2:
      return cuda::kMapUint16;
    case 4:
      return cuda::kMapUint32;
    default:
      return cuda::kMapUint64;
  }
}

struct Swizzle {
  int of_driver;
  std::int64_t most_row_bytes;
};

Swizzle swizzle_of(TensorMapSpec::Swizzle swizzle) {
  switch (swizzle) {
    case TensorMapSpec::Swizzle::kNone:
      return {cuda::kMapSwizzleNone, kMaxMapBox * 8};
    case TensorMapSpec::Swizzle::k32Bytes:
      return {cuda::kMapSwizzle32Bytes, 32};
    case TensorMapSpec::Swizzle::k64Bytes:
      return {cuda::kMapSwizzle64Bytes, 64};
    case TensorMapSpec::Swizzle::k128Bytes:
      return {cuda::kMapSwizzle128Bytes, 128};
  }
  return {};
}

bool is_contiguous(const Artifact& artifact, std::size_t parameter) {
  return artifact.parameters[parameter].is_symmetric() ||
         (parameter < artifact.facts.contiguous.size() && artifact.facts.contiguous[parameter]);
}

}  // namespace

TensorMapRecipe::TensorMapRecipe(const Artifact& artifact, std::size_t map)
    : spec_(artifact.tensor_maps.at(map)),
      kernel_(artifact.kernel),
      lsa_size_(artifact.target.lsa_size) {
  check(artifact, map);
  const Parameter& parameter = artifact.parameters[static_cast<std::size_t>(spec_.parameter)];
  parameter_ = parameter.name;
  const auto index = static_cast<std::size_t>(spec_.parameter);
  is_written_ = index < artifact.written.size() && artifact.written[index];
  if (parameter.kind == Parameter::Kind::kTensor) {
    add_source(artifact, {ArgumentSlot::Kind::kTensor, spec_.parameter, 0});
  } else {
    const ArgumentSlot window{ArgumentSlot::Kind::kWindow, spec_.parameter, 0};
    add_source(artifact, window, offsetof(device::WindowHandle, local) / kWord);
    if (has_peers()) {
      add_source(artifact, window, offsetof(device::WindowHandle, stride) / kWord);
    }
  }
  read_sizes(artifact);
}

/// What the compiler may ask for.
void TensorMapRecipe::check(const Artifact& artifact, std::size_t map) const {
  const auto require = [&](bool holds, std::string_view what) {
    if (!holds) {
      throw InternalError(
          fmt::format("kernel `{}`: tensor map {}: {}", artifact.kernel, map, what));
    }
  };
  require(spec_.parameter >= 0 &&
              static_cast<std::size_t>(spec_.parameter) < artifact.parameters.size(),
          "there is no such parameter");
  const auto index = static_cast<std::size_t>(spec_.parameter);
  const Parameter& parameter = artifact.parameters[index];
  require(parameter.kind == Parameter::Kind::kTensor ||
              (parameter.kind == Parameter::Kind::kWindow && parameter.rotate == 0),
          "only tensors and windows that don't rotate have one");
  require(num_bytes(spec_.dtype) == num_bytes(parameter.dtype), "elements of another size");
  require(!spec_.dimensions.empty() && spec_.dimensions.size() <= kMaxMapRank &&
              spec_.box.size() == spec_.dimensions.size(),
          "it has 1 to 5 dimensions, and a box of as many");
  std::vector<int> sorted = spec_.dimensions;
  if (has_peers()) sorted.pop_back();
  const int last = static_cast<int>(parameter.shape.size()) - 1;
  require(!sorted.empty() && (!is_contiguous(artifact, index) || sorted.front() == last),
          "its first dimension isn't the one of unit stride");
  std::ranges::sort(sorted);
  for (int i = 0; i <= last; ++i) {
    require(sorted.size() == parameter.shape.size() && sorted[static_cast<std::size_t>(i)] == i,
            "it has every dimension of the parameter once");
  }
  require(!has_peers() || (parameter.kind == Parameter::Kind::kWindow && spec_.box.back() == 1),
          "peers have copies of windows, and a box lies in one of them");
  for (const std::int64_t extent : spec_.box) {
    require(extent > 0 && extent <= kMaxMapBox, "a box has 1 to 256 elements per dimension");
  }
  const std::int64_t row = spec_.box.front() * num_bytes(spec_.dtype);
  require(row % kMapAlignment == 0, "the rows of a box are multiples of 16 bytes");
  require(row <= swizzle_of(spec_.swizzle).most_row_bytes,
          "the rows of a box are longer than its swizzle");
}

void TensorMapRecipe::read_sizes(const Artifact& artifact) {
  const auto index = static_cast<std::size_t>(spec_.parameter);
  const std::vector<Dimension>& shape = artifact.parameters[index].shape;
  for (const Dimension& dimension : shape) {
    if (dimension.size != kDynamic) {
      extents_.push_back({.known = dimension.size});
      continue;
    }
    const auto found = std::ranges::find(artifact.dimensions, dimension.name);
    const auto number = static_cast<int>(found - artifact.dimensions.begin());
    extents_.push_back({.word = add_source(artifact, {ArgumentSlot::Kind::kExtent, number, 0})});
  }
  if (is_contiguous(artifact, index)) return;
  for (int i = 0; i < static_cast<int>(shape.size()); ++i) {
    strides_.push_back(
        {.word = add_source(artifact, {ArgumentSlot::Kind::kStride, spec_.parameter, i})});
  }
}

int TensorMapRecipe::add_source(const Artifact& artifact, const ArgumentSlot& slot,
                                std::size_t word) {
  const auto found = std::ranges::find(artifact.arguments, slot);
  if (found == artifact.arguments.end()) {
    throw InternalError(
        fmt::format("kernel `{}`: a tensor map follows from what is no argument", artifact.kernel));
  }
  sources_.push_back({static_cast<std::size_t>(found - artifact.arguments.begin()), word});
  return static_cast<int>(sources_.size()) - 1;
}

void TensorMapRecipe::read(const ArgumentValue* values, int lsa_rank, Words& words) const {
  for (std::size_t i = 0; i < sources_.size(); ++i) {
    const auto* value = reinterpret_cast<const std::byte*>(values + sources_[i].slot);
    std::memcpy(&words[i], value + kWord * sources_[i].word, kWord);
  }
  if (has_peers()) words[0] -= static_cast<std::uint64_t>(lsa_rank) * words[1];
}

std::int64_t TensorMapRecipe::Number::of(const Words& words) const {
  return word < 0 ? known : static_cast<std::int64_t>(words[static_cast<std::size_t>(word)]);
}

TensorMapRecipe::Array TensorMapRecipe::array(const Words& words) const {
  Array array;
  for (const Number& extent : extents_) array.extents.push_back(extent.of(words));
  for (const Number& stride : strides_) array.strides.push_back(stride.of(words));
  if (!strides_.empty()) return array;
  array.strides.assign(array.extents.size(), 1);
  for (std::size_t i = array.extents.size(); i-- > 1;) {
    array.strides[i - 1] = array.strides[i] * array.extents[i];
  }
  return array;
}

std::string TensorMapRecipe::describe(const Words& words) const {
  const Array array = this->array(words);
  std::string text = fmt::format(
      "kernel `{}`: argument `{}` at {:#x} with extents [{}] and strides [{}] of {} bytes", kernel_,
      parameter_, words[0], fmt::join(array.extents, ", "), fmt::join(array.strides, ", "),
      num_bytes(spec_.dtype));
  if (has_peers()) text += fmt::format(", {} copies {} bytes apart", lsa_size_, words[1]);
  return text;
}

TensorMapRequest TensorMapRecipe::request(const Words& words, const SpareLines& spare) const {
  const Array array = this->array(words);
  const std::int64_t bytes = num_bytes(spec_.dtype);
  std::vector<std::int64_t> extents;  // the outermost first, as is_mappable takes them
  std::vector<std::int64_t> strides;
  for (auto dimension = spec_.dimensions.rbegin(); dimension != spec_.dimensions.rend();
       ++dimension) {
    const bool is_peers = *dimension == TensorMapSpec::kLsaRank;
    const auto index = static_cast<std::size_t>(*dimension);
    extents.push_back(is_peers ? lsa_size_ : array.extents[index]);
    strides.push_back(is_peers ? static_cast<std::int64_t>(words[1]) / bytes
                               : array.strides[index]);
  }
  if (!is_mappable(spec_.dtype, words[0], extents, strides)) {
    throw UserError(fmt::format(
        "{}: the kernel was compiled to access it by TMA, which takes addresses and strides that "
        "are multiples of {} bytes, positive strides below 2^40 bytes, 1 in dimension {}, and "
        "extents below 2^31: compile it without that (LocalFacts::mappable), or pass a copy",
        describe(words), kMapAlignment, spec_.dimensions.front()));
  }
  const bool is_empty = std::ranges::find(extents, 0) != extents.end();
  const cuda::DevicePointer none = is_written_ ? spare.scratch : spare.zeros;
  TensorMapRequest request{.data_type = data_type_of(spec_),
                           .rank = static_cast<unsigned>(extents.size()),
                           .address = is_empty ? none : words[0],
                           .swizzle = swizzle_of(spec_.swizzle).of_driver};
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const std::size_t from = extents.size() - 1 - i;
    request.extents[i] = is_empty ? 1 : static_cast<std::uint64_t>(extents[from]);
    request.box[i] = static_cast<unsigned>(spec_.box[i]);
    if (i == 0) continue;
    // One element is never stepped over, but the driver wants a stride that it takes elsewhere.
    request.strides[i - 1] =
        static_cast<std::uint64_t>(request.extents[i] == 1 ? kMapAlignment : strides[from] * bytes);
  }
  return request;
}

cuda::Result encode_tensor_map(const Device& device, const TensorMapRequest& request,
                               device::TensorMap& made) {
  const ContextGuard guard(device);
  constexpr unsigned kEveryElement[kMaxMapRank] = {1, 1, 1, 1, 1};
  // Rows of boxes have 128 bytes at most. To fetch more of each from memory takes 3 to 4% longer
  // where memory limits (docs/performance.md), and is as fast elsewhere.
  constexpr int kPromotion = cuda::kMapPromotion128Bytes;
  return cuda::api().encode_tiled(
      &made, request.data_type, request.rank, reinterpret_cast<void*>(request.address),
      request.extents.data(), request.strides.data(), request.box.data(), kEveryElement,
      cuda::kMapInterleaveNone, request.swizzle, kPromotion, cuda::kMapFillZeros);
}

TensorMaps::TensorMaps(const Artifact& artifact, SpareLines spare, Encode encode)
    : spare_(spare), encode_(std::move(encode)) {
  for (std::size_t i = 0; i < artifact.tensor_maps.size(); ++i) {
    maps_.push_back({TensorMapRecipe(artifact, i), std::make_unique<TensorMapCache>()});
  }
}

void TensorMaps::make(const ArgumentValue* values, int lsa_rank, device::TensorMap* maps) const {
  for (const Map& map : maps_) {
    TensorMapRecipe::Words words;
    map.recipe.read(values, lsa_rank, words);
    if (!map.cache->find({words.data(), map.recipe.num_words()}, *maps)) [[unlikely]]
      encode(map, words, *maps);
    ++maps;
  }
}

void TensorMaps::encode(const Map& map, const TensorMapRecipe::Words& words,
                        device::TensorMap& made) const {
  const cuda::Result result = encode_(map.recipe.request(words, spare_), made);
  if (result != cuda::kSuccess) {
    check_cuda(result, fmt::format("cuTensorMapEncodeTiled ({})", map.recipe.describe(words)));
  }
  map.cache->add({words.data(), map.recipe.num_words()}, made);
}

}  // namespace tilewire
