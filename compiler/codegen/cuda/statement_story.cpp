// What the comments of a kernel's text say: one for each line of the user's program.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "compiler/codegen/cuda/kernel_writer.h"
#include "compiler/ops/memory.h"
#include "compiler/ops/multimem.h"
#include "compiler/ops/op.h"

namespace tilewire {
namespace {

/// `signal sem`: what an op on synchronisation objects does, of which one.
std::string object_story(const Statement& statement) {
  if (statement.operands.empty()) return std::string(statement.op->name);
  const Value* place = statement.operands[0];
  if (place->definition != nullptr) place = place->definition->operands.at(0);
  const std::string_view name = statement.op->name;
  return fmt::format("{} {}", name.substr(name.find('_') + 1), place->name);
}

/// The same of what goes over the network.
std::string network_story(const Statement& statement) {
  if (statement.is("network_flush")) return "flush";
  const std::string_view word = statement.is("network_signal") ? "signal"
                                : statement.is("network_get")  ? "get"
                                                               : "put to";
  const Value* object = statement.operands.at(statement.is("network_get") ? 2 : 0);
  return fmt::format("{} {}", word, object->name);
}

/// What is done to which memory; empty: none of these.
std::string access_story(const Statement& statement) {
  const auto name = [&](std::size_t operand) -> std::string_view {
    const Value* parameter = parameter_behind(statement.operands.at(operand));
    return parameter == nullptr ? std::string_view() : parameter->name;
  };
  if (is_multimem(statement)) {
    if (statement.is("multimem_store")) return fmt::format("store to all copies of {}", name(0));
    return fmt::format("{} {} all copies of {}", statement.text("operation"),
                       statement.is("multimem_load") ? "of" : "into", name(0));
  }
  if (statement.is("tile_load") || statement.is("tile_store") || statement.is("tile_prefetch")) {
    const std::string_view word = statement.op->name.substr(std::string_view("tile_").size());
    return name(0).empty() ? std::string(word) : fmt::format("{} {}", word, name(0));
  }
  if (statement.is("drain_tile")) return fmt::format("store {}", name(0));
  if (statement.is("fetch_tile")) return fmt::format("load {}", name(0));
  if (statement.is("view_copy")) return fmt::format("put {} to {}", name(1), name(0));
  if (statement.is("tile_atomic")) {
    return fmt::format("atomic {} {}", statement.text("kind"), name(0));
  }
  return "";
}

/// What a statement does, in a word or two; empty where only the generated text would care.
std::string story_of(const Statement& statement, const Artifact& description) {
  if (statement.kind == StatementKind::kFor) return "for";
  if (statement.kind == StatementKind::kWhile) return "while";
  if (statement.kind == StatementKind::kIf) return "if";
  if (statement.kind == StatementKind::kReturn) return "return";
  if (statement.kind == StatementKind::kYield || statement.is("constant")) return "";
  if (statement.op->wait_site != nullptr) {
    return description.wait_sites.at(static_cast<std::size_t>(statement.integer("site"))).what;
  }
  if (statement.op->name.starts_with("network_")) return network_story(statement);
  if (statement.is("arrive")) return "arrive";
  if (statement.op->effect == Effect::kSynchronises) return object_story(statement);
  if (statement.is("operand_load")) return "bring " + statement.operands.at(0)->name;
  if (statement.is("copy_operand")) {
    const Value* parameter = parameter_behind(statement.operands.at(0));
    return parameter == nullptr ? "bring" : "bring " + parameter->name;
  }
  for (const char* name :
       {"staged_operand", "finish_product", "hand_over", "await_hand_over", "begin_slots",
        "fill_slot", "await_slot", "give_index", "take_index", "put_tile", "take_tile",
        "await_moves", "receive_tile", "finish_moves", "settle_moves"}) {
    if (statement.is(name)) return "";
  }
  if (statement.is("fence_aliases")) return "";
  if (const std::string story = access_story(statement); !story.empty()) return story;
  for (const Value* result : statement.results) {
    if (result->type.is_pointer() || result->type == Type::scalar(kIndex)) return "";
  }
  return std::string(statement.op->name);
}

}  // namespace

/// What happens on each line of the user's program that has text of its own.
std::map<std::string, std::string> KernelWriter::stories() const {
  std::map<CudaEmitter::Place, std::vector<std::string>> words;
  for_each_statement(program_.body, [&](const Statement& statement) {
    const std::string word = story_of(statement, description_);
    if (word.empty() || !statement.location.is_known()) return;
    auto& list = words[{statement.location.file_name(), statement.location.line}];
    if (std::ranges::find(list, word) == list.end()) list.push_back(word);
  });
  std::map<std::string, std::string> stories;
  for (const CudaEmitter::Place& place : emitter_.told_places_) {
    const std::string name = fmt::format("{}:{}", place.first, place.second);
    const auto what = words.find(place);
    stories[name] =
        fmt::format("{}. {}{}", stories.size() + 1, name,
                    what == words.end() ? "" : fmt::format(": {}", fmt::join(what->second, ", ")));
  }
  return stories;
}

std::string KernelWriter::body_with_stories() const {
  const auto comments = stories();
  const std::string& text = emitter_.writer_.text();
  std::string result;
  std::size_t at = 0;
  for (std::size_t mark = text.find(CudaEmitter::kPlaceMark); mark != std::string::npos;
       mark = text.find(CudaEmitter::kPlaceMark, at)) {
    const std::size_t end = text.find('\n', mark);
    result.append(text, at, mark - at).append(comments.at(text.substr(mark + 1, end - mark - 1)));
    at = end;
  }
  return result.append(text, at);
}

}  // namespace tilewire
