"""docs/ops.md is what the frontend and the op table say. TILEWIRE_REFRESH_GOLDENS=1 writes it."""

import inspect
import keyword
import os
from pathlib import Path

from tilewire import _tilewire
from tilewire.frontend.builtins import BUILTINS
from tilewire.frontend.operators import BINARY, COMPARE, UNARY

PAGE = Path(__file__).parents[2] / "docs/ops.md"
HEAD = """\
# Functions and ops

Written by `tests/python/test_ops_page.py` from the docstrings and the op table:
`TILEWIRE_REFRESH_GOLDENS=1 .venv/bin/python -m pytest tests/python/test_ops_page.py`.
"""
FUNCTIONS = """
## What a kernel may call
`help(tw.load)` shows the same. Tiles, views and loops are explained in [language.md](language.md).

| function | meaning |
| --- | --- |
"""
OPERATORS = """
## Operators
| Python | op |
| --- | --- |
"""
OPS = """
## The op table
What the [IR](ir.md) holds. *Operands*: how many it takes. *Attributes* in brackets may be left out.
*Stage*: `frontend` ops are gone after lowering, `lowered` ones come from it.

| op | meaning | operands | attributes | effect | stage |
| --- | --- | --- | --- | --- | --- |
"""
SIGNS = {
    "Add": "+", "Sub": "-", "Mult": "*", "Div": "/", "FloorDiv": "//", "Mod": "%",
    "BitAnd": "&", "BitOr": "|", "BitXor": "^", "Eq": "==", "NotEq": "!=", "Lt": "<",
    "LShift": "<<", "RShift": ">>", "Pow": "**", "LtE": "<=", "Gt": ">", "GtE": ">=", "USub": "-",
    "UAdd": "+", "Invert": "~", "Not": "not ",
}  # fmt: skip


def row(*cells):
    one_line = (" ".join(cell.split()) for cell in cells)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in one_line) + " |\n"


def function_row(name):
    def shown(parameter):
        default = parameter.default
        text = parameter.name
        if default is not inspect.Parameter.empty:
            text += f"={default!s}" if isinstance(default, _tilewire.DType) else f"={default!r}"
        return ("*" + text) if parameter.kind is parameter.VAR_POSITIONAL else text

    parameters = list(BUILTINS[name].__signature__.parameters.values())
    texts = [shown(each) for each in parameters]
    keywords = [each.kind is inspect.Parameter.KEYWORD_ONLY for each in parameters]
    if any(keywords):
        texts.insert(keywords.index(True), "*")
    return row(f"`tw.{name}({', '.join(texts)})`", BUILTINS[name].__doc__)


def operator_rows():
    for table in (BINARY, COMPARE, UNARY):
        for node, (name, _) in table.items():
            sign = SIGNS[node.__name__]
            yield row(f"`{sign}a`" if table is UNARY else f"`a {sign} b`", f"`{name}`")


def op_row(info):
    least, most = info.min_operands, info.max_operands
    count = f"{least} or more" if most < 0 else f"{least} to {most}" if least < most else f"{least}"
    attributes = [
        f"{each.name}: {each.kind}" if each.required else f"[{each.name}: {each.kind}]"
        for each in info.attributes
    ]
    listed = f"`{', '.join(attributes)}`" if attributes else ""
    return row(f"`{info.name}`", info.summary, count, listed, info.effect, info.stage)


def page():
    names = sorted(name for name in BUILTINS if not keyword.iskeyword(name))
    functions = "".join(function_row(name) for name in names)
    ops = "".join(op_row(info) for info in _tilewire.op_table())
    return HEAD + FUNCTIONS + functions + OPERATORS + "".join(operator_rows()) + OPS + ops


def test_page_is_up_to_date():
    if os.environ.get("TILEWIRE_REFRESH_GOLDENS"):
        PAGE.write_text(page())
    assert PAGE.read_text() == page()


def test_every_function_says_what_it_does():
    for name, builtin in BUILTINS.items():
        assert builtin.__doc__.strip().endswith((".", "…")), name
