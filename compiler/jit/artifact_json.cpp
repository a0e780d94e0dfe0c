#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "compiler/jit/artifact.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

using Json = nlohmann::ordered_json;

/// Enumerators by name, in their order: a file stays readable when one is added.
constexpr const char* kParameterKinds[] = {"tensor",    "window", "scalar",
                                           "semaphore", "flag",   "channel"};
constexpr const char* kSlotKinds[] = {"tensor",      "window", "scalar",   "extent",    "stride",
                                      "device_comm", "lane",   "counters", "tensor_map"};
constexpr const char* kHostSteps[] = {"number",   "dimension", "add",     "subtract", "multiply",
                                      "floordiv", "modulo",    "minimum", "maximum"};
constexpr const char* kSwizzles[] = {"none", "32 bytes", "64 bytes", "128 bytes"};

template <typename Enum, std::size_t kCount>
Enum enum_from(const Json& json, const char* const (&names)[kCount]) {
  const auto& text = json.get_ref<const std::string&>();
  for (std::size_t i = 0; i < kCount; ++i) {
    if (text == names[i]) return static_cast<Enum>(i);
  }
  throw BackendError(fmt::format("`{}` is unknown", text));
}

DType dtype_from(const Json& json) {
  const auto& text = json.get_ref<const std::string&>();
  const std::optional<DType> dtype = dtype_from_name(text);
  if (!dtype) throw BackendError(fmt::format("`{}` is no dtype", text));
  return *dtype;
}

int int_from(const Json& json) {
  const auto value = json.get<std::int64_t>();
  if (value < std::numeric_limits<int>::min() || value > std::numeric_limits<int>::max()) {
    throw BackendError(fmt::format("{} is out of range", value));
  }
  return static_cast<int>(value);
}

template <typename T, typename Convert>
std::vector<T> list_from(const Json& json, const Convert& convert) {
  if (!json.is_array()) throw BackendError("a list is missing");
  std::vector<T> list;
  for (const Json& item : json) list.push_back(convert(item));
  return list;
}

Json to_value(const SourceLocation& location) {
  return {{"file", location.file}, {"line", location.line}, {"column", location.column}};
}

SourceLocation location_from(const Json& json) {
  return {json.at("file").get<std::string>(), int_from(json.at("line")),
          int_from(json.at("column"))};
}

Json to_value(const ChannelType& channel) {
  return {{"message", channel.message_text()},
          {"depth", channel.depth},
          {"carrying", name_of(channel.carrying)}};
}

ChannelType channel_from(const Json& json) {
  const auto& message = json.at("message").get_ref<const std::string&>();
  const auto& carrying = json.at("carrying").get_ref<const std::string&>();
  const auto fields = parse_message(message);
  const auto kind = carrying_from_name(carrying);
  if (!fields || !kind) throw BackendError(fmt::format("`{}` is no message", message));
  return {*fields, json.at("depth").get<std::int64_t>(), *kind};
}

Json to_value(const Parameter& parameter) {
  Json shape = Json::array();
  for (const Dimension& dimension : parameter.shape) {
    shape.push_back(dimension.size == kDynamic ? Json(dimension.name) : Json(dimension.size));
  }
  Json json = {{"name", parameter.name},
               {"kind", kParameterKinds[static_cast<std::size_t>(parameter.kind)]},
               {"dtype", name_of(parameter.dtype)},
               {"shape", shape}};
  if (parameter.rotate != 0) json["rotate"] = parameter.rotate;
  if (parameter.kind == Parameter::Kind::kChannel) json["channel"] = to_value(parameter.channel);
  return json;
}

Parameter parameter_from(const Json& json) {
  Parameter parameter;
  parameter.name = json.at("name").get<std::string>();
  parameter.kind = enum_from<Parameter::Kind>(json.at("kind"), kParameterKinds);
  parameter.dtype = dtype_from(json.at("dtype"));
  parameter.shape = list_from<Dimension>(json.at("shape"), [](const Json& extent) {
    return extent.is_string() ? Dimension{kDynamic, extent.get<std::string>()}
                              : Dimension{extent.get<std::int64_t>(), {}};
  });
  if (json.contains("rotate")) parameter.rotate = json.at("rotate").get<std::int64_t>();
  if (json.contains("channel")) parameter.channel = channel_from(json.at("channel"));
  return parameter;
}

