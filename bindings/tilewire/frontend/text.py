"""Arguments described by text: `bf16[?,8192]`, `window:f32[8]`, `f32`, `8` for a constant."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from tilewire._tilewire import ChannelType, DType, all_dtypes
from tilewire.errors import UserError
from tilewire.frontend.signature import ArrayArgument, Parameter, Signature

_DTYPES = {dtype.name: dtype for dtype in all_dtypes()}
_ARRAY = re.compile(r"(window(?:\*(\d+))?:)?(\w+)\[([^\]]*)\]")
_CHANNEL = re.compile(r"channel\[([^\]]*)\]:(\w+):(\d+):(.+)")
_OBJECTS = {"semaphore": DType.u64, "flag": DType.u32, "channel": DType.u8}
_FORMS = (
    "an array is written like bf16[?,8192] or window:bf16[?,8192] (`?`: known at run time), a "
    "window that rotates over two copies like window*2:bf16[?,8192], one of objects like "
    "semaphore[8], flag[2,64] or channel[2,64]:tagged:1:bf16[2048] (carrying, depth, message)"
)


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
    channel = _CHANNEL.fullmatch(text.strip())
    if channel is not None:
        return _channel(signature, parameter, *channel.groups())
    match = _ARRAY.fullmatch(text.strip())
    if match is not None and match[1] is None and match[3] in ("semaphore", "flag"):
        shape = _shape(signature, parameter, match[4])
        return ArrayArgument(match[3], _OBJECTS[match[3]], shape)
    if match is None:
        raise UserError(f"{signature.name}: array `{parameter.name}`: {text!r}; {_FORMS}")
    dtype = _DTYPES.get(match[3])
    if dtype is None:
        raise UserError(
            f"{signature.name}: array `{parameter.name}`: no dtype {match[3]!r}; there are "
            f"{', '.join(_DTYPES)}"
        )
    shape = _shape(signature, parameter, match[4])
    kind = "window" if match[1] else "tensor"
    return ArrayArgument(kind, dtype, shape, rotate=int(match[2] or 0))


def _channel(
    signature: Signature, parameter: Parameter, extents: str, carrying: str, depth: str, fields: str
) -> ArrayArgument:
    message = []
    for text in re.findall(r"\w+(?:\[[^\]]*\])?", fields):
        dtype, _, inner = text.partition("[")
        if dtype not in _DTYPES:
            raise UserError(f"{signature.name}: channel `{parameter.name}`: no dtype {dtype!r}")
        items = _shape(signature, parameter, inner.rstrip("]"))
        message.append((_DTYPES[dtype], [each or 0 for each in items]))
    channel = ChannelType(message, int(depth), carrying)
    shape = _shape(signature, parameter, extents)
    return ArrayArgument("channel", DType.u8, shape, channel=channel)


def _shape(signature: Signature, parameter: Parameter, text: str) -> tuple[int | None, ...]:
    shape: list[int | None] = []
    for part in filter(None, (each.strip() for each in text.split(","))):
        if part != "?" and not (part.isascii() and part.isdigit()):
            raise UserError(
                f"{signature.name}: array `{parameter.name}`: extent {part!r}; {_FORMS}"
            )
        shape.append(None if part == "?" else int(part))
    return tuple(shape)


def _constant(text: str) -> Any:
    """An int, float, bool or tuple of ints as Python writes them, a dtype; else text."""
    if text in _DTYPES:
        return _DTYPES[text]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text
