"""Which names a block of statements assigns."""

from __future__ import annotations

import ast


def assigned_names(statements: list[ast.stmt]) -> list[str]:
    """Every name that the block may assign, in order of first assignment.

    Names of comprehensions are their own.
    """
    names: dict[str, None] = {}
    for statement in statements:
        _collect(statement, names)
    return list(names)


def only_indices(statements: list[ast.stmt]) -> set[str]:
    """Names that the block assigns as the targets of `for` loops only."""
    targets: dict[str, None] = {}
    others: dict[str, None] = {}

    def visit(node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(node, ast.For) and child is node.target:
                _collect(child, targets)
            elif isinstance(child, ast.stmt):
                visit(child)
            else:
                _collect(child, others)

    visit(ast.Module(statements, []))
    return set(targets) - set(others)


def _collect(node: ast.AST, names: dict[str, None]) -> None:
    if isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        names[node.id] = None
    for child in ast.iter_child_nodes(node):
        _collect(child, names)