Json to_value(const ArgumentSlot& slot) {
  return {{"kind", kSlotKinds[static_cast<std::size_t>(slot.kind)]},
          {"index", slot.index},
          {"dimension", slot.dimension}};
}

ArgumentSlot slot_from(const Json& json) {
  return {enum_from<ArgumentSlot::Kind>(json.at("kind"), kSlotKinds), int_from(json.at("index")),
          int_from(json.at("dimension"))};
}

Json to_value(const TensorMapSpec& map) {
  return {{"parameter", map.parameter},
          {"dtype", name_of(map.dtype)},
          {"dimensions", map.dimensions},
          {"box", map.box},
          {"swizzle", kSwizzles[static_cast<std::size_t>(map.swizzle)]},
          {"rounds_to_tf32", map.rounds_to_tf32}};
}

TensorMapSpec tensor_map_from(const Json& json) {
  return {int_from(json.at("parameter")),
          dtype_from(json.at("dtype")),
          list_from<int>(json.at("dimensions"), int_from),
          json.at("box").get<std::vector<std::int64_t>>(),
          enum_from<TensorMapSpec::Swizzle>(json.at("swizzle"), kSwizzles),
          json.at("rounds_to_tf32").get<bool>()};
}

Json to_value(const WaitSite& site) {
  return {{"location", to_value(site.location)}, {"what", site.what}};
}

WaitSite site_from(const Json& json) {
  return {location_from(json.at("location")), json.at("what").get<std::string>()};
}

Json to_value(const GridBound& bound) {
  return {{"dimension", bound.dimension}, {"number", bound.number}};
}

GridBound bound_from(const Json& json) {
  return {int_from(json.at("dimension")), json.at("number").get<std::int64_t>()};
}

Json to_value(const HostStep& step) {
  return {{"kind", kHostSteps[static_cast<int>(step.kind)]}, {"number", step.number}};
}

HostStep step_from(const Json& json) {
  return {enum_from<HostStep::Kind>(json.at("kind"), kHostSteps),
          json.at("number").get<std::int64_t>()};
}

template <typename T>
Json to_list(const std::vector<T>& items) {
  Json list = Json::array();
  for (const T& item : items) list.push_back(to_value(item));
  return list;
}

Json to_value(const LaunchRules& launch) {
  return {
      {"num_threads", launch.num_threads},   {"cluster_size", launch.cluster_size},
      {"cooperative", launch.cooperative},   {"dynamic_shared_bytes", launch.dynamic_shared_bytes},
      {"num_counters", launch.num_counters}, {"useful_grid", to_list(launch.useful_grid)},
      {"max_grid", launch.max_grid},         {"has_task", launch.has_task},
      {"arrivals", to_list(launch.arrivals)}};
}

LaunchRules launch_from(const Json& json) {
  LaunchRules launch;
  launch.num_threads = int_from(json.at("num_threads"));
  launch.cluster_size = int_from(json.at("cluster_size"));
  launch.cooperative = json.at("cooperative").get<bool>();
  launch.dynamic_shared_bytes = int_from(json.at("dynamic_shared_bytes"));
  launch.num_counters = int_from(json.at("num_counters"));
  launch.useful_grid = list_from<GridBound>(json.at("useful_grid"), bound_from);
  launch.max_grid = json.at("max_grid").get<std::int64_t>();
  launch.has_task = json.value("has_task", false);
  if (json.contains("arrivals")) {
    launch.arrivals = list_from<HostStep>(json.at("arrivals"), step_from);
  }
  return launch;
}

Json to_value(const Resources& resources) {
  return {{"lane", resources.lane},
          {"world_barrier", resources.world_barrier},
          {"waits", resources.waits},
          {"grid_barrier", resources.grid_barrier},
          {"two_sided", resources.two_sided},
          {"network", resources.network},
          {"peer_atomics", resources.peer_atomics},
          {"staging_bytes", resources.staging_bytes},
          {"multimem", resources.multimem}};
}

