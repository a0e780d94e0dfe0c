#include "tests/unit/index_programs.h"

#include <algorithm>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "compiler/ops/op.h"
#include "tests/unit/pass_testing.h"

namespace tilewire {
namespace {

constexpr std::int64_t kMaxIterations = 6;  // of one loop: enough to reach last blocks

std::int64_t floor_divide(std::int64_t a, std::int64_t b) {
  if (b == 0) return 0;
  const std::int64_t quotient = a / b;
  const bool is_exact = quotient * b == a;
  return !is_exact && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

}  // namespace

Program IndexProgramMaker::make(bool with_returns) {
  integers_ = {"%s", "%T"};
  bools_ = {"%flag"};
  for (const int value : {0, 1, 2, 3, 5, 8, 16, -1, -4}) {
    integers_.push_back(fresh());
    text_ +=
        integers_.back() + " = constant() {dtype = i64, value = " + std::to_string(value) + "}\n";
  }
  statements(12, 0, with_returns);
  store();
  store();
  return program_of(
      "tensor %out: i64[64]\nscalar %s: i64\nscalar %flag: bool\ntensor %t: i64[T]\ndimension %T",
      text_);
}

void IndexProgramMaker::statements(int count, int depth, bool with_returns) {
  for (int i = 0; i < count; ++i) {
    const int kind = pick(12);
    if (kind == 0 && depth < 2) {
      loop(depth, with_returns);
    } else if (kind == 1 && depth < 2) {
      branch(depth, with_returns);
    } else if (kind == 2) {
      store();
    } else {
      op();
    }
  }
}

void IndexProgramMaker::op() {
  static const std::vector<std::string> kBinary = {"add", "sub", "mul",     "floordiv",
                                                   "mod", "add", "minimum", "maximum"};
  static const std::vector<std::string> kComparison = {"lt", "le", "eq", "ne", "ge", "gt"};
  const std::string name = fresh();
  const int kind = pick(8);
  if (kind == 0) {
    text_ += name + " = " + any(kComparison) + "(" + any(integers_) + ", " + any(integers_) + ")\n";
    bools_.push_back(name);
  } else if (kind == 1) {
    text_ += name + " = " + (pick(2) == 0 ? "and" : "or") + "(" + any(bools_) + ", " + any(bools_) +
             ")\n";
    bools_.push_back(name);
  } else {
    if (kind == 2) {
      text_ +=
          name + " = select(" + any(bools_) + ", " + any(integers_) + ", " + any(integers_) + ")\n";
    } else if (kind == 3) {
      text_ += name + " = neg(" + any(integers_) + ")\n";
    } else if (kind == 4) {
      text_ += name + " = cast(" + any(bools_) + ") {dtype = i64}\n";
    } else {
      text_ += name + " = " + any(kBinary) + "(" + any(integers_) + ", " + any(integers_) + ")\n";
    }
    integers_.push_back(name);
  }
}

void IndexProgramMaker::loop(int depth, bool with_returns) {
  const auto outside = std::pair(integers_, bools_);
  const std::string result = fresh();
  const std::string index = fresh();
  const std::string carried = fresh();
  text_ += result + " = for " + index + " = range(" + any(integers_) + ", " + any(integers_) +
           ", " + any(integers_) + ") carry (" + carried + " = " + any(integers_) + "): i64 {\n";
  integers_.insert(integers_.end(), {index, index, carried});
  statements(5, depth + 1, with_returns);
  text_ += "yield " + any(integers_) + "\n}\n";
  std::tie(integers_, bools_) = outside;
  integers_.push_back(result);
}

void IndexProgramMaker::branch(int depth, bool with_returns) {
  const std::string result = fresh();
  text_ += result + " = if " + any(bools_) + ": i64 {\n";
  for (const char* end : {"} else {\n", "}\n"}) {
    const auto outside = std::pair(integers_, bools_);
    statements(3, depth + 1, with_returns);
    if (with_returns && pick(4) == 0) text_ += "return\n";
    text_ += "yield " + any(integers_) + "\n" + end;
    std::tie(integers_, bools_) = outside;
  }
  integers_.push_back(result);
}

void IndexProgramMaker::store() {
  const std::string place = fresh();
  text_ += place + " = slice(%out, " + any(integers_) + ") {index = \"at\"}\nstore(" + place +
           ", " + any(integers_) + ")\n";
}

IndexInterpreter::IndexInterpreter(const Program& program, std::int64_t s, bool flag,
                                   std::int64_t extent)
    : program_(program) {
  for (const Parameter& parameter : program.parameters) {
    if (parameter.name == "s") values_[parameter.value] = s;
    if (parameter.name == "flag") values_[parameter.value] = flag ? 1 : 0;
  }
  values_[program.dimensions.at(0).second] = extent;
}

std::vector<std::int64_t> IndexInterpreter::run() {
  std::vector<std::int64_t> yielded;
  region(program_.body, yielded);
  return stored_;
}

/// False: the program returned.
bool IndexInterpreter::region(const Region& region, std::vector<std::int64_t>& yielded) {
  for (const auto& each : region.statements) {
    if (each->kind == StatementKind::kYield) {
      yielded.clear();
      for (const Value* operand : each->operands) yielded.push_back(values_.at(operand));
    } else if (!statement(*each)) {
      return false;
    }
    if (observe) observe(values_);
  }
  for (const auto& each : region.statements) {
    for (const Value* result : each->results) values_.erase(result);
  }
  return true;
}

bool IndexInterpreter::statement(const Statement& statement) {
  if (statement.kind == StatementKind::kReturn) return false;
  if (statement.kind == StatementKind::kFor) return loop(statement);
  if (statement.kind == StatementKind::kIf) {
    std::vector<std::int64_t> yielded;
    const Region& taken = statement.regions[values_.at(statement.operands[0]) != 0 ? 0 : 1];
    if (!region(taken, yielded)) return false;
    for (std::size_t i = 0; i < yielded.size(); ++i) values_[statement.results[i]] = yielded[i];
  } else if (statement.is("store")) {
    const Statement* place = statement.operands[0]->definition;
    stored_.push_back(values_.at(place->operands[1]));
    stored_.push_back(values_.at(statement.operands[1]));
  } else if (!statement.is("slice")) {
    values_[statement.result()] = op(statement);
  }
  return true;
}

bool IndexInterpreter::loop(const Statement& statement) {
  const auto operand = [&](std::size_t i) { return values_.at(statement.operands[i]); };
  std::vector<std::int64_t> carried;
  for (std::size_t i = 3; i < statement.operands.size(); ++i) carried.push_back(operand(i));
  const std::int64_t upper = operand(1);
  const std::int64_t step = operand(2);
  const Region& body = statement.regions[0];
  std::int64_t count = 0;
  for (std::int64_t index = operand(0); index < upper; index += step) {
    // Loops that don't end, or for long, are left; so is their copy in the transformed program.
    if (step <= 0 || ++count > kMaxIterations) break;
    values_[body.arguments[0]] = index;
    for (std::size_t i = 0; i < carried.size(); ++i) values_[body.arguments[i + 1]] = carried[i];
    if (!region(body, carried)) return false;
  }
  for (const Value* argument : body.arguments) values_.erase(argument);
  for (std::size_t i = 0; i < carried.size(); ++i) values_[statement.results[i]] = carried[i];
  return true;
}

std::int64_t IndexInterpreter::op(const Statement& statement) const {
  std::vector<std::int64_t> x;
  for (const Value* operand : statement.operands) x.push_back(values_.at(operand));
  const auto wrapped = [](std::uint64_t value) { return static_cast<std::int64_t>(value); };
  const auto bits = [](std::int64_t value) { return static_cast<std::uint64_t>(value); };
  const std::string_view name = statement.op->name;
  if (name == "constant") {
    const Attribute& value = statement.attributes.find("value")->second;
    const bool* flag = std::get_if<bool>(&value);
    return flag != nullptr ? (*flag ? 1 : 0) : std::get<std::int64_t>(value);
  }
  if (name == "add") return wrapped(bits(x[0]) + bits(x[1]));
  if (name == "sub") return wrapped(bits(x[0]) - bits(x[1]));
  if (name == "mul") return wrapped(bits(x[0]) * bits(x[1]));
  if (name == "neg") return wrapped(-bits(x[0]));
  if (name == "floordiv") return floor_divide(x[0], x[1]);
  if (name == "mod")
    return x[1] == 0 ? 0 : wrapped(bits(x[0]) - bits(floor_divide(x[0], x[1])) * bits(x[1]));
  if (name == "minimum") return std::min(x[0], x[1]);
  if (name == "maximum") return std::max(x[0], x[1]);
  if (name == "lt") return x[0] < x[1];
  if (name == "le") return x[0] <= x[1];
  if (name == "eq") return x[0] == x[1];
  if (name == "ne") return x[0] != x[1];
  if (name == "ge") return x[0] >= x[1];
  if (name == "gt") return x[0] > x[1];
  if (name == "and") return x[0] & x[1];
  if (name == "or") return x[0] | x[1];
  if (name == "xor") return x[0] ^ x[1];
  if (name == "not" && statement.result()->type.dtype == DType::kBool) return x[0] == 0;
  if (name == "select") return x[0] != 0 ? x[1] : x[2];
  if (name == "cast") return x[0];
  throw std::logic_error("the interpreter has no " + std::string(name));
}

}  // namespace tilewire
