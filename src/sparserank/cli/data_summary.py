"""Summary of ranking data, as rows for people and as a dict for programs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sparserank.data.dataset import RankingDataset
    from sparserank.report.document import Cells


def summary_of(
    files: Sequence[Any], data: RankingDataset, *, features: bool = True, suspicions: Sequence[str]
) -> tuple[dict[str, Any], Cells]:
    """({name: value} for programs, rows of a table for people) for data whose missing values may be kept. Features that
    are made from one column of a table count as one. With features=False, the summary is about queries and labels only.
    suspicions: sentences about suspicious features."""
    import numpy as np

    from sparserank.data.matrices import missing_counts
    from sparserank.losses import SquaredHinge

    # stores contain no missing values
    share = np.zeros(data.n_features) if data.is_stored else missing_counts(data.X) / data.n_docs
    holes = {data.feature_names[j]: float(share[j]) for j in np.argsort(-share, kind="stable") if share[j] > 0}  # type: ignore[index]
    data = without_holes(data)
    sizes = data.sizes
    pairs = SquaredHinge().n_pairs(data.relevance, data.query_ptr)
    labels, counts = np.unique(data.relevance, return_counts=True)
    shown = ", ".join(f"{v:g}: {c}" for v, c in zip(labels[:10], counts[:10], strict=True))
    summary: dict[str, Any] = {
        "files": [str(f) for f in files],
        "n_docs": data.n_docs,
        "n_queries": data.n_queries,
        "smallest_query": int(sizes.min()),
        "largest_query": int(sizes.max()),
        "queries_without_pair": int((pairs == 0).sum()),
        "n_pairs": float(pairs.sum()),
        "labels": {f"{v:g}": int(c) for v, c in zip(labels, counts, strict=True)},
    }
    rows = [
        ["documents", str(data.n_docs)],
        ["queries", f"{data.n_queries} ({sizes.min()} to {sizes.max()} documents, median {np.median(sizes):g})"],
        ["queries without a preferred pair", str(summary["queries_without_pair"])],
        ["preferred pairs", f"{summary['n_pairs']:.0f}"],
        ["labels", f"{shown} ..." if len(labels) > 10 else shown],
    ]
    if not features:
        return summary, rows
    columns = data.sources
    varying = {columns[j] for j in np.flatnonzero(~data.constant_features()).tolist()}
    names = list(dict.fromkeys(columns))
    constant = [column for column in names if column not in varying]
    summary |= {
        "warnings": list(suspicions),
        "n_features": len(names),
        "sparse": data.is_sparse,
        "dtype": str(data.X.dtype),
        "stored": data.is_stored,
        "constant_features": constant,
        "document_ids": data.docid is not None,
        "missing": holes,
        "feature_names": names,
    }
    rows.append(["features", f"{len(names)} ({'sparse' if data.is_sparse else 'dense'})"])
    if data.is_stored:
        rows.append(["on disk", f"{data.X.nbytes / 1e6:.1f} MB of {data.X.dtype} in {len(data.X.parts)} shards"])
    rows += [
        ["constant within every query", f"{len(constant)}{': ' if constant else ''}{', '.join(constant[:20])}"],
        ["missing values", ", ".join(f"{name} {100 * part:.3g}%" for name, part in list(holes.items())[:20]) or "none"],
        ["document ids", "yes" if data.docid is not None else "no"],
    ]
    if data.doc_weight is not None:
        summary["doc_weight"] = [float(data.doc_weight.min()), float(data.doc_weight.max())]
        rows.append(["weights of documents", "{:g} to {:g}".format(*summary["doc_weight"])])
    return summary, rows


def suspicious(data: RankingDataset, remedy: str = "drop") -> dict[str, str]:
    """As `suspected`, for data whose missing values may be kept; the sentences are shown as warnings."""
    from sparserank.cli.screen import warn
    from sparserank.data.suspects import suspected

    messages = suspected(without_holes(data), remedy=remedy)
    for sentence in messages.values():
        warn(sentence)
    return messages


def without_holes(data: RankingDataset) -> RankingDataset:
    """The data with 0 for missing values."""
    import numpy as np

    from sparserank.data.matrices import apply_to_values, missing_counts

    if data.is_stored or not missing_counts(data.X).any():  # stores contain no missing values
        return data
    return replace(data, X=apply_to_values(data.X, np.nan_to_num), keep_missing=False)


def shown_value(value: Any) -> str:
    """A value of the summary as the text of one cell."""
    if isinstance(value, dict):
        return " ".join(f"{k}:{v}" for k, v in value.items())
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
