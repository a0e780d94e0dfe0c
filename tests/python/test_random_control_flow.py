"""Random loops, branches, breaks, continues and returns: a kernel, and the same text in Python."""

import linecache
import random

import numpy as np
import pytest
import tilewire as tw
from tilewire import _tilewire
from tilewire.frontend.signature import ArrayArgument

NUM_PROGRAMS = 60
NAMES = ("a", "b", "c")


class Generator:
    """Source text of one helper function and one kernel that calls it."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def text(self):
        lines = ["@function", "def helper(x, a, b, c, N):", *self.block(3, 1, True, False)]
        lines += ["    return a + c, b", "", "", "@kernel"]
        lines += ["def program(x: tw.Tensor['N'], out: tw.Tensor[3]):", "    a = 1"]
        lines += ["    b = load(x, 0)", "    c = 2", "    store(out, 0, 5)"]
        lines += self.block(3, 1, False, False)
        lines += ["    a, b = helper(x, a, b, c, N)", "    if a > b:", "        a, b = b, a"]
        lines += self.block(3, 1, False, False)
        lines += [f"    store(out, {i}, {name})" for i, name in enumerate(NAMES)]
        return "\n".join(lines) + "\n"

    def block(self, depth, indent, in_function, in_loop):
        lines = []
        for _ in range(self.random.randint(1, 3)):
            statement, leaves = self.statement(depth, indent, in_function, in_loop)
            lines += statement
            if leaves:
                break
        return lines

    def statement(self, depth, indent, in_function, in_loop):
        """Lines, and whether they leave the block."""
        pad, kind = "    " * indent, self.random.random()
        name = self.random.choice(NAMES)
        condition = self.condition(name)

        def inner(in_loop):
            return self.block(depth - 1, indent + 1, in_function, in_loop)

        if kind < 0.35 or depth == 0:
            value = f"({self.value()} + {self.random.randint(0, 5)}) % 17"
            return [f"{pad}{name} = {value}"], False
        if kind < 0.6:
            other = [f"{pad}else:", *inner(in_loop)] if self.random.random() < 0.6 else []
            return [f"{pad}if {condition}:", *inner(in_loop), *other], False
        if kind < 0.72:
            over = self.random.choice(
                ["range(3)", "range(N)", "range(4, -2, -2)", "range(a % 5)", "unroll(2)"]
            )
            return [f"{pad}for i{indent} in {over}:", *inner(True)], False
        if kind < 0.78:
            head = [f"{pad}w{indent} = 0", f"{pad}while w{indent} < 4 and a + b != 9:"]
            return [*head, f"{pad}    w{indent} += 1", *inner(True)], False
        if kind < 0.9 and in_loop:
            return [pad + self.random.choice(["break", "continue"])], True
        if kind < 0.95 and in_function and depth < 3:
            return [f"{pad}return {name} + 2, {self.random.choice(NAMES)}"], True
        if kind > 0.97 and not in_function and depth < 3:
            return [f"{pad}return"], True
        return [f"{pad}{name} = {name} + 1 if {condition} else {self.value()} % 13"], False

    def value(self):
        loaded = "load(x, (a + b) % N)"
        return self.random.choice([*NAMES, loaded, "(a + b)", "(b - c)", "3", "(c * 2) % 11"])

    def condition(self, name):
        return self.random.choice(
            [
                f"{name} > {self.random.randint(-3, 9)}",
                "a < b",
                f"(a + c) % 3 == {self.random.randint(0, 2)}",
                "a < b and load(x, c % N) > 1",
                "b > 2 or not (c > 4)",
                "1 < a < 9",
            ]
        )


@tw.function
def load(x, i):
    return tw.load(x[i])


@tw.function
def store(out, i, value):
    tw.store(out[i], value)


def kernel_of(text, name):
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    names = {"tw": tw, "function": tw.function, "kernel": tw.kernel, "unroll": tw.unroll}
    names |= {"load": load, "store": store}
    exec(compile(text, name, "exec"), names)
    return names["program"]


def run_in_python(text, x, out):
    def store(out, i, value):
        out[i] = value

    names = {"tw": tw, "function": lambda f: f, "kernel": lambda f: f, "unroll": range}
    names |= {"load": lambda x, i: int(x[i]), "store": store, "N": len(x)}
    exec(compile(text, "<python>", "exec"), names)
    names["program"](x, out)


@pytest.mark.parametrize("seed", range(NUM_PROGRAMS))
def test_as_python(seed):
    text = Generator(seed).text()
    x = np.random.default_rng(seed).integers(-5, 9, 6)
    expected, out = np.full(3, -77), np.full(3, -77)
    run_in_python(text, x, expected)
    program = kernel_of(text, f"<random control flow {seed}>")
    program[1](x, out)
    assert out.tolist() == expected.tolist(), text
    arrays = {
        "x": ArrayArgument("tensor", tw.i64, (None,)),
        "out": ArrayArgument("tensor", tw.i64, (3,)),
    }
    made = program.program("sm_90a", program.specialise(arrays))
    assert b"program_kernel" in _tilewire.emit_stage(made, tw.Target("sm_90a"), "cuda")
