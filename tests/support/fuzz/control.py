"""Random loops, branches and jumps, whose decisions are known, so that the way is known too."""

from __future__ import annotations

import random

import tilewire as tw

from fuzz import arithmetic
from fuzz.expressions import Expressions
from fuzz.nodes import Node, literal, variable
from fuzz.programs import Program
from fuzz.statements import Assign, For, If, Jump, Statement, While
from fuzz.views import Views


class Control:
    """A part of `Generator`."""

    random: random.Random
    make: Expressions
    views: Views
    program: Program
    asked: list[Node]
    """Integers that conditions may ask about."""

    def name(self, letter: str) -> str:
        raise NotImplementedError

    def block(self, depth: int) -> list[Statement]:
        raise NotImplementedError

    def change(self) -> Statement:
        raise NotImplementedError

    def inner(self, depth: int) -> list[Statement]:
        """A block whose new names end with it."""
        scope, views = list(self.make.scope), list(self.views.views)
        body = self.block(depth)
        outer = [each for each in scope if each.text[0] in "tv"]
        for node in self.make.scope[len(scope) :]:
            if outer and node.text[0] in "tv":
                old = self.random.choice(outer)
                body.append(Assign(old.text, self.make.absorbed(old, node)))
        self.make.scope, self.views.views = scope, views
        return body

    def loop(self, depth: int) -> list[Statement]:
        index = variable(self.name("i"), tw.i64, ())
        scope, scalars, asked = list(self.make.scope), list(self.views.scalars), list(self.asked)
        self.asked.append(index)
        choice = self.random.random()
        # An unrolled loop's index is Python's own: it is asked about, not computed with.
        if choice > 0.15:
            self.make.scope.append(index)
            self.views.scalars.append(index)
        made: list[Statement]
        if choice < 0.15:
            made = [self.for_loop(index, depth, "tw.unroll")]
        elif choice < 0.4:
            made = self.while_loop(index, depth)
        else:
            made = [self.for_loop(index, depth, "range")]
        self.make.scope, self.views.scalars, self.asked = scope, scalars, asked
        return made

    def for_loop(self, index: Node, depth: int, how: str) -> Statement:
        step = self.random.choice([1, 1, 2, 3, -1, -2])
        lower = self.random.choice([0, 0, 1, -2]) if step > 0 else self.random.randint(1, 5)
        runtime = [name for each in self.program.arrays for name in each.dimensions]
        if how == "range" and step > 0 and self.random.random() < 0.4:
            upper = variable(self.random.choice(runtime), tw.i64, ())
            step = max(step, 8)
        else:
            upper = literal(lower + self.random.randint(0, 5) * (1 if step > 0 else -1), tw.i64)
        head = f"{how}({lower}, {upper.text}, {step})"
        loop = For(index.text, head, literal(lower, tw.i64), upper, step)
        loop.body = self.loop_body(depth)
        return loop

    def while_loop(self, index: Node, depth: int) -> list[Statement]:
        """Counts, first thing in its body, so that `continue` goes on."""
        condition = self.make.binary("lt", index, literal(self.random.randint(0, 5), tw.i64))
        if self.random.random() < 0.3:
            other = self.condition()
            text = f"({condition.text} and {other.text})"
            condition = self.make.binary("and", condition, other, text)
        step = self.make.binary("add", index, literal(1, tw.i64))
        body = [Assign(index.text, step), *self.loop_body(depth)]
        return [Assign(index.text, literal(0, tw.i64)), While(condition, body)]

    def loop_body(self, depth: int) -> list[Statement]:
        """With a `break` or a `continue` in between, now and then."""
        body = [*self.inner(depth), self.change()]
        if self.random.random() < 0.25:
            jump = Jump(self.random.choice(["break", "continue"]))
            before = [self.change()] if self.random.random() < 0.5 else []
            branch = If(self.condition(), [*before, jump], [])
            body.insert(self.random.randint(0, len(body)), branch)
        return body

    def branch(self, depth: int) -> Statement:
        then_body = [*self.inner(depth), self.change()]
        else_body = self.inner(depth) if self.random.random() < 0.5 else []
        return If(self.condition(), then_body, else_body)

    def condition(self) -> Node:
        scalar = self.random.choice(self.asked)
        op = self.random.choice(["lt", "ge", "eq", "ne"])
        asked = self.make.binary(op, scalar, literal(self.random.randint(0, 4), scalar.dtype))
        choice = self.random.random()
        if choice < 0.1:
            text = f"(not {asked.text})"
            return Node(text, tw.bool, (), lambda env: arithmetic.invert(asked.run(env)))
        if choice < 0.3:
            other, word = self.condition(), self.random.choice(["and", "or"])
            text = f"({asked.text} {word} {other.text})"
            return self.make.binary(word, asked, other, text)
        return asked
