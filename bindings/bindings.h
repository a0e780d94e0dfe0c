#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <utility>

#include "compiler/ir/program.h"

namespace tilewire::bindings {

/// A program as Python holds it. Compiling takes it away, since passes rewrite programs in place.
class PythonProgram {
 public:
  explicit PythonProgram(Program program) : program_(std::move(program)) {}
  /// UserError where the program was compiled already.
  const Program& get() const;
  /// The program, for `compile`; the object is empty afterwards.
  Program take();
  void set_facts(LocalFacts facts);
  void assume_ordinary_facts();

 private:
  std::optional<Program> program_;
};
using ProgramPtr = std::shared_ptr<PythonProgram>;

// One function per file of this folder; each adds its classes and functions to the module.
void bind_errors(pybind11::module_& module);
void bind_types(pybind11::module_& module);
void bind_objects(pybind11::module_& module);
void bind_copies(pybind11::module_& module);
void bind_program(pybind11::module_& module);
void bind_builder(pybind11::module_& module);
void bind_compile(pybind11::module_& module);
void bind_environment(pybind11::module_& module);
void bind_launch(pybind11::module_& module);
void bind_virtual_world(pybind11::module_& module);
void bind_gpu_device(pybind11::module_& module);
void bind_gpu_world(pybind11::module_& module);

}  // namespace tilewire::bindings
