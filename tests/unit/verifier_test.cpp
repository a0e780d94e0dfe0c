#include <functional>
#include <string>

#include "compiler/ir/text.h"
#include "compiler/support/error.h"
#include "tests/catch.h"

namespace tilewire {
namespace {

constexpr const char* kValid = R"(program @p from "f.py" world 2 lsa 2 {
  tensor %x: f32[T, 64]
  scalar %s: f32
  dimension %T
} body {
  %c0 = constant() {dtype = i64, value = 0}: i64 @ 1:1
  %c1 = constant() {dtype = i64, value = 1}: i64 @ 2:1
  %acc = for %i = range(%c0, %T, %c1) carry (%a = %s): f32 @ 3:1 {
    %b = add(%a, %s): f32 @ 4:1
    yield %b @ 5:1
  }
  %c = lt(%c0, %T): bool @ 6:1
  %r = if %c: f32 @ 7:1 {
    yield %acc @ 8:1
  } else {
    yield %s @ 9:1
  }
}
)";

/// What the verifier says once `change` was made to a valid program.
std::string complaint(const std::function<void(Program&)>& change) {
  Program program = parse_program(kValid);
  change(program);
  try {
    verify(program);
  } catch (const InternalError& error) {
    return error.what();
  }
  return "(valid)";
}

Statement& statement(Program& program, std::size_t index) {
  return *program.body.statements.at(index);
}

Statement& loop(Program& program) { return statement(program, 2); }
Statement& branch(Program& program) { return statement(program, 4); }

}  // namespace

TEST_CASE("the verifier accepts a valid program") {
  CHECK(complaint([](Program&) {}) == "(valid)");
}

TEST_CASE("the verifier checks where values are defined and used") {
  CHECK(complaint([](Program& p) { loop(p).operands[0] = branch(p).results[0]; }) ==
        "f.py:3: invalid IR: for: operand 0 (`r`) is used before its definition");
  CHECK(complaint([](Program& p) {
          branch(p).regions[0].statements[0]->operands[0] = loop(p).regions[0].arguments[1];
        }) == "f.py:8: invalid IR: yield: operand 0 (`a`) is used outside of its region");
  CHECK(complaint([](Program& p) { loop(p).operands[1] = nullptr; }) ==
        "f.py:3: invalid IR: for: operand 1 is missing");
  CHECK(complaint([](Program& p) { statement(p, 1).results = statement(p, 0).results; }) ==
        "f.py:2: invalid IR: constant: `c0` is defined twice");
  CHECK(complaint([](Program& p) { statement(p, 0).result()->definition = nullptr; }) ==
        "f.py:1: invalid IR: constant: `c0` doesn't point to its definition");
}

TEST_CASE("the verifier checks ops against the table") {
  CHECK(complaint([](Program& p) { statement(p, 0).op = nullptr; }) ==
        "f.py:1: invalid IR: op: it names no op of the table");
  CHECK(complaint([](Program& p) { statement(p, 0).attributes.erase("value"); }) ==
        "f.py:1: invalid IR: constant: attribute 'value' is missing");
  CHECK(complaint([](Program& p) { statement(p, 0).attributes["dtype"] = 1.0; }) ==
        "f.py:1: invalid IR: constant: attribute 'dtype' is 1.0, of another type than it takes");
  CHECK(complaint([](Program& p) { statement(p, 0).attributes["size"] = true; }) ==
        "f.py:1: invalid IR: constant: attribute 'size' is unknown");
  CHECK(complaint([](Program& p) { statement(p, 3).operands.pop_back(); }) ==
        "f.py:6: invalid IR: lt: takes 2 operands, got 1");
  CHECK(complaint([](Program& p) { statement(p, 3).result()->type = Type::scalar(DType::kI8); }) ==
        "f.py:6: invalid IR: lt: result 0 has type i8, but must have bool");
  CHECK(complaint([](Program& p) { statement(p, 3).results.clear(); }) ==
        "f.py:6: invalid IR: lt: it gives 1 results, not 0");
  CHECK(complaint([](Program& p) { statement(p, 3).regions.resize(1); }) ==
        "f.py:6: invalid IR: lt: an op has no regions");
}

TEST_CASE("the verifier checks loops") {
  CHECK(complaint([](Program& p) { loop(p).operands.resize(2); }) ==
        "f.py:3: invalid IR: for: lower bound, upper bound or step is missing");
  CHECK(complaint([](Program& p) { loop(p).operands[1] = p.parameters[1].value; }) ==
        "f.py:3: invalid IR: for: operand 1 has type f32, but must have i64");
  CHECK(complaint([](Program& p) { loop(p).attributes["iterate"] = std::string("rows"); }) ==
        "f.py:3: invalid IR: for: attribute `iterate` must be range, persistent, ranks or peers");
  CHECK(complaint([](Program& p) { loop(p).regions.clear(); }) ==
        "f.py:3: invalid IR: for: it has one region");
  CHECK(complaint([](Program& p) { loop(p).regions[0].arguments.pop_back(); }) ==
        "f.py:3: invalid IR: for: the region has 1 arguments, but must have 2");
  CHECK(complaint([](Program& p) { loop(p).results.clear(); }) ==
        "f.py:3: invalid IR: for: it carries 1 values, but has 0 results");
  CHECK(complaint([](Program& p) { loop(p).operands[3] = statement(p, 0).result(); }) ==
        "f.py:3: invalid IR: for: carried value 0 is of another type inside the region");
  CHECK(complaint([](Program& p) { loop(p).results[0]->type = Type::scalar(DType::kF64); }) ==
        "f.py:3: invalid IR: for: carried value 0 is of another type after the loop");
  CHECK(complaint([](Program& p) { loop(p).regions[0].statements.pop_back(); }) ==
        "f.py:3: invalid IR: for: a region must end with yield");
  CHECK(complaint([](Program& p) {
          loop(p).regions[0].statements[1]->operands[0] = loop(p).regions[0].arguments[0];
        }) == "f.py:5: invalid IR: yield: value 0 has type i64, but f32 is expected");
}

