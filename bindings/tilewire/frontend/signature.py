"""What a kernel takes: its annotated parameters, and how a call specialises them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tilewire._tilewire import ChannelType, DType
from tilewire.errors import UserError
from tilewire.frontend.bundle_parameters import BundleParameter, Field, annotations_of, spread
from tilewire.frontend.bundles import is_bundle_class
from tilewire.frontend.functions import check_parameters
from tilewire.frontend.source import Source, visible_names
from tilewire.types import ArrayAnnotation, Constant

ConstantValue = int | float | bool | str | DType | tuple[int, ...]


@dataclass(frozen=True)
class ArrayArgument:
    """Dtype and extents of an array argument; None is an extent that is not known yet."""

    kind: str  # "tensor", "window", "semaphore", "flag" or "channel"
    dtype: DType
    shape: tuple[int | None, ...]
    rotate: int = 0  # a window of so many copies
    channel: ChannelType | None = None
    record: Any = None  # what a channel's messages are, where that is a record

    @property
    def is_object(self) -> bool:
        return self.kind not in ("tensor", "window")

    def __str__(self) -> str:
        extents = ", ".join("?" if extent is None else str(extent) for extent in self.shape)
        if self.is_object:
            return f"{self.kind}[{extents}]"
        prefix = "window:" if self.kind == "window" else ""
        return f"{prefix}{self.dtype.name}[{extents}]"


@dataclass(frozen=True)
class Specialisation:
    """Everything of a call that the code depends on, but the target. Hashable."""

    arrays: tuple[tuple[str, DType, int], ...]  # name, dtype, rank
    constants: tuple[tuple[str, ConstantValue], ...]
    objects: tuple[tuple[str, ArrayArgument], ...] = ()  # arrays of objects, with their extents
    rotations: tuple[tuple[str, int], ...] = ()  # windows that rotate
    spelled: tuple[str, ...] = field(init=False)
    """The constants as Python writes them: 1, 1.0 and True are equal, and make different code."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "spelled", tuple(repr(value) for _, value in self.constants))

    def constant(self, name: str) -> ConstantValue:
        return dict(self.constants)[name]


@dataclass(frozen=True)
class Parameter:
    """One parameter. `annotation`: an ArrayAnnotation, a DType (a scalar) or `tw.const`."""

    name: str
    annotation: ArrayAnnotation | DType | Constant
    default: Any = None
    has_default: bool = False

    @property
    def is_array(self) -> bool:
        return isinstance(self.annotation, ArrayAnnotation)

    @property
    def is_constant(self) -> bool:
        return isinstance(self.annotation, Constant)

    @property
    def is_object(self) -> bool:
        return isinstance(self.annotation, ArrayAnnotation) and self.annotation.is_object

    def dimension_names(self, rank: int) -> tuple[str | int, ...]:
        """Its dimensions; an annotation without any gets `x_0`, `x_1`, …"""
        assert isinstance(self.annotation, ArrayAnnotation)
        if self.annotation.dimensions is not None:
            return self.annotation.dimensions
        return tuple(f"{self.name}_{axis}" for axis in range(rank))