Resources resources_from(const Json& json) {
  Resources resources;
  resources.lane = json.at("lane").get<bool>();
  resources.world_barrier = json.at("world_barrier").get<bool>();
  resources.waits = json.at("waits").get<bool>();
  resources.grid_barrier = json.at("grid_barrier").get<bool>();
  resources.two_sided = json.at("two_sided").get<bool>();
  resources.network = json.at("network").get<bool>();
  resources.peer_atomics = json.at("peer_atomics").get<bool>();
  resources.staging_bytes = json.at("staging_bytes").get<std::int64_t>();
  resources.multimem = json.at("multimem").get<bool>();
  return resources;
}

Json to_value(const Protocol& protocol) {
  return {{"name", protocol.name}, {"digest", protocol.digest}, {"slots", protocol.slots}};
}

Protocol protocol_from(const Json& json) {
  return {.name = json.at("name").get<std::string>(),
          .digest = json.at("digest").get<std::uint64_t>(),
          .slots = list_from<int>(json.at("slots"), int_from)};
}

Artifact artifact_from(const Json& json) {
  Artifact artifact;
  artifact.kernel = json.at("kernel").get<std::string>();
  artifact.entry = json.at("entry").get<std::string>();
  artifact.source_file = json.at("source_file").get<std::string>();
  artifact.target = Target::parse(json.at("target").get<std::string>());
  artifact.parameters = list_from<Parameter>(json.at("parameters"), parameter_from);
  artifact.written = json.at("written").get<std::vector<bool>>();
  artifact.dimensions = json.at("dimensions").get<std::vector<std::string>>();
  artifact.facts.contiguous = json.at("contiguous").get<std::vector<bool>>();
  artifact.facts.alignment = list_from<int>(json.at("alignment"), int_from);
  artifact.facts.local_only = json.at("local_only").get<std::vector<bool>>();
  artifact.facts.mappable = json.at("mappable").get<std::vector<bool>>();
  artifact.arguments = list_from<ArgumentSlot>(json.at("arguments"), slot_from);
  artifact.tensor_maps = list_from<TensorMapSpec>(json.at("tensor_maps"), tensor_map_from);
  artifact.wait_sites = list_from<WaitSite>(json.at("wait_sites"), site_from);
  artifact.launch = launch_from(json.at("launch"));
  artifact.resources = resources_from(json.at("resources"));
  artifact.protocol = protocol_from(json.at("protocol"));
  artifact.arena_bytes = json.at("arena_bytes").get<std::int64_t>();
  artifact.source = json.at("source").get<std::string>();
  return artifact;
}

}  // namespace

std::string to_json(const Artifact& artifact) {
  const Json json = {{"kernel", artifact.kernel},
                     {"entry", artifact.entry},
                     {"source_file", artifact.source_file},
                     {"target", artifact.target.to_string()},
                     {"parameters", to_list(artifact.parameters)},
                     {"written", artifact.written},
                     {"dimensions", artifact.dimensions},
                     {"contiguous", artifact.facts.contiguous},
                     {"alignment", artifact.facts.alignment},
                     {"local_only", artifact.facts.local_only},
                     {"mappable", artifact.facts.mappable},
                     {"arguments", to_list(artifact.arguments)},
                     {"tensor_maps", to_list(artifact.tensor_maps)},
                     {"wait_sites", to_list(artifact.wait_sites)},
                     {"launch", to_value(artifact.launch)},
                     {"resources", to_value(artifact.resources)},
                     {"protocol", to_value(artifact.protocol)},
                     {"arena_bytes", artifact.arena_bytes},
                     {"source", artifact.source}};
  // Names of files may be any bytes; JSON is UTF-8.
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Artifact artifact_from_json(const std::string& json) {
  try {
    return artifact_from(Json::parse(json));
  } catch (const Json::exception& error) {
    throw BackendError(fmt::format("the description of a kernel can't be read: {}", error.what()));
  } catch (const Error& error) {
    throw BackendError(
        fmt::format("the description of a kernel can't be read: {}", error.message()));
  }
}

}  // namespace tilewire
