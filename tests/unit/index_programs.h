#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "compiler/ir/program.h"

namespace tilewire {

/// Random programs over index values, for properties that must hold in every run: arithmetic,
/// nested loops with carried values, branches, returns, and stores of what was computed.
/// Parameters: `%s` (i64), `%flag` (bool), dimension `%T`, and `%out` that stores go to.
class IndexProgramMaker {
 public:
  explicit IndexProgramMaker(unsigned seed) : random_(seed) {}
  Program make(bool with_returns);

 private:
  int pick(int below) { return std::uniform_int_distribution<int>(0, below - 1)(random_); }
  const std::string& any(const std::vector<std::string>& of) { return of[pick(of.size())]; }
  std::string fresh() { return "%v" + std::to_string(next_++); }
  void statements(int count, int depth, bool with_returns);
  void op();
  void loop(int depth, bool with_returns);
  void branch(int depth, bool with_returns);
  void store();

  std::mt19937 random_;
  std::string text_;
  std::vector<std::string> integers_;  ///< in sight
  std::vector<std::string> bools_;
  int next_ = 0;
};

/// Runs such programs by the ops' definitions, written down a second time.
class IndexInterpreter {
 public:
  using Values = std::map<const Value*, std::int64_t>;

  IndexInterpreter(const Program& program, std::int64_t s, bool flag, std::int64_t extent);
  /// Called with what is in sight at each statement.
  std::function<void(const Values&)> observe;
  /// What was stored, in order. Gives up after a number of steps that is the same for equal runs.
  std::vector<std::int64_t> run();

 private:
  bool region(const Region& region, std::vector<std::int64_t>& yielded);
  bool statement(const Statement& statement);
  bool loop(const Statement& statement);
  std::int64_t op(const Statement& statement) const;

  const Program& program_;
  Values values_;
  std::vector<std::int64_t> stored_;
};

}  // namespace tilewire
