"""The main job: paths of every penalty, out-of-fold quality of every point, the choice, the comparison on test."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank import defaults
from sparserank.crossval.candidates import Pool, best_of_sizes
from sparserank.crossval.choice import AUTO, Candidate, choose
from sparserank.crossval.convergence import unsolved, unsolved_paths
from sparserank.crossval.current_model import LABEL, InUse, change
from sparserank.crossval.fitting import Family, FittedPaths, families
from sparserank.crossval.folded_paths import FINAL, FOLD_TOL, FoldedPaths
from sparserank.crossval.groups import each_alone
from sparserank.crossval.looks import Look, curve_look, looks
from sparserank.crossval.path_arrays import unpack
from sparserank.crossval.redundant_features import Alike, alike
from sparserank.crossval.stability import Stability, complementary_halves, sets_of
from sparserank.curves import CURVES, NOT_IN_MEMORY
from sparserank.data.dataset import RankingDataset
from sparserank.data.filling import training_medians
from sparserank.data.folds import query_folds
from sparserank.data.joining import concatenate
from sparserank.errors import ConvergenceWarning, DataError, DataWarning, ParameterError
from sparserank.evaluation import Comparison, per_query_values
from sparserank.evaluation.statistics import mean_interval
from sparserank.execution import available_cores
from sparserank.execution.threads import one_blas_thread
from sparserank.jobs.test_comparison import compare_on_test
from sparserank.losses import loss_name
from sparserank.model.ranking_model import RankingModel
from sparserank.number_range import kept_in_vain
from sparserank.paths import Certificate, PathResult
from sparserank.paths.result import n_used
from sparserank.paths.sizes import SizeOf
from sparserank.penalties import Mcp, Penalty, Ridge
from sparserank.penalties.nested import like_l1
from sparserank.runs.progress import LaterWork, Progress
from sparserank.runs.work_store import SelectionStore
from sparserank.selection.drawing import drawn
from sparserank.selection.plan import SelectionPlan
from sparserank.selection.queries import Queries, compare_queries
from sparserank.selection.result import SelectionResult
from sparserank.shards.scaling import FeatureScaling

LARGE_MARGIN = 0.1  # of `auto`: from here on the note says that the queries are too few
RULES = ("weights", "signs", "always_keep", "never_use", "groups")  # of a penalty, by feature
ON_CURVES = ("l1", "mcp", "scad", "best_k")  # penalties; log takes ten times as long there
# Of a path's time that a half-sample takes, about: half the queries, up to the chosen size alone.
HALF_SAMPLE_SHARE = 0.5
DENSE = "ridge"  # the label of the dense reference
RIDGE_ALPHAS = 8  # the dense reference needs its strength to within a factor of three, no finer
RIDGE_MIN_RATIO = 1e-6


class SelectionJob:
    """A plan on data, checked; `execute` runs it.

    current        what ranks today
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
        current: InUse | None = None,
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
        self.groups = plan.groups or each_alone(self.names, plan.costs)
        self.current = current
        if plan.protocol == "cv":
            if self.everything.n_queries == 0:
                raise DataError("the training data hold no document; give at least two queries.")
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
        linear = looks(self.everything, plan.transform, plan.settings.scaling)
        self.looks = {look.name: look for look in linear}
        if plan.shapes == CURVES:
            bent = curve_look(self._in_memory(client), linear, plan.n_knots, self._directions())
            self.looks[bent.name] = bent
        self.works = {
            name: FoldedPaths(
                self.everything,
                self.fold,
                plan.settings,
                plan.metrics,
                valid=valid if plan.protocol == "holdout" else None,
                query_weight=query_weight,
                n_threads=self.n_threads,
                client=client,
                forms=look.forms,
                knots=look.knots,
            )
            for name, look in self.looks.items()
        }

    @property
    def _work(self) -> FoldedPaths:
        """The paths on the first look."""
        return next(iter(self.works.values()))

    def _directions(self) -> np.ndarray:
        """(n_features,) the signs of the penalties, in which curves may go."""
        signs = {tuple(p.feature_signs(len(self.names)).tolist()) for p in self.plan.penalties}
        if len(signs) > 1:
            raise ParameterError("shapes", "curves need the same signs under all penalties; give them as monotone.")
        return np.array(signs.pop())

    def _in_memory(self, client: Any) -> RankingDataset:
        """The training data, if curves can be drawn through them."""
        if self.everything.is_stored or client is not None:
            raise ParameterError("shapes", NOT_IN_MEMORY)
        return self.everything

    # -- the job ------------------------------------------------------------------------------------------------

    def execute(self, store: SelectionStore | None = None, progress: Progress | None = None) -> SelectionResult:
        """Do what is missing in `store` (all of it without one), choose, compare."""
        with one_blas_thread():
            return self._execute(store, progress)

    def _execute(self, store: SelectionStore | None, progress: Progress | None) -> SelectionResult:
        plan = self.plan
        began = time.perf_counter()
        pool, sparse, dense = self.candidates(store, progress)
        paths, scalings = self.final_paths(pool)
        rivals = [*dense] if self.current is None else [*dense, self._in_use(self.current)]
        choice = choose(
            sparse,
            rivals,
            margin=plan.margin,
            confidence=plan.confidence,
            k=plan.k,
            budget=plan.budget,
            seed=plan.seed,
            by_cost=plan.groups is not None,
        )
        notes: list[str] = [*self._weighting(), *self._kept_in_vain()]
        notes += [short] if (short := unsolved_paths(pool.units, plan.settings.tol)) else []
        if choice.limit is None and not choice.within_margin(choice.chosen):
            notes.append(
                "no sparse model is shown to be within the margin; the sparse model of the highest mean was taken. "
                "More queries or a larger --margin would help."
            )
        if choice.limit is None and plan.margin == AUTO and choice.relative_margin > LARGE_MARGIN:
            notes.append(
                f"the margin is {100 * choice.relative_margin:.3g}%, because these queries can show no less; more "
                "queries are needed to tell models of different sizes apart."
            )
        chosen, strongest = choice.chosen, max(dense, key=lambda c: c.mean)
        certificate = pool.certificate(chosen, paths[chosen.penalty].penalty)
        model = self.model(chosen, certificate, paths, scalings, pool)
        by_size = best_of_sizes([c for c in choice.candidates if c in sparse], choice.by_cost)
        stability = self._stability(chosen, model, store, progress, len(pool.units), notes)
        test = self._compared_on_test(model, strongest, pool, notes)
        result = SelectionResult(
            plan=plan,
            model=model,
            choice=choice,
            dense=strongest,
            certificate=certificate,
            by_penalty={
                label: choice.smallest([c for c in choice.candidates if c.penalty == label])
                for label, (_, penalty) in self._makers().items()
                if not penalty.smooth_at_zero
            },
            by_size=by_size,
            used=[tuple(self.names[j] for j in pool.features(c, FINAL)) for c in by_size],
            paths=paths,
            scalings=scalings,
            drops=self._drops(chosen, model, pool),
            group_drops=self._group_drops(chosen, model, pool),
            stability=stability,
            alike=self._alike(chosen, stability, pool),
            change=None if self.current is None else change(choice, rivals[-1], self.current, model, self._query_ids()),
            queries=self._queries(chosen, model, rivals[-1] if self.current else strongest, pool, test),
            test=test,
            constant_features=tuple(np.array(self.names)[self.everything.constant_features()]),
            query_ids=self._query_ids(),
            notes=notes,
        )
        if store is not None:
            store.log({"event": "done", "seconds": round(time.perf_counter() - began, 3)})
        return result

    def candidates(
        self, store: SelectionStore | None = None, progress: Progress | None = None
    ) -> tuple[Pool, list[Candidate], list[Candidate]]:
        """(all models, sparse candidates, dense ones that they are compared with); fits what is missing in `store`."""

        later = LaterWork(self.plan.half_samples * HALF_SAMPLE_SHARE)

        def with_one_more(done: int, n: int, what: str, left: float | None) -> None:
            assert progress is not None
            progress(done, n + bool(self.plan.half_samples), what, later.seconds(done, left))

        fitted = FittedPaths(self.works, self._families(), [FINAL, *self.folds], self.n_threads)
        units = fitted.all(store, None if progress is None else with_one_more)
        by_cost = self.plan.groups is not None
        pool = Pool(units, self.fold if self.plan.protocol == "cv" else None, self.groups, by_cost)
        sparse: list[Candidate] = []
        dense: list[Candidate] = []
        for label, (_, penalty) in self._makers().items():
            if penalty.smooth_at_zero:
                dense += pool.of_points(label)
            else:
                sparse += pool.of_sizes(label)
        return pool, sparse, dense

    def final_paths(self, pool: Pool) -> tuple[dict[str, PathResult], dict[str, FeatureScaling]]:
        """The path of each maker on all queries, by label, and how its features are scaled."""
        paths, scalings = {}, {}
        for label, (look, penalty) in self._makers().items():
            names = look.names(self.names)
            path, scalings[label] = unpack(pool.units[label, FINAL], self.plan.settings, names, penalty)
            # The user's rules, not those of the columns of several forms.
            rules = {name: getattr(penalty, name) for name in RULES}
            paths[label] = replace(path, penalty=replace(path.penalty, **rules))
        return paths, scalings

    def _makers(self) -> dict[str, tuple[Look, Penalty]]:
        """Every penalty on every look, the dense reference after the others, by label;
        curves have no dense reference."""
        return {
            look.label(label): (look, penalty)
            for look in self.looks.values()
            for label, penalty in {**self._penalties(look), **({} if look.knots else {DENSE: self._dense()})}.items()
        }

    def _dense(self) -> Ridge:
        """The dense reference, held to what all penalties are held to: a model that breaks it is no rival."""
        signs = {p.signs for p in self.plan.penalties}
        never = set.intersection(*(set(p.never_use) for p in self.plan.penalties))
        return Ridge(signs=signs.pop() if len(signs) == 1 else None, never_use=tuple(sorted(never)))

    def _penalties(self, look: Look) -> dict[str, Penalty]:
        """Those tried on a look, by label: on curves those that were asked for and are known there, else l1 and MCP
        under the rules of the first."""
        labelled = self._limited(self.plan.labelled)
        if look.knots is None:
            return labelled
        known = {label: p for label, p in labelled.items() if p.name in ON_CURVES}
        if known:
            return known
        l1 = like_l1(next(iter(labelled.values())))
        return {"l1": l1, "mcp": Mcp(1.0, l1.weights, l1.signs, l1.always_keep, l1.never_use, l1.groups)}

    def _limited(self, labelled: dict[str, Penalty]) -> dict[str, Penalty]:
        """These penalties, and, where some groups alone are beyond --k or --budget, each once more without them: a path
        that begins with a large group may hold nothing small."""
        plan = self.plan
        beyond = self.groups.beyond(plan.k, plan.budget) if plan.groups is not None else ()
        if not beyond or len(beyond) == len(self.names):
            return labelled
        limit = f"within {plan.k} features" if plan.k is not None else f"within a cost of {plan.budget:g}"
        small = {
            f"{label} {limit}": replace(p, never_use=tuple(sorted({*p.never_use, *beyond} - set(p.always_keep))))
            for label, p in labelled.items()
        }
        return {**labelled, **small}

    @property
    def _size_of(self) -> SizeOf:
        """What a size is: the number of features, or with groups what they cost."""
        return n_used if self.plan.groups is None else self.groups.costs_of

    def _families(self) -> list[Family]:
        out: list[Family] = []
        for name, look in self.looks.items():
            labelled = {look.label(label): penalty for label, penalty in self._penalties(look).items()}
            out += families(labelled, refits=self.plan.refits, work=name, look=look, size_of=self._size_of)
            if look.knots is None:
                ridge = look.maker(self._dense(), RIDGE_ALPHAS, RIDGE_MIN_RATIO)
                out.append(Family(look.label(DENSE), ridge, work=name))
        return out

    def _in_use(self, current: InUse) -> Candidate:
        """What ranks today, on the queries that candidates are judged on."""
        data, features = self._scored(), np.flatnonzero(np.isin(self.names, current.features))
        (values,) = per_query_values(data.from_input_order(current.scores(data)), data, [self.plan.metric])
        n = len(current.features)
        return Candidate(LABEL, n, 0.0, -1, n, self.groups.cost(features), values)

    def _query_ids(self) -> tuple[str, ...]:
        return tuple(str(q) for q in self._scored().query_ids)

    def _weighting(self) -> list[str]:
        """What the loss is, where it is not the plain one: nothing else on the screen would say so."""
        loss, weighted = loss_name(self.plan.settings.loss), []
        if self._work.query_weight is not None:
            weighted.append("queries")
        if self.everything.doc_weight is not None:
            weighted.append("preferred documents")
        if loss == defaults.LOSS and not weighted:
            return []
        return [f"the loss is {loss}" + (f", its pairs weighted by {' and '.join(weighted)}." if weighted else ".")]

    def _kept_in_vain(self) -> list[str]:
        """What is said of features that were to be kept although no weight of theirs changes a ranking."""
        said = []
        kept = sorted(
            {j for p in self.plan.penalties for j in p.always_keep}
            & set(np.flatnonzero(self.everything.constant_features()).tolist())
        )
        if kept:
            said.append(kept_in_vain([self.names[int(j)] for j in kept]))
            warnings.warn(said[-1], DataWarning, stacklevel=2)
        return said

    def _scored(self) -> RankingDataset:
        """The queries that candidates are judged on, in the order of their values."""
        if self.plan.protocol == "holdout":
            assert self.valid is not None
            return self.valid
        return self.everything

    def model(
        self,
        chosen: Candidate,
        certificate: Certificate,
        paths: Mapping[str, PathResult],
        scalings: Mapping[str, FeatureScaling],
        pool: Pool,
    ) -> RankingModel:
        """The final model of a candidate, with all that is known of it."""
        look, _ = self._makers()[chosen.penalty]
        path, scaling = paths[chosen.penalty], scalings[chosen.penalty]
        alpha = float(pool.alpha(chosen))
        parameters = {
            "loss": loss_name(self.plan.settings.loss),
            "penalty": repr(path.penalty.with_alpha(alpha)),
            "alpha_fraction": alpha / path.alpha_max,
            "relax": chosen.relax,
            "transform": look.name,
        }
        metadata = {
            "metric": repr(self.plan.metric),
            **vars(certificate),
            "n_pairs": path.n_pairs,
            "quality": float(chosen.mean),
            "quality_from": "out of fold" if self.plan.protocol == "cv" else "validation queries",
        }
        coef = pool.model(chosen).toarray()[0]
        blocks = pool.blocks(chosen)
        model = look.model(
            coef,
            self.names,
            scaling,
            blocks,
            parameters=parameters,
            metadata=metadata,
            fill_values=self.train.fill_values,
        )
        return replace(model, medians=training_medians(self.everything.X, model.support))

    def _stability(
        self,
        chosen: Candidate,
        model: RankingModel,
        store: SelectionStore | None,
        progress: Progress | None,
        n_units: int,
        notes: list[str],
    ) -> Stability | None:
        """The chosen maker at the chosen size on halves of the queries that have pairs; one piece of work."""
        look, _ = self._makers()[chosen.penalty]
        work, n_pairs = self.works[look.name], self.plan.half_samples // 2
        usable = work.pairs() > 0
        if n_pairs == 0 or usable.sum() < 4:
            if progress is not None and n_pairs > 0:
                progress(n_units + 1, n_units + 1, "half-samples: too few queries", 0.0)
            return None
        name = f"half-samples-{2 * n_pairs}-{chosen.penalty}-{chosen.k}"
        arrays = store.load(name) if store is not None else None
        if arrays is None:
            if progress is not None:
                progress(n_units, n_units + 1, f"{2 * n_pairs} half-samples", None)
            family = {f.label: f for f in self._families()}
            maker = family[chosen.penalty]
            start = None if maker.start is None else family[maker.start].maker
            samples = complementary_halves(usable, n_pairs, self.plan.seed)
            supports, statuses = work.halves(maker.maker, samples, chosen.k, start, self._size_of, chosen.n_features)
            arrays = {"kept": sets_of(supports, len(self.names)), "statuses": np.array(statuses, dtype="U16")}
            if store is not None:
                store.save(name, arrays)
        if progress is not None:
            progress(n_units + 1, n_units + 1, "half-samples", 0.0)
        short = unsolved(arrays["statuses"].tolist(), "on half-samples", f"{FOLD_TOL:g}")
        if short is not None:
            notes.append(short)
            warnings.warn(short, ConvergenceWarning, stacklevel=2)
        return Stability(
            arrays["kept"], model.support, len(self.names) - int(self.everything.constant_features().sum())
        )

    def _drops(self, chosen: Candidate, model: RankingModel, pool: Pool) -> list[dict[str, Any]]:
        """For each selected feature and metric: what setting its weight to 0 costs,
        on queries the model has not seen."""
        features = model.support[np.argsort(-np.abs(model.coef[model.support]), kind="stable")]
        return [
            {
                "feature": self.names[j],
                "coef": float(model.coef[j]),
                "transform": model.transform_of(j),
                "shape": model.shape_of(j),
                "curve": drawn(model, self.everything, int(j)),
                **costs,
            }
            for j, costs in zip(features, self._dropped(chosen, [np.array([j]) for j in features], pool), strict=True)
        ]

    def _group_drops(self, chosen: Candidate, model: RankingModel, pool: Pool) -> list[dict[str, Any]]:
        """For each group in use, the dearest first, the same of all its features at once."""
        if self.plan.groups is None:
            return []
        used = sorted(self.groups.used(model.support), key=lambda g: -self.groups.costs[g])
        members = [np.flatnonzero(np.array(self.groups.of_feature) == g) for g in used]
        return [
            {
                "group": self.groups.names[g],
                "group_cost": self.groups.costs[g],
                "features": [self.names[j] for j in np.intersect1d(own, model.support)],
                **costs,
            }
            for g, own, costs in zip(used, members, self._dropped(chosen, members, pool), strict=True)
        ]

    def _dropped(self, chosen: Candidate, sets: list[np.ndarray], pool: Pool) -> list[dict[str, Any]]:
        """For each set of features {metric: mean loss and its interval when their weights are set to 0}."""
        metrics = self.plan.metrics
        n, d = len(chosen.values), len(self.names)
        full = np.array([pool.values(chosen, m) for m in range(len(metrics))])
        without = np.empty((len(metrics), len(sets), n))
        models = {}
        look, _ = self._makers()[chosen.penalty]
        n_columns = 1 if look.knots is None else look.knots.m
        for f in self.folds or [FINAL]:
            whole = pool.model_in_units(chosen, f)
            models[f] = sp.csr_array(sp.vstack([_without(whole, own, d, n_columns) for own in sets], format="csr"))
        for f, values in self.works[look.name].measure(models).items():
            where = self.fold == f if f != FINAL else np.ones(n, dtype=bool)
            without[:, :, where] = values
        return [
            {
                repr(metric): dict(
                    zip(
                        ("cost", "low", "high"),
                        mean_interval(full[m] - without[m, k], self.plan.confidence),
                        strict=True,
                    )
                )
                for m, metric in enumerate(metrics)
            }
            for k in range(len(sets))
        ]

    def _alike(self, chosen: Candidate, stability: Stability | None, pool: Pool) -> Alike:
        """What was left out and says the same as a selected feature."""
        work, kept = self.works[self._look_of(chosen).name], pool.forms(chosen)
        found = {} if stability is None else {j: stability.stand_in(j) for j in kept}
        stand_ins = {j: other for j, other in found.items() if other is not None}
        return alike(self.everything, self.names, kept, work.in_forms, stand_ins)

    def _queries(
        self, chosen: Candidate, model: RankingModel, rival: Candidate, pool: Pool, test: Comparison | None
    ) -> Queries:
        """The chosen model beside what is in use, or the dense model: on the test queries, or else on those that
        candidates are judged on, each by the models that have not seen it."""
        metric = self.plan.metric
        if test is not None:
            assert self.test is not None
            of_rival = self.current or self._dense_in_use(rival, pool)
            names = next(iter(test.values)), of_rival.name
            values = tuple(test.values[name][repr(metric)] for name in names)
            return compare_queries(self.test, metric, (values[0], values[1]), lambda q: (model, of_rival), "test")
        models: dict[int, tuple[RankingModel, InUse]] = {}

        def scorers(q: int) -> tuple[RankingModel, InUse]:
            f = int(self.fold[q]) if self.plan.protocol == "cv" else FINAL
            if f not in models:
                models[f] = self._fold_model(chosen, f, pool), self.current or self._dense_in_use(rival, pool, f)
            return models[f]

        on = "out of fold" if self.plan.protocol == "cv" else "validation"
        return compare_queries(self._scored(), metric, (chosen.values, rival.values), scorers, on)

    def _look_of(self, c: Candidate) -> Look:
        return self._makers()[c.penalty][0]

    def _fold_model(self, c: Candidate, fold: int, pool: Pool) -> RankingModel:
        """The model of a fold, or the final one, without what is known of it."""
        scaling = pool.scaling(c, fold, self.plan.settings.scaling)
        return self._look_of(c).model(pool.model(c, fold).toarray()[0], self.names, scaling, pool.blocks(c, fold))

    def _dense_in_use(self, dense: Candidate, pool: Pool, fold: int = FINAL) -> InUse:
        """The dense reference as what ranks."""
        look = self._look_of(dense)
        name = f"dense RankSVM ({dense.n_features} features{f' {look.name}' if look.forms else ''})"
        return InUse(name, (), self._fold_model(dense, fold, pool))

    def _compared_on_test(
        self, model: RankingModel, dense: Candidate, pool: Pool, notes: list[str]
    ) -> Comparison | None:
        if self.test is None:
            return None
        full = self._dense_in_use(dense, pool)
        assert full.model is not None
        return compare_on_test(self.plan, self.test, self._work, model, {full.name: full.model}, self.current, notes)


def _without(model: sp.csr_array, features: np.ndarray, n_features: int, m: int) -> sp.csr_array:
    """(1, n_columns) a model, its weights of some features set to 0, in whatever form it has them;
    m columns of each feature are side by side."""
    kept = ~np.isin(model.indices // m % n_features, features)
    return sp.csr_array((model.data[kept], model.indices[kept], [0, int(kept.sum())]), shape=model.shape)
