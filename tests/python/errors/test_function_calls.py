"""Diagnostics of `@tw.function`: of its definition, of its calls, and inside it."""

import pytest
import tilewire as tw


@tw.function
def stores_too_much(x):
    tw.store(x[0, 0], 1)  # error


@tw.function
def calls_it(x):
    stores_too_much(x)


@tw.function
def ping(n):
    return pong(n)


@tw.function
def pong(n):
    return ping(n)  # error


@tw.function
def finds(x, n):
    for i in range(n):
        if tw.load(x[i]) > 0:
            return x[i]
    return x[0]


@tw.function
def of_two_kinds(x, n):
    if n > 3:
        return x
    return 1


def plain(x):
    return x


def refused(define):
    with pytest.raises(tw.UserError) as caught:
        define()
    return caught.value.message


def test_error_inside_shows_the_calls(diagnose):
    def f(x: tw.Tensor["N"]):
        calls_it(x)

    with pytest.raises(tw.UserError) as caught:
        tw.kernel(f).program("cpu", tw.kernel(f).specialise({"x": _vector()}))
    error = caught.value
    here, line = error.file, error.line
    inner, outer = calls_it.source.first_line + 2, f.__code__.co_firstlineno + 1
    assert str(error) == (
        f"{here}:{line}: 2 indices into the view view<f32[?]> of rank 1: give at most one for "
        "each dimension\n"
        "    tw.store(x[0, 0], 1)  # error\n"
        "             ^^^^^^^\n"
        f"  called from {here}:{inner}\n"
        "    stores_too_much(x)\n"
        "    ^^^^^^^^^^^^^^^^^^\n"
        f"  called from {here}:{outer}\n"
        "    calls_it(x)\n"
        "    ^^^^^^^^^^^"
    )


def test_recursion_shows_the_cycle(diagnose):
    def f(x: tw.Tensor["N"]):
        ping(3)

    message, under = diagnose(f, x="f32[?]")
    assert message == (
        "`ping` calls itself (ping → pong → ping): calls are put in place, so a recursion has no "
        "end; write a loop"
    )
    assert under == "ping(n)"


def test_return_of_a_view_in_a_run_time_loop(diagnose):
    def f(x: tw.Tensor["N"]):
        tw.store(x[0], finds(x, N))  # error

    message, under = diagnose(f, x="f32[?]")
    assert message == (
        "a `return` in a run-time loop of a function has no value before it: assign to a variable "
        "that has one before the loop, `break`, and return it behind the loop"
    )
    assert under == "finds(x, N)"


def test_returns_of_two_kinds(diagnose):
    def f(x: tw.Tensor["N"]):
        of_two_kinds(x, N)  # error

    message, _ = diagnose(f, x="f32[?]")
    assert message.startswith("the returned value is the view view<f32[?]> after one branch of")


def test_wrong_arguments(diagnose):
    def f(x: tw.Tensor["N"]):
        of_two_kinds(x)  # error

    message, under = diagnose(f, x="f32[?]")
    assert message == (
        "`of_two_kinds`: missing a required argument: 'n'; it is called as of_two_kinds(x, n)"
    )
    assert under == "of_two_kinds(x)"


def test_plain_function_of_a_run_time_value(diagnose):
    def f(x: tw.Tensor["N"]):
        plain(N)  # error

    message, under = diagnose(f, x="f32[?]")
    assert message == (
        "`plain` takes only what is known at compile time: decorate it with @tw.function, so that "
        "its statements are put here"
    )
    assert under == "plain(N)"


def test_kernel_called_from_a_kernel(diagnose):
    @tw.kernel
    def other(x: tw.Tensor["N"]):
        pass

    def f(x: tw.Tensor["N"]):
        other(x)  # error

    assert diagnose(f, x="f32[?]")[0] == (
        "`other` is a kernel, which only the host launches: make what both need a @tw.function"
    )


def test_mutable_default():
    def function(x, parts=[]):  # noqa: B006
        return x

    assert refused(lambda: tw.function(function)) == (
        "the default of `parts` is mutable, so that all calls would share it: write a tuple"
    )


def test_mutable_default_of_a_kernel():
    def f(x: tw.Tensor["N"], *, parts: tw.const = {}):  # noqa: B006
        pass

    assert refused(lambda: tw.kernel(f)) == (
        "the default of `parts` is mutable, so that all calls would share it: write None"
    )


def test_star_parameter_of_a_function():
    def function(*parts):
        return parts

    assert refused(lambda: tw.function(function)) == (
        "star-parameter `*parts`: name each parameter"
    )


def test_function_that_returns_on_some_paths():
    def function(x):
        if x > 3:
            return x

    assert refused(lambda: tw.function(function)) == (
        "`function` returns a value on some paths and reaches its end on others: end it with a "
        "`return`"
    )


def test_function_outside_of_a_kernel():
    assert refused(lambda: plain_call()) == (
        "ping is a @tw.function: it can be called only in the body of a @tw.kernel function or "
        "another @tw.function"
    )


def plain_call():
    ping(3)


def test_function_of_a_lambda():
    assert refused(lambda: tw.function(3)).startswith("@tw.function takes a plain function (`def`)")


def _vector():
    from tilewire.frontend.signature import ArrayArgument

    return ArrayArgument("tensor", tw.f32, (None,))
