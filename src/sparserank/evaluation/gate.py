"""A gate for pipelines: whether a system loses more against another, or an earlier one, than a limit."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np
from scipy.special import ndtr, ndtri, stdtrit

from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError, DataFormatError, ParameterError
from sparserank.evaluation.compare import Comparison
from sparserank.strict_json import read_json
from sparserank.text import brief, many, visible

CONFIDENCE, EQUAL_FAIL = 0.95, 0.05  # of the bound; share of equal systems that should fail at most
FORMAT, EXPECTED = "sparserank-evaluation", "values of an earlier system, as 'evaluate --out' writes them"
EVALUATION = f'{{\n "format": "{FORMAT}"'  # how our files begin
JUNIT = "<?xml version='1.0' encoding='utf-8'?>\n<testsuite name=\"sparserank evaluate\""
ROUNDING = 1e-12  # relative; differences of means are not known more exactly


def limit_of(given: str) -> tuple[float, bool]:
    """(largest loss, whether it is relative) from '1%' or '0.01'.

    Raises
        ParameterError   it is neither
    """
    number, is_share = given.removesuffix("%"), given.endswith("%")
    try:
        value = float(number) / (100.0 if is_share else 1.0)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= 0):
        raise ParameterError("fail_if_worse", f"must be a share such as 1%, or a number >= 0; got {brief(given)}.")
    return value, is_share


@dataclass(frozen=True)
class Gate:
    """The loss of a system against the baseline, on the queries where both have a value.

    loss, error   mean loss (> 0: the system is worse) and its standard error
    limit         the largest acceptable loss, in units of the metric
    unit          absolute mean of the baseline on these queries
    """

    loss: float
    error: float
    limit: float
    unit: float
    n_queries: int

    @property
    def half(self) -> float:
        """Distance of the one-sided bounds from the loss."""
        return float(stdtrit(self.n_queries - 1, CONFIDENCE) * self.error)

    def fails(self, shown: bool = False) -> bool:
        """Whether the loss, or if `shown` its lower bound, is above the limit."""
        return self.loss - (self.half if shown else 0.0) > self.limit + ROUNDING * self.unit

    @property
    def equal_fail(self) -> float:
        """How often the estimated loss of an equally good system would be above the limit with as many queries."""
        return float(ndtr(-self.limit / self.error)) if self.error > 0 else 0.0

    @property
    def needed(self) -> float:
        """Number of queries with which that of at most EQUAL_FAIL of equally good systems would."""
        if self.limit == 0:
            return math.inf
        return math.ceil(self.n_queries * (ndtri(1 - EQUAL_FAIL) * self.error / self.limit) ** 2)

    def sentence(self, name: str, baseline: str, metric: str) -> str:
        """The loss, what is known of it, and what these queries can tell."""

        def share(value: float) -> str:
            return f"{100 * value / self.unit:.1f}%" if self.unit else f"{value:.4f}"

        word = "shown" if self.fails(shown=True) else "likely, not shown" if self.fails() else "not above the limit"
        if not self.fails() and self.loss + self.half > self.limit:
            word = "not above the limit, but these queries cannot tell"
        bounds = f"one-sided 95% bounds {share(self.loss - self.half)} and {share(self.loss + self.half)}"
        loss = f"estimated loss of {metric} {share(self.loss)} ({bounds}), limit {share(self.limit)}: {word}"
        equal = f"{100 * self.equal_fail:.0f} in 100 equally good systems"
        said = (
            f"{name} against {baseline}: {loss}. With these {self.n_queries:,} queries, {equal} would exceed the limit"
        )
        more = self.equal_fail > EQUAL_FAIL and math.isfinite(self.needed)
        return f"{said}; with {many(self.needed)}, {100 * EQUAL_FAIL:.0f}." if more else f"{said}."


def gate(values: np.ndarray, baseline: np.ndarray, limit: tuple[float, bool], sign: int = 1) -> Gate:
    """Judge the values (n_queries,) of a metric of a system; sign: -1 if lower values are better.

    Raises
        DataError   fewer than two queries have a value
    """
    known = np.isfinite(values) & np.isfinite(baseline)
    lost, n = sign * (baseline - values)[known], int(known.sum())
    if n < 2:
        raise DataError(f"a gate needs at least 2 queries with a value of the metric; got {n}.")
    unit, error = abs(float(baseline[known].mean())), float(lost.std(ddof=1) / math.sqrt(n))
    return Gate(float(lost.mean()), error, limit[0] * (unit if limit[1] else 1.0), unit, n)


# -- an earlier system -------------------------------------------------------------------------------------------------


def hash_of(judgments: Mapping[tuple[str, str], float] | RankingDataset) -> str:
    """Hash of the queries, the documents (as far as they have ids) and their grades, in any order."""
    if isinstance(judgments, Mapping):
        graded = [(str(q), str(d), float(grade)) for (q, d), grade in judgments.items()]
    else:
        columns = judgments.qid, judgments.docid, judgments.relevance
        known = [[""] * judgments.n_docs if c is None else c.tolist() for c in columns]
        graded = [(str(q), str(d), float(grade)) for q, d, grade in zip(*known, strict=True)]
    return hashlib.sha256(repr(sorted(graded)).encode()).hexdigest()


def evaluation_of(found: Comparison, judged_by: str, query_ids: np.ndarray) -> str:
    """JSON with the values of the first system on each query, and the hash of the judgments."""
    values = {
        metric: {str(q): None if math.isnan(v) else v for q, v in zip(query_ids, own.tolist(), strict=True)}
        for metric, own in found.values[found.baseline].items()
    }
    content = {"format": FORMAT, "judgments": judged_by, "system": visible(found.baseline), "values": values}
    return json.dumps(content, indent=1)


def against(path: Any, found: Comparison, judged_by: str, query_ids: np.ndarray) -> Comparison:
    """The comparison of the same systems with that of an evaluation, which `evaluation_of` wrote.

    Raises
        DataFormatError   it is no evaluation, or one with other judgments or metrics
    """
    content = read_json(path, EXPECTED)
    system, values = content.get("system"), content.get("values")
    if content.get("format") != FORMAT or not isinstance(system, str) or not isinstance(values, dict):
        raise DataFormatError(f"{path}: is something else; expected {EXPECTED}.")
    if content.get("judgments") != judged_by:
        raise DataFormatError(f"{path}: was made with other judgments; evaluate the earlier system with these.")
    earlier = {}
    for metric in found.values[found.baseline]:
        if metric not in values:
            raise DataFormatError(f"{path}: has no values of {metric}; evaluate the earlier system by this metric too.")
        try:
            earlier[metric] = np.array([_value(values[metric][str(q)]) for q in query_ids])
        except (KeyError, TypeError) as error:
            raise DataFormatError(f"{path}: is damaged: it needs a number for each query; write it again.") from error
    while system in found.values:
        system += " before"
    return Comparison({system: earlier, **found.values}, system)


def _value(value: Any) -> float:
    """A value of a metric; NaN for null, which means that it has none."""
    if type(value) not in (int, float, type(None)):
        raise TypeError("not a number")
    return math.nan if value is None else float(value)


def junit(verdicts: Sequence[tuple[str, str, bool]]) -> str:
    """A JUnit report with one test for each (system, sentence, whether it fails)."""
    count = {"tests": str(len(verdicts)), "failures": str(sum(fails for *_, fails in verdicts))}
    suite = ElementTree.Element("testsuite", {"name": "sparserank evaluate", **count})
    for name, sentence, fails in verdicts:
        case = ElementTree.SubElement(suite, "testcase", classname="sparserank", name=visible(name))
        said = ElementTree.SubElement(case, "failure" if fails else "system-out")
        said.text = visible(sentence)
        if fails:
            said.set("message", said.text)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)
