"""`fit_model`: fit one model at one strength or of one size, from data files to the content of a model file."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Unpack

import numpy as np

from sparserank.crossval.feature_groups import groups_of
from sparserank.data.dataset import RankingDataset, first_index
from sparserank.data.filling import training_medians
from sparserank.data.read import read_weighted_sources
from sparserank.data.suspects import names_in, warn_of_suspects
from sparserank.data.transformed import fit_transform, transformed
from sparserank.errors import ParameterError
from sparserank.jobs.side_weights import notes_of_side_weights, weighted
from sparserank.jobs.typed import FitOptions
from sparserank.losses import loss_name, parse_loss
from sparserank.model.lowest_score import with_lowest_score
from sparserank.model.ranking_model import RankingModel
from sparserank.options import asked, option
from sparserank.options.jobs import FIT
from sparserank.options.paths import LINEAR_SCALINGS
from sparserank.paths import BestK, parse_maker
from sparserank.penalties import Penalty
from sparserank.penalties.nested import NESTING, nests
from sparserank.rankers.sparse_ranker import SparseRanker
from sparserank.selection.inputs import rules_of
from sparserank.shards.dask import placed, sums_on
from sparserank.shards.scaling import FeatureScaling, fit_scalings, prepared
from sparserank.transforms import CURVES, NONE

REST_OF = {"log-standard": "standard", "query-min-max": "none"}  # of a scaling, when what is not linear is done
OF_RANKER = ("loss", "alpha", "alpha_ratio", "k", "n_knots", "tol", "n_threads")


@dataclass(frozen=True)
class FittedModel:
    """A model with the ranker and the data that it was fitted by and on, and the name of its penalty."""

    model: RankingModel
    ranker: SparseRanker
    data: RankingDataset
    label: str

    @property
    def by_size(self) -> bool:
        """True for best_k, which has sizes and no strength."""
        return isinstance(self.ranker.penalty_, BestK)

    @property
    def facts(self) -> dict[str, Any]:
        """The facts of the fit for programs."""
        ranker, names = self.ranker, self.model.feature_names
        return {
            "n_features": len(self.model.support),
            "features": [names[j] for j in self.model.support],
            "objective": float(ranker.objective_),
            "duality_gap": ranker.duality_gap_,
            "n_iter": ranker.n_iter_,
            "n_queries": self.data.n_queries,
            "n_docs": self.data.n_docs,
            **self.model.metadata,
            **_strengths(ranker),
        }


def fit_model(train: Any, *, client: Any = None, **options: Unpack[FitOptions]) -> FittedModel:
    """Fit one model.

    Parameters
        train     as in `select`
        client    as in `select`
        options   penalty, alpha, alpha_ratio or k as in SparseRanker; scaling (also nonlinear),
                  feature_transform, monotone, keep, drop, feature_groups and the reading options as in `select`
    Raises
        ParameterError   a parameter is out of its range; the message names it
        DataError        the data cannot be used
    """
    chosen = asked("fit", FIT, options)
    penalty = parse_maker(chosen["penalty"] or ("l1" if chosen["k"] is None else "mcp"))
    scaling, transform = chosen["scaling"], chosen["feature_transform"]
    linear = scaling in LINEAR_SCALINGS
    if not isinstance(penalty, Penalty | BestK):
        raise ParameterError("penalty", f"must be a penalty or best_k; got {penalty.name}.")
    if isinstance(penalty, BestK) and chosen["k"] is None:
        raise ParameterError("penalty", f"{penalty.name} fits sizes, not strengths; set {option('k')}.")
    if transform in CURVES and not (isinstance(penalty, BestK) or nests(penalty)):
        known = f"cannot be {transform} with {penalty.name}; curves support {', '.join(NESTING)} and best_k."
        raise ParameterError("feature_transform", known)
    if transform != NONE and not linear:
        raise ParameterError("feature_transform", f"must be {NONE} with {option('scaling', scaling)}.")
    if chosen["feature_groups"] is not None and not (isinstance(penalty, BestK) or nests(penalty)):
        raise ParameterError(
            "feature_groups", f"support the penalties {', '.join(NESTING)} and best_k; got {penalty.name}."
        )
    to_store = ["train"] if client is not None and linear else []  # others are done here first
    ranker = SparseRanker(
        penalty=penalty,
        scaling=scaling if linear else REST_OF[scaling],
        feature_transform="curves" if transform in CURVES else NONE,
        **{name: chosen[name] for name in OF_RANKER},
    )
    ranker.check_parameters()
    parts, beside = read_weighted_sources({"train": train}, chosen, to_store=to_store)
    data = parts["train"]
    assert data is not None
    notes_of_side_weights({"train": train}, beside, chosen)
    data, _, weight = weighted(data, None, None, beside)
    names = tuple(data.feature_names or ())
    drop = chosen["drop"]
    warn_of_suspects(data, names_in(chosen["keep"], drop), stacklevel=3)
    if chosen["feature_groups"] is not None:
        own = groups_of(chosen["feature_groups"], None, names)
        penalty = replace(penalty, weights=own.cost_of_feature, feature_groups=own.of_feature)
    penalty = replace(penalty, **rules_of(chosen["monotone"], chosen["keep"], drop, names, penalty))
    learned = fit_transform(data, CURVES.get(transform, transform))
    ready = transformed(
        prepared(data, scaling), [learned]
    )  # what no factor per feature can do; else the data themselves
    if client is not None:
        ready = placed(client, ready)
    ranker.set_params(penalty=penalty).fit_dataset(ready, query_weight=weight, client=client)
    fitted = FeatureScaling("none", np.zeros(len(names)), np.ones(len(names)))
    if transform not in CURVES:
        sums_of = None if client is None else sums_on(client, ready.X)
        center, scale = fit_scalings(ready, scaling, np.ones((1, data.n_queries), dtype=bool), sums_of)
        fitted = FeatureScaling(scaling, center[0], scale[0])
    parameters = {
        "loss": loss_name(parse_loss(chosen["loss"])),
        "transform": transform,
        "penalty": repr(ranker.penalty_),
        **_strengths(ranker),
        "r": ranker.r_,
    }
    model = RankingModel(
        ranker.scaled_coef_,
        names,
        fitted,
        parameters,
        {**vars(ranker.certificate_), "n_pairs": ranker.n_pairs_},
        None if learned.is_identity else learned,
        ranker.to_model().curves,
        data.fill_values,
        training_medians(data.X, np.flatnonzero(ranker.scaled_coef_)),
        index_base=first_index(data),
    )
    if client is None:
        model = with_lowest_score(model, data.X)
    return FittedModel(model, ranker, data, penalty.label)


def _strengths(ranker: SparseRanker) -> dict[str, float]:
    if isinstance(ranker.penalty_, BestK):
        return {}
    return {"alpha": ranker.alpha_, "C_sum": ranker.C_sum_, "C_mean": ranker.C_mean_}
