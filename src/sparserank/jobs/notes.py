"""Notes of a selection: facts that appear nowhere else on the screen."""

from __future__ import annotations

import warnings

import numpy as np

from sparserank.crossval.choice import Choice
from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataWarning
from sparserank.losses import loss_name
from sparserank.model import RankingModel
from sparserank.number_range import kept_in_vain
from sparserank.options import option
from sparserank.options.paths import LOSS
from sparserank.options.selection import MARGIN
from sparserank.quoting import brief
from sparserank.selection.plan import SelectionPlan


def notes_of_choice(plan: SelectionPlan, choice: Choice) -> list[str]:
    """Notes for a choice that the margin could not decide."""
    said = []
    if plan.rule.limit is None and not choice.within_margin(choice.chosen):
        share = f"{100 * plan.rule.largest_loss:.3g}%"
        said.append(
            f"no sparse model has an estimated loss of at most {share} relative to the best; the model with "
            f"the highest mean was chosen. Try a larger {option('margin')}."
            if plan.guarantee is None
            else f"no sparse model is shown to lose at most {share} relative to the best; the model with the "
            f"highest mean was chosen. Try more queries or a larger {option('guarantee')}."
        )
    if plan.guarantee is None and plan.rule.limit is None and plan.margin not in (0, MARGIN.default):
        said.append(
            f"{option('margin', plan.margin)} limits the estimated loss; before version 0.3 it limited the bound, as "
            f"{option('guarantee', plan.margin)} does now."
        )
    return said


def notes_of_kept(plan: SelectionPlan, model: RankingModel) -> list[str]:
    """Notes on features that the user asked to keep, but whose weight their sign rule holds at 0."""
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
        f"the data favour the direction that {option('monotone')} forbids."
    ]


def notes_of_loss(plan: SelectionPlan, data: RankingDataset, weighted_queries: bool) -> list[str]:
    """A note that names the loss, unless it is the default one without weights."""
    loss, weighted = loss_name(plan.path_plan.loss), ["queries"] if weighted_queries else []
    if data.doc_weight is not None:
        weighted.append("preferred documents")
    if loss == LOSS.default and not weighted:
        return []
    return [f"the loss is {loss}" + (f", with its pairs weighted by {' and '.join(weighted)}." if weighted else ".")]


def notes_of_rules(plan: SelectionPlan, data: RankingDataset) -> list[str]:
    """Notes on features to be kept although no weight of theirs changes a ranking; also issued as a warning."""
    constant = set(np.flatnonzero(data.constant_features()).tolist())
    kept = sorted({j for p in plan.penalties for j in p.keep} & constant)
    if not kept:
        return []
    names = data.feature_names or ()
    said = kept_in_vain([names[int(j)] for j in kept])
    warnings.warn(said, DataWarning, stacklevel=2)
    return [said]
