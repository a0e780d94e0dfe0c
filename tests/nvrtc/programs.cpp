#include "tests/nvrtc/programs.h"

#include "tests/norm_program.h"

using namespace tilewire;

Program allreduce_rmsnorm(const Target& target, DType dtype, std::int64_t h) {
  Program program = test::norm_program(dtype, h, target);
  program.facts.contiguous.assign(program.parameters.size(), true);
  program.facts.alignment.assign(program.parameters.size(), 16);
  return program;
}

Target gpu_target(const std::string& architecture, int world_size) {
  return Target::parse(architecture + ":world=" + std::to_string(world_size));
}
