"""One piece of the main job: a path on some queries, scored on the queries that it has not seen."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.scaling import FeatureScaling, fit_scaling
from sparserank.errors import ConvergenceWarning, DataError
from sparserank.evaluation import per_query_values
from sparserank.execution.threads import one_blas_thread
from sparserank.losses import LOSSES
from sparserank.metrics import Metric
from sparserank.objective import PairwiseObjective
from sparserank.path import PathResult, fit_path_on
from sparserank.penalties import Penalty, parse_penalty
from sparserank.selection.plan import PathSettings

FINAL = -1  # the fold number of the path that is delivered
FOLD_TOL = 1e-4  # paths that only estimate quality: no ranking changes between this and the tolerance of the final path
RIDGE_ALPHAS = 8  # the dense reference needs its strength to within a factor of three, no finer
RIDGE_MIN_RATIO = 1e-6


def fit_scaled_path(
    train: RankingDataset,
    penalty: Penalty,
    settings: PathSettings,
    tol: float,
    n_threads: int | None,
    query_weight: np.ndarray | None = None,
) -> tuple[PathResult, FeatureScaling]:
    """Scale on the training queries, then fit the path."""
    scaling = fit_scaling(train, settings.scaling)
    scaled = scaling.apply(train)
    objective = PairwiseObjective(
        scaled, loss=LOSSES[settings.loss](), query_weight=query_weight, pair_weights=settings.pair_weights,
        n_threads=n_threads,
    )  # fmt: skip
    dense = penalty.smooth_at_zero
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # statuses travel with the path and are printed
        path = fit_path_on(
            objective,
            penalty,
            n_alphas=RIDGE_ALPHAS if dense else settings.n_alphas,
            alpha_min_ratio=RIDGE_MIN_RATIO if dense else settings.alpha_min_ratio,
            tol=tol,
            feature_names=tuple(train.feature_names or ()),
        )
    return path, scaling


def score_path(coefs: np.ndarray, scaling: FeatureScaling, data: RankingDataset, metrics: list[Metric]) -> np.ndarray:
    """(n_metrics, n_alphas, n_queries) metrics of every point of a path on `data`."""
    X = scaling.transform(data.X, data.query_ptr)
    scores = X @ coefs.T
    values = np.empty((len(metrics), len(coefs), data.n_queries))
    for i in range(len(coefs)):
        for m, per_query in enumerate(per_query_values(scores[:, i], data, metrics)):
            values[m, i] = per_query
    return values


@dataclass(frozen=True)
class UnitWork:
    """Computes one piece: a penalty's path without one fold, scored on that fold; FINAL is the path on all training queries.

    fold (n_queries,) fold numbers under the cv protocol; under holdout the path on train is scored on `valid`;
    query_weight (n_queries,) weights > 0 of the training queries in the loss, or None.
    """

    everything: RankingDataset
    valid: RankingDataset | None
    fold: np.ndarray
    settings: PathSettings
    metrics: tuple[Metric, ...]
    protocol: str
    query_weight: np.ndarray | None = None

    def __call__(self, penalty: Penalty, fold: int) -> dict[str, np.ndarray]:
        with one_blas_thread():
            return self._compute(penalty, fold)

    def _compute(self, penalty: Penalty, fold: int) -> dict[str, np.ndarray]:
        training, weight = self.everything, self.query_weight
        if fold != FINAL:
            training = training.take_queries(self.fold != fold)
            weight = None if weight is None else weight[self.fold != fold]
        tol = self.settings.tol if fold == FINAL else max(self.settings.tol, FOLD_TOL)
        path, scaling = fit_scaled_path(training, penalty, self.settings, tol, 1, weight)
        arrays = pack(path, scaling)
        held_out = self.held_out(fold)
        if held_out is not None:
            arrays["values"] = score_path(path.coefs, scaling, held_out, list(self.metrics))
        return arrays

    def held_out(self, fold: int) -> RankingDataset | None:
        """The queries that a piece is scored on."""
        if self.protocol == "holdout":
            return self.valid
        return None if fold == FINAL else self.everything.take_queries(self.fold == fold)


def scores_without_each(
    coef: np.ndarray, scaling: FeatureScaling, data: RankingDataset, metrics: list[Metric], features: np.ndarray
) -> np.ndarray:
    """(n_metrics, len(features), n_queries) metrics of the model with each feature's weight set to 0, not refitted."""
    without = np.repeat(coef[None, :], len(features), axis=0)
    without[np.arange(len(features)), features] = 0.0
    return score_path(without, scaling, data, metrics)


def pack(path: PathResult, scaling: FeatureScaling) -> dict[str, np.ndarray]:
    """A fitted path as arrays for the run directory."""
    return {
        "alphas": path.alphas,
        "coefs": path.coefs,
        "losses": path.losses,
        "objectives": path.objectives,
        "kkt_violations": path.kkt_violations,
        "gaps": path.gaps,
        "n_iters": path.n_iters,
        "times_s": path.times_s,
        "statuses": np.array(path.statuses, dtype="U16"),
        "scalars": np.array([path.alpha_max, path.l1_alpha_max, path.n_pairs, path.total_weight], dtype=np.float64),
        "shape": np.array([repr(path.penalty)], dtype="U"),
        "center": scaling.center,
        "scale": scaling.scale,
    }


def unpack(
    arrays: dict[str, np.ndarray], settings: PathSettings, names: tuple[str, ...]
) -> tuple[PathResult, FeatureScaling]:
    """The path that `pack` stored."""
    alpha_max, l1_alpha_max, n_pairs, total_weight = (float(x) for x in arrays["scalars"])
    penalty = parse_penalty(str(arrays["shape"][0]))
    path = PathResult(
        penalty, arrays["alphas"], arrays["coefs"], arrays["losses"], arrays["objectives"], arrays["kkt_violations"],
        arrays["gaps"], arrays["n_iters"], arrays["times_s"], tuple(arrays["statuses"].tolist()),
        alpha_max, l1_alpha_max, int(n_pairs), total_weight, names,
    )  # fmt: skip
    if path.coefs.shape[1] != len(names):
        raise DataError("a stored path has another number of features than the data; use --restart.")
    return path, FeatureScaling(settings.scaling, arrays["center"], arrays["scale"])
