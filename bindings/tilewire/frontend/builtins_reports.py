"""`tw.print` and `tw.assert_`."""

from __future__ import annotations

import ast
import re
from typing import Any

from tilewire._tilewire import DType, Value
from tilewire.frontend.registry import BUILTINS, Builtin, Call, builtin
from tilewire.frontend.values import describe


def _escaped(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _between_places(text: str) -> list[str]:
    """What stands around the places `{}` of a text; `{{` and `}}` are braces, and stay doubled."""
    between = [""]
    for part in re.split(r"(\{\{|\}\}|\{\})", text):
        if part == "{}":
            between.append("")
        else:
            between[-1] += part
    return between


def _check_values(call: Call, values: tuple[Any, ...]) -> None:
    for each in values:
        if isinstance(each, Value) and each.type.is_view:
            call.fail(f"shows tiles and scalars, found {describe(each)}: read it with tw.load")


@builtin
def print_(call: Call, *values: Any, all: Any = False) -> None:
    """One line per program instance, as `print` has it, or with `{}` in a text in front; of large
    tiles the first and last elements. `all=True`: a line per element, with its index."""
    if not isinstance(all, bool):
        call.fail(f"all= is True or False, found {describe(all)}")
    _check_values(call, values)
    text = values[0] if values and isinstance(values[0], str) else ""
    between = _between_places(text)
    has_format = len(between) > 1
    shown: list[Any] = []
    pieces: list[str] = []
    for each in values[1:] if has_format else values:
        if isinstance(each, Value):
            shown.append(each)
            pieces.append("{}")
        else:
            pieces.append(_escaped(str(each)))
    if has_format:
        if len(between) - 1 != len(pieces):
            call.fail(f"{text!r} has {len(between) - 1} places {{}} for {len(pieces)} values")
        text = between[0] + "".join(p + q for p, q in zip(pieces, between[1:], strict=True))
    else:
        text = " ".join(pieces)
    call.build("print", text, shown, all)


def _assert(call: Call, condition: Any, message: Any = None, *values: Any) -> None:
    """Ends the launch with `tw.DeviceAssertionError` unless the condition holds, everywhere if it
    is a tile: says where it doesn't, and the values that it compares, or those given."""
    if message is None:
        node = call.node.args[0] if isinstance(call.node, ast.Call) and call.node.args else None
        message = ast.unparse(node) if node is not None else "the condition doesn't hold"
    if not isinstance(message, str):
        call.fail(f"the message is a text known at compile time, found {describe(message)}")
    _check_values(call, values)
    if isinstance(condition, bool):
        if condition:
            return
        condition = call.build("cast", condition, DType.bool)
    if not isinstance(condition, Value):
        call.fail(f"takes a bool scalar or tile, found {describe(condition)}")
    call.build("assert_", condition, message, list(values))


BUILTINS["assert_"] = Builtin("assert_", _assert, _assert.__doc__ or "")