TEST_CASE("the verifier checks while loops") {
  const auto complaint_of = [](const std::function<void(Statement&)>& change) {
    Program program = parse_program(R"(program @p from "f.py" world 1 lsa 1 {
  scalar %n: i64
} body {
  %c0 = constant() {dtype = i64, value = 0}: i64 @ 1:1
  %after = while carry (%i = %c0): i64 @ 2:1 {
    %c = lt(%i, %n): bool @ 2:7
    yield %c @ 2:7
  } do (%k) {
    %next = add(%k, %k): i64 @ 3:1
    yield %next @ 3:1
  }
}
)");
    change(*program.body.statements.at(1));
    try {
      verify(program);
    } catch (const InternalError& error) {
      return std::string(error.what());
    }
    return std::string("(valid)");
  };
  CHECK(complaint_of([](Statement&) {}) == "(valid)");
  CHECK(complaint_of([](Statement& loop) { loop.regions.pop_back(); }) ==
        "f.py:2: invalid IR: while: it has two regions");
  CHECK(complaint_of([](Statement& loop) { loop.regions[0].arguments.clear(); }) ==
        "f.py:2: invalid IR: while: the region has 0 arguments, but must have 1");
  CHECK(complaint_of([](Statement& loop) { loop.results.clear(); }) ==
        "f.py:2: invalid IR: while: it carries 1 values, but has 0 results");
  CHECK(complaint_of([](Statement& loop) {
          loop.regions[0].statements[1]->operands[0] = loop.regions[0].arguments[0];
        }) == "f.py:2: invalid IR: yield: value 0 has type i64, but bool is expected");
  CHECK(complaint_of([](Statement& loop) { loop.regions[1].statements[1]->operands.clear(); }) ==
        "f.py:3: invalid IR: yield: it hands out 0 values, but 1 are expected");
  CHECK(complaint_of([](Statement& loop) {
          loop.regions[1].statements[0]->operands[0] = loop.regions[0].arguments[0];
        }) == "f.py:3: invalid IR: add: operand 0 (`i`) is used outside of its region");
}

TEST_CASE("the verifier checks branches and yields") {
  CHECK(complaint([](Program& p) { branch(p).operands[0] = p.parameters[1].value; }) ==
        "f.py:7: invalid IR: if: it takes one bool scalar");
  CHECK(complaint([](Program& p) { branch(p).regions.pop_back(); }) ==
        "f.py:7: invalid IR: if: it has two regions");
  CHECK(complaint([](Program& p) { branch(p).regions[1].statements[0]->operands.clear(); }) ==
        "f.py:9: invalid IR: yield: it hands out 0 values, but 1 are expected");
  CHECK(complaint([](Program& p) {
          std::swap(loop(p).regions[0].statements[0], loop(p).regions[0].statements[1]);
        }) == "f.py:3: invalid IR: for: a region must end with yield");
  CHECK(complaint([](Program& p) {
          auto yield = std::make_unique<Statement>();
          yield->kind = StatementKind::kYield;
          p.body.statements.push_back(std::move(yield));
        }) == "invalid IR: yield: it stands outside of `for`, `while` and `if`");
}

TEST_CASE("the verifier checks the signature") {
  CHECK(complaint([](Program& p) { p.lsa_size = 3; }) ==
        "invalid IR: program @p: lsa 3 doesn't divide world 2");
  CHECK(complaint([](Program& p) { p.body.arguments.pop_back(); }) ==
        "invalid IR: program @p: the body's arguments aren't the parameters and dimensions");
  CHECK(complaint([](Program& p) { p.parameters[1].name = "x"; }) ==
        "invalid IR: program @p: `x` is declared twice");
  CHECK(complaint([](Program& p) { std::swap(p.body.arguments[0], p.body.arguments[1]); }) ==
        "invalid IR: program @p: `x` isn't argument 0 of the body");
  CHECK(complaint([](Program& p) { p.parameters[0].shape[0].name = "U"; }) ==
        "invalid IR: program @p: `x` has extent `U`, which is no dimension of the program");
  CHECK(complaint([](Program& p) { p.parameters[0].dtype = DType::kF16; }) ==
        "invalid IR: program @p: `x` has type view<f32[?, 64]>, but is declared view<f16[?, 64]>");
  CHECK(complaint([](Program& p) { p.facts.contiguous = {true}; }) ==
        "invalid IR: program @p: facts must be known for all parameters or for none");
  CHECK(complaint([](Program& p) { p.facts.mappable = {true}; }) ==
        "invalid IR: program @p: facts must be known for all parameters or for none");
  CHECK(complaint([](Program& p) { p.useful_grid = {{1, 1}}; }) ==
        "invalid IR: program @p: there is no dimension 1");
}

}  // namespace tilewire
