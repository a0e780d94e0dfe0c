"""Python that a kernel's body can't contain: what each construct is called, what to write."""

from __future__ import annotations

import ast

_LOOP = "loop with `for … in range(…)`, `tw.persistent(…)` or `tw.unroll(…)`"
_SET = "nothing in a kernel is hashed: use a tuple of constants"
_FUNCTION = "define it outside of the kernel, with @tw.function"

CONSTRUCTS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Try: ("a try statement", "device code raises nothing: test with `if`"),
    ast.Raise: ("a raise statement", "device code raises nothing: use `return`, or `tw.where`"),
    ast.AsyncWith: ("an async with statement", "remove it"),
    ast.AsyncFor: ("an async for loop", _LOOP),
    ast.Match: ("a match statement", "use `if` and `elif`"),
    ast.FunctionDef: ("a nested function", _FUNCTION),
    ast.AsyncFunctionDef: ("a nested function", _FUNCTION),
    ast.Lambda: ("a lambda", "define a function outside of the kernel, with @tw.function"),
    ast.ClassDef: ("a class", "define it outside of the kernel; a dataclass can hold tiles"),
    ast.Import: ("an import", "import at the top of the file"),
    ast.ImportFrom: ("an import", "import at the top of the file"),
    ast.Global: ("a global statement", "pass values as arguments, store results in a tensor"),
    ast.Nonlocal: ("a nonlocal statement", "pass values as arguments, store results in a tensor"),
    ast.Delete: ("a del statement", "names need no deletion here: remove it"),
    ast.AnnAssign: ("an annotated assignment", "types are inferred: write `name = value`"),
    ast.NamedExpr: ("an assignment expression (`:=`)", "assign in a statement of its own"),
    ast.SetComp: ("a set comprehension", _SET),
    ast.Set: ("a set", _SET),
    ast.Yield: ("a yield", "store results in a tensor with `tw.store`"),
    ast.YieldFrom: ("a yield", "store results in a tensor with `tw.store`"),
    ast.Await: ("an await", "device code is sequential: remove it"),
    ast.Starred: ("a starred expression", "write out each item"),
    ast.MatMult: ("the operator `@`", "use tw.matmul(a, b)"),
    ast.Is: ("the operator `is`", "compare with `==`"),
    ast.IsNot: ("the operator `is not`", "compare with `!=`"),
    ast.In: ("the operator `in`", "compare with `==` and `or`"),
    ast.NotIn: ("the operator `not in`", "compare with `!=` and `and`"),
}
if hasattr(ast, "TryStar"):  # Python 3.11
    CONSTRUCTS[ast.TryStar] = CONSTRUCTS[ast.Try]


def message_for(node: ast.AST) -> str:
    """`a while loop can't be used in a kernel: loop with …`."""
    name, advice = CONSTRUCTS.get(
        type(node), (f"the construct {type(node).__name__}", "see the documentation of tw.kernel")
    )
    return f"{name} can't be used in a kernel: {advice}"
