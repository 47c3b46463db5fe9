"""Penalties of compiled descent by their numbers, with their formulas, and what comparisons of descents share."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sparserank.penalties import PENALTIES as BY_NAME
from sparserank.penalties._scalar_prox import ELASTIC, LOG, LP, MCP, SCAD, SMOOTHED_LP
from tests.oracles import scalars
from tests.oracles.descent import Trace

TOL = 1e-7
KNOWN = 1e-7  # a trace that is not known this well tells nothing: wrong ones differ by 1e-3


@dataclass(frozen=True)
class Kind:
    """A penalty by its number and shape, written out by the oracle, and the largest concavity that it has at a
    price."""

    number: int
    shape: tuple[float, float]
    scalar: scalars.Scalar
    concavity: Callable[[float], float]


PENALTIES = {
    "l1": Kind(ELASTIC, (0.0, 0.0), scalars.elastic(0.0), lambda a: 0.0),
    "elastic net": Kind(ELASTIC, (0.4, 0.0), scalars.elastic(0.4), lambda a: 0.0),
    "mcp": Kind(MCP, (3.0, 0.0), scalars.mcp(3.0), lambda a: 1 / 3.0),
    "mcp, concave": Kind(MCP, (0.4, 0.0), scalars.mcp(0.4), lambda a: 1 / 0.4),
    "scad": Kind(SCAD, (3.7, 1.0), scalars.scad(3.7, 1.0), lambda a: 1 / 2.7),
    "scad, wide": Kind(SCAD, (2.5, 3.0), scalars.scad(2.5, 3.0), lambda a: 1 / 4.5),
    "scad, concave": Kind(SCAD, (2.2, 0.3), scalars.scad(2.2, 0.3), lambda a: 1 / 0.36),
    "log": Kind(LOG, (1.5, 0.0), scalars.log(1.5), lambda a: a / 1.5**2),
    "log, concave": Kind(LOG, (0.1, 0.0), scalars.log(0.1), lambda a: a / 0.1**2),
    "l0.5": Kind(LP, (0.5, 1e-3), scalars.lp(0.5), lambda a: math.inf),
    "l0.2": Kind(LP, (0.2, 1e-3), scalars.lp(0.2), lambda a: math.inf),
    "l0.8": Kind(LP, (0.8, 1e-3), scalars.lp(0.8), lambda a: math.inf),
    "smoothed": Kind(SMOOTHED_LP, (0.5, 1.0), scalars.smoothed_lp(0.5, 1.0), lambda a: 0.25 * a),
    "smoothed, concave": Kind(SMOOTHED_LP, (0.5, 0.01), scalars.smoothed_lp(0.5, 0.01), lambda a: 250 * a),
}
# Of each penalty, by its name: the two shape parameters that `tests.oracles.certificates` takes.
SHAPE_PARAMETERS: dict[str, Callable[[Any], tuple[float, float]]] = {
    "l1": lambda p: (0, 0),
    "elastic_net": lambda p: (p.l1_ratio, 0),
    "ridge": lambda p: (0, 0),
    "log": lambda p: (p.eps, 0),
    "lp": lambda p: (p.p, 0),
    "smoothed_lp": lambda p: (p.p, p.eps),
    "mcp": lambda p: (p.gamma, 0),
    "scad": lambda p: (p.a, p.threshold_scale),
}
# Elastic nets are on no groups.
NUMBERS = {cls.kind for cls in BY_NAME.values() if "feature_groups" in cls.respects}
OF_GROUPS = [name for name, kind in PENALTIES.items() if kind.number in NUMBERS and name != "elastic net"]


def says_nothing(trace: Trace) -> bool:
    """Whether a decision hangs on rounding, or the bounds have grown too large to tell a wrong program."""
    return trace.doubtful or max((max(off, default=0.0) for off in trace.off_w), default=0.0) > KNOWN
