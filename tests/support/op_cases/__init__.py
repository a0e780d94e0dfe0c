"""One registry of small kernels from which every test of an op is made: against float64 on the CPU
target, golden CUDA, NVRTC for each architecture, a GPU against the CPU target. docs/adding_an_op.md
says how to add one; a new file of this folder is found by itself."""

import importlib
import pkgutil

from op_cases.case import CASES as CASES
from op_cases.case import Case as Case
from op_cases.case import ops_covered as ops_covered

for _module in sorted(each.name for each in pkgutil.iter_modules(__path__)):
    importlib.import_module(f"op_cases.{_module}")
