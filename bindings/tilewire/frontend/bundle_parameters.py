"""Kernel parameters that are bundles: each field that is an array or a scalar is an argument."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tilewire.errors import UserError
from tilewire.frontend.bundles import field_annotations, rebuild_fields

if TYPE_CHECKING:
    from tilewire.frontend.signature import Parameter


@dataclass(frozen=True)
class Field:
    """A field of a bundle, and the kernel's parameter that it is."""

    name: str
    parameter: Parameter


@dataclass(frozen=True)
class BundleParameter:
    """`weights: Weights`. An array or scalar `gain` of it is the parameter `weights_gain`; a
    `tw.const` keeps its name, since it may be a dimension of arrays."""

    name: str
    kind: type
    fields: tuple[Field, ...]

    def value(self, values: Mapping[str, Any]) -> Any:
        """The bundle of what its parameters are in the kernel."""
        return rebuild_fields(self.kind, [values[each.parameter.name] for each in self.fields])


def spread(
    kernel: str,
    positional: list[str],
    bundles: tuple[BundleParameter, ...],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A call's arguments with bundles replaced by their fields. `positional`: the names of the
    parameters as they are written, bundles whole."""
    known = {each.name: each for each in bundles}
    spread_args: list[Any] = []
    spread_kwargs: dict[str, Any] = {}
    for name, value in zip(positional, args, strict=False):
        if name in known:
            _add(kernel, known[name], value, spread_args, spread_kwargs)
        else:
            spread_args.append(value)
    spread_args += args[len(positional) :]
    for name, value in kwargs.items():
        if name in known:
            _add(kernel, known[name], value, None, spread_kwargs)
        else:
            _set(kernel, spread_kwargs, name, value)
    return tuple(spread_args), spread_kwargs


def _add(
    kernel: str,
    bundle: BundleParameter,
    value: Any,
    args: list[Any] | None,
    kwargs: dict[str, Any],
) -> None:
    if not isinstance(value, bundle.kind):
        raise UserError(
            f"kernel `{kernel}`: argument `{bundle.name}` must be a {bundle.kind.__name__}, found "
            f"{value!r}"
        )
    for each in bundle.fields:
        item = getattr(value, each.name)
        if each.parameter.is_constant:
            if item is not None:  # else shapes give it
                _set(kernel, kwargs, each.parameter.name, item)
        elif args is not None:
            args.append(item)
        else:
            kwargs[each.parameter.name] = item


def _set(kernel: str, kwargs: dict[str, Any], name: str, value: Any) -> None:
    if name in kwargs and kwargs[name] != value:
        raise UserError(
            f"kernel `{kernel}`: the constant `{name}` is passed as {kwargs[name]!r} and as "
            f"{value!r}"
        )
    kwargs[name] = value


def field_names(kind: type) -> list[str]:
    if dataclasses.is_dataclass(kind):
        return [each.name for each in dataclasses.fields(kind)]
    return list(kind._fields)  # type: ignore[attr-defined]


def annotations_of(kind: type) -> dict[str, Any]:
    """Field → what it is annotated with, in order of the fields."""
    found = field_annotations(kind)
    return {name: found.get(name) for name in field_names(kind)}
