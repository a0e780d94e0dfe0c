"""Random bodies, most of them wrong: each becomes a program or a UserError at one of its lines."""

import linecache
import random
import warnings

import pytest
import tilewire as tw
from tilewire.frontend.signature import ArrayArgument

ATOMS = [
    *("N", "B", "x", "w", "s", "i", "t", "u", "3", "0", "-1", "2.5", "True", "None", "'a'", "..."),
    *("tw", "tw.f32", "tw.load", "tw.target", "(1,2)", "tw.rank()", "tw.world_size()"),
    *("x.shape", "x.dtype", "t.shape"),
]
EXPRESSIONS = """
{} + {}|{} - {}|{} * {}|{} / {}|{} // {}|{} % {}|{} & {}|{} ** {}|{} @ {}|{} < {}|{} == {}|{} in {}
{} and {}|not {}|-{}|~{}|{}[{}]|{}[{}, {}]|{}[:, None]|{}[{}:{}]|x[tw.ds({}, {})]|w.at({})[{}]
tw.load({})|tw.load(x[{}], other={})|tw.load(x[tw.ds({}, 8)], where={})|tw.sum({})|tw.max({}, {})
tw.exp({})|tw.zeros({})|tw.full({}, {}, {})|tw.arange({}, {})|tw.where({}, {}, {})|tw.cast({}, {})
tw.reshape({}, {})|tw.broadcast({}, {})|tw.extract({}, {})|tw.maximum({}, {})|tw.cdiv({}, {})
tw.extent({}, {})|tw.unroll({})|tw.persistent({})|tw.barrier(team={})|{}.to({})|{}.shape|{}.nothing
{} if {} else {}|({}, {})|min({}, {})|print({})
""".replace("\n", "|").split("|")
LOOPS = "range({})|range({}, {}, {})|tw.persistent({})|tw.ranks()|tw.peers()|tw.unroll({})|{}"


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def fill(self, template, depth):
        return template.format(*(self.expression(depth) for _ in range(template.count("{}"))))

    def expression(self, depth):
        if depth <= 0:
            return self.random.choice(ATOMS)
        return f"({self.fill(self.random.choice([e for e in EXPRESSIONS if e]), depth - 1)})"

    def block(self, depth, indent):
        count = self.random.randint(1, 4)
        return "".join(self.statement(depth, indent) for _ in range(count))

    def statement(self, depth, indent):
        pad = "    " * indent
        kind = self.random.randrange(8 if depth > 0 else 5)
        if kind < 2:
            name, sign = self.random.choice("stuiv"), self.random.choice(["=", "+="])
            return f"{pad}{name} {sign} {self.expression(self.random.randint(0, 3))}\n"
        if kind == 2:
            return f"{pad}tw.store({self.expression(2)}, {self.expression(2)})\n"
        if kind == 3:
            return f"{pad}s, t = {self.expression(2)}\n"
        if kind == 4:
            return (
                f"{pad}{self.random.choice(['return', 'pass', 'tw.barrier()', 'assert B > 3'])}\n"
            )
        if kind == 5:
            name, over = self.random.choice(["i", "s", "(i, t)", "x[0]"]), LOOPS.split("|")
            head = f"for {name} in {self.fill(self.random.choice(over), 1)}:"
            return f"{pad}{head}\n{self.block(depth - 1, indent + 1)}"
        body, other = self.block(depth - 1, indent + 1), self.block(depth - 1, indent + 1)
        return f"{pad}if {self.expression(2)}:\n{body}{pad}else:\n{other}"


HEAD = """\
def f(x: tw.Tensor["N"], w: tw.Window["N"], s: tw.f32, *, B: tw.const):
    t = tw.load(x[tw.ds(0, 8)])
    u = tw.zeros((8, 1))
    i = tw.program_id(0)
"""
ARGUMENTS = {
    "x": ArrayArgument("tensor", tw.f32, (None,)),
    "w": ArrayArgument("window", tw.bf16, (None,)),
    "B": 8,
}


def outcome_of(seed):
    source = HEAD + Generator(seed).block(3, 1)
    name, names = f"<body {seed}>", {"tw": tw}
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            exec(compile(source, name, "exec"), names)
    except SyntaxError:
        return "no Python"
    try:
        kernel = tw.kernel(names["f"])
        kernel.program("cpu:world=2", kernel.specialise(ARGUMENTS))
    except tw.UserError as error:
        assert error.file == name and 0 < error.line <= source.count("\n"), source
        return "refused"
    return "program"


@pytest.mark.parametrize("part", range(4))
def test_random_bodies(part):
    outcomes = [outcome_of(300 * part + number) for number in range(300)]
    assert outcomes.count("refused") > 100 and outcomes.count("program") > 3
