"""Do the bounds and intervals that `select` prints hold? Worlds in which the truth is known, with trees as
rivals; the rule that was printed before (each candidate's own bound against the picked best) beside.

Resampled: the queries of real out-of-fold tables are the population; a table of as many queries is drawn from them
again and again, one row shifted far up in half of the worlds. Refitted: the queries of MQ2008 are the population; n of
them are selected on, and the truth about the model of a fold, trees too, is its mean over all that it was not trained
on, of which the queries of its fold are a random sample. A world counts as broken
when any candidate truly loses more than its bound, or any difference to a rival lies outside its interval.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.report import Verdict, table

N_RESAMPLED = int(os.environ.get("SPARSERANK_WORLDS", "500"))
N_REFITTED = N_RESAMPLED // 5
MAX_ROWS = 60  # candidates of a table, evenly spread: bounds of 700 take seconds each
SHIFT = 0.1
REFITTED_QUERIES = (100, 300)
TREES = 50  # of each ensemble in a refitted world
ALLOWED = 0.05


@dataclass(frozen=True)
class Table:
    """(candidates, queries) and (rivals, queries) values."""

    candidates: np.ndarray
    rivals: np.ndarray


@dataclass(frozen=True)
class Worlds:
    """How many of n worlds are broken: any candidate above its bound, the chosen one above its bound, any difference to
    a rival outside its interval; any above the bound of the old rule, the chosen above that."""

    n: int
    bound: int
    chosen: int
    interval: int
    old: int
    old_chosen: int

    @property
    def allowed(self) -> float:
        """The share of so many worlds that fewer than 1% of runs exceed, if 5% of worlds are broken."""
        from scipy.stats import binom

        return float(binom.ppf(0.99, self.n, ALLOWED)) / self.n


def run() -> list[Verdict]:
    data = os.environ.get("SPARSERANK_DATA")
    if data is None:
        print("skipped: SPARSERANK_DATA is not set")
        return []
    found = {f"{name}, resampled": _resampled(t) for name, t in _tables(Path(data)).items()}
    for n in REFITTED_QUERIES:
        found[f"MQ2008, refitted on {n} queries"] = _refitted(Path(data), n)
    rows = [
        [name, w.n, *(_share(k, w.n) for k in (w.bound, w.chosen, w.interval, w.old, w.old_chosen))]
        for name, w in found.items()
    ]
    head = ["population", "worlds", "any above its bound", "the chosen", "any outside its interval"]
    print(table([*head, "old rule: any", "the chosen"], rows))
    return [
        Verdict("coverage", f"{name}: {what}", k / w.n, w.allowed, False, unit="")
        for name, w in found.items()
        for what, k in (("losses above their bounds", w.bound), ("differences outside their intervals", w.interval))
    ]


def _share(k: int, n: int) -> str:
    """A count, and the exact 95% interval of the share (Clopper and Pearson 1934)."""
    from scipy.stats import beta

    low = 0.0 if k == 0 else float(beta.ppf(0.025, k, n - k + 1))
    high = 1.0 if k == n else float(beta.ppf(0.975, k + 1, n - k))
    return f"{k} ({100 * low:.1f}-{100 * high:.1f}%)"


def _tables(data: Path) -> dict[str, Table]:
    """Out-of-fold NDCG@10 of real data."""
    import sparserank as sr

    sources: dict[str, Any] = {
        "MQ2008": [data / f"mq2008/S{i}.txt.gz" for i in (1, 2, 3, 4)],
        "OHSUMED": [data / f"ohsumed/querylevelnorm/S{i}.txt.gz" for i in (1, 2, 3, 4)],
        "MSLR sample": [data / f"mslr-web10k-sample/fold1.{part}.5k.txt.gz" for part in ("train", "test")],
    }
    out = {}
    for name, paths in sources.items():
        held = sr.read(paths)
        candidates = sr.select(held, half_samples=0).choice.candidates
        rows = np.unique(np.linspace(0, len(candidates) - 1, MAX_ROWS).round().astype(int))
        out[name] = Table(np.array([candidates[i].values for i in rows]), _rival_values(held))
    return out


def _rival_values(data: Any, n_trees: int | None = None, rest: Any = None) -> np.ndarray:
    """(1, n_queries) NDCG@10 of trees on the folds of `select`; with `rest` one column more, their true mean: of the
    trees of each fold on these queries and those of their fold."""
    from dataclasses import replace

    from sparserank.crossval.trees import LIGHTGBM_SETTINGS, TreeData
    from sparserank.data.folds import query_folds
    from sparserank.evaluation import mean_of, per_query_values
    from sparserank.metrics import parse_metric

    metric, fold = parse_metric("ndcg@10"), query_folds(data.n_queries, 5, 0)
    settings = LIGHTGBM_SETTINGS if n_trees is None else replace(LIGHTGBM_SETTINGS, n_trees=n_trees)
    values, truth, held = np.zeros((1, data.n_queries)), 0.0, TreeData(data, np.arange(data.n_features), settings)
    for f in range(5):
        trees, own = held.fit(fold != f, f), data.take_queries(np.flatnonzero(fold == f))
        (values[0, fold == f],) = per_query_values(trees.scores(own.X), own, [metric])
        if rest is not None:
            beyond = per_query_values(trees.scores(rest.X), rest, [metric])[0]
            truth += mean_of(np.concatenate([beyond, values[0, fold == f]])) / 5
    return values if rest is None else np.column_stack([values, [truth]])


def _old_bounds(values: np.ndarray) -> np.ndarray:
    """Each candidate's own one-sided 95% bound against the best of the sample, as if that had been fixed before."""
    from scipy.special import stdtrit

    loss = values[int(np.argmax(values.mean(axis=1)))] - values
    n = loss.shape[1]
    return loss.mean(axis=1) + stdtrit(n - 1, 0.95) * loss.std(axis=1, ddof=1) / np.sqrt(n)