@dataclass
class Signature:
    """The parameters of a kernel, in order; constants last."""

    name: str
    parameters: list[Parameter] = field(default_factory=list)
    bundles: tuple[BundleParameter, ...] = ()
    written: list[str] = field(default_factory=list)
    """The positional parameters as the function has them, bundles whole."""

    @classmethod
    def of(cls, function: Callable[..., Any], source: Source) -> Signature:
        """Reads the annotations; UserError at the parameter that is not understood."""
        check_parameters(source)
        nodes = source.function.args
        arguments = {a.arg: a for a in [*nodes.posonlyargs, *nodes.args, *nodes.kwonlyargs]}
        signature = cls(function.__name__)
        for name, parameter in inspect.signature(function).parameters.items():
            node = arguments[name]
            annotation = _annotation(parameter.annotation, function, source, node)
            if is_bundle_class(annotation):
                signature._add_bundle(name, annotation, source, node)
                continue
            keyword_only = parameter.kind is inspect.Parameter.KEYWORD_ONLY
            if isinstance(annotation, Constant) != keyword_only:
                source.fail(node, _misplaced(name, keyword_only))
            has_default = parameter.default is not inspect.Parameter.empty
            if has_default and not keyword_only:
                source.fail(node, f"parameter `{name}` can't have a default: only tw.const can")
            if not keyword_only:
                signature.written.append(name)
            signature._add(Parameter(name, annotation, parameter.default, has_default))
        signature.parameters.sort(key=lambda each: each.is_constant)
        return signature

    def _add(self, parameter: Parameter) -> None:
        """A constant that a bundle has too is one parameter."""
        if not any(each.name == parameter.name for each in self.parameters):
            self.parameters.append(parameter)

    def _add_bundle(self, name: str, kind: type, source: Source, node: ast.arg) -> None:
        fields = []
        for field_name, annotation in annotations_of(kind).items():
            annotation = _array_or_self(annotation)
            if not isinstance(annotation, ArrayAnnotation | DType | Constant):
                source.fail(
                    node,
                    f"field `{field_name}` of {kind.__name__} is annotated {annotation!r}: "
                    f"{_ANNOTATIONS}",
                )
            is_constant = isinstance(annotation, Constant)
            flat = field_name if is_constant else f"{name}_{field_name}"
            if not is_constant and flat in source.parameter_names():
                source.fail(node, f"`{flat}` is a parameter and field `{field_name}` of `{name}`")
            fields.append(Field(field_name, Parameter(flat, annotation)))
            self._add(fields[-1].parameter)
        self.bundles += (BundleParameter(name, kind, tuple(fields)),)
        self.written.append(name)

    @property
    def positional(self) -> list[Parameter]:
        return [each for each in self.parameters if not each.is_constant]

    @property
    def constants(self) -> list[Parameter]:
        return [each for each in self.parameters if each.is_constant]

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Parameter name → argument. Constants may be missing."""
        names = [each.name for each in self.positional]
        if len(args) > len(names):
            raise UserError(
                f"{self.name} takes {len(names)} positional arguments "
                f"({', '.join(names)}), {len(args)} were given"
            )
        bound = dict(zip(names, args, strict=False))
        known = {each.name for each in self.parameters}
        for name, value in kwargs.items():
            if name not in known:
                raise UserError(f"{self.name} has no parameter `{name}`")
            if name in bound:
                raise UserError(f"{self.name} got parameter `{name}` twice")
            bound[name] = value
        missing = [name for name in names if name not in bound]
        if missing:
            raise UserError(f"{self.name}: missing argument `{missing[0]}`")
        return bound

    def spreading(self, launch: Callable[..., Any]) -> Callable[..., Any]:
        """`launch` for calls that pass bundles."""

        def call(*args: Any, **kwargs: Any) -> Any:
            args, spread_kwargs = spread(self.name, self.written, self.bundles, args, kwargs)
            return launch(*args, **spread_kwargs)

        return call

    def specialise(self, bound: Mapping[str, Any]) -> Specialisation:
        """Checks `bound` (arrays as ArrayArgument) and infers the constants that shapes give.

        A constant is what the call passes, else what shapes give, else its default.
        """
        constants = {p.name: bound[p.name] for p in self.constants if p.name in bound}
        origin = {name: "the call" for name in constants}
        arrays, objects, rotations = [], [], []
        # The extents of objects are known: where other arrays have them too, these are checked.
        given = [each for each in self.parameters if each.is_array]
        for parameter in sorted(given, key=lambda each: not each.is_object):
            argument = bound[parameter.name]
            self._check_array(parameter, argument)
            self._infer_constants(parameter, argument, constants, origin)
        for parameter in given:
            argument = bound[parameter.name]
            if parameter.is_object:
                objects.append((parameter.name, argument))
                continue
            arrays.append((parameter.name, argument.dtype, len(argument.shape)))
            if argument.rotate:
                rotations.append((parameter.name, argument.rotate))
        for parameter in self.constants:
            if parameter.name not in constants and parameter.has_default:
                constants[parameter.name] = parameter.default
            if parameter.name not in constants:
                raise UserError(
                    f"{self.name}: the constant `{parameter.name}` is neither passed nor known "
                    f"from an array's shape: pass {parameter.name}=…"
                )
            _check_constant(self.name, parameter.name, constants[parameter.name])
        names = [each.name for each in self.constants]
        names += [name for name in self._object_dimensions() if name not in names]
        ordered = tuple((name, constants[name]) for name in names)
        return Specialisation(tuple(arrays), ordered, tuple(objects), tuple(rotations))

    def _object_dimensions(self) -> list[str]:
        """Names of the extents of objects, which are constants whether or not they are passed."""
        found: dict[str, None] = {}
        for parameter in self.parameters:
            if parameter.is_object:
                dimensions = parameter.annotation.dimensions or ()  # type: ignore[union-attr]
                found.update({each: None for each in dimensions if isinstance(each, str)})
        return list(found)

    def _check_array(self, parameter: Parameter, argument: Any) -> None:
        annotation = parameter.annotation
        assert isinstance(annotation, ArrayAnnotation)
        where = f"{self.name}: argument `{parameter.name}`"
        if not isinstance(argument, ArrayArgument):
            raise UserError(f"{where} must be an array for {annotation}, found {argument!r}")
        if annotation.kind != argument.kind:
            found = "window that rotates" if argument.rotate else argument.kind
            raise UserError(f"{where} must be a {annotation.kind}, found a {found}")
        if argument.is_object and None in argument.shape:
            raise UserError(f"{where}: the extents of a {argument.kind} are known: {argument}")
        dimensions = annotation.dimensions
        if dimensions is not None and len(dimensions) != len(argument.shape):
            raise UserError(
                f"{where} must have rank {len(dimensions)} for {annotation}, "
                f"found rank {len(argument.shape)}: {argument}"
            )

    def _check_sizes(self, parameter: Parameter, constants: dict[str, Any]) -> None:
        """A constant that is a dimension is an integer."""
        annotation = parameter.annotation
        assert isinstance(annotation, ArrayAnnotation)
        for dimension in annotation.dimensions or ():
            value = constants.get(dimension, 0) if isinstance(dimension, str) else 0
            if not isinstance(value, int) or isinstance(value, bool):
                raise UserError(
                    f"{self.name}: the constant `{dimension}` is a dimension of "
                    f"`{parameter.name}` and must be an int, found {value!r}"
                )

    def _infer_constants(
        self,
        parameter: Parameter,
        argument: ArrayArgument,
        constants: dict[str, Any],
        origin: dict[str, str],
    ) -> None:
        names = {each.name for each in self.constants} | {*self._object_dimensions()}
        self._check_sizes(parameter, constants)
        dimensions = parameter.dimension_names(len(argument.shape))
        for axis, (dimension, extent) in enumerate(zip(dimensions, argument.shape, strict=True)):
            if extent is None:
                continue
            expected, reason = dimension, "as annotated"
            if isinstance(dimension, str):
                if dimension not in names:
                    continue
                expected = constants.setdefault(dimension, extent)
                source = origin.setdefault(dimension, f"argument `{parameter.name}`")
                reason = f"`{dimension}` is {expected} by {source}"
            if expected != extent:
                raise UserError(
                    f"{self.name}: argument `{parameter.name}` must have extent {expected} in "
                    f"dimension {axis} ({reason}), found {extent}: {argument}"
                )


def _misplaced(name: str, keyword_only: bool) -> str:
    if keyword_only:
        return f"keyword-only parameter `{name}` must be a tw.const"
    return f"tw.const parameter `{name}` must be keyword-only: put it after a `*`"


def _annotation(
    annotation: Any, function: Callable[..., Any], source: Source, node: ast.arg
) -> ArrayAnnotation | DType | Constant:
    if annotation is inspect.Parameter.empty:
        source.fail(node, f"parameter `{node.arg}` has no annotation: {_ANNOTATIONS}")
    try:
        if isinstance(annotation, str):
            annotation = eval(annotation, visible_names(function))
    except UserError as error:
        source.fail(node, error.message)
    except Exception as error:
        source.fail(node, f"annotation of `{node.arg}`: {error}; {_ANNOTATIONS}")
    annotation = _array_or_self(annotation)
    if is_bundle_class(annotation):
        return annotation
    if not isinstance(annotation, ArrayAnnotation | DType | Constant):
        source.fail(node, f"annotation {annotation!r} of `{node.arg}`: {_ANNOTATIONS}")
    return annotation


def _array_or_self(annotation: Any) -> Any:
    """`tw.Tensor`, `tw.Window`, `tw.Flag`, … without dimensions are annotations too."""
    kind = getattr(annotation, "annotation_kind", None)
    return annotation if kind is None else ArrayAnnotation(kind)


_ANNOTATIONS = (
    'write tw.Tensor["M", "K"], tw.Window["T", "H"], tw.Semaphore, tw.Flag or tw.Channel, a dtype '
    "like tw.f32 for a scalar, "
    "or tw.const for a keyword-only constant"
)


def _check_constant(kernel: str, name: str, value: Any) -> None:
    is_integers = isinstance(value, tuple) and all(isinstance(each, int) for each in value)
    if not isinstance(value, int | float | str | DType) and not is_integers:
        raise UserError(
            f"{kernel}: the constant `{name}` must be an int, float, bool, str, dtype or tuple of "
            f"ints, found {value!r}"
        )
    for each in value if isinstance(value, tuple) else (value,):
        if isinstance(each, int) and not -(2**63) <= each < 2**63:
            raise UserError(f"{kernel}: the constant `{name}`: {each} doesn't fit 64 bits")
