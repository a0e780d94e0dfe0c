"""What a case is, and the registry of them: a small kernel, its inputs, what must come out."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tilewire as tw
from tilewire.types import to_numpy_dtype

SIGNED = (tw.i8, tw.i16, tw.i32, tw.i64)
UNSIGNED = (tw.u8, tw.u16, tw.u32, tw.u64)
INTEGERS = (*SIGNED, *UNSIGNED)
FP8 = (tw.e4m3, tw.e5m2)
HALVES = (tw.bf16, tw.f16)
FLOATS = (tw.f32, tw.bf16, tw.f16, tw.f64)
NUMBERS = (*FLOATS, *INTEGERS)
ALL = (*NUMBERS, tw.bool, *FP8)
SHAPES = ((4, 64), (5, 37), (1, 1))


@dataclass(frozen=True)
class ObjectInput:
    """Synchronisation objects that a case's kernel takes: `comm.<kind>(shape, …)` of each run."""

    kind: str
    shape: tuple[int, ...]
    options: Mapping[str, Any] = field(default_factory=dict)

    def made_by(self, comm: Any) -> Any:
        return getattr(comm, self.kind)(self.shape, **self.options)


class Maker:
    """Makes the arguments of one run: seeded, aligned, of the case's dtype and shape."""

    def __init__(
        self,
        dtype: tw.DType,
        shape: tuple[int, ...],
        rank: int = 0,
        world: int = 1,
        seed: int = 0,
    ) -> None:
        self.dtype = dtype
        self.shape = shape
        self.rank = rank
        self.world = world
        self.random = np.random.default_rng([seed, *shape, rank, sum(map(ord, dtype.name))])
        self.poisoned: list[np.ndarray] = []

    def values(self, shape: Any = None, dtype: Any = None, low: Any = None, high: Any = None):
        """Floats: normal, or uniform in [low, high); integers: in [low, high], small ones without
        bounds; bool: a coin."""
        shape, dtype = self._of(shape, dtype)
        if dtype == tw.bool:
            return aligned(self.random.integers(0, 2, shape).astype(np.bool_))
        numpy_dtype = to_numpy_dtype(dtype)
        if dtype in INTEGERS:
            least = 0 if dtype in UNSIGNED else -100
            low, high = least if low is None else low, 100 if high is None else high
            return aligned(self.random.integers(low, high, shape, numpy_dtype, endpoint=True))
        if low is None:
            return aligned(self.random.standard_normal(shape).astype(numpy_dtype))
        return aligned(self.random.uniform(low, high, shape).astype(numpy_dtype))

    def integers(self, low: int, high: int, shape: Any = None, dtype: Any = tw.i32):
        """Uniform in [low, high]."""
        return self.values(shape, dtype, low, high)

    def every_bit_pattern(self, shape: Any = None, dtype: Any = None):
        """Any bits: NaN, infinities and subnormal numbers among them, each pattern of 8 bits once
        where there is room."""
        shape, dtype = self._of(shape, dtype)
        numpy_dtype = to_numpy_dtype(dtype)
        num_bytes = int(np.prod(shape)) * numpy_dtype.itemsize
        first = np.arange(min(num_bytes, 256), dtype=np.uint8)
        rest = self.random.integers(0, 256, num_bytes - len(first), np.uint8)
        return aligned(np.concatenate([first, rest]).view(numpy_dtype).reshape(shape))

    def channel(self, *shape: int, tile: Any = (), dtype: Any = None, **options: Any):
        """The same array of a channel's slots on all ranks."""
        dtype = self.dtype if dtype is None else dtype
        return ObjectInput("channel", shape, {"tile": tile, "dtype": dtype, **options})

    def semaphore(self, *shape: int, init: int = 0):
        """The same array of semaphores on all ranks."""
        return ObjectInput("semaphore", shape, {"init": init})

    def flag(self, *shape: int):
        """The same array of flags on all ranks."""
        return ObjectInput("flag", shape)

    def rotating(self, shape: Any, copies: int):
        """A rotating window, which the host doesn't see."""
        shape, dtype = self._of(shape, None)
        return ObjectInput("window", shape, {"dtype": dtype, "rotate": copies})

    def output(self, shape: Any = None, dtype: Any = None):
        """An array that the kernel must fill: NaN, or a pattern that no result has."""
        shape, dtype = self._of(shape, dtype)
        made = aligned(np.full(shape, poison_of(dtype), to_numpy_dtype(dtype)))
        self.poisoned.append(made)
        return made

    def _of(self, shape: Any, dtype: Any) -> tuple[tuple[int, ...], tw.DType]:
        shape = self.shape if shape is None else shape
        shape = shape if isinstance(shape, tuple) else (shape,)
        return shape, self.dtype if dtype is None else dtype


