#include <fmt/format.h>

#include <algorithm>

#include "compiler/codegen/cuda/kernel_writer.h"
#include "compiler/codegen/cuda/register_pressure.h"
#include "compiler/codegen/cuda/schedule.h"
#include "compiler/codegen/cuda/staging.h"
#include "compiler/ops/mover.h"
#include "compiler/ops/op.h"
#include "compiler/ops/staging.h"
#include "compiler/ops/task.h"
#include "compiler/support/error.h"

namespace tilewire {
namespace {

bool uses(const Statement& statement, const Value* value) {
  if (std::ranges::find(statement.operands, value) != statement.operands.end()) return true;
  return std::ranges::any_of(statement.regions, [&](const Region& region) {
    return std::ranges::any_of(region.statements,
                               [&](const auto& inner) { return uses(*inner, value); });
  });
}

/// Whether each iteration fills slots of the ring, or takes them from it: unrolled, it would take
/// long to compile, and gain nothing.
bool is_of_ring(const Statement& loop) {
  return std::ranges::any_of(loop.body().statements, [](const auto& statement) {
    return statement->is("operand_load") || statement->is("skip_product") ||
           statement->is("fill_slot") || is_staged(*statement);
  });
}

}  // namespace

/// Whether nothing of the region reads the value but the branch, and what its condition alone
/// needs.
bool KernelWriter::is_read_only_by(const Region& region, const Value* value,
                                   const Statement& branch) const {
  return std::ranges::none_of(region.statements, [&](const auto& statement) {
    if (statement.get() == &branch || !uses(*statement, value)) return false;
    if (statement->kind != StatementKind::kOp || statement->results.size() != 1) return true;
    const auto use = emitter_.uses_.find(statement->result());
    return use == emitter_.uses_.end() || use->second.count != 1 || use->second.user != &branch;
  });
}

/// Where a branch's result is all that a variable takes next, the branch assigns the variable.
void KernelWriter::share_variables(const Region& region,
                                   const std::vector<CarriedVariable>& variables) {
  const Statement& yield = *region.statements.back();
  for (std::size_t i = 0; i < yield.operands.size(); ++i) {
    const Value* next = yield.operands[i];
    const Statement* branch = next->definition;
    if (branch == nullptr || branch->kind != StatementKind::kIf) continue;
    if (emitter_.regions_.at(branch) != &region || emitter_.uses_.at(next).count != 1) continue;
    const Value* held = variables.at(i).held;
    if (held == nullptr || is_read_only_by(region, held, *branch)) shared_[next] = variables[i];
  }
}

void KernelWriter::write_body(const Region& region, const std::vector<CarriedVariable>& variables) {
  share_variables(region, variables);
  write_region(region);
  write_yield(region, variables);
}

void KernelWriter::write_region(const Region& region) {
  for (const Statement* statement : schedule(region, program_.num_threads)) {
    if (statement->kind != StatementKind::kYield) write_statement(*statement);
    if (statement->kind == StatementKind::kReturn) return;  // nothing behind it runs
  }
}

void KernelWriter::write_statement(const Statement& statement) {
  emitter_.begin(statement);
  if (emitter_.plan_.syncs_before.contains(&statement)) emitter_.meet();
  switch (statement.kind) {
    case StatementKind::kOp:
      if (statement.op->emit_cuda == nullptr) {
        throw InternalError(fmt::format("'{}' is left in a lowered program", statement.op->name),
                            statement.location);
      }
      // The consumers announce: what the producer waits for before them is what they come to later.
      if (!is_in_producer_ && !emitter_.is_in_task() && !statement.op->announces_launch &&
          statement.op->resources != nullptr && statement.op->resources(statement).two_sided) {
        emitter_.announce_launch();
      }
      return statement.op->emit_cuda(statement, emitter_);
    case StatementKind::kFor:
      return write_for(statement);
    case StatementKind::kWhile:
      return write_while(statement);
    case StatementKind::kIf:
      return write_if(statement);
    case StatementKind::kYield:
      throw InternalError("a yield that ends no region", statement.location);
    case StatementKind::kReturn:
      return emitter_.statement("return;");
  }
}

std::vector<KernelWriter::CarriedVariable> KernelWriter::write_carried(const Statement& loop) {
  std::vector<CarriedVariable> variables;
  for (std::size_t i = 0; i < loop.results.size(); ++i) {
    const auto argument_of = [&](const Region& region) {
      return region.arguments.at(region.arguments.size() - loop.results.size() + i);
    };
    const Value* carried = argument_of(loop.regions.at(0));
    const Value* initial = loop.operands.at(loop.num_bounds() + i);
    const std::string& hint = !carried->name.empty() ? carried->name : initial->name;
    const std::string name = emitter_.names_.make(hint.empty() ? "carried" : hint);
    emitter_.statement(
        fmt::format("{} {} = {};", emitter_.type(carried->type), name, emitter_.argument(initial)));
    emitter_.variables_.insert(name);
    for (const Region& region : loop.regions) emitter_.bind(argument_of(region), name);
    emitter_.bind(loop.results[i], name);
    variables.push_back({name, argument_of(loop.body())});
  }
  return variables;
}

void KernelWriter::write_for(const Statement& loop) {
  if (loop.iterate() != Iterate::kRange) {
    throw InternalError("a loop is left that isn't a range", loop.location);
  }
  const Region& body = loop.regions.at(0);
  const std::vector<CarriedVariable> variables = write_carried(loop);
  const Value* index = body.arguments.at(0);
  const std::string name = emitter_.variable(index, "i");
  emitter_.tell();
  for (std::size_t i = 0; i < loop.results.size(); ++i) {
    const Statement* next = body.statements.back()->operands.at(i)->definition;
    if (next == nullptr || !is_staged(*next) || next->operands.size() < 3) continue;
    if (next->operands[2] != body.arguments.at(i + 1)) continue;
    emitter_.include("staged_matmul.cuh");
    emitter_.statement(fmt::format("tw::prepare({});", variables[i].name));
  }
  const std::string step = emitter_.operand(loop.operands.at(2), Binding::kChoose);
  if (is_of_ring(loop)) emitter_.writer_.raw_line("#pragma unroll 1");
  emitter_.writer_.open(
      fmt::format("for ({} {} = {}; {} < {}; {})", emitter_.type(index->type), name,
                  emitter_.operand(loop.operands.at(0), Binding::kChoose), name,
                  emitter_.operand(loop.operands.at(1), Binding::kCompare),
                  step == "1" ? "++" + name : fmt::format("{} += {}", name, step)));
  write_body(body, variables);
  emitter_.writer_.close();
}

/// `while (condition)` where the condition is one expression, else a loop that tests inside.
void KernelWriter::write_while(const Statement& loop) {
  const std::vector<CarriedVariable> variables = write_carried(loop);
  emitter_.tell();
  const Writer before = emitter_.writer_;
  emitter_.writer_.open("while (true)");
  const std::size_t num_characters = emitter_.writer_.text().size();
  write_region(loop.regions.at(0));
  const Value* goes_on = loop.regions.at(0).statements.back()->operands.at(0);
  if (emitter_.writer_.text().size() == num_characters) {
    emitter_.writer_ = before;
    emitter_.writer_.open(fmt::format("while ({})", emitter_.operand(goes_on, Binding::kChoose)));
  } else {
    emitter_.statement(fmt::format("if (!{}) break;", emitter_.operand(goes_on, Binding::kUnary)));
  }
  write_body(loop.body(), variables);
  emitter_.writer_.close();
}

/// One thread of the producer works, and maybe the mover's warp; the registers that the others
/// don't need, the consumers take.
void KernelWriter::write_roles(const Statement& split) {
  Writer& writer = emitter_.writer_;
  const Statement* mover = nullptr;
  const Statement* task = nullptr;
  for (const auto& statement : split.regions.at(0).statements) {
    if (is_movers(*statement)) mover = statement.get();
    if (is_task(*statement)) task = statement.get();
  }
  const int producer = producer_registers_of(program_);
  const std::string registers_of =
      producer > 0 ? fmt::format("kThreads, {}", producer) : "kThreads";
  write_staging();
  writer.blank();
  writer.open("if (tw::is_producer<kThreads>())");
  writer.line(fmt::format("tw::give_registers<{}>();", registers_of));
  is_in_producer_ = true;
  if (mover != nullptr) {
    const std::string warp = emitter_.unique_name("warp");
    writer.line(fmt::format("const int {} = tw::producer_warp<kThreads>();", warp));
    writer.open(fmt::format("if ({} == tw::kMoverWarp)", warp));
    emitter_.forget_place();
    write_region(mover->regions.at(0));
    writer.line("mover.settle();");
    writer.reopen(fmt::format("else if ({} == tw::kLoaderWarp && tw::is_elected())", warp));
    emitter_.forget_place();
  } else {
    writer.open("if (tw::is_loader<kThreads>())");
  }
  write_region(split.regions.at(0));
  writer.close();
  if (task != nullptr) write_task(*task);
  is_in_producer_ = false;
  writer.reopen("else");
  writer.line(fmt::format("tw::take_registers<{}>();", registers_of));
  emitter_.forget_place();
  write_region(split.regions.at(1));
  writer.close();
  writer.line("ring.leave();");
}

/// A warp runs it, beside the threads that run what is behind.
void KernelWriter::write_task(const Statement& task) {
  const Region& region = task.regions.at(0);
  emitter_.writer_.open(
      fmt::format("if ({})", emitter_.operand(task.operands.at(0), Binding::kChoose)));
  emitter_.is_in_task_ = true;
  emitter_.forget_place();
  write_task_copier(region);
  write_region(region);
  emitter_.is_in_task_ = false;
  emitter_.forget_place();
  emitter_.writer_.close();
}

void KernelWriter::write_if(const Statement& branch) {
  if (are_roles(branch)) return write_roles(branch);
  if (is_movers(branch)) return;  // beside the producer's thread
  if (is_task(branch)) return is_in_producer_ ? void() : write_task(branch);
  std::vector<CarriedVariable> variables;
  for (const Value* result : branch.results) {
    if (const auto shared = shared_.find(result); shared != shared_.end()) {
      emitter_.bind(result, shared->second.name);
      variables.push_back(shared->second);
      continue;
    }
    const std::string name = emitter_.variable(result, "chosen");
    emitter_.statement(fmt::format("{} {};", emitter_.type(result->type), name));
    variables.push_back({name, nullptr});
  }
  emitter_.tell();
  const Writer before = emitter_.writer_;
  const Value* condition = branch.operands.at(0);
  emitter_.writer_.open(fmt::format("if ({})", emitter_.operand(condition, Binding::kChoose)));
  const std::size_t num_characters = emitter_.writer_.text().size();
  write_body(branch.regions.at(0), variables);
  const bool is_empty = emitter_.writer_.text().size() == num_characters;
  const Region& other = branch.regions.at(1);
  if (other.statements.size() > 1 || !variables.empty()) {
    if (is_empty) {
      emitter_.writer_ = before;
      emitter_.writer_.open(fmt::format("if (!{})", emitter_.operand(condition, Binding::kUnary)));
    } else {
      emitter_.writer_.reopen("else");
    }
    write_body(other, variables);
  }
  emitter_.writer_.close();
}

void KernelWriter::write_yield(const Region& region,
                               const std::vector<CarriedVariable>& variables) {
  const bool returns = std::ranges::any_of(region.statements, [](const auto& statement) {
    return statement->kind == StatementKind::kReturn;
  });
  if (returns) return;
  const Statement& yield = *region.statements.back();
  if (yield.kind != StatementKind::kYield || yield.operands.size() != variables.size()) {
    throw InternalError("a region hands out other values than its statement takes", yield.location);
  }
  std::vector<std::string> values;
  for (const Value* value : yield.operands) {
    values.push_back(emitter_.operand(value, Binding::kChoose));
  }
  // All are handed out at once: a variable that another one takes is read before it changes.
  for (std::size_t i = 1; i < values.size(); ++i) {
    for (std::size_t k = 0; k < i; ++k) {
      if (values[i] != variables[k].name) continue;
      const std::string kept = emitter_.names_.make(variables[k].name + "_before");
      emitter_.writer_.line(fmt::format("const auto {} = {};", kept, values[i]));
      values[i] = kept;
      break;
    }
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] == variables[i].name) continue;
    if (const Statement* definition = yield.operands[i]->definition) emitter_.begin(*definition);
    emitter_.statement(fmt::format("{} = {};", variables[i].name, values[i]));
  }
}

}  // namespace tilewire
