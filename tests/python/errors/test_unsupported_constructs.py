"""Every construct that a kernel can't contain is refused by name, where it stands."""

import pytest
import tilewire as tw
from tilewire.frontend.unsupported import CONSTRUCTS

CASES = {}


def case(name, under):
    """Registers a function whose construct is called `name`; the carets are under `under`."""

    def register(function):
        CASES[function.__name__] = (function, name, under)
        return function

    return register


@case("a try statement", "t")
def try_statement(x: tw.Tensor["N"]):
    try:  # error
        tw.barrier()
    finally:
        pass


@case("a raise statement", "raise ValueError")
def raise_statement(x: tw.Tensor["N"]):
    raise ValueError  # error


@case("a match statement", "m")
def match_statement(x: tw.Tensor["N"]):
    match N:  # error
        case 1:
            pass


@case("a nested function", "d")
def nested_function(x: tw.Tensor["N"]):
    def inner():  # error
        pass


@case("a lambda", "lambda a: a")
def lambda_(x: tw.Tensor["N"]):
    f = lambda a: a  # noqa: E731  # error


@case("a class", "c")
def class_(x: tw.Tensor["N"]):
    class Inner:  # error
        pass


@case("an import", "import math")
def import_(x: tw.Tensor["N"]):
    import math  # noqa: F401  # error


@case("a global statement", "global CASES")
def global_statement(x: tw.Tensor["N"]):
    global CASES  # error


@case("a del statement", "del x")
def del_statement(x: tw.Tensor["N"]):
    del x  # error


@case("an annotated assignment", "a: int = 3")
def annotated_assignment(x: tw.Tensor["N"]):
    a: int = 3  # error


@case("an assignment expression (`:=`)", "a := 3")
def assignment_expression(x: tw.Tensor["N"]):
    tw.load(x[(a := 3)])  # error


@case("a set comprehension", "{i for i in (1, 2)}")
def set_comprehension(x: tw.Tensor["N"]):
    a = {i for i in (1, 2)}  # error


@case("a set", "{1, 2}")
def set_(x: tw.Tensor["N"]):
    a = {1, 2}  # error


@case("a yield", "yield")
def yield_(x: tw.Tensor["N"]):
    yield  # error


@case("a starred expression", "*rest")
def starred_target(x: tw.Tensor["N"]):
    a, *rest = (1, 2)  # error


@case("a starred expression", "*(1, 2)")
def starred(x: tw.Tensor["N"]):
    tw.maximum(*(1, 2))  # error


@case("a yield", "yield from (1, 2)")
def yield_from(x: tw.Tensor["N"]):
    yield from (1, 2)  # error


@case("the operator `@`", "N @ N")
def matmul_operator(x: tw.Tensor["N"]):
    a = N @ N  # error


@case("the operator `in`", "N in (1, 2)")
def in_(x: tw.Tensor["N"]):
    a = N in (1, 2)  # error


def test_nonlocal_statement(diagnose):
    name = 1

    def f(x: tw.Tensor["N"]):
        nonlocal name  # error

    message, marked = diagnose(f, x="f32[?]")
    assert message == (
        "a nonlocal statement can't be used in a kernel: pass values as arguments, store results "
        "in a tensor"
    )
    assert marked == "nonlocal name"


@pytest.mark.parametrize("make", [tw.kernel, tw.function])
def test_async_function(make):
    async def f(x: tw.Tensor["N"]):
        pass

    with pytest.raises(tw.UserError) as caught:
        make(f)
    name = "kernel" if make is tw.kernel else "function"
    assert caught.value.message == (
        f"@tw.{name} takes a plain function (`def`); this is an async def"
    )


@pytest.mark.parametrize("name", CASES)
def test_construct_is_named(name, diagnose):
    function, construct, under = CASES[name]
    message, marked = diagnose(function, x="f32[?]")
    assert message.startswith(f"{construct} can't be used in a kernel: ")
    assert marked == under


def test_every_message_says_what_to_write():
    assert all(name and advice for name, advice in CONSTRUCTS.values())
