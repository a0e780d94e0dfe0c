"""`generate(seed)`: a random program."""

from __future__ import annotations

import random

import numpy as np
import tilewire as tw
from op_cases.case import ALL, INTEGERS, Maker, poison_of
from tilewire.types import to_numpy_dtype

from fuzz.control import Control
from fuzz.expressions import Expressions, kind_of
from fuzz.nodes import Node, literal, variable
from fuzz.productions import PRODUCTIONS
from fuzz.programs import Array, Program, dtype_of
from fuzz.statements import Assign, If, Jump, Place, Statement, Store
from fuzz.statements import Index as ViewIndex
from fuzz.views import Views

EXTENTS = [1, 2, 3, 4, 5, 7, 8, 13, 16, 17, 24, 32, 33]
KINDS = ("float", "float", "integer", "bool")


class Generator(Control):
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.program = Program(seed)
        self.make = Expressions(self.random, self.random.sample(EXTENTS, 3), PRODUCTIONS)
        self.program.functions = self.make.functions
        self.views = Views(self.make)
        self.make.load = self.views.load_of
        self.asked: list[Node] = []
        """Integers that conditions may ask about."""
        self.count = 0
        self.budget = self.random.randint(4, 14)

    def name(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def run(self) -> Program:
        program = self.program
        if self.random.random() < 0.5:
            program.rows = "R1"
        for _ in range(self.random.randint(1, 3)):
            self.add_input()
        program.scalars["s"] = (tw.f32, self.random.choice([0.5, -1.75, 3.0]))
        program.scalars["k"] = (tw.i32, self.random.randint(-3, 9))
        for name, (dtype, _) in program.scalars.items():
            self.make.scope.append(variable(name, dtype, ()))
        self.views.scalars = [variable("k", tw.i32, ())]
        if program.rows:
            row = variable("row", tw.i64, ())
            self.make.scope.append(row)
            self.views.scalars.append(row)
        self.asked = list(self.views.scalars)
        for array in program.arrays:
            self.views.add(array.name, dtype_of(array), array)
        program.body = [self.load() for _ in range(self.random.randint(1, 3))]
        if not program.rows and self.random.random() < 0.1:
            program.body.append(If(self.condition(), [Jump("return")], []))
        program.body += self.block(depth=2)
        live = [each for each in self.make.scope if each.text[0] in "tv"]
        stored = self.random.sample(live, min(len(live), 4))
        for node in live:
            if node not in stored:
                old = self.random.choice(stored)
                program.body.append(Assign(old.text, self.make.absorbed(old, node)))
        program.body += [self.store(node) for node in stored]
        return program

    def add_input(self) -> None:
        rank = self.random.choice([1, 2, 2, 3])
        number = len(self.program.arrays)
        dimensions, constant, shape = [], [], []
        for axis in range(rank):
            is_row = axis == 0 and self.program.rows is not None and number == 0
            is_constant = not is_row and self.random.random() < 0.5
            dimensions.append("R1" if is_row else f"{'C' if is_constant else 'N'}{number}{axis}")
            constant.append(is_constant)
            extent = self.random.randint(1, 5) if is_row else self.random.choice(self.make.extents)
            shape.append(0 if is_row and self.random.random() < 0.02 else extent)
        dtype = self.random.choice(ALL)
        maker = Maker(dtype, tuple(shape), number, seed=self.program.seed)
        any_bits = dtype in INTEGERS and self.random.random() < 0.2
        values = maker.every_bit_pattern() if any_bits else maker.values()
        is_strided = self.random.random() < 0.15
        self.program.arrays.append(Array(f"x{number}", dimensions, constant, values, is_strided))

    # Statements.
    def block(self, depth: int) -> list[Statement]:
        body: list[Statement] = []
        for _ in range(self.random.randint(2, 4)):
            if self.budget <= 0 and body:
                break
            self.budget -= 1
            choice = self.random.random()
            if depth > 0 and choice < 0.2:
                body += self.loop(depth - 1)
            elif depth > 0 and choice < 0.4:
                body.append(self.branch(depth - 1))
            elif choice < 0.5:
                body.append(self.load())
            elif choice < 0.55:
                body.append(self.views.clip(self.name("view")))
            elif choice < 0.75:
                body.append(self.change())
            else:
                body.append(self.define())
        return body

    def define(self) -> Statement:
        shape = () if self.random.random() < 0.15 else self.make.some_shape()
        node = self.make.tile(shape, self.random.choice(KINDS), self.random.randint(1, 3))
        return self.assign(self.name("t"), node)

    def assign(self, name: str, node: Node) -> Statement:
        self.make.scope.append(variable(name, node.dtype, node.shape))
        return Assign(name, node)

    def load(self) -> Statement:
        gathered = self.views.load_rows() if self.random.random() < 0.15 else None
        return self.assign(self.name("v"), gathered or self.views.load())

    def change(self) -> Statement:
        """A new value for a variable that is there already, of the same type."""
        live = [each for each in self.make.scope if each.text[0] in "tv"]
        if not live:
            return self.define()
        old = self.random.choice(live)
        node = self.make.tile(old.shape, kind_of(old.dtype), self.random.randint(1, 2))
        if self.random.random() < 0.7:
            return Assign(old.text, self.make.absorbed(old, node))
        if node.dtype != old.dtype:
            node = self.make.converted(node, kind_of(old.dtype), old.dtype)
        return Assign(old.text, node)

    def store(self, node: Node) -> Statement:
        """To an output of its own, larger than the tile, or smaller: what is outside is dropped."""
        number = len(self.program.arrays)
        rows = [self.program.arrays[0].values.shape[0]] if self.program.rows else []
        dimensions = ["R1"] if rows else []
        indices = [ViewIndex("row", variable("row", tw.i64, ()), None)] if rows else []
        shape = list(rows)
        for axis, size in enumerate(node.shape):
            start, extent = self.random.choice([(0, size), (2, size + 5), (-1, size), (1, size)])
            dimensions.append(f"N{number}{axis}")
            shape.append(extent)
            indices.append(ViewIndex(f"tw.ds({start}, {size})", literal(start, tw.i64), size))
        if not shape:
            dimensions, shape = [f"N{number}0"], [3]
            indices = [ViewIndex("1", literal(1, tw.i64), None)]
        dtype = node.dtype
        values = np.full(shape, poison_of(dtype), to_numpy_dtype(dtype))
        array = Array(f"y{number}", dimensions, [False] * len(shape), values)
        self.program.arrays.append(array)
        text = f"{array.name}[{', '.join(each.text for each in indices)}]"
        where = None
        if node.shape and self.random.random() < 0.3:
            where = self.make.tile(node.shape, "bool", 1)
        return Store(Place(text, array.name, [], indices), node, where)


def generate(seed: int) -> Program:
    """The program of a seed: the same on every machine."""
    return Generator(seed).run()
