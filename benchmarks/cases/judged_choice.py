"""Do the bounds of `select` and `fuse` hold after the choice if a judge graded most queries? Refitted worlds in which
the truth is known: people graded few of the queries, a judge all of them.

A document has a relevance, its grade is where it falls among thresholds, and a judge sees it through noise; one judge
also raises what the first feature (the first retriever) ranks first. The truth about a candidate is the mean over folds
of its fold model's NDCG@10, by the grades of people, on queries that nobody has seen. A world is broken when any
candidate truly loses more than its bound. People alone: only their queries are learned from. Naive: the judge's grades
count as if they were those of people. Quality: the mean of the final model on the unseen queries.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.cases.coverage import ALLOWED
from benchmarks.report import Verdict, table

N_WORLDS = int(os.environ.get("SPARSERANK_WORLDS", "200"))
N_HUMAN, N_JUDGED, N_UNSEEN, DOCUMENTS = 40, 200, 1000, 20
GRADES = (0.8, 1.5, 2.1)
NOISES = (0.8, 1.0, 1.5, 2.5, 4.0, 6.0)  # of what a feature, or a retriever, knows of the relevance
WAYS = JUDGED, ALONE, NAIVE = ("with the judge", "people alone", "naive")
JUDGES = {"good": 0.4, "weak": 2.0, "favours the first": 0.7}


@dataclass(frozen=True)
class World:
    """(n_queries, DOCUMENTS) grades of people and of the judge; (n_queries, DOCUMENTS, n_features) features. The first
    N_HUMAN queries are those of people, and the last N_UNSEEN have been seen by nobody."""

    people: np.ndarray
    judge: np.ndarray
    X: np.ndarray


def world_of(seed: int, judge: str) -> World:
    rng = np.random.default_rng(seed)
    n = N_JUDGED + N_UNSEEN
    relevance = rng.normal(size=(n, DOCUMENTS))
    hard = rng.gamma(2.0, 0.5, size=(n, 1, 1))
    X = relevance[..., None] + hard * np.array(NOISES) * rng.normal(size=(n, DOCUMENTS, len(NOISES)))
    seen = np.searchsorted(GRADES, relevance + JUDGES[judge] * rng.normal(size=relevance.shape))
    if judge.startswith("favours"):
        ranks = np.argsort(np.argsort(-X[..., 0], axis=1), axis=1)
        seen = np.minimum(seen + (ranks < 5), len(GRADES))
    return World(np.searchsorted(GRADES, relevance), seen, X)


def of_select(world: World, way: str) -> Any:
    """A job of `select` that is ready, with the data that nobody has seen."""
    import pandas as pd

    from sparserank.options import asked
    from sparserank.options.selection import SELECT
    from sparserank.selection.select import prepare

    qid = np.repeat(np.arange(len(world.X)), DOCUMENTS)
    frame = pd.DataFrame(world.X.reshape(len(qid), -1), columns=[f"x{j}" for j in range(len(NOISES))])
    frame["qid"], frame["label"], frame["judge"] = qid, world.people.ravel().astype(float), world.judge.ravel()
    train, unseen = frame[qid < N_JUDGED].copy(), frame[qid >= N_JUDGED].drop(columns="judge")
    of_judge = train["qid"] >= N_HUMAN
    train["label"] = train["label"].where(~of_judge, train["judge"] if way == NAIVE else np.nan)
    options: dict[str, Any] = {"penalties": "l1", "n_alphas": 12, "rival": "none", "feature_transform": "none"}
    options |= {"half_samples": 0, "cv": 4}
    if way == JUDGED:
        options["judge_column"] = "judge"
    else:
        train = train[train["label"].notna()].drop(columns="judge")
    chosen: Any = asked("select", SELECT, options)
    ready = prepare({"train": train, "validation": None, "test": unseen}, chosen)
    return ready.job, ready.job.problem.test


def of_fuse(world: World, way: str) -> Any:
    """A job of `fuse` that is ready, with the data that nobody has seen."""
    from sparserank.options import asked
    from sparserank.options.fusion import FUSE
    from sparserank.selection.fuse import prepare

    runs: dict[str, Any] = {f"r{j}": {} for j in range(len(NOISES))}
    grades: tuple[dict[Any, Any], ...] = ({}, {}, {})  # by people, by the judge, of queries that nobody has seen
    for q, (people, judge, X) in enumerate(zip(world.people, world.judge, world.X, strict=True)):
        for j, scores in enumerate(X.T):
            runs[f"r{j}"][f"q{q}"] = {f"d{d}": float(scores[d]) for d in np.argsort(-scores)[:12].tolist()}
        of_people = {f"d{d}": int(g) for d, g in enumerate(people)}
        if q >= N_JUDGED:
            grades[2][f"q{q}"] = of_people
        else:
            grades[1][f"q{q}"] = {f"d{d}": int(g) for d, g in enumerate(judge)}
            if q < N_HUMAN:
                grades[0][f"q{q}"] = of_people
    people = {**grades[1], **grades[0]} if way == NAIVE else grades[0]
    options: dict[str, Any] = {"penalties": "l1", "norm": "minmax", "half_samples": 0, "cv": 4}
    options |= {"test_qrels": grades[2]} | ({"judge": grades[1]} if way == JUDGED else {})
    chosen: Any = asked("fuse", FUSE, options)
    ready = prepare(runs, people, chosen)
    return ready.job, ready.test


def seen_in(job: Any, unseen: Any) -> list[float]:
    """[whether any candidate truly loses more than its bound, whether the chosen one does, resolution, quality, number
    of features]"""
    from sparserank.crossval.tasks import FINAL
    from sparserank.evaluation import per_query_values

    candidate_set = job.candidates()
    choice = job.plan.choose(candidate_set.sparse, candidate_set.dense, job.problem.defended)

    def truth(c: Any, folds: list[int]) -> float:
        models = [candidate_set.model(c, job.names, f) for f in folds]
        metric = [job.plan.metric]
        return float(np.mean([per_query_values(m.score_dataset(unseen), unseen, metric)[0].mean() for m in models]))

    true = np.array([truth(c, job.cv.folds) for c in choice.candidates])
    beyond = true.max() - true > choice.bounds.upper + 1e-12
    of_chosen = beyond[choice.candidates.index(choice.chosen)]
    quality = truth(choice.chosen, [FINAL])
    return [float(beyond.any()), float(of_chosen), choice.resolution, quality, float(choice.chosen.n_features)]


def worlds(ready: Callable[[World, str], Any], judge: str, n: int) -> np.ndarray:
    """(n, ways, 5) what was seen in each world."""
    out = []
    for seed in range(n):
        world = world_of(seed, judge)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out.append([seen_in(*ready(world, way)) for way in WAYS])
    return np.array(out)


def run() -> list[Verdict]:
    from scipy.stats import binom

    rows, verdicts = [], []
    n = -(-N_WORLDS // len(JUDGES))
    for name, ready in (("select", of_select), ("fuse", of_fuse)):
        n_broken = 0
        for judge in JUDGES:
            seen = worlds(ready, judge, n)
            n_broken += int(seen[:, 0, 0].sum())
            for i, way in enumerate(WAYS):
                any_broken, chosen_broken, resolution, quality, size = seen[:, i].T
                better = quality - seen[:, WAYS.index(ALONE), 3]
                error = 1.96 * better.std(ddof=1) / np.sqrt(n)
                shown = f"{quality.mean():.4f} ({better.mean():+.4f} +- {error:.4f})"
                counts = int(any_broken.sum()), int(chosen_broken.sum())
                rows.append([name, judge, way, n, *counts, float(np.median(resolution)), shown, size.mean()])
                print(rows[-1], flush=True)
        n_all = n * len(JUDGES)
        allowed = float(binom.ppf(0.99, n_all, ALLOWED)) / n_all
        what = f"{name}: losses above their bounds"
        verdicts.append(Verdict("judged_choice", what, n_broken / n_all, allowed, False, unit=""))
    head = ["job", "judge", "way", "worlds", "any above its bound", "the chosen", "resolution", "quality", "features"]
    print(table(head, rows))
    return verdicts
