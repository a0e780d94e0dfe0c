"""Which names a block of statements assigns."""

from __future__ import annotations

import ast


def assigned_names(statements: list[ast.stmt]) -> list[str]:
    """Every name that the block may assign, in order of first assignment."""
    names: dict[str, None] = {}
    for statement in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names[node.id] = None
    return list(names)


def surely_assigned_names(statements: list[ast.stmt]) -> set[str]:
    """Names that have been assigned once the block has run, whatever its conditions are."""
    names: set[str] = set()
    for statement in statements:
        if isinstance(statement, ast.If):
            names |= surely_assigned_names(statement.body) & surely_assigned_names(statement.orelse)
        elif isinstance(statement, ast.Assign | ast.AugAssign):
            names |= set(assigned_names([statement]))
    return names
