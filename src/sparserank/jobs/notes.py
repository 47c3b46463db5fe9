"""Notes of a selection: what nothing else on the screen would say."""

from __future__ import annotations

import warnings

import numpy as np

from sparserank.crossval.choice import Choice
from sparserank.crossval.metric_refits import notes_of, why_not
from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataWarning
from sparserank.losses import loss_name
from sparserank.model import RankingModel
from sparserank.number_range import kept_in_vain
from sparserank.options import option
from sparserank.paths.options import LOSS
from sparserank.quoting import brief
from sparserank.selection.options import MARGIN
from sparserank.selection.plan import SelectionPlan


def notes_of_choice(plan: SelectionPlan, choice: Choice) -> list[str]:
    """What is said where the margin could not do its work."""
    said = []
    if plan.rule.limit is None and not choice.within_margin(choice.chosen):
        share = plan.rule.largest_loss
        said.append(
            f"no sparse model has an estimated loss of at most {share:.3g} of the best; the one of the highest mean "
            f"was taken. A larger {option('margin')} would help."
            if plan.guarantee is None
            else f"no sparse model is shown to lose at most {share:.3g} of the best; the one of the highest mean was "
            f"taken. More queries or a larger {option('guarantee')} would help."
        )
    if plan.guarantee is None and plan.rule.limit is None and plan.margin not in (0, MARGIN.default):
        said.append(
            f"{option('margin', plan.margin)} is the largest estimated loss; before 0.3 it was the largest bound, "
            f"which {option('guarantee', plan.margin)} asks for."
        )
    return said


def notes_of_kept(plan: SelectionPlan, model: RankingModel) -> list[str]:
    """What is said of features that were to be kept, and that their signs hold at a weight of 0."""
    at_0 = set(range(model.n_features)) - set(model.support.tolist())
    names = sorted(
        {
            model.feature_names[j]
            for p in plan.penalties
            for j in p.keep
            if j in at_0 and p.monotone is not None and p.monotone[j] != 0
        }
    )
    if not names:
        return []
    listed, many = ", ".join(map(brief, names)), len(names) > 1
    return [
        f"{listed} {'were' if many else 'was'} to be kept, but {'their weights are' if many else 'its weight is'} 0: "
        f"the data want the direction that {option('monotone')} forbids."
    ]


def notes_of_loss(plan: SelectionPlan, data: RankingDataset, weighted_queries: bool) -> list[str]:
    """What the loss is, where it is not the plain one."""
    loss, weighted = loss_name(plan.settings.loss), ["queries"] if weighted_queries else []
    if data.doc_weight is not None:
        weighted.append("preferred documents")
    if loss == LOSS.default and not weighted:
        return []
    return [f"the loss is {loss}" + (f", its pairs weighted by {' and '.join(weighted)}." if weighted else ".")]


def notes_of_metric_refits(plan: SelectionPlan, n_queries: int) -> list[str]:
    """Why models were not refitted for the metric although they were to be, or what was looked at."""
    if not plan.metric_refits:
        return []
    reason = why_not(plan.metric, n_queries)
    return notes_of(plan.metric) if reason is None else [reason]


def notes_of_rules(plan: SelectionPlan, data: RankingDataset) -> list[str]:
    """What is said, and warned, of features that were to be kept although no weight of theirs changes a ranking."""
    constant = set(np.flatnonzero(data.constant_features()).tolist())
    kept = sorted({j for p in plan.penalties for j in p.keep} & constant)
    if not kept:
        return []
    names = data.feature_names or ()
    said = kept_in_vain([names[int(j)] for j in kept])
    warnings.warn(said, DataWarning, stacklevel=2)
    return [said]
