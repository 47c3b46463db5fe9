"""Penalties: functions of the coefficients, one per file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from typing import Any

from sparserank.errors import ParameterError
from sparserank.options.arguments import check_arguments
from sparserank.penalties.base import Penalty
from sparserank.penalties.elastic_net import ElasticNet, Ridge
from sparserank.penalties.l1 import L1
from sparserank.penalties.log import Log
from sparserank.penalties.lp import Lp, SmoothedLp
from sparserank.penalties.mcp import MCP
from sparserank.penalties.rules import FeatureRules
from sparserank.penalties.scad import SCAD
from sparserank.text import brief, parse_call

PENALTIES: dict[str, type[Penalty]] = {p.name: p for p in (L1, Lp, SmoothedLp, Log, MCP, SCAD, ElasticNet, Ridge)}


def parse_penalty(spec: str | Penalty, **parameters: Any) -> Penalty:
    """Create a penalty from its name.

    Parameters
    ----------
    spec : str or Penalty
        A name ('l1', 'l0.5', 'mcp', ...), a call ('mcp(gamma=2.0)', 'MCP(alpha=0.1)'), or a penalty, which is returned
        unchanged.
    **parameters
        Parameters of the penalty, such as alpha=0.1.

    Returns
    -------
    Penalty
        The penalty.

    Raises
    ------
    DataError
        An unknown name or parameter, or a value of the wrong type.

    Examples
    --------
    >>> from sparserank.penalties import parse_penalty
    >>> parse_penalty("mcp(gamma=2.0)").gamma
    2.0
    """
    if isinstance(spec, Penalty):
        return spec
    penalty = parse_among(PENALTIES, spec, **parameters)
    assert isinstance(penalty, Penalty)
    return penalty


def parse_among(known: Mapping[str, type[FeatureRules]], spec: Any, **parameters: Any) -> FeatureRules:
    """Create a penalty from its name, which is looked up in a mapping of classes: `parse_penalty` for custom classes.

    Parameters
    ----------
    known : mapping of str to class
        {name: subclass of FeatureRules}.
    spec : str or object
        As in `parse_penalty`.
    **parameters
        Parameters of the class.

    Returns
    -------
    FeatureRules
        An instance of one of the classes.

    Raises
    ------
    DataError
        An unknown name or parameter, or a value of the wrong type.

    Examples
    --------
    >>> from sparserank.penalties import L1, parse_among
    >>> parse_among({"l1": L1}, "l1(alpha=0.5)").alpha
    0.5
    """
    check_arguments(parse_among, locals())
    refused = partial(ParameterError, "penalty")
    if not isinstance(spec, str):
        raise refused(f"must be a name such as 'l1', a call such as 'mcp(gamma=2.0)' or a Penalty; got {brief(spec)}.")
    power = re.fullmatch(r"l(0?\.[0-9]+)", spec.strip())
    try:
        name, arguments = ("lp", {"p": float(power[1])}) if power else parse_call(spec)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise refused(f"{brief(spec)} cannot be parsed; write a name such as 'l1' or 'mcp(gamma=2.0)'.") from error
    cls = known.get(name) or {c.__name__: c for c in known.values()}.get(name)
    if cls is None:
        raise refused(f"unknown penalty {brief(name)}; known: {', '.join(known)}, l0.5.")
    arguments |= parameters
    allowed = {f.name for f in fields(cls)}
    unknown = sorted(set(arguments) - allowed)
    if unknown:
        raise refused(f"{name} has no parameter {brief(unknown[0])}; its parameters are {', '.join(sorted(allowed))}.")
    return cls(**arguments)


__all__ = [
    "L1",
    "MCP",
    "PENALTIES",
    "SCAD",
    "ElasticNet",
    "FeatureRules",
    "Log",
    "Lp",
    "Penalty",
    "Ridge",
    "SmoothedLp",
    "parse_among",
    "parse_penalty",
]
