"""Made runs of retrievers, and what tests do to runs and judgments."""

from typing import Any

import numpy as np

from sparserank.data.runs import Qrels, Run

Runs = dict[str, dict[str, dict[str, float]]]
Judged = dict[str, dict[str, float]]
QUICK: dict[str, Any] = {"half_samples": 0, "penalties": ("l1", "best_k"), "cv": 3, "n_threads": 1}
QUALITY = {"strong": 1.2, "other": 1.1, "weak": 0.2, "noise": 0.0}
N_QUERIES = 60


def made(seed: int = 0, n_queries: int = N_QUERIES, qualities: dict[str, float] = QUALITY) -> tuple[Runs, Judged]:
    """Runs of retrievers that see the relevance of 80 documents through their own noise, and judgments of all relevant
    documents and of some others; some relevant documents are returned by nobody."""
    rng = np.random.default_rng(seed)
    runs: Runs = {name: {} for name in qualities}
    qrels: Judged = {}
    for q in range(n_queries):
        grades = rng.choice(4, size=80, p=[0.8, 0.1, 0.06, 0.04])
        qrels[f"q{q}"] = {f"d{i}": int(g) for i, g in enumerate(grades) if g or rng.random() < 0.2}
        for name, quality in qualities.items():
            scores = quality * grades + rng.standard_normal(80) + 4.0
            top = np.argsort(-scores)[: int(rng.integers(20, 30))]
            runs[name][f"q{q}"] = {f"d{i}": float(scores[i]) for i in top}
    return runs, qrels


def flat(nested: Any) -> dict[tuple[str, str], float]:
    return {(q, d): v for q, own in nested.items() for d, v in own.items()}


def nested(run: dict[tuple[str, str], float]) -> dict[str, dict[str, float]]:
    out: dict[str, dict[str, float]] = {}
    for (q, d), s in run.items():
        out.setdefault(q, {})[d] = s
    return out


def cut(run: dict[str, dict[str, float]], depth: int) -> Run:
    """The first documents of each list, by score and then id."""
    best = {q: sorted(own, key=lambda d: (-own[d], d))[:depth] for q, own in run.items()}
    return Run({(q, d): run[q][d] for q, kept in best.items() for d in kept})


def judgments(qrels: Any) -> Any:
    """As `read_qrels` gives them, from nested or flat ones."""
    return Qrels(qrels if any(isinstance(key, tuple) for key in qrels) else flat(qrels))


def qrels_of(qrels: Judged, which: range) -> Judged:
    return {f"q{i}": qrels[f"q{i}"] for i in which}
