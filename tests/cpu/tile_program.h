#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/frontend/builder.h"
#include "runtime/cpu/kernel.h"
#include "tests/cpu/numbers.h"

namespace tilewire {

/// A lowered program over whole tiles, for tests of single ops: each input is read from a
/// contiguous tensor of its own, each output written to one.
class TileProgram {
 public:
  TileProgram() : builder(Builder("tile_program", "tile_program.py", Target())) {}

  Builder builder;

  /// The tile, read.
  Value* input(DType dtype, std::vector<std::int64_t> shape, const Bits& elements);
  /// A tile; a scalar is written as one element.
  void output(Value* value);
  /// The address of an element of a tensor of this shape, filled with `elements`.
  Value* pointer(DType dtype, std::vector<std::int64_t> shape, const Bits& elements,
                 std::int64_t offset = 0);
  /// `tile_load` or `tile_store` without masks.
  Value* load(Value* pointer, std::vector<std::int64_t> shape);
  void store(Value* pointer, Value* value);

  /// Compiles and runs one instance; returns what the outputs hold, in order. Tensors stand between
  /// guards; a changed guard fails the test.
  std::vector<Bits> run();
  /// The tensor behind a `pointer`, by its number among all tensors, after the run.
  Bits tensor(std::size_t number) const;

  /// After `run`.
  const std::string& text() const { return text_; }
  std::int64_t arena_bytes() const { return arena_bytes_; }

 private:
  struct Tensor {
    DType dtype;
    std::vector<std::byte> bytes;  ///< with a guard of 64 bytes before and behind
    bool is_output;
  };
  std::vector<Tensor> tensors_;
  std::string text_;
  std::int64_t arena_bytes_ = 0;
};

/// Emits and compiles a lowered program. The artifact's arguments are one slot per parameter, then
/// the run-time dimensions.
CpuKernel compile_lowered(Program program, std::string* text = nullptr);

/// Attributes of an access without masks to a contiguous tile of this shape.
Attributes contiguous_access(const std::vector<std::int64_t>& shape);

}  // namespace tilewire
