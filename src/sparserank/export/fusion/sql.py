"""A formula as an SQL query over a table of what retrievers returned."""

from __future__ import annotations

import math

from sparserank.data.fusion.norms import L2, LEAST, LOGRANK, MINMAX, RETURNED, RRF, ZSCORE, Norm
from sparserank.errors import DataError
from sparserank.export.fusion.engine import FusionEngine
from sparserank.export.options import Files
from sparserank.export.sql import approximate
from sparserank.model.fusion import FusionFormula
from sparserank.quoting import brief

VALUES = {  # of a row of `lists`
    MINMAX: "CASE WHEN high = low THEN 1e0 ELSE (score - low) / (high - low) END",
    L2: "CASE WHEN high = 0e0 THEN score ELSE score / high / SQRT(squares) END",
    ZSCORE: "CASE WHEN high = low THEN 1e0 ELSE (score - low) / (high - low) / deviation END",
    RETURNED: "1e0",
}
QUERY = """-- Fuses retrievers; needs a table retrieved(qid, docno, retriever, score, rank).
-- Equal scores of a retriever are in the order of its ranks, which may be NULL, and then of docno.
WITH ranked AS (
  SELECT qid, docno, retriever, CAST(score AS DOUBLE PRECISION) AS score,
    ROW_NUMBER() OVER (PARTITION BY qid, retriever ORDER BY score DESC, rank, docno) AS place
  FROM retrieved
  WHERE retriever IN ({names})
),
cut AS (
  SELECT qid, docno, retriever, score, place,
    MIN(score) OVER (PARTITION BY qid, retriever) AS low,
    MAX(score) OVER (PARTITION BY qid, retriever) AS high,
    AVG(score) OVER (PARTITION BY qid, retriever) AS middle
  FROM ranked
  WHERE place <= {depth}
),
lists AS (
  SELECT qid, docno, retriever, score, place, low, high,
    {squares} AS squares,
    {deviation} AS deviation
  FROM cut
),
terms AS (
{terms}
)
{fused}
ORDER BY qid, score DESC, docno
"""
FUSED = """SELECT qid, docno, SUM(weight * CASE WHEN value > 0e0 THEN value ELSE {least} END) AS score
FROM terms
GROUP BY qid, docno"""
TRIMMED = """SELECT qid, docno, score
FROM (
  SELECT qid, docno, score, ROW_NUMBER() OVER (PARTITION BY qid ORDER BY score DESC, docno) AS place
  FROM ({fused}) AS fused
) AS ordered
WHERE place <= {longest}"""
# of scores in units of the highest one and of their range: their squares would vanish if all scores are tiny
SQUARES = "SUM(score / NULLIF(high, 0e0) * (score / NULLIF(high, 0e0))) OVER (PARTITION BY qid, retriever)"
SPREAD = "(score - middle) / NULLIF(high - low, 0e0)"
DEVIATION = f"SQRT(AVG({SPREAD} * ({SPREAD})) OVER (PARTITION BY qid, retriever))"


def write(formula: FusionFormula, name: str) -> Files:
    """fuse.sql."""
    value = _value(formula.norm, formula.depth)
    terms = "\n  UNION ALL\n".join(
        f"  SELECT qid, docno, {approximate(t.weight)} AS weight, {value} AS value FROM lists "
        f"WHERE retriever = {_text(t.retriever)}"
        for t in formula.terms
    )
    fused = FUSED.format(least=approximate(LEAST))
    if formula.longest is not None:
        fused = TRIMMED.format(fused=fused, longest=formula.longest)
    return {
        "fuse.sql": QUERY.format(
            names=", ".join(map(_text, formula.retrievers)),
            depth=formula.depth,
            squares=SQUARES if formula.norm.name == L2 else "1e0",
            deviation=DEVIATION if formula.norm.name == ZSCORE else "1e0",
            terms=terms,
            fused=fused,
        )
    }


def _value(norm: Norm, depth: int) -> str:
    if norm.name == RRF:
        return f"1e0 / ({norm.k} + place)"
    if norm.name == LOGRANK:
        return f"{approximate(math.log1p(depth))} - LN(place)"
    return VALUES[norm.name]


def _text(name: str) -> str:
    if "\0" in name:
        raise DataError(f"{brief(name)} cannot stand in an SQL query; rename the retriever.")
    return "'" + name.replace("'", "''") + "'"


ENGINE = FusionEngine("sql", "SQL", write)
