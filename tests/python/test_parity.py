"""The Python frontend against the C++ Builder and the op table: the same programs, every op."""

import importlib.util
import os
from pathlib import Path

import pytest
import tilewire as tw
from tilewire import _tilewire
from tilewire.frontend.builtins import BUILTINS
from tilewire.frontend.operators import BINARY, COMPARE, UNARY

ROOT = Path(__file__).parents[2]


def example():
    path = ROOT / "examples/01_allreduce_rmsnorm.py"
    spec = importlib.util.spec_from_file_location("example", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_example_is_the_golden_that_the_cpp_builder_makes(ir):
    text = ir(
        example().allreduce_rmsnorm,
        "cpu:world=8",
        x="window:bf16[?, 8192]",
        gain="bf16[8192]",
        y="bf16[?, 8192]",
    )
    text = text.replace(f'"{ROOT}/examples/', '"')
    golden = ROOT / "tests/codegen/golden/allreduce_rmsnorm.ir"
    if os.environ.get("TILEWIRE_REFRESH_GOLDENS"):
        golden.write_text(text)
    assert text == golden.read_text()


# Ops whose spelling in Python is syntax or has another name: op → (Python, method of the Builder).
SPELLINGS = {
    "constant": ("a literal", "constant"),
    "at": ("x.at(r)", "at"),
    "multicast": ("x.multicast()", "multicast"),
    "slice": ("x[…]", "slice"),
    "neg": ("-a", "unary"),
    "not": ("~a", "unary"),
    "select": ("tw.where", "where"),
    "atomic": ("tw.atomic_add", "atomic"),
    "assert": ("tw.assert_", "assert_"),
    "sum": ("tw.sum", "reduce"),
    "max": ("tw.max", "reduce"),
    "min": ("tw.min", "reduce"),
    "any": ("tw.any", "reduce"),
    "all": ("tw.all", "reduce"),
    "argmax": ("tw.argmax", "arg_reduce"),
    "argmin": ("tw.argmin", "arg_reduce"),
    "cumsum": ("tw.cumsum", "scan"),
    "cumprod": ("tw.cumprod", "scan"),
    "part": ("x[0:64]", "part"),
    "permute": ("x.T", "permute"),
    "field": ("records.name", "field"),
    "next_index": ("a dynamic tw.persistent", "begin_dynamic"),
    "in_task": ("with tw.task():", "begin_task"),
    "non_negative": ("a tile of tw.tiles", "tile"),
}
OPERATORS = {name for table in (BINARY, COMPARE, UNARY) for name, _ in table.values()}
USABLE = [info for info in _tilewire.op_table() if info.stage != "lowered"]


@pytest.mark.parametrize("info", USABLE, ids=lambda info: info.name)
def test_every_op_has_a_python_spelling_and_a_builder_method(info):
    python, method = SPELLINGS.get(info.name, (None, None))
    if python is None:
        assert info.name in BUILTINS or info.name in OPERATORS
        python = f"tw.{info.name}"
    if python.startswith("tw."):
        assert python[3:] in BUILTINS or info.name in OPERATORS
    if method is None:
        method = info.name if hasattr(_tilewire.Builder, info.name) else "elementwise"
    if method == "elementwise":
        assert info.min_operands == info.max_operands and info.max_operands in (1, 2)
        method = "unary" if info.max_operands == 1 else "binary"
    assert hasattr(_tilewire.Builder, method)


INTEGER_OPS = ("and", "or", "xor", "not", "shift_left", "shift_right", "popcount", "clz")


def elementwise_ops():
    for info in USABLE:
        fixed = info.min_operands == info.max_operands and info.max_operands in (1, 2)
        if fixed and not info.attributes and info.effect == "pure" and info.stage == "any":
            yield info


@pytest.mark.parametrize("info", list(elementwise_ops()), ids=lambda info: info.name)
def test_elementwise_ops_build_from_their_name(info):
    dtype = tw.i32 if info.name in INTEGER_OPS else tw.f32
    builder = _tilewire.Builder("f", "f.py", _tilewire.Target("cpu"))
    tile = builder.full([4], 1, dtype)
    if info.max_operands == 1:
        made = builder.unary(info.name, tile)
    else:
        made = builder.binary(info.name, tile, tile)
    assert made.type.shape == [4]
    assert f" = {info.name}(" in builder.finish().text(locations=False)
