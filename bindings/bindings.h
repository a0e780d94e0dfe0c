#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "compiler/ir/program.h"

namespace tilewire::bindings {

/// Programs are shared with Python; nothing changes one after `Builder::finish`.
using ProgramPtr = std::shared_ptr<Program>;

// One function per file of this folder; each adds its classes and functions to the module.
void bind_errors(pybind11::module_& module);
void bind_types(pybind11::module_& module);
void bind_program(pybind11::module_& module);
void bind_builder(pybind11::module_& module);

}  // namespace tilewire::bindings
