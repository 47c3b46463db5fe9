"""The main job: paths of every penalty, out-of-fold quality of every point, the choice, the comparison on test."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.data.dataset import RankingDataset, concatenate
from sparserank.data.folds import query_folds
from sparserank.errors import DataError, ParameterError
from sparserank.evaluation import Comparison, per_query_values
from sparserank.execution import available_cores
from sparserank.execution.threads import one_blas_thread
from sparserank.model import RankingModel
from sparserank.paths import PathResult, PenaltyPath, refit_on_support
from sparserank.penalties import Ridge
from sparserank.runs.progress import Progress
from sparserank.selection import defaults
from sparserank.selection.candidates import FINAL, FoldedPaths, coefs_of, in_units, unpack
from sparserank.selection.choice import Candidate, Verdict, best_candidate, best_within, judge, smallest_non_inferior
from sparserank.selection.fitting import Family, FittedPaths, families
from sparserank.selection.plan import SelectionPlan
from sparserank.selection.result import SelectionResult
from sparserank.selection.store import SelectionStore
from sparserank.statistics import mean_interval

DENSE = "ridge"  # the label of the dense reference
RIDGE_ALPHAS = 8  # the dense reference needs its strength to within a factor of three, no finer
RIDGE_MIN_RATIO = 1e-6
MOST_SINGLE_FEATURES = 2000  # beyond, ranking by every feature would take longer than the paths


class SelectionJob:
    """A plan on data, checked; `execute` runs it.

    query_weight   one weight > 0 per query of train and, under the cv protocol, then of valid; None: all count the same
    """

    def __init__(
        self,
        plan: SelectionPlan,
        train: RankingDataset,
        valid: RankingDataset | None,
        test: RankingDataset | None,
        *,
        query_weight: np.ndarray | None = None,
        n_threads: int | None = None,
        client: Any = None,
    ) -> None:
        if plan.protocol == "holdout" and valid is None:
            raise ParameterError("protocol", "holdout needs validation data.")
        self.plan, self.train, self.valid, self.test = plan, train, valid, test
        self.n_threads = n_threads or available_cores()
        self.everything = (
            train if valid is None or plan.protocol == "holdout" else concatenate([train, valid], join_queries=False)
        )
        self.names = tuple(self.everything.feature_names or ())
        if plan.costs is not None and len(plan.costs) != len(self.names):
            raise ParameterError(
                "costs", f"must hold {len(self.names)} values, one per feature; got {len(plan.costs)}."
            )
        if plan.baseline_feature is not None and plan.baseline_feature not in self.names:
            raise ParameterError(
                "baseline_feature", f"names no feature; there are {self.names[0]} ... {self.names[-1]}."
            )
        if plan.protocol == "cv":
            if self.everything.n_queries < 2:
                raise DataError(
                    "one query cannot be split into training and validation; "
                    "fit a single model with 'sparserank fit' instead."
                )
            n_folds = min(plan.n_folds, self.everything.n_queries)
            self.fold = query_folds(self.everything.n_queries, n_folds, plan.seed)
            self.folds = list(range(n_folds))
        else:
            self.fold = np.zeros(0, dtype=np.int64)
            self.folds = []
        self.work = FoldedPaths(
            self.everything, self.fold, plan.settings, plan.metrics, valid=valid if plan.protocol == "holdout" else None,
            query_weight=query_weight, n_threads=self.n_threads, client=client,
        )  # fmt: skip

    # -- the job ------------------------------------------------------------------------------------------------

    def execute(self, store: SelectionStore | None = None, progress: Progress | None = None) -> SelectionResult:
        """Do what is missing in `store` (all of it without one), choose, compare."""
        with one_blas_thread():
            return self._execute(store, progress)

    def _execute(self, store: SelectionStore | None, progress: Progress | None) -> SelectionResult:
        plan = self.plan
        began = time.perf_counter()
        dense_reference = Family(DENSE, PenaltyPath(Ridge(), RIDGE_ALPHAS, RIDGE_MIN_RATIO))
        fitted = FittedPaths(
            self.work, [*families(plan.labelled), dense_reference], [FINAL, *self.folds], self.n_threads
        )
        units = fitted.all(store, progress)
        paths, scalings = {}, {}
        for label, penalty in {**plan.labelled, DENSE: Ridge()}.items():
            paths[label], scalings[label] = unpack(units[label, FINAL], self.plan.settings, self.names, penalty)
        sparse = [c for label in plan.labelled for c in self._candidates(label, paths[label], units)]
        dense = best_candidate(self._candidates(DENSE, paths[DENSE], units))
        best = best_candidate([*sparse, dense])
        margin = self.plan.margin * abs(best.mean)
        notes: list[str] = self._weighting()
        by_penalty: dict[str, Verdict | None] = {}
        by_own: dict[str, Verdict] = {}
        for label in plan.labelled:
            own = [c for c in sparse if c.penalty == label]
            own_best = best_candidate(own)
            own_verdict = smallest_non_inferior(own, own_best, plan.margin * abs(own_best.mean), plan.confidence)
            by_own[label] = own_verdict or judge(own_best, own_best, margin, plan.confidence)
            by_penalty[label] = smallest_non_inferior(own, best, margin, plan.confidence)
        chosen = self._choose(sparse, best, margin, notes)
        model = self._model(chosen.candidate, paths, scalings)
        if plan.refit:
            notes.append(
                "weights were refitted on the chosen features; quality, bound and costs are those before the refit."
            )
        result = SelectionResult(
            plan=self.plan,
            model=model,
            chosen=chosen,
            best=best,
            dense=dense,
            candidates=sparse,
            by_penalty=by_penalty,
            by_own=by_own,
            by_size=_frontier(sparse),
            paths=paths,
            scalings=scalings,
            drops=self._drops(chosen.candidate, model, units),
            test=self._compare_on_test(model, dense, paths, scalings, notes),
            constant_features=tuple(np.array(self.names)[self.everything.constant_features()]),
            query_ids=tuple(str(q) for q in self._scored().query_ids),
            notes=notes,
        )
        if store is not None:
            store.log({"event": "done", "seconds": round(time.perf_counter() - began, 3)})
        return result

    def _weighting(self) -> list[str]:
        """What the loss is, where it is not the plain one: nothing else on the screen would say so."""
        loss, weighted = self.plan.settings.loss, []
        if self.work.query_weight is not None:
            weighted.append("queries")
        if self.everything.doc_weight is not None:
            weighted.append("preferred documents")
        if loss == defaults.LOSS and not weighted:
            return []
        return [f"the loss is {loss}" + (f", its pairs weighted by {' and '.join(weighted)}." if weighted else ".")]

    def _candidates(self, label: str, path: PathResult, units: dict) -> list[Candidate]:
        """Points of the final path; their quality comes from the same point of every fold's path, on held-out queries."""
        costs = np.ones(len(self.names)) if self.plan.costs is None else np.array(self.plan.costs)
        out = []
        for i in range(len(path.alphas)):
            used = path.support(i)
            if len(used) == 0:
                continue
            out.append(Candidate(label, i, len(used), float(costs[used].sum()), self._values(units, label, i)))
        return out

    def _values(self, units: dict, label: str, index: int, metric: int = 0) -> np.ndarray:
        if self.plan.protocol == "holdout":
            return units[label, FINAL]["values"][metric, index]
        values = np.empty(self.everything.n_queries)
        for f in self.folds:
            values[self.fold == f] = units[label, f]["values"][metric, index]
        return values

    def _scored(self) -> RankingDataset:
        """The queries that candidates are judged on, in the order of their values."""
        if self.plan.protocol == "holdout":
            assert self.valid is not None
            return self.valid
        return self.everything

    def _choose(self, sparse: Sequence[Candidate], best: Candidate, margin: float, notes: list[str]) -> Verdict:
        plan = self.plan
        if plan.k is not None or plan.budget is not None:
            return judge(best_within(sparse, plan.k, plan.budget), best, margin, plan.confidence)
        verdict = smallest_non_inferior(sparse, best, margin, plan.confidence)
        if verdict is None:
            notes.append(
                "no sparse model could be shown to be as good as the dense one within the margin; "
                "the best sparse model was taken. More queries or a larger --margin would help."
            )
            return judge(best_candidate(sparse), best, margin, plan.confidence)
        return verdict

    def _model(self, chosen: Candidate, paths: dict, scalings: dict) -> RankingModel:
        path, scaling = paths[chosen.penalty], scalings[chosen.penalty]
        before = ""
        coef = path.scaled_coef(chosen.index)
        parameters = {
            "loss": self.plan.settings.loss,
            "penalty": repr(path.penalty.with_alpha(path.alphas[chosen.index])),
            "alpha_fraction": float(path.alphas[chosen.index] / path.alpha_max),
            "refit": self.plan.refit,
        }
        if self.plan.refit:
            (objective,), _ = self.work.objectives([FINAL])
            coef = refit_on_support(objective, np.flatnonzero(coef)).w
            before = " (before the refit)"
        metadata = {
            "metric": repr(self.plan.metric),
            "status": path.statuses[chosen.index] + before,
            "kkt_violation": float(path.kkt_violations[chosen.index]),
            "n_pairs": path.n_pairs,
            "quality": float(chosen.mean),
            "quality_from": ("out of fold" if self.plan.protocol == "cv" else "validation queries") + before,
        }
        return RankingModel(coef, self.names, scaling, parameters, metadata)

    def _drops(self, chosen: Candidate, model: RankingModel, units: dict) -> list[dict[str, Any]]:
        """For each selected feature and metric: what setting its weight to 0 costs, on queries the model has not seen."""
        features = model.support[np.argsort(-np.abs(model.coef[model.support]), kind="stable")]
        metrics = self.plan.metrics
        n = len(chosen.values)
        full, without = np.empty((len(metrics), n)), np.empty((len(metrics), len(features), n))
        models = {}
        for f in self.folds or [FINAL]:
            arrays = units[chosen.penalty, f]
            full_model = in_units(coefs_of(arrays)[[chosen.index]], arrays["scale"])
            models[f] = sp.csr_array(sp.vstack([_without(full_model, j) for j in features], format="csr"))
        for f, values in self.work.measure(models).items():
            where = self.fold == f if f != FINAL else np.ones(n, dtype=bool)
            full[:, where] = units[chosen.penalty, f]["values"][:, chosen.index]
            without[:, :, where] = values
        rows = []
        for k, j in enumerate(features):
            row: dict[str, Any] = {"feature": self.names[j], "coef": float(model.coef[j])}
            for m, metric in enumerate(metrics):
                mean, low, high = mean_interval(full[m] - without[m, k], self.plan.confidence)
                row[repr(metric)] = {"cost": mean, "low": low, "high": high}
            rows.append(row)
        return rows

    def _compare_on_test(
        self, model: RankingModel, dense: Candidate, paths: dict, scalings: dict, notes: list[str]
    ) -> Comparison | None:
        """Chosen model against the dense one, the best single feature and the named score column."""
        if self.test is None:
            return None
        test, metrics = self.test, self.plan.metrics
        feature, sign = self._best_single_feature(notes)
        systems = {f"chosen ({len(model.support)} features)": model.score_dataset(test)}
        dense_path = paths[DENSE]
        systems[f"dense RankSVM ({dense.n_features} features)"] = RankingModel(
            dense_path.scaled_coef(dense.index), self.names, scalings[DENSE]
        ).score_dataset(test)
        systems[f"best single feature ({self.names[feature]}{' ascending' if sign < 0 else ''})"] = sign * _column(
            test, feature
        )
        if self.plan.baseline_feature is not None:
            systems[f"current score ({self.plan.baseline_feature})"] = _column(
                test, self.names.index(self.plan.baseline_feature)
            )
        values = {
            name: dict(zip(map(repr, metrics), per_query_values(scores, test, metrics), strict=True))
            for name, scores in systems.items()
        }
        return Comparison(values, next(iter(values)))

    def _best_single_feature(self, notes: list[str]) -> tuple[int, float]:
        """Feature and direction with the highest mean metric on the training queries."""
        data = self.everything
        sought = np.flatnonzero(~data.constant_features())
        if len(sought) > MOST_SINGLE_FEATURES:
            notes.append(
                f"the best single feature was sought among the {MOST_SINGLE_FEATURES} of {len(sought)} that separate "
                "preferred pairs best."
            )
            (objective,), _ = self.work.objectives([FINAL])
            separation = np.abs(objective.gradient_at_zero) / np.sqrt(np.maximum(objective.pair_norms, 1e-300))
            sought = np.sort(np.argsort(-separation, kind="stable")[:MOST_SINGLE_FEATURES])
        means = self.work.single_features(sought, self.plan.metric)
        _, negative, sign = max(
            (mean, -j, sign)
            for of_sign, sign in zip(means, (1.0, -1.0), strict=True)
            for mean, j in zip(of_sign, sought, strict=True)
        )
        return -int(negative), sign


def _without(model: sp.csr_array, j: int) -> sp.csr_array:
    """(1, n_features) a model, its weight of feature j set to 0."""
    kept = model.indices != j
    return sp.csr_array((model.data[kept], model.indices[kept], [0, int(kept.sum())]), shape=model.shape)


def _column(data: RankingDataset, j: int) -> np.ndarray:
    return data.X[:, [j]].toarray().ravel() if data.is_sparse else np.asarray(data.X[:, j], dtype=np.float64)


def _frontier(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The best candidate of each size, smallest first."""
    best: dict[int, Candidate] = {}
    for c in candidates:
        if c.n_features not in best or c.mean > best[c.n_features].mean:
            best[c.n_features] = c
    return [best[k] for k in sorted(best)]
