"""Which functions of Python a kernel may call, and on what."""

from __future__ import annotations

import builtins
import dataclasses
import itertools
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from tilewire.errors import UserError
from tilewire.frontend.bundles import is_bundle_class, parts_of

# They look at a bundle's structure only, so that it may hold tiles and scalars.
_STRUCTURAL: tuple[Callable[..., Any], ...] = (
    dataclasses.replace,
    dict,
    enumerate,
    isinstance,
    len,
    list,
    reversed,
    tuple,
    zip,
)
_STRUCTURAL_METHODS = ("_asdict", "_replace", "get", "items", "keys", "values")
# Python's own that compute; all others of `builtins` have effects or make what kernels can't use.
_COMPUTING: tuple[Callable[..., Any], ...] = (
    abs,
    all,
    any,
    bool,
    divmod,
    float,
    getattr,
    hasattr,
    int,
    issubclass,
    max,
    min,
    pow,
    round,
    sorted,
    str,
    sum,
    type,
)
_MAX_ITEMS = 65536  # of a sequence that is walked while compiling


def _is_in(function: Any, functions: tuple[Callable[..., Any], ...]) -> bool:
    return any(function is each for each in functions)


def is_structural(function: Any) -> bool:
    """Whether its arguments may hold tiles, scalars and views: it only takes bundles apart."""
    owner = getattr(function, "__self__", None)
    name = getattr(function, "__name__", "")
    if is_bundle_class(function) or _is_in(function, _STRUCTURAL):
        return True
    return parts_of(owner) is not None and name in _STRUCTURAL_METHODS


def folds(function: Any) -> bool:
    """Whether it may be called at compile time, on what Python knows."""
    if not callable(function):
        return False
    if is_structural(function) or _is_in(function, _COMPUTING):
        return True
    return not any(function is each for each in vars(builtins).values()) or isinstance(
        function, types.FunctionType
    )


def folded(result: Any) -> Any:
    """What a function returned, as kernels see it: tuples for lists, Python numbers for NumPy."""
    if isinstance(result, numpy.generic):
        return result.item()
    views = (type({}.keys()), type({}.values()), type({}.items()))
    if isinstance(result, (list, Iterator, range, *views)):
        items = tuple(itertools.islice(result, _MAX_ITEMS + 1))
        if len(items) > _MAX_ITEMS:
            raise UserError(f"{type(result).__name__} has more than {_MAX_ITEMS} items")
        return items
    return result
