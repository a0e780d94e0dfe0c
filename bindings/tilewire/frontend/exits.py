"""`break`, `continue`, and `return` of a helper function as plain assignments and `if`s.

The IR knows loops, branches and the end of a program instance. What leaves a block early becomes
structure before the block is walked: the rest of the block moves into the branch that goes on, and
where that isn't one branch alone, behind a flag. A kernel's own `return` stays what it is.

Names that begin with a dot are the frontend's; no program can spell them.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass

STOP = ".stop"  # the loop is over
SKIP = ".skip"  # this iteration is over
RESULT = ".result"  # what a function returns
RETURNED = ".returned"  # the function is over

_LOOPS = (ast.For, ast.While)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


@dataclass
class LoopBody:
    """A loop's body without `break` and `continue`."""

    statements: list[ast.stmt]
    stops: bool  # assigns STOP, which must be carried


def loop_body(body: list[ast.stmt]) -> LoopBody:
    """Rewrites the `break`s and `continue`s that belong to this loop."""
    kinds = (ast.Break, ast.Continue)
    if not _contains(body, kinds):
        return LoopBody(body, False)
    rewriter = _LoopRewriter(kinds)
    statements = rewriter.block(body)
    if rewriter.needs_flag:
        rewriter.sets_flag = True
        start = _assign(SKIP, ast.Constant(False), body[0])
        statements = [start, *rewriter.block(body)]
    return LoopBody(statements, _contains(body, (ast.Break,)))


def function_body(body: list[ast.stmt]) -> list[ast.stmt]:
    """Rewrites `return`: what the function returns is in RESULT behind the statements."""
    if not _contains(body, (ast.Return,), through_loops=True):
        return body
    rewriter = _FunctionRewriter((ast.Return,))
    statements = rewriter.block(body)
    if rewriter.needs_flag:
        rewriter.sets_flag = True
        start = _assign(RETURNED, ast.Constant(False), body[0])
        statements = [start, *rewriter.block(body)]
    return statements


def returns_in_loops(body: list[ast.stmt]) -> bool:
    """Whether a loop of the function contains a `return`."""
    for statement in body:
        if isinstance(statement, _LOOPS):
            if _contains(statement.body, (ast.Return,), through_loops=True):
                return True
        elif not isinstance(statement, _FUNCTIONS):
            for part in ("body", "orelse"):
                if returns_in_loops(getattr(statement, part, [])):
                    return True
    return False


def surely_exits(statements: list[ast.stmt]) -> bool:
    """Whether control never reaches the end of the block."""
    for statement in statements:
        if isinstance(statement, ast.Return | ast.Break | ast.Continue):
            return True
        is_branch = isinstance(statement, ast.If) and statement.orelse
        if is_branch and surely_exits(statement.body) and surely_exits(statement.orelse):
            return True
        if isinstance(statement, ast.With) and surely_exits(statement.body):
            return True
    return False


class _Rewriter:
    """Moves the rest of a block to where control still is."""

    through_loops = False
    flag = ""

    def __init__(self, kinds: tuple[type[ast.stmt], ...]) -> None:
        self.kinds = kinds
        self.needs_flag = False  # found while rewriting
        self.sets_flag = False  # in the second round

    def leave(self, statement: ast.stmt) -> list[ast.stmt]:
        """What one of `kinds` becomes."""
        raise NotImplementedError

    def inner_loop(self, loop: ast.For | ast.While) -> ast.stmt:
        """A loop that contains one of `kinds`."""
        raise NotImplementedError

    def raise_flag(self, at: ast.AST) -> list[ast.stmt]:
        return [_assign(self.flag, ast.Constant(True), at)] if self.sets_flag else []

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        for position, statement in enumerate(statements):
            rest = statements[position + 1 :]
            if isinstance(statement, self.kinds):
                return [*done, *self.leave(statement)]
            if not _contains([statement], self.kinds, self.through_loops):
                done.append(statement)
                continue
            if isinstance(statement, ast.If):
                return [*done, *self.branch(statement, rest)]
            if isinstance(statement, _LOOPS):
                done.append(self.inner_loop(statement))
            else:
                done.append(_with_body(statement, self.block(statement.body)))  # type: ignore[attr-defined]
                if surely_exits([statement]):
                    return done
            return [*done, *self.guarded(statement, rest)]
        return done

    def branch(self, node: ast.If, rest: list[ast.stmt]) -> list[ast.stmt]:
        then_exits, else_exits = surely_exits(node.body), surely_exits(node.orelse)
        if then_exits or else_exits:
            then_rest = [] if then_exits else rest
            else_rest = [] if else_exits else rest
            return [
                _branch(
                    node,
                    node.test,
                    self.block([*node.body, *then_rest]),
                    self.block([*node.orelse, *else_rest]),
                )
            ]
        split = _branch(node, node.test, self.block(node.body), self.block(node.orelse))
        return [split, *self.guarded(node, rest)]

    def guarded(self, at: ast.stmt, rest: list[ast.stmt]) -> list[ast.stmt]:
        """`rest`, where the flag isn't up."""
        if not rest:
            return []
        self.needs_flag = True
        test = ast.UnaryOp(ast.Not(), ast.Name(self.flag, ast.Load()))
        return [_branch(rest[0], _located(test, at), self.block(rest), [])]


