#include "compiler/ops/channel_access.h"
#include "compiler/ops/network.h"
#include "compiler/ops/object_access.h"
#include "templates/tilewire/channel_layout.cuh"

namespace tilewire {

NetworkCopy NetworkCopy::of(const Statement& statement) {
  const bool is_put = statement.is("network_put");
  NetworkCopy copy;
  copy.to = statement.operands.at(0);
  copy.rank = statement.operands.at(is_put ? 1 : 3);
  copy.to_bytes = statement.operands.at(is_put ? 2 : 1);
  copy.from = statement.operands.at(is_put ? 3 : 2);
  copy.from_bytes = statement.operands.at(4);
  for (std::size_t i = kNumPlaces; i + 2 < statement.operands.size(); i += 3) {
    copy.dimensions.push_back(
        {statement.operands[i], statement.operands[i + 1], statement.operands[i + 2]});
  }
  copy.element_bytes = static_cast<int>(statement.integer("element"));
  copy.known_bytes = static_cast<int>(statement.integer("known"));
  return copy;
}

NetworkStore NetworkStore::of(const Statement& statement) {
  return {statement.operands.at(0), statement.operands.at(1), statement.operands.at(2),
          TileAccess::of(statement)};
}

NetworkSignal NetworkSignal::of(const Statement& statement) {
  return {statement.operands.at(0), statement.operands.at(1), statement.operands.at(2),
          statement.operands.at(3),
          statement.flag("predicated") ? statement.operands.back() : nullptr};
}

std::int64_t staged_bytes(const Statement& network_store) {
  const auto& shape = network_store.integers("shape");
  if (shape.empty()) return 0;
  std::int64_t bytes = num_bytes(network_store.operands.at(NetworkStore::kNumPlaces)->type.dtype);
  // Where elements may be left out, or lie anywhere, it is staged with each of them where it goes.
  const TileAccess access = TileAccess::of(network_store);
  if (access.where != nullptr || access.offsets != nullptr) bytes += sizeof(std::int64_t);
  for (const std::int64_t extent : shape) bytes *= extent;
  return bytes;
}

std::int64_t staged_message_bytes(const Statement& channel_op) {
  if (!channel_op.flag("network") || channel_op.is("channel_recv")) return 0;
  std::int64_t bytes = device::kSenderBytes;
  for (const Value* value : ObjectAccess::of(channel_op).values) {
    const Type& type = value->type;
    std::int64_t row = 1;
    for (const std::int64_t extent : type.shape) row = extent != 1 ? extent : row;
    const int element = num_bytes(type.dtype);
    const std::int64_t words = device::field_words(type.is_tile() ? type.num_elements() : 1,
                                                   element, device::is_packed(row, element));
    bytes += device::field_bytes(words, device::Carrying::kTagged);
  }
  return device::up_to_line(bytes);
}

}  // namespace tilewire
