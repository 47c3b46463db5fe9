"""Notes of a selection: what nothing else on the screen would say."""

from __future__ import annotations

import warnings

import numpy as np

from sparserank.crossval.choice import AUTO, Choice
from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataWarning
from sparserank.losses import loss_name
from sparserank.number_range import kept_in_vain
from sparserank.options import option
from sparserank.paths.options import LOSS
from sparserank.selection.plan import SelectionPlan

LARGE_MARGIN = 0.1  # of `auto`: from here on the note says that the queries are too few


def notes_of_choice(plan: SelectionPlan, choice: Choice) -> list[str]:
    """What is said where the margin could not do its work."""
    said = []
    if choice.limit is None and not choice.within_margin(choice.chosen):
        said.append(
            "no sparse model is shown to be within the margin; the sparse model of the highest mean was taken. "
            f"More queries or a larger {option('margin')} would help."
        )
    if choice.limit is None and plan.margin == AUTO and choice.relative_margin > LARGE_MARGIN:
        said.append(
            f"the margin is {100 * choice.relative_margin:.3g}%, because these queries can show no less; more "
            "queries are needed to tell models of different sizes apart."
        )
    return said


def notes_of_loss(plan: SelectionPlan, data: RankingDataset, weighted_queries: bool) -> list[str]:
    """What the loss is, where it is not the plain one."""
    loss, weighted = loss_name(plan.settings.loss), ["queries"] if weighted_queries else []
    if data.doc_weight is not None:
        weighted.append("preferred documents")
    if loss == LOSS.default and not weighted:
        return []
    return [f"the loss is {loss}" + (f", its pairs weighted by {' and '.join(weighted)}." if weighted else ".")]


def notes_of_rules(plan: SelectionPlan, data: RankingDataset) -> list[str]:
    """What is said, and warned, of features that were to be kept although no weight of theirs changes a ranking."""
    constant = set(np.flatnonzero(data.constant_features()).tolist())
    kept = sorted({j for p in plan.penalties for j in p.always_keep} & constant)
    if not kept:
        return []
    names = data.feature_names or ()
    said = kept_in_vain([names[int(j)] for j in kept])
    warnings.warn(said, DataWarning, stacklevel=2)
    return [said]
