"""Compare the chosen model with the alternatives on test queries."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from sparserank.crossval.current_model import InUse
from sparserank.crossval.folded_paths import FoldedPaths
from sparserank.crossval.tasks import FINAL
from sparserank.data.dataset import RankingDataset
from sparserank.evaluation import Comparison, compare_systems
from sparserank.model.ranking_model import RankingModel
from sparserank.selection.plan import SelectionPlan

MAX_SINGLE_FEATURES = 2000  # beyond, ranking by every feature would take longer than the paths


def compare_on_test(
    plan: SelectionPlan,
    test: RankingDataset,
    work: FoldedPaths,
    chosen: RankingModel,
    dense: dict[str, RankingModel],
    others: Mapping[str, np.ndarray],
    notes: list[str],
) -> Comparison:
    """Compare with the dense models by name, the best single feature of the training queries of `work`, and other
    rankers by name, whose scores are in the order of the input."""
    names = chosen.feature_names
    feature, sign = best_single_feature(plan, work, notes)
    systems = {f"chosen ({len(chosen.support)} features)": chosen.score_dataset(test)}
    systems |= {name: model.score_dataset(test) for name, model in dense.items()}
    alone = f"best single feature ({names[feature]}{' ascending' if sign < 0 else ''})"
    systems[alone] = sign * InUse(alone, (names[feature],)).scores(test)
    return compare_systems(systems | dict(others), test, plan.metrics)


def best_single_feature(plan: SelectionPlan, work: FoldedPaths, notes: list[str]) -> tuple[int, float]:
    """The feature and direction with the highest mean metric on the training queries."""
    sought = np.flatnonzero(~work.data.constant_features())
    if len(sought) > MAX_SINGLE_FEATURES:
        notes.append(
            f"the best single feature was searched for among the {MAX_SINGLE_FEATURES} of {len(sought)} that best "
            "separate preferred pairs."
        )
        (objective,), _ = work.objectives([FINAL])
        separation = np.abs(objective.gradient_at_zero) / np.sqrt(np.maximum(objective.pair_norms, 1e-300))
        sought = np.sort(np.argsort(-separation, kind="stable")[:MAX_SINGLE_FEATURES])
    means = work.single_features(sought, plan.metric)
    _, negative, sign = max(
        (mean, -j, sign)
        for of_sign, sign in zip(means, (1.0, -1.0), strict=True)
        for mean, j in zip(of_sign, sought, strict=True)
    )
    return -int(negative), sign
