"""Made runs of retrievers, what tests do to runs and judgments, and lists with ranks and equal scores in files."""

from pathlib import Path
from typing import Any

import numpy as np

from sparserank.data.fusion.lists import RetrieverLists, read_lists
from sparserank.data.run_reader import Ids
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


Entries = dict[str, list[tuple[str, float, float]]]  # {query: (document, rank, score)}


def entries(seed: int, n_queries: int = 12, negative: bool = False) -> Entries:
    """Lists of 1 to 40 documents, some scores equal, one list of a single document, one of equal scores."""
    rng = np.random.default_rng(seed)
    found: Entries = {}
    for q in range(n_queries):
        n = 1 if q == 3 else int(rng.integers(2, 40))
        documents = [f"d{i}" for i in rng.permutation(60)[:n]]
        scores = np.round(rng.gamma(2.0, 4.0, n) - (9.0 if negative else 0.0), 1)
        scores = np.sort(np.full(n, 2.5) if q == 5 else scores)[::-1]
        found[f"q{q}"] = [(d, r + 1.0, float(s)) for r, (d, s) in enumerate(zip(documents, scores, strict=True))]
    return found


def write(of: Entries, path: Path, seed: int = 0) -> Path:
    """A run file with its lines in any order."""
    lines = [f"{q} Q0 {d} {r:g} {s!r} tag\n" for q, own in of.items() for d, r, s in own]
    path.write_text("".join(np.random.default_rng(seed).permutation(np.array(lines, dtype=object))))
    return path


def lists(of: Entries, tmp_path: Path, name: str = "bm25") -> tuple[RetrieverLists, Ids]:
    documents = Ids()
    queries = {q: i for i, q in enumerate(of)}
    return read_lists(write(of, tmp_path / f"{name}.run"), name, queries, documents), documents
