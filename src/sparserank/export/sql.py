"""SQL: an expression over columns, for Spark too, and a query that fuses what retrievers returned."""

from __future__ import annotations

import math
from functools import partial

from sparserank.data.fusion.norms import L2, LEAST, LOGRANK, MINMAX, RETURNED, RRF, ZSCORE, Norm
from sparserank.errors import DataError
from sparserank.export.engine import Engine, Files, Options
from sparserank.export.expression import TINY, Dialect, expression
from sparserank.export.fusion_engine import FusionEngine
from sparserank.export.terms import MISSING_FROM, Sum
from sparserank.model.fusion import FusionFormula
from sparserank.options import option
from sparserank.text import brief

BACKSLASH = r" || SUBSTR('\\', 1, 1) || "
VALUES = {  # SQL of each norm, for a row of `lists`
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
# Scores are divided by the highest one or by their range, because squares of tiny scores would be 0. PostgreSQL raises
# an error for squares of tiny quotients, so TINY is added before squaring.
SHARE = f"(score / NULLIF(high, 0e0) + {TINY})"
SQUARES = f"SUM({SHARE} * {SHARE}) OVER (PARTITION BY qid, retriever)"
SPREAD = f"((score - middle) / NULLIF(high - low, 0e0) + {TINY})"
DEVIATION = f"SQRT(AVG({SPREAD} * {SPREAD}) OVER (PARTITION BY qid, retriever))"


def _quoted(name: str, quote: str, odd: str) -> str:
    quoted = quote + name.replace(quote, 2 * quote) + quote
    if not name or "\0" in name or odd in quoted:
        raise DataError(
            f"{brief(name)} cannot be the name of an SQL column in every database. Give its expression in "
            f"{option('features')}: "
            '{"feature name": "expression", ...}.'
        )
    return quoted


class _Sql(Dialect):
    engine = "SQL"
    if_else = "CASE WHEN {0} THEN {1} ELSE {2} END"
    as_double = "CAST({0} AS DOUBLE PRECISION)"
    # Without an exponent, databases read 1.25 as a decimal, which overflows or rounds.
    exponent = "e0"
    ln = "LN"
    size = "ABS"
    one = "1e0"
    has_texts = True
    has_booleans = True

    def variable(self, name: str) -> str:
        """The name in quotes. In ClickHouse, a backslash inside quotes begins an escape, so a backslash before the last
        quote would leave the quotes open."""
        return _quoted(name, '"', '\\"')

    def text(self, text: str) -> str:
        """The SQL literal of a text. Databases differ in how they read two backslashes in quotes, as two or as one.
        Both readings begin with a backslash, which BACKSLASH takes."""
        if "\0" in text:
            raise DataError(f"{brief(text)} cannot stand in an SQL query; rename the retriever.")
        parts = ["'" + part.replace("'", "''") + "'" for part in text.split("\\")]
        return parts[0] if len(parts) == 1 else f"({BACKSLASH.join(parts)})"

    def signed(self, x: str, of_size: str) -> str:
        return f"SIGN({x}) * {of_size}"

    def where_known(self, x: str, value: str, other: str | None) -> str:
        """The text `value` if x is neither NULL nor NaN nor infinite, else `other`. ClickHouse cannot cast NULL. The
        last comparison would exclude NaN, which DuckDB and PostgreSQL sort above all numbers. But DuckDB may decide it
        by a Parquet file's minimum and maximum, which ignore NaN; it cannot do so for a difference."""
        number = self.real(x)
        known = f"{x} IS NOT NULL AND {number} - {number} = 0 AND ABS({number}) < {MISSING_FROM}"
        return f"CASE WHEN {known} THEN {value} END" if other is None else self.case(known, value, other)

    def equals(self, x: str, text: str) -> str:
        return f"{x} = {self.text(text)}" if text else f"{x} IS NULL OR {x} = ''"

    def boolean(self, x: str, yes: str, no: str, other: str | None) -> str:
        """The case distinction for a boolean x; PostgreSQL casts booleans only to whole numbers."""
        known = self.case(f"CAST({x} AS INTEGER) = 0", no, yes)
        return self.case(f"{x} IS NULL", "NULL" if other is None else other, known)

    def exp(self, x: str) -> str:
        """e^x, written so that PostgreSQL raises no error where the result is too large or too small for a number."""
        bounded = f"CASE WHEN {x} > 7e2 THEN 7e2 WHEN {x} < -7e2 THEN -7e2 ELSE {x} END"
        return f"EXP({bounded})"


class _Spark(_Sql):
    engine = "Spark SQL"
    as_double = "CAST({0} AS DOUBLE)"

    def variable(self, name: str) -> str:
        """A quoted name: one in double quotes is a text. Spark replaces ${NAME} by a variable, in quotes too."""
        return _quoted(name, "`", "${")

    def text(self, text: str) -> str:
        """A text with escapes: older versions join two quotes to none, and ${NAME} is replaced by a variable."""
        escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("${", "\\u0024{")
        return f"'{escaped}'"


SQL = _Sql()


def sql(dialect: Dialect, of: Sum, options: Options) -> Files:
    """Write score.sql, an expression over columns with the features' names (for Spark: of expr() of a frame, or of its
    SQL). It is NULL where a feature is missing and the model has no replacement for it.

    Raises
        DataError   some databases would read two features from the same column
    """
    defined = options.features or {}
    first: dict[str, str] = {}
    for name in (t.source for t in of.terms if t.name not in defined and t.source not in defined):
        other = first.setdefault(name.lower(), name)
        if other != name:
            raise DataError(
                f"{brief(other)} and {brief(name)} differ only in case, which some SQL databases ignore. Give the "
                f"expression of one of them in {option('features')}: "
                '{"feature name": "expression", ...}.'
            )
    return {"score.sql": expression(of, dialect, options)}


ENGINE = Engine("sql", "SQL", partial(sql, SQL), steps=True)
OF_SPARK = Engine("spark", "Spark SQL", partial(sql, _Spark()), steps=True)


def sql_fusion(formula: FusionFormula, name: str) -> Files:
    """Write fuse.sql, a query that fuses the lists of retrievers."""
    value = _value(formula.norm, formula.depth)
    terms = "\n  UNION ALL\n".join(
        f"  SELECT qid, docno, {SQL.real(SQL.number(t.weight))} AS weight, {value} AS value FROM lists "
        f"WHERE retriever = {SQL.text(t.retriever)}"
        for t in formula.terms
    )
    fused = FUSED.format(least=SQL.number(LEAST))
    if formula.longest is not None:
        fused = TRIMMED.format(fused=fused, longest=formula.longest)
    return {
        "fuse.sql": QUERY.format(
            names=", ".join(map(SQL.text, formula.retrievers)),
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
        return f"{SQL.number(math.log1p(depth))} - LN(place)"
    return VALUES[norm.name]


FUSION = FusionEngine("sql", "SQL", sql_fusion)
