"""Do the bounds that `select` prints hold? Worlds in which the truth is known, the rule that was printed before (each
candidate's own bound against the picked best) beside.

Resampled: the queries of real out-of-fold tables (default `select`: refits and transforms among the candidates) are the
population; a table of as many queries is drawn from them again and again, one row shifted far up in half of the worlds.
Refitted: the queries of MQ2008 are the population; n of them are selected on, and the models of the folds are judged by
all the others. A world counts as broken when any candidate truly loses more than its bound.
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
MOST_ROWS = 60  # candidates of a table, evenly spread: bounds of 700 take seconds each
SHIFT = 0.1
REFITTED_QUERIES = (50, 100, 300)
ALLOWED = 0.05


@dataclass(frozen=True)
class Worlds:
    """Shares of worlds: any candidate above its bound, the chosen one above its bound; the same for the old rule."""

    n: int
    ours: float
    chosen: float
    old: float
    old_chosen: float

    @property
    def allowed(self) -> float:
        """5% and two standard errors of as many worlds."""
        return ALLOWED + 2.0 * float(np.sqrt(ALLOWED * (1 - ALLOWED) / self.n))


def run() -> list[Verdict]:
    data = os.environ.get("SPARSERANK_DATA")
    if data is None:
        print("skipped: SPARSERANK_DATA is not set")
        return []
    found: dict[str, tuple[int, Worlds]] = {}
    for name, values in _tables(Path(data)).items():
        found[f"{name}, resampled"] = values.shape[1], _resampled(values)
    for n in REFITTED_QUERIES:
        found["MQ2008, refitted" + " " * len(found)] = n, _refitted(Path(data), n)
    rows = [
        [
            name.strip(),
            n,
            w.n,
            *(f"{100 * s:.1f}%" for s in (w.ours, w.chosen, w.old, w.old_chosen)),
            f"{100 * w.allowed:.1f}%",
        ]
        for name, (n, w) in found.items()
    ]
    print(
        table(
            [
                "population",
                "queries",
                "worlds",
                "any above its bound",
                "the chosen",
                "old rule: any",
                "the chosen",
                "allowed",
            ],
            rows,
        )
    )
    return [
        Verdict("coverage", f"{name.strip()}, {n} queries", w.ours, w.allowed, False, unit="")
        for name, (n, w) in found.items()
    ]


def _tables(data: Path) -> dict[str, np.ndarray]:
    """(candidates, queries) out-of-fold NDCG@10 of real data."""
    import sparserank as sr

    sources: dict[str, Any] = {
        "MQ2008": [data / f"mq2008/S{i}.txt.gz" for i in (1, 2, 3, 4)],
        "OHSUMED": [data / f"ohsumed/querylevelnorm/S{i}.txt.gz" for i in (1, 2, 3, 4)],
        "MSLR sample": [data / f"mslr-web10k-sample/fold1.{part}.5k.txt.gz" for part in ("train", "test")],
    }
    out = {}
    for name, paths in sources.items():
        candidates = sr.select(paths).choice.candidates
        rows = np.unique(np.linspace(0, len(candidates) - 1, MOST_ROWS).round().astype(int))
        out[name] = np.array([candidates[i].values for i in rows])
    return out


def _old_bounds(values: np.ndarray) -> np.ndarray:
    """Each candidate's own one-sided 95% bound against the best of the sample, as if that had been fixed before."""
    from scipy.special import stdtrit

    loss = values[int(np.argmax(values.mean(axis=1)))] - values
    n = loss.shape[1]
    return loss.mean(axis=1) + stdtrit(n - 1, 0.95) * loss.std(axis=1, ddof=1) / np.sqrt(n)


def _broken(values: np.ndarray, loss: np.ndarray, seed: int, sizes: np.ndarray) -> np.ndarray:
    """(4,) whether any candidate, or the chosen one, truly loses more than its bound; ours, then the old rule's.
    Chosen: the smallest within the margin of `select`."""
    from sparserank.crossval.choice import MARGIN
    from sparserank.evaluation.loss_bounds import loss_bounds

    means = values.mean(axis=1)
    within = np.flatnonzero(means.max() - means <= MARGIN * abs(means.max()))
    chosen = within[np.argmin(sizes[within])]
    out = []
    for upper in (loss_bounds(values, seed=seed).upper, _old_bounds(values)):
        out += [(loss > upper + 1e-12).any(), loss[chosen] > upper[chosen] + 1e-12]
    return np.array(out, dtype=float)


def _resampled(population: np.ndarray) -> Worlds:
    rng = np.random.default_rng(0)
    m, n = population.shape
    broken = np.zeros(4)
    for world in range(N_RESAMPLED):
        shifted = population.copy()
        if world % 2:
            shifted[rng.integers(m)] += SHIFT
        truth = shifted.mean(axis=1)
        broken += _broken(shifted[:, rng.integers(0, n, n)], truth.max() - truth, world, np.arange(m))
    return Worlds(N_RESAMPLED, *(broken / N_RESAMPLED).tolist())


def _refitted(data: Path, n: int) -> Worlds:
    """Truth of a candidate: the mean over folds of its fold models on the queries that nobody selected on."""
    import sparserank as sr

    everything = sr.read_data([data / f"mq2008/S{i}.txt.gz" for i in (1, 2, 3, 4, 5)])
    rng = np.random.default_rng(n)
    broken = np.zeros(4)
    for world in range(N_REFITTED):
        order = rng.permutation(everything.n_queries)
        here, rest = everything.take_queries(np.sort(order[:n])), everything.take_queries(np.sort(order[n:]))
        values, truth, sizes = _judged(here, rest, world)
        broken += _broken(values, truth.max() - truth, world, sizes)
    return Worlds(N_REFITTED, *(broken / N_REFITTED).tolist())


def _judged(here: Any, rest: Any, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(out-of-fold values, true means, sizes) of the candidates."""
    from sparserank.crossval.settings import PathSettings
    from sparserank.evaluation import mean_of, per_query_values
    from sparserank.jobs.selection_job import SelectionJob
    from sparserank.metrics import parse_metric
    from sparserank.penalties import parse_penalty
    from sparserank.selection.plan import SelectionPlan

    metric = parse_metric("ndcg@10")
    settings = PathSettings(n_alphas=25)
    plan = SelectionPlan(tuple(map(parse_penalty, ("l1", "mcp"))), metric, settings=settings, seed=seed)
    job = SelectionJob(plan, here, None, None, n_threads=1)
    pool = job.candidates()
    candidates = [*pool.sparse, *pool.dense]
    values = np.array([c.values for c in candidates])
    truth = np.zeros(len(candidates))
    X = np.asarray(rest.X)
    for i, c in enumerate(candidates):
        for f in job.cv.folds:
            scores = X @ pool.in_units(c, f).toarray()[0]
            truth[i] += mean_of(per_query_values(scores, rest, [metric])[0]) / len(job.cv.folds)
    return values, truth, np.array([c.n_features for c in candidates])
