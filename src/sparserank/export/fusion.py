"""Exports of fusion formulas to engines and libraries; explanations of fused lists, exact because scores are sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparserank.data.runs import Run, ranked
from sparserank.errors import DataError, ParameterError
from sparserank.export import elasticsearch, fusion_libraries, python_code, sql, vespa
from sparserank.export.engine import Files
from sparserank.export.explanation import QueryExplanation
from sparserank.export.fusion_engine import FusionEngine
from sparserank.model.fusion import FusionFormula
from sparserank.text import brief

FUSION_ENGINES: dict[str, FusionEngine] = {
    engine.name: engine
    for engine in (
        elasticsearch.FUSION,
        elasticsearch.OPENSEARCH_FUSION,
        vespa.FUSION,
        fusion_libraries.QDRANT,
        fusion_libraries.RANX,
        fusion_libraries.PYTERRIER,
        python_code.FUSION,
        sql.FUSION,
    )
}


def export_fusion(formula: FusionFormula, to: str, name: str = "sparserank") -> Files:
    """Write a formula in the format of an engine, as {file name: text}.

    Raises
        ParameterError   the format is unknown
        DataError        it cannot express the formula; the message has the remedy
    """
    if to not in FUSION_ENGINES:
        known = ", ".join(FUSION_ENGINES)
        raise ParameterError("to", f"must be one of {known} for fused retrievers; got {brief(to)}.")
    engine = FUSION_ENGINES[to]
    engine.check(formula)
    return engine.write(formula, name)


def fusion_command(formula: FusionFormula, place: str) -> str:
    """The command that exports the formula at `place`, a quoted path, for the first engine that runs it."""
    engine = next(name for name, e in FUSION_ENGINES.items() if e.runs(formula))
    several = " --out engine" if engine == "opensearch" else ""  # the export to OpenSearch has two files
    return f"sparserank export {place} --to {engine}{several}"


def explain_fused(formula: FusionFormula, runs: Any, query: str) -> QueryExplanation:
    """Explain the fused list of a query: the features are the retrievers, and their values the ranks in their lists
    (nan where a retriever did not return the document).

    Parameters
        runs   as in `FusionFormula.apply`
    Raises
        DataError   no retriever in use returned anything for the query; a run is missing or cannot be read
    """
    every = formula.added(runs)
    lists = [
        {d: (rank, value) for (q, d), rank, value in zip(a.keys, a.ranks, a.values, strict=True) if q == query}
        for a in every
    ]
    documents = list(dict.fromkeys(d for hits in lists for d in hits))
    if not documents:
        known = list(dict.fromkeys(q for a in every for q, _ in a.keys))
        among = f" The runs contain {brief(known[0])} ... {brief(known[-1])}." if known else ""
        raise DataError(f"no retriever in use returned documents for query {brief(query)}.{among}")
    ranks, added = np.array([[hits.get(d, (np.nan, 0.0)) for hits in lists] for d in documents]).transpose(2, 0, 1)
    scores = added.sum(axis=1)
    fused = ranked(Run({(query, d): score for d, score in zip(documents, scores.tolist(), strict=True)}))[query]
    place = {d: i for i, d in enumerate(documents)}
    order = [place[d] for d, _ in fused[: formula.longest]]
    return QueryExplanation(
        query,
        formula.retrievers,
        tuple(documents[i] for i in order),
        np.full(len(order), np.nan),
        scores[order],
        ranks[order],
        (added - added.mean(axis=0))[order],
    )
