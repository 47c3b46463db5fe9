"""Objects with their parameters as text: 'mcp(gamma=2.0)'."""

from __future__ import annotations

import ast
import inspect
from typing import Any


def source_of(cls: type) -> str:
    """The source, or an empty text if it cannot be found, as for a class defined in a console."""
    try:
        return inspect.getsource(cls)
    except (OSError, TypeError):
        return ""


def parse_call(text: str) -> tuple[str, dict[str, Any]]:
    """Parse 'mcp(gamma=2.0)' into ('mcp', {'gamma': 2.0}); values are Python literals (and inf)."""
    call = ast.parse(text.strip(), mode="eval").body
    if isinstance(call, ast.Name):
        return call.id, {}
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.args:
        raise ValueError(text)
    names = [k.arg or "**" for k in call.keywords]
    if len(set(names)) < len(names):
        raise ValueError("a parameter appears twice")
    return call.func.id, {name: _literal(k.value) for name, k in zip(names, call.keywords, strict=True)}


def _literal(node: ast.expr) -> Any:
    if isinstance(node, ast.Name) and node.id == "inf":
        return float("inf")
    if isinstance(node, ast.Tuple):
        return tuple(_literal(n) for n in node.elts)
    if isinstance(node, ast.Dict) and None not in node.keys:
        return {_literal(k): _literal(v) for k, v in zip(node.keys, node.values, strict=True) if k is not None}
    return ast.literal_eval(node)