def _broken(
    t: Table, truth: np.ndarray, true_rivals: np.ndarray, seed: int, sizes: np.ndarray, *, out_of_fold: bool = False
) -> np.ndarray:
    """(5,) what is broken, as in Worlds. Chosen: the smallest within the margin of `select`."""
    from sparserank.evaluation.loss_bounds import loss_bounds
    from sparserank.evaluation.rival_intervals import rival_intervals
    from sparserank.options.selection import DEFAULT_MARGIN as MARGIN

    means, loss = t.candidates.mean(axis=1), truth.max() - truth
    within = np.flatnonzero(np.max(means) - means <= MARGIN * abs(float(np.max(means))))
    chosen = within[np.argmin(sizes[within])]
    ours, old = loss_bounds(t.candidates, seed=seed).upper + 1e-12, _old_bounds(t.candidates) + 1e-12
    found = rival_intervals(t.candidates, t.rivals, seed=seed, out_of_fold=out_of_fold)
    outside = np.abs(found.differences - (truth[:, None] - true_rivals[None])) > found.reach + 1e-12
    return np.array(
        [
            (loss > ours).any(),
            loss[chosen] > ours[chosen],
            outside.any(),
            (loss > old).any(),
            loss[chosen] > old[chosen],
        ]
    ).astype(int)


def _resampled(population: Table) -> Worlds:
    rng = np.random.default_rng(0)
    m, n = population.candidates.shape
    broken = np.zeros(5, dtype=int)
    for world in range(N_RESAMPLED):
        shifted = population.candidates.copy()
        if world % 2:
            shifted[rng.integers(m)] += SHIFT
        drawn = rng.integers(0, n, n)
        t = Table(shifted[:, drawn], population.rivals[:, drawn])
        broken += _broken(t, shifted.mean(axis=1), population.rivals.mean(axis=1), world, np.arange(m))
    return Worlds(N_RESAMPLED, *broken.tolist())


def _refitted(data: Path, n: int) -> Worlds:
    """Truth of a candidate or a rival: the mean over folds of that of its fold model on the queries that it was not
    trained on."""
    import sparserank as sr

    everything = sr.read([data / f"mq2008/S{i}.txt.gz" for i in (1, 2, 3, 4, 5)])
    rng = np.random.default_rng(n)
    broken = np.zeros(5, dtype=int)
    for world in range(N_REFITTED):
        order = rng.permutation(everything.n_queries)
        here, rest = everything.take_queries(np.sort(order[:n])), everything.take_queries(np.sort(order[n:]))
        values, truth, sizes = _judged(here, rest)
        rivals = _rival_values(here, TREES, rest)
        broken += _broken(Table(values, rivals[:, :-1]), truth, rivals[:, -1], world, sizes, out_of_fold=True)
    return Worlds(N_REFITTED, *broken.tolist())


def _judged(here: Any, rest: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(out-of-fold values, true means, sizes) of the candidates."""
    import scipy.sparse as sp

    from sparserank.crossval.folded_paths import FoldedPaths
    from sparserank.crossval.tasks import FINAL
    from sparserank.crossval.tree_rivals import tree_rivals
    from sparserank.evaluation import mean_of
    from sparserank.metrics import parse_metric
    from sparserank.paths import PathPlan
    from sparserank.selection.job import SelectionJob, SelectionProblem
    from sparserank.selection.plan import make_plan

    metric, path_plan = parse_metric("ndcg@10"), PathPlan(n_alphas=25)
    plan = make_plan(penalties=None, metric=metric, report_metrics=(), convention="default", path_plan=path_plan)
    job = SelectionJob(plan, SelectionProblem(here, trees=tree_rivals("auto", here)), n_threads=1)
    candidate_set = job.candidates()
    candidates = [*candidate_set.sparse, *candidate_set.dense]
    values = np.array([c.values for c in candidates])
    truth = np.zeros(len(candidates))
    for transform in job.cv.works:
        own = [i for i, c in enumerate(candidates) if candidate_set.transform(c) == transform]
        if not own:
            continue
        judging = FoldedPaths(here, job.cv.fold, plan.path_plan, [metric], valid=rest, n_threads=1, transform=transform)
        for f in job.cv.folds:
            models = sp.csr_array(sp.vstack([candidate_set.in_units(candidates[i], f) for i in own]))
            (values_there,) = judging.measure({FINAL: models})[FINAL]
            seen_by_nobody = np.hstack([values_there, values[own][:, job.cv.fold == f]])
            truth[own] += [mean_of(v) / len(job.cv.folds) for v in seen_by_nobody]
    return values, truth, np.array([c.n_features for c in candidates])