class _LoopRewriter(_Rewriter):
    flag = SKIP

    def leave(self, statement: ast.stmt) -> list[ast.stmt]:
        stop = (
            [_assign(STOP, ast.Constant(True), statement)]
            if isinstance(statement, ast.Break)
            else []
        )
        return [*stop, *self.raise_flag(statement)]


class _FunctionRewriter(_Rewriter):
    through_loops = True
    flag = RETURNED

    def __init__(self, kinds: tuple[type[ast.stmt], ...], in_loop: bool = False) -> None:
        super().__init__(kinds)
        self.in_loop = in_loop

    def leave(self, statement: ast.stmt) -> list[ast.stmt]:
        assert isinstance(statement, ast.Return)
        value = statement.value if statement.value is not None else ast.Constant(None)
        left = [_assign(RESULT, value, statement), *self.raise_flag(statement)]
        return [*left, _located(ast.Break(), statement)] if self.in_loop else left

    def inner_loop(self, loop: ast.For | ast.While) -> ast.stmt:
        """Its `return`s also break it; what stands behind it is guarded, in loops by a break."""
        inner = _FunctionRewriter(self.kinds, in_loop=True)
        inner.sets_flag = self.sets_flag
        body = inner.block(loop.body)
        self.needs_flag = True
        return _with_body(loop, body)

    def guarded(self, at: ast.stmt, rest: list[ast.stmt]) -> list[ast.stmt]:
        if not self.in_loop:
            return super().guarded(at, rest)
        if not isinstance(at, _LOOPS):  # the `break` that a `return` became does it
            return self.block(rest)
        self.needs_flag = True
        test = _located(ast.Name(self.flag, ast.Load()), at)
        leave = _branch(at, test, [_located(ast.Break(), at)], [])
        return [leave, *self.block(rest)]


def _contains(
    statements: list[ast.stmt], kinds: tuple[type[ast.stmt], ...], through_loops: bool = False
) -> bool:
    """Whether one of `kinds` is among the statements, inside `if` and `with` too."""
    for statement in statements:
        if isinstance(statement, kinds):
            return True
        if isinstance(statement, _FUNCTIONS) or (
            isinstance(statement, _LOOPS) and not through_loops
        ):
            continue
        for part in ("body", "orelse"):
            if _contains(getattr(statement, part, []), kinds, through_loops):
                return True
    return False


def _located(node: ast.AST, at: ast.AST) -> ast.AST:
    for each in ast.walk(node):
        if not hasattr(each, "lineno"):
            ast.copy_location(each, at)
    return node


def _assign(name: str, value: ast.expr, at: ast.AST) -> ast.stmt:
    return _located(ast.Assign([ast.Name(name, ast.Store())], value), at)  # type: ignore[return-value]


def _branch(at: ast.stmt, test: ast.AST, body: list[ast.stmt], orelse: list[ast.stmt]) -> ast.stmt:
    return ast.copy_location(ast.If(test, body or [_located(ast.Pass(), at)], orelse), at)  # type: ignore[arg-type]


def _with_body(statement: ast.stmt, body: list[ast.stmt]) -> ast.stmt:
    fields = {name: getattr(statement, name, None) for name in statement._fields}
    fields["body"] = body or [_located(ast.Pass(), statement)]
    return ast.copy_location(type(statement)(**fields), statement)
