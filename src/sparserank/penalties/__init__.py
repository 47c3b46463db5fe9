"""Penalties: functions of coefficients, one per file."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

from sparserank.errors import DataError
from sparserank.penalties.base import Penalty, parse_call
from sparserank.penalties.elastic_net import ElasticNet, Ridge
from sparserank.penalties.l1 import L1
from sparserank.penalties.log import Log
from sparserank.penalties.lp import Lp
from sparserank.penalties.mcp import Mcp
from sparserank.penalties.scad import Scad

PENALTIES: dict[str, type[Penalty]] = {p.name: p for p in (L1, Lp, Log, Mcp, Scad, ElasticNet, Ridge)}
_CLASSES = {p.__name__: p for p in PENALTIES.values()}


def parse_penalty(spec: str | Penalty, **parameters: Any) -> Penalty:
    """A penalty from its name ('l1', 'l0.5', 'mcp', ...), a call ('mcp(gamma=2.0)', 'Mcp(alpha=0.1)') or a penalty.

    Raises
        DataError   an unknown name or parameter
    """
    if isinstance(spec, Penalty):
        return spec
    power = re.fullmatch(r"l(0?\.\d+)", spec.strip())
    try:
        name, given = ("lp", {"p": float(power[1])}) if power else parse_call(spec)
    except (SyntaxError, ValueError) as error:
        raise DataError(f"penalty {spec!r} cannot be read; write a name such as 'l1' or 'mcp(gamma=2.0)'.") from error
    cls = PENALTIES.get(name) or _CLASSES.get(name)
    if cls is None:
        raise DataError(f"unknown penalty {name!r}; known: {', '.join(PENALTIES)}, l0.5.")
    given |= parameters
    known = {f.name for f in fields(cls)}
    unknown = sorted(set(given) - known)
    if unknown:
        raise DataError(f"penalty {name} has no parameter {unknown[0]!r}; it has {', '.join(sorted(known))}.")
    try:
        return cls(**given)
    except TypeError as error:
        raise DataError(f"penalty {spec!r}: parameters must be numbers (or tuples of numbers) ({error}).") from error


__all__ = ["L1", "PENALTIES", "ElasticNet", "Log", "Lp", "Mcp", "Penalty", "Ridge", "Scad", "parse_penalty"]
