#pragma once

#include <pybind11/pybind11.h>

#include <memory>

#include "bindings/bindings.h"
#include "compiler/frontend/builder.h"

namespace tilewire::bindings {

/// Values belong to the program under construction. `finish` hands it over with its values, so
/// that using one of them, or the builder, afterwards is refused.
struct PythonBuilder : Builder {
  using Builder::Builder;
  ProgramPtr finished;

  ProgramPtr finish_shared() {
    finished = std::make_shared<PythonProgram>(finish());
    return finished;
  }
};

using BuilderClass = pybind11::class_<PythonBuilder>;

/// Adds the methods of `compiler/frontend/builder_work.cpp`: dividing work.
void bind_builder_work(pybind11::module_& module, BuilderClass& builder);

/// Those of `compiler/frontend/builder_put.cpp`: what goes to other ranks, and sums over them.
void bind_builder_put(BuilderClass& builder);

}  // namespace tilewire::bindings