def poison_of(dtype: tw.DType) -> Any:
    if dtype == tw.bool:
        return True
    return 113 if dtype in INTEGERS else np.nan


def aligned(array: np.ndarray) -> np.ndarray:
    """The same elements at an address that 64 divides, so that generated text is the same on every
    machine."""
    memory = np.empty(array.nbytes + 64, np.uint8)
    start = -memory.ctypes.data % 64
    made = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


@dataclass(frozen=True)
class Case:
    """One kernel from which all tests of the ops that it covers are made."""

    name: str
    kernel: Any
    covers: tuple[str, ...]
    """Ops of the table that this case is the test of; its program holds each of them."""
    inputs: Callable[[Maker], Mapping[str, Any]]
    """Maker → every argument by name: arrays of the maker, scalars. Windows are arrays too."""
    reference: Callable[..., Any]
    """What outputs hold afterwards, by name (or the only one), from the arguments that its
    parameters name: floats in float64, other arrays as they are; `dtype`, `shape` and constants
    too. In a world of several ranks each array is a list by rank, and so is each output."""
    dtypes: tuple[tw.DType, ...] = FLOATS
    shapes: tuple[tuple[int, ...], ...] = SHAPES
    constants: Mapping[str, Any] = field(default_factory=dict)
    grid: Any = tw.auto
    world: int = 1
    teams: int = 1
    """LSA teams that the world is made of; several are joined by the network."""
    multimem: bool = False
    """Compiled for targets with multimem where the architecture may have it, run in such worlds."""
    architecture: str = "sm_90a"
    """What the golden is for."""
    tolerance: float | Mapping[Any, float] = 1
    """Allowed error relative to the expected value, in units of the output dtype's epsilon."""
    absolute: float = 0
    """Allowed absolute error, in the same units."""

    @property
    def world_text(self) -> str:
        """As targets and `tw.init(virtual=…)` take it."""
        teams = f"{self.teams}x" if self.teams > 1 else ""
        return f"{teams}{self.world // self.teams}"

    def tolerance_of(self, dtype: tw.DType) -> float:
        if isinstance(self.tolerance, Mapping):
            return self.tolerance.get(dtype, 1)
        return self.tolerance

    def arguments(self, dtype: tw.DType, shape: tuple[int, ...]) -> Arguments:
        makers = [Maker(dtype, shape, rank, self.world) for rank in range(self.world)]
        return Arguments(self, makers, [dict(self.inputs(maker)) for maker in makers])


@dataclass
class Arguments:
    """The arguments of one run of a case, by rank."""

    case: Case
    makers: list[Maker]
    by_rank: list[dict[str, Any]]

    def expected(self) -> dict[str, list[np.ndarray]]:
        """Output name → what must be in it, by rank."""
        case, maker = self.case, self.makers[0]
        known = {"dtype": maker.dtype, "shape": maker.shape, **case.constants}
        for name in self.by_rank[0]:
            wide = [widened(arguments[name]) for arguments in self.by_rank]
            known[name] = wide if case.world > 1 else wide[0]
        wanted = inspect.signature(case.reference).parameters
        with np.errstate(all="ignore"):
            made = case.reference(**{name: known[name] for name in wanted})
        if not isinstance(made, Mapping):
            made = {self.only_output(): made}
        return {name: value if case.world > 1 else [value] for name, value in made.items()}

    def only_output(self) -> str:
        poisoned = self.makers[0].poisoned
        names = [
            name
            for name, value in self.by_rank[0].items()
            if any(value is each for each in poisoned)
        ]
        assert len(names) == 1, f"{self.case.name}: name the outputs, there are {names}"
        return names[0]


def widened(value: Any) -> Any:
    """Floats in float64; anything else, and a copy of it, as it is."""
    if not isinstance(value, np.ndarray):
        return value
    return value.copy() if value.dtype.kind in "biu" else value.astype(np.float64)


CASES: dict[str, Case] = {}


def op_case(*covers: str, **fields: Any) -> Callable[[Any], Any]:
    """Decorator over `@tw.kernel`: registers a case of that kernel; `fields` as in `Case`."""

    def register(kernel: Any) -> Any:
        add_case(kernel, covers, **fields)
        return kernel

    return register


def add_case(kernel: Any, covers: Sequence[str], **fields: Any) -> Case:
    name = fields.pop("name", kernel.name)
    assert name not in CASES, f"there are two cases {name}"
    CASES[name] = Case(name, kernel, tuple(covers), **fields)
    return CASES[name]


@functools.cache
def ops_covered() -> dict[str, list[Case]]:
    """Op → the cases that test it."""
    covered: dict[str, list[Case]] = {}
    for case in CASES.values():
        for op in case.covers:
            covered.setdefault(op, []).append(case)
    return covered
