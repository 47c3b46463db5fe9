"""The tables of docs/conventions.md: what each metric convention does, and what it makes of one small example, read off
the package itself; `python -m site_pages.conventions` in docs/ writes them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from site_pages.docstrings import inline
from sparserank.errors import DataError
from sparserank.metrics import CONVENTIONS, METRICS, Convention, parse_metric

PAGE = Path(__file__).parents[1] / "conventions.md"
GAIN = {"exp2": "2^rel - 1", "linear": "rel", "letor": "2^rel - 1 for 0 to 4, other labels 0"}
DISCOUNT = {"log2": "1 / log2(rank + 1)", "letor": "1, 1, then 1 / log2(rank)"}
TIES = {"pessimistic": "least relevant first", "file": "row order", "docid": "document id, descending"}
EMPTY = {"zero": "0", "one": "1"}
SHORT = {
    "full": "whole list; padded",
    "zero_ndcg": "NDCG 0; padded",
    "zero": "both 0",
    "length": "whole list; its length",
}
HITS = {"all": "all relevant documents", "cutoff": "at most the cutoff"}

# (labels in the order of their scores, whether the first two are tied): what conventions disagree about
EXAMPLE = {
    "five documents": ([1, 0, 2, 0, 1], False),
    "its first two tied": ([1, 0, 2, 0, 1], True),
    "one document": ([1], False),
    "nothing relevant": ([0, 0, 0], False),
}
SHOWN = ("ndcg@3", "ndcg@10", "map", "map@2", "p@3")


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    head = list(head)
    cells = [[inline(cell) if "`" not in cell else cell for cell in row] for row in rows]
    return ["| " + " | ".join(line) + " |" for line in [head, ["---"] * len(head), *cells]]


def _rules(convention: Convention) -> list[str]:
    return [
        f"`{convention.name}`",
        GAIN[convention.gain],
        DISCOUNT[convention.discount],
        TIES[convention.ties],
        EMPTY[convention.empty],
        SHORT[convention.short_lists],
        HITS[convention.most_hits],
        "yes" if convention.mean_ndcg else "no",
    ]


def _value(metric: str, convention: Convention, labels: list[int], tied: bool) -> str:
    scores = -np.arange(len(labels), dtype=np.float64)
    if tied:
        scores[1] = scores[0]
    ids = np.array([f"d{i}" for i in range(len(labels))])
    try:
        found = parse_metric(metric, convention)(scores, np.array(labels, float), np.array([0, len(labels)]), ids)
    except DataError:
        return "-"
    return f"{found[0]:.4f}"


def table() -> str:
    """The rules of every convention, its values on the example, and the metrics there are."""
    lines = _table(
        [
            "convention",
            "gain",
            "discount",
            "equal scores",
            "nothing relevant",
            "n beyond the list: NDCG@n; P@n",
            "AP@n is divided by",
            "MeanNDCG",
        ],
        map(_rules, CONVENTIONS.values()),
    )
    for title, (labels, tied) in EXAMPLE.items():
        same = ", the first two of equal score" if tied else ""
        lines += [
            "",
            f"**{title.capitalize()}**: labels {' '.join(map(str, labels))} in the order of the scores{same}.",
            "",
        ]
        lines += _table(
            ["convention", *SHOWN],
            ([f"`{c.name}`", *(_value(m, c, labels, tied) for m in SHOWN)] for c in CONVENTIONS.values()),
        )
    return "\n".join(lines)


def metrics() -> str:
    """Every metric: its name, what it is, where it comes from."""
    return "\n".join(
        _table(
            ["name", "is", "cutoff", "after"],
            ([f"`{m.name}`", m.description, "yes" if m.takes_cutoff else "no", m.source] for m in METRICS.values()),
        )
    )


def page(text: str) -> str:
    """The page with its tables as they are now."""
    for name, made in {"metrics": metrics(), "conventions": table()}.items():
        begin, end = f"<!-- begin: {name} -->\n", f"<!-- end: {name} -->"
        text = re.sub(f"(?s){begin}.*{end}", lambda _, new=f"{begin}\n{made}\n\n{end}": new, text)  # type: ignore[misc]
    return text


if __name__ == "__main__":
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
