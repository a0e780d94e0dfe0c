"""A kernel function and a specialisation become a Program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewire._tilewire import Builder, Dimension, DType, Program, Target, Value
from tilewire.frontend.records import record_view
from tilewire.frontend.signature import (
    ArrayArgument,
    Parameter,
    Signature,
    Specialisation,
)
from tilewire.frontend.source import Source, visible_names
from tilewire.frontend.statements import Statements
from tilewire.frontend.values import RecordView
from tilewire.record import Record


def build_program(
    function: Callable[..., Any],
    source: Source,
    signature: Signature,
    specialisation: Specialisation,
    target: Target,
) -> Program:
    """IR for these dtypes, constants and this target; UserError at the line that is wrong."""
    builder = Builder(function.__name__, source.file, target)
    builder.set_location(source.line(source.function), source.column(source.function))
    visitor = Statements(builder, source, target, visible_names(function))
    constants = dict(specialisation.constants)
    for name, value in specialisation.constants:
        builder.constant_parameter(name, value)
        visitor.bind(name, value)
    arrays = {name: (dtype, rank) for name, dtype, rank in specialisation.arrays}
    objects = dict(specialisation.objects)
    rotations = dict(specialisation.rotations)
    dimensions: dict[str, None] = {}
    for parameter in signature.positional:
        if parameter.is_object:
            argument = objects[parameter.name]
            visitor.bind(parameter.name, _object(builder, parameter.name, argument))
            if argument.record is not None:
                visitor.records_of_channels[parameter.name] = argument.record
        elif parameter.is_array:
            dtype, rank = arrays[parameter.name]
            named = parameter.dimension_names(rank)
            _refuse_parameters(source, signature, parameter, named)
            shape = [_dimension(each, constants) for each in named]
            rotate = rotations.get(parameter.name, 0)
            visitor.bind(parameter.name, _array(builder, parameter, dtype, shape, rotate))
            dimensions.update(
                {each: None for each in named if isinstance(each, str) and each not in constants}
            )
        else:
            assert isinstance(parameter.annotation, DType)
            visitor.bind(parameter.name, builder.scalar(parameter.name, parameter.annotation))
    for bundle in signature.bundles:
        visitor.scope.names[bundle.name] = bundle.value(visitor.scope.names)
    for bundle in signature.bundles:
        for part in bundle.fields:
            if not part.parameter.is_constant:
                visitor.scope.names.pop(part.parameter.name, None)
    for each in source.function.args.args:
        visitor.origins.note(visitor.scope.names.get(each.arg), source, each)
    for name in dimensions:
        if name not in visitor.scope.names:
            visitor.bind(name, builder.dimension(name))
    try:
        visitor.run(source.function.body)
    except RecursionError:
        source.fail(
            source.function, "an expression or block is nested too deeply: split it into statements"
        )
    return builder.finish()


def _refuse_parameters(
    source: Source, signature: Signature, parameter: Parameter, dimensions: list[str | int]
) -> None:
    """UserError where a dimension of `parameter` has the name of another parameter."""
    for name in {each.name for each in signature.positional}.intersection(dimensions):
        source.fail(
            source.function,
            f"`{name}` is a parameter and a dimension of `{parameter.name}`: only a tw.const can "
            f"be both, rename one",
        )


def _object(builder: Builder, name: str, argument: ArrayArgument) -> Value:
    shape = [Dimension(extent) for extent in argument.shape]
    if argument.kind == "channel":
        return builder.channel(name, shape, argument.channel)
    return getattr(builder, argument.kind)(name, shape)


def _array(
    builder: Builder,
    parameter: Parameter,
    dtype: DType | Record,
    shape: list[Dimension],
    rotate: int,
) -> Value | RecordView:
    """A tensor or window; one of records has their bytes as its last dimension."""
    record = dtype if isinstance(dtype, Record) else None
    if record is not None:
        shape, dtype = [*shape, Dimension(record.num_bytes)], DType.u8
    if _kind(parameter) == "window":
        made = builder.window(parameter.name, dtype, shape, rotate)
    else:
        made = builder.tensor(parameter.name, dtype, shape, parameter.annotation.is_constant)
    if record is None:
        return made
    return record_view(lambda method, *a: getattr(builder, method)(*a), made, record)


def _kind(parameter: Parameter) -> str:
    return parameter.annotation.kind


def _dimension(dimension: str | int, constants: dict[str, Any]) -> Dimension:
    value = constants.get(dimension, dimension) if isinstance(dimension, str) else dimension
    return Dimension(value)
