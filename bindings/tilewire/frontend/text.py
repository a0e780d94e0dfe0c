"""Arguments described by text: `bf16[?,8192]`, `window:f32[8]`, `f32`, `8` for a constant."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from tilewire._tilewire import all_dtypes
from tilewire.errors import UserError
from tilewire.frontend.signature import ArrayArgument, Parameter, Signature

_DTYPES = {dtype.name: dtype for dtype in all_dtypes()}
_ARRAY = re.compile(r"(window:)?(\w+)\[([^\]]*)\]")
_FORMS = "an array is written like bf16[?,8192] or window:bf16[?,8192] (`?`: known at run time)"


def parse_arguments(signature: Signature, texts: Mapping[str, str]) -> dict[str, Any]:
    """What `Signature.specialise` takes. UserError where a text doesn't fit its parameter."""
    known = {each.name: each for each in signature.parameters}
    for name in texts:
        if name not in known:
            names = ", ".join(known)
            raise UserError(f"{signature.name} has no parameter `{name}`; it has {names}")
    parsed = {}
    for parameter in signature.parameters:
        text = texts.get(parameter.name)
        if parameter.is_array:
            if text is None:
                raise UserError(f"{signature.name}: array `{parameter.name}` is missing; {_FORMS}")
            parsed[parameter.name] = _array(signature, parameter, text)
        elif text is not None and parameter.is_constant:
            parsed[parameter.name] = _constant(text)
        elif text is not None and text != parameter.annotation.name:
            raise UserError(
                f"{signature.name}: scalar `{parameter.name}` is annotated {parameter.annotation}, "
                f"found {text!r}"
            )
    return parsed


def _array(signature: Signature, parameter: Parameter, text: str) -> ArrayArgument:
    match = _ARRAY.fullmatch(text.strip())
    if match is None:
        raise UserError(f"{signature.name}: array `{parameter.name}`: {text!r}; {_FORMS}")
    dtype = _DTYPES.get(match[2])
    if dtype is None:
        raise UserError(
            f"{signature.name}: array `{parameter.name}`: no dtype {match[2]!r}; there are "
            f"{', '.join(_DTYPES)}"
        )
    shape: list[int | None] = []
    for part in filter(None, (each.strip() for each in match[3].split(","))):
        if part != "?" and not (part.isascii() and part.isdigit()):
            raise UserError(
                f"{signature.name}: array `{parameter.name}`: extent {part!r}; {_FORMS}"
            )
        shape.append(None if part == "?" else int(part))
    return ArrayArgument("window" if match[1] else "tensor", dtype, tuple(shape))


def _constant(text: str) -> Any:
    """An int, float, bool or tuple of ints as Python writes them, a dtype; else text."""
    if text in _DTYPES:
        return _DTYPES[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
