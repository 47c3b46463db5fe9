"""The coordinates that a solver uses now, and those that it will probably use soon."""

from __future__ import annotations

import numpy as np

from sparserank.objective import PairwiseObjective
from sparserank.penalties.base import Penalty
from sparserank.solvers.certificates import gap_safe_screen
from sparserank.solvers.solution import Iterate

NEARLY_ACTIVE = 0.9  # zero coordinates whose gradient is this close to the bound join the working set beforehand
MAX_NEW = 200  # coordinates that may join a working set at once
SOON_ACTIVE = 0.5  # zero coordinates this close will probably join at one of the next strengths of a path


def working_set(objective: PairwiseObjective, penalty: Penalty, iterate: Iterate) -> np.ndarray:
    """Non-zero and unpenalised coordinates, and zero ones that violate or nearly violate their bound,
    in rising order."""
    priority = _priority(objective, penalty, iterate, NEARLY_ACTIVE)
    candidate = (priority > 0) & ~gap_safe_screen(objective, penalty, iterate)
    return _with_the_needed(objective, penalty, iterate, candidate, priority)


def working_sets_to_come(objective: PairwiseObjective, penalty: Penalty, iterate: Iterate) -> np.ndarray:
    """The working set, plus coordinates that will probably join as a path continues from here."""
    priority = _priority(objective, penalty, iterate, SOON_ACTIVE)
    return _with_the_needed(objective, penalty, iterate, priority > 0, priority)


def _usable(objective: PairwiseObjective, penalty: Penalty) -> np.ndarray:
    return objective.varying & penalty.usable(objective.n_features)


def _priority(objective: PairwiseObjective, penalty: Penalty, iterate: Iterate, share: float) -> np.ndarray:
    curvature = np.where(_usable(objective, penalty), objective.curvature, 1.0)
    return penalty.priority(iterate.w, iterate.gradient, share, curvature)


def _with_the_needed(
    objective: PairwiseObjective,
    penalty: Penalty,
    iterate: Iterate,
    candidate: np.ndarray,
    priority: np.ndarray,
) -> np.ndarray:
    """The required coordinates, and the candidates with the highest priority:
    MAX_NEW of them, or as many as are required if that is more."""
    usable = _usable(objective, penalty)
    w = iterate.w
    needed = usable & ((w != 0) | penalty.always_in(len(w)))
    joining = np.flatnonzero(candidate & usable & ~needed)
    most = max(MAX_NEW, int(needed.sum()))
    if len(joining) > most:
        joining = joining[np.argsort(-priority[joining], kind="stable")[:most]]
    needed[joining] = True
    return np.flatnonzero(penalty.working_blocks(needed) & usable)
