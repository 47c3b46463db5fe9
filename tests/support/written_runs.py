"""Lists of retrievers with ranks and equal scores, and files of them."""

from pathlib import Path

import numpy as np

from sparserank.data.fusion.lists import RetrieverLists, read_lists
from sparserank.data.run_reader import Ids

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
