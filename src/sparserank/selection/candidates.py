"""Paths on all training queries and without each fold of them, from one copy of the features, and what their points are worth
on queries that they have not seen."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.scaling import FeatureScaling, fit_scalings, prepared
from sparserank.errors import ConvergenceWarning, DataError
from sparserank.execution import BlockExecutor
from sparserank.execution.threads import one_blas_thread
from sparserank.lazy import cached_property
from sparserank.losses import LOSSES
from sparserank.metrics import Metric
from sparserank.objective import PairwiseObjective
from sparserank.paths import PathMaker, PathPlan, PathResult, PathStarts, Point
from sparserank.penalties import Penalty
from sparserank.penalties.spec import parse_call
from sparserank.selection.plan import PathSettings
from sparserank.shards import LocalShards, as_rows, make_shards
from sparserank.shards.measuring import measure
from sparserank.solvers.lockstep import run_all
from sparserank.weighting import Weighting

UNSCALED = ("none", "query-min-max")  # nothing is left to divide by
FINAL = -1  # the number of the path that is delivered: on all training queries
FOLD_TOL = 1e-4  # paths that only estimate quality: no ranking changes between this and the tolerance of the final path
ROUGH_TOL = 1e-3  # l1 paths that are only started from

Keep = Callable[[int, Point, int], None]  # fold, the new point of its path, points in all


class FoldedPaths:
    """Computes the paths of a maker for some folds at once: each path leaves out the queries of its fold, by weights of 0.

    All folds read the same X; nothing is copied or scaled but what a scaling cannot do by a factor per feature (a logarithm,
    min-max within queries), once. Picklable, so that workers can have one each.

    Parameters
        data          training queries
        fold          (n_queries,) fold numbers from 0; FINAL leaves nothing out
        settings, metrics
        valid         queries that points of the FINAL path are scored on; points of fold f are scored on the queries of f
        query_weight  (n_queries,) weights > 0 of the training queries in the loss, or None
        max_iter      of the solver, per strength
        n_threads     threads of a pass; results do not depend on it, nor on which folds are computed together
    """

    def __init__(
        self,
        data: RankingDataset,
        fold: np.ndarray,
        settings: PathSettings,
        metrics: Sequence[Metric],
        *,
        valid: RankingDataset | None = None,
        query_weight: np.ndarray | None = None,
        max_iter: int = 300,
        n_threads: int | None = None,
    ) -> None:
        self.data, self.fold, self.settings, self.metrics = data, fold, settings, list(metrics)
        self.valid, self.query_weight, self.max_iter, self.n_threads = valid, query_weight, max_iter, n_threads
        self._weighted: tuple[tuple[int, ...], list[PairwiseObjective], list[FeatureScaling]] | None = None

    def __getstate__(self) -> dict[str, Any]:
        kept = ("data", "fold", "settings", "metrics", "valid", "query_weight", "max_iter", "n_threads")
        return {**{name: self.__dict__[name] for name in kept}, "_weighted": None}

    def with_threads(self, n_threads: int) -> FoldedPaths:
        """The same with other threads."""
        return FoldedPaths(
            self.data, self.fold, self.settings, self.metrics, valid=self.valid, query_weight=self.query_weight,
            max_iter=self.max_iter, n_threads=n_threads,
        )  # fmt: skip

    @cached_property
    def prepared(self) -> RankingDataset:
        return prepared(self.data, self.settings.scaling)

    @cached_property
    def _shards(self) -> LocalShards:
        d = self.prepared
        loss = LOSSES[self.settings.loss]()
        return make_shards(as_rows(d.X), d.relevance, d.query_ptr, loss, d.doc_weight, self.n_threads, d.docid)

    def objectives(self, folds: Sequence[int]) -> tuple[list[PairwiseObjective], list[FeatureScaling]]:
        """The loss without each of these folds, and its scaling, learned without it too."""
        if self._weighted is None or self._weighted[0] != tuple(folds):
            d, settings = self.prepared, self.settings
            used = np.array([(self.fold != f) if f != FINAL else np.ones(d.n_queries, dtype=bool) for f in folds])
            weight = used * (np.ones(d.n_queries) if self.query_weight is None else self.query_weight)
            centers, scales = fit_scalings(d, settings.scaling, weight > 0)
            self._refuse_empty(folds, weight)
            weighting = Weighting(
                self._shards, weight, scale=None if settings.scaling in UNSCALED else scales,
                pair_weights=settings.pair_weights, feature_names=d.feature_names,
            )  # fmt: skip
            scalings = [FeatureScaling(settings.scaling, c, s) for c, s in zip(centers, scales, strict=True)]
            self._weighted = tuple(folds), weighting.objectives(), scalings
        return self._weighted[1], self._weighted[2]

    def _refuse_empty(self, folds: Sequence[int], weight: np.ndarray) -> None:
        """A fold that holds every pair is no fault of the data."""
        pairs = np.concatenate([f.pair_weight for f in self._shards.call("facts")])
        for f, row in zip(folds, weight, strict=True):
            if f != FINAL and pairs.any() and not (row * pairs).any():
                raise DataError(
                    f"without the queries of fold {f + 1} no preferred pair is left to learn from; take another seed, other folds, "
                    "or the holdout protocol."
                )

    def __call__(
        self,
        maker: PathMaker,
        folds: Sequence[int],
        starts: Mapping[int, dict[str, np.ndarray]] | None = None,
        done: Mapping[int, Sequence[Point]] | None = None,
        keep: Keep | None = None,
        *,
        rough: bool = False,
    ) -> dict[int, dict[str, np.ndarray]]:
        """{fold: its path as arrays, `unpack` reads them}, the folds in lockstep: one read of X serves all.

        Parameters
            starts   {fold: an l1 path as arrays}: where a concave penalty is started from besides its own last solution
            done     {fold: points known from an earlier run}, as `keep` gave them
            rough    the paths are only started from: neither certified to the tolerance nor scored
        """
        with one_blas_thread(), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # statuses travel with the path and are printed
            objectives, scalings = self.objectives(folds)
            steps = []
            for f, objective in zip(folds, objectives, strict=True):
                start = None if starts is None else starts[f]
                plan = replace(
                    self.path_plan,
                    tol=self._tol(f, rough),
                    starts=None if start is None else PathStarts(start["alphas"], start["coefs"]),
                    done=() if done is None else done[f],
                    keep=None if keep is None else _keeper(keep, f),
                )
                steps.append(maker.path(objective, plan))
            paths = run_all(steps)
            pieces = {f: pack(p, s) for f, p, s in zip(folds, paths, scalings, strict=True)}
            if not rough:
                models = {f: p.scaled_coefs / s.scale for f, p, s in zip(folds, paths, scalings, strict=True)}
                for f, values in self.measure(models).items():
                    pieces[f]["values"] = values
            return pieces

    @property
    def path_plan(self) -> PathPlan:
        settings, names = self.settings, tuple(self.data.feature_names or ())
        return PathPlan(settings.n_alphas, settings.alpha_min_ratio, settings.tol, self.max_iter, feature_names=names)

    def _tol(self, fold: int, rough: bool) -> float:
        if rough:
            return max(self.settings.tol, ROUGH_TOL)
        return self.settings.tol if fold == FINAL else max(self.settings.tol, FOLD_TOL)

    def measure(self, models: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
        """{fold: (n_metrics, n_models, queries of the fold)} for models (n_models, n_features) per fold, in units of `prepared`.

        Those of FINAL are scored on `valid`, and left out without.
        """
        out = {}
        if FINAL in models and self.valid is not None:
            unseen = prepared(self.valid, self.settings.scaling)
            (out[FINAL],) = measure(
                as_rows(unseen.X), unseen.relevance, unseen.query_ptr, unseen.docid, [models[FINAL]],
                np.zeros(unseen.n_queries, dtype=np.int64), self.metrics, BlockExecutor(self.n_threads),
            )  # fmt: skip
        folds = [f for f in models if f != FINAL]
        if folds:
            judge = np.full(len(self.fold), -1)
            for g, f in enumerate(folds):
                judge[self.fold == f] = g
            parts = self._shards.call("measure", [models[f] for f in folds], self.metrics, per_query=judge)
            out |= {f: np.concatenate([p[g] for p in parts], axis=2) for g, f in enumerate(folds)}
        return out


def _keeper(keep: Keep, fold: int) -> Callable[[Point, int], None]:
    return lambda point, n: keep(fold, point, n)


def pack(path: PathResult, scaling: FeatureScaling) -> dict[str, np.ndarray]:
    """A fitted path as arrays for the run directory; coefs are those of the scaled features."""
    return {
        "alphas": path.alphas,
        "coefs": path.scaled_coefs,
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
    arrays: dict[str, np.ndarray], settings: PathSettings, names: tuple[str, ...], like: Penalty
) -> tuple[PathResult, FeatureScaling]:
    """The path that `pack` stored, of a penalty of the same class as `like`."""
    alpha_max, l1_alpha_max, n_pairs, total_weight = (float(x) for x in arrays["scalars"])
    penalty = type(like)(**parse_call(str(arrays["shape"][0]))[1])
    path = PathResult(
        penalty, arrays["alphas"], arrays["coefs"], arrays["losses"], arrays["objectives"], arrays["kkt_violations"],
        arrays["gaps"], arrays["n_iters"], arrays["times_s"], tuple(arrays["statuses"].tolist()),
        alpha_max, l1_alpha_max, int(n_pairs), total_weight, names,
    )  # fmt: skip
    if path.scaled_coefs.shape[1] != len(names):
        raise DataError("a stored path has another number of features than the data; use --restart.")
    return path, FeatureScaling(settings.scaling, arrays["center"], arrays["scale"])
