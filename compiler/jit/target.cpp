#include "compiler/jit/target.h"

#include <fmt/format.h>

#include <charconv>
#include <map>
#include <optional>

#include "compiler/support/error.h"

namespace tilewire {
namespace {

constexpr int kMaxWorldSize = 65536;
constexpr int kMinComputeCapability = 70;  // system-scope acquire and release in PTX
constexpr int kMultimemCapability = 90;    // `multimem` instructions

constexpr std::string_view kLooksLike =
    "A target looks like `sm_90a:world=2,lsa=2,multimem=0,gin=0` or `cpu:world=2x4`";

/// Reads one target text; every failure names the text, the part and what belongs there.
class TargetReader {
 public:
  explicit TargetReader(std::string_view text) : text_(text) {}

  Target read() {
    const std::size_t colon = text_.find(':');
    read_architecture(text_.substr(0, colon));
    if (colon != std::string_view::npos) read_fields(text_.substr(colon + 1));
    finish();
    return target_;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw UserError(fmt::format("target `{}`: {}. {}", text_, message, kLooksLike));
  }

  void read_architecture(std::string_view name) {
    target_.architecture = std::string(name);
    if (name == "cpu") return;
    target_.backend = Target::Backend::kCuda;
    std::string_view digits = name.starts_with("sm_") ? name.substr(3) : std::string_view();
    if (!digits.empty() && (digits.back() == 'a' || digits.back() == 'f')) digits.remove_suffix(1);
    const std::optional<int> capability = to_integer(digits);
    if (!capability || digits.size() < 2 || digits.size() > 3) {
      fail(fmt::format("`{}` is no architecture; use `cpu` or an `sm_` number such as `sm_90a`",
                       name));
    }
    if (*capability < kMinComputeCapability) {
      fail(fmt::format("`{}` is too old; `sm_{}` is the oldest that works", name,
                       kMinComputeCapability));
    }
    target_.compute_capability = *capability;
  }

  void read_fields(std::string_view fields) {
    while (true) {
      const std::size_t comma = fields.find(',');
      read_field(fields.substr(0, comma));
      if (comma == std::string_view::npos) return;
      fields.remove_prefix(comma + 1);
    }
  }

  void read_field(std::string_view field) {
    const std::size_t equals = field.find('=');
    if (equals == std::string_view::npos) fail(fmt::format("`{}` is not `name=value`", field));
    const std::string_view name = field.substr(0, equals);
    const std::string_view value = field.substr(equals + 1);
    if (!seen_.emplace(name, value).second) fail(fmt::format("`{}` is given twice", name));
    if (name == "world") {
      read_world(value);
    } else if (name == "lsa") {
      lsa_ = to_count(name, value);
    } else if (name == "multimem") {
      target_.multimem = to_switch(name, value);
    } else if (name == "gin") {
      target_.has_virtual_gin = value == "virtual";
      gin_ = target_.has_virtual_gin || to_switch(name, value);
    } else {
      fail(
          fmt::format("there is no field `{}`; the fields are world, lsa, multimem and gin", name));
    }
  }

  void read_world(std::string_view value) {
    const std::size_t times = value.find('x');
    if (times == std::string_view::npos) {
      target_.world_size = to_count("world", value);
      return;
    }
    const std::int64_t teams = to_count("world", value.substr(0, times));
    team_size_ = to_count("world", value.substr(times + 1));
    if (teams * *team_size_ > kMaxWorldSize) {
      fail(fmt::format("`world={}` is more than {} ranks", value, kMaxWorldSize));
    }
    target_.world_size = static_cast<int>(teams * *team_size_);
  }

  void finish() {
    if (lsa_ && team_size_ && *lsa_ != *team_size_) {
      fail(fmt::format("`world={}` has {} ranks in a team, but `lsa={}` says otherwise",
                       seen_.at("world"), *team_size_, *lsa_));
    }
    target_.lsa_size = lsa_ ? *lsa_ : team_size_.value_or(target_.world_size);
    if (target_.world_size % target_.lsa_size != 0) {
      fail(
          fmt::format("`lsa={}` does not divide `world={}`", target_.lsa_size, target_.world_size));
    }
    if (target_.multimem && target_.is_cuda() && target_.compute_capability < kMultimemCapability) {
      fail(fmt::format("`multimem=1` needs `sm_{}` or newer, and `{}` is not", kMultimemCapability,
                       target_.architecture));
    }
    if (target_.has_virtual_gin && !target_.is_cuda()) {
      fail("`gin=virtual` is of virtual ranks on a GPU");
    }
    target_.gin = gin_.value_or(target_.lsa_size < target_.world_size);
  }

  static std::optional<int> to_integer(std::string_view text) {
    int value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
  }

  int to_count(std::string_view name, std::string_view value) const {
    const std::optional<int> count = to_integer(value);
    if (!count || *count < 1 || *count > kMaxWorldSize) {
      fail(fmt::format("`{}={}` is not a number of ranks (1 to {})", name, value, kMaxWorldSize));
    }
    return *count;
  }

  bool to_switch(std::string_view name, std::string_view value) const {
    if (value != "0" && value != "1") fail(fmt::format("`{}={}` is neither 0 nor 1", name, value));
    return value == "1";
  }

  std::string_view text_;
  Target target_;
  std::map<std::string_view, std::string_view> seen_;
  std::optional<int> lsa_;
  std::optional<int> team_size_;  ///< from `world=AxB`
  std::optional<bool> gin_;
};

}  // namespace

Target Target::parse(std::string_view text) { return TargetReader(text).read(); }

std::string Target::to_string() const {
  return fmt::format("{}:world={},lsa={},multimem={:d},gin={}", architecture, world_size, lsa_size,
                     multimem,
                     has_virtual_gin ? "virtual"
                     : gin           ? "1"
                                     : "0");
}

}  // namespace tilewire
