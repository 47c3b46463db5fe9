"""Solvers: one shared loop, one step per file."""

from sparserank.objective import PairwiseObjective
from sparserank.solvers.fista import Fista
from sparserank.solvers.loop import solve
from sparserank.solvers.prox_newton import ProxNewton
from sparserank.solvers.reweighted import Reweighted
from sparserank.solvers.solution import Solution, Status, Stop

__all__ = ["Fista", "PairwiseObjective", "ProxNewton", "Reweighted", "Solution", "Status", "Stop", "solve"]
