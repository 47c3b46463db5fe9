"""ranx's fusion: `optimize_fusion` of wsum, and SegFuse (Shokouhi 2007), on min-max scores."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

STEP = 0.1  # of the weights
Lists = dict[str, dict[str, float]]  # {query: {document: score}}


def of_runs(
    runs: Sequence[Path], inside: Any, outside: Any, metric: str, depth: int, seconds: list[float]
) -> dict[str, np.ndarray]:
    """Values of the test topics by wsum and SegFuse, learned on the training topics of lists that are cut at `depth`.
    The seconds of wsum are appended to `seconds`."""
    import sparserank as sr
    from sparserank.data.runs import Qrels, Run

    read = [_cut(sr.read_run(path), depth) for path in runs]
    train, test = ([{q: own[q] for q in _queries(part)} for own in read] for part in (inside, outside))
    out = {}
    for name, method in (("wsum (ranx)", "wsum"), ("SegFuse (ranx)", "segfuse")):
        began = time.perf_counter()
        options = {"step": STEP, "show_progress": False} if method == "wsum" else {}
        fused = _by_ranx(train, _queries(inside), test, method, **options)
        if method == "wsum":
            seconds.append(time.perf_counter() - began)
        run = Run({(q, d): s for q, own in fused.items() for d, s in own.items()})
        out[name] = np.asarray(sr.evaluate(run, Qrels(outside), [metric], convention="default").per_query[metric])
    return out


def _queries(qrels: Mapping[tuple[str, str], float]) -> dict[str, dict[str, int]]:
    out: dict[str, dict[str, int]] = {}
    for (q, d), grade in qrels.items():
        out.setdefault(q, {})[d] = int(grade)
    return out


def _cut(run: Any, depth: int) -> Lists:
    from sparserank.data.runs import ranked

    return {q: dict(entries[:depth]) for q, entries in ranked(run).items()}


def of_columns(learned: Any, held: Any, values_of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Scores of the held documents by SegFuse. values_of: from ranks (0: not returned) to scores."""
    train, test = (_lists(data, values_of(np.asarray(data.X))) for data in (learned, held))
    qid, grades = np.asarray(learned.qid), learned.relevance
    qrels: dict[str, dict[str, int]] = {}
    for i, (q, grade) in enumerate(zip(qid.tolist(), grades.tolist(), strict=True)):
        qrels.setdefault(str(q), {})[f"d{i}"] = int(grade)
    fused = _by_ranx(train, qrels, test, "segfuse")
    scores = [fused.get(str(q), {}).get(f"d{i}", 0.0) for i, q in enumerate(np.asarray(held.qid).tolist())]
    return np.array(scores)


def _lists(data: Any, values: np.ndarray) -> list[Lists]:
    """The lists of each engine; a query for which it returned nothing has one document that is not judged."""
    qid = np.asarray(data.qid).tolist()
    out: list[Lists] = [{str(q): {} for q in qid} for _ in range(values.shape[1])]
    for i, q in enumerate(qid):
        for r in np.flatnonzero(values[i]):
            out[r][str(q)][f"d{i}"] = float(values[i, r])
    return [{q: found or {"none": 0.0} for q, found in own.items()} for own in out]


def _by_ranx(
    train: list[Lists], qrels: dict[str, dict[str, int]], test: list[Lists], method: str, **options: Any
) -> Lists:
    import ranx

    learned = [ranx.Run(own) for own in train]
    params = ranx.optimize_fusion(
        ranx.Qrels(qrels), learned, norm="min-max", method=method, metric="ndcg_burges@10", **options
    )
    fused = ranx.fuse(runs=[ranx.Run(own) for own in test], norm="min-max", method=method, params=params)
    return {str(q): dict(own) for q, own in fused.to_dict().items()}
