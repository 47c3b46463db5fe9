"""A gate for pipelines: whether a system loses more against another, or an earlier one, than a limit."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import numpy as np
from scipy.special import stdtr, stdtrit

from sparserank.data.text_lines import number_in
from sparserank.errors import DataError, ParameterError
from sparserank.evaluation.judge_rows import JudgedMetric, times_as_many
from sparserank.evaluation.judges import judged_means
from sparserank.evaluation.statistics import queries_needed
from sparserank.files import StrPath, atomic_write
from sparserank.metrics import Metric
from sparserank.text import brief, figure, many, visible

CONFIDENCE = 0.95  # of the bounds; the share of equally good systems that should pass
TWO_SIDED = 0.9  # of intervals with the same ends
JUNIT = "<?xml version='1.0' encoding='utf-8'?>\n<testsuite name=\"sparserank evaluate\""  # how our reports begin
ROUNDING = 1e-12  # relative; differences of means are not known more exactly


def limit_of(limit: str | float) -> tuple[float, bool]:
    """(largest loss, whether it is relative) from '1%', '0.01' or 0.01.

    Raises
        ParameterError   it is neither
    """
    text = str(limit)
    is_share = text.endswith("%")
    value = number_in(text.removesuffix("%")) / (100.0 if is_share else 1.0)
    if not 0.0 <= value < math.inf:
        raise ParameterError("fail_if_worse", f"must be a share such as 1%, or a number >= 0; got {brief(limit)}.")
    return value, is_share


@dataclass(frozen=True)
class Gate:
    """The loss of a system against the baseline, on the queries where both have a value.

    loss, error   mean loss (> 0: the system is worse) and its standard error
    limit         the largest acceptable loss, in units of the metric
    unit          absolute mean of the baseline on these queries; with strata, weighted as the loss is
    freedom       degrees of freedom of the error
    of_people     `half` by people alone; None if that is this
    graded        how many queries the judge must grade if people grade `needed`, as the end of a sentence; "" without
                  a judge
    """

    loss: float
    error: float
    limit: float
    unit: float
    n_queries: int
    freedom: float
    of_people: float | None = None
    graded: str = ""

    @property
    def half(self) -> float:
        """Distance of the one-sided bounds from the loss. It is also the smallest limit that these queries support: the
        estimated loss of 5 in 100 equally good systems exceeds it."""
        return float(stdtrit(self.freedom, CONFIDENCE) * self.error)

    def fails(self, shown: bool = False) -> bool:
        """Whether the loss, or if `shown` its lower bound, is above the limit."""
        return self.loss - (self.half if shown else 0.0) > self.limit + ROUNDING * self.unit

    def failing(self, loss: float, limit: float) -> float:
        """How often the estimated loss of a system with this true loss would exceed a limit with as many queries."""
        return float(stdtr(self.freedom, (loss - limit) / self.error)) if self.error > 0 else float(loss > limit)

    @property
    def needed(self) -> float:
        """Number of queries with which 5 in 100 equally good systems would exceed the limit, which is above 0."""
        return queries_needed(self.n_queries, self.half, self.limit)

    def sentence(self, name: str, baseline: str, metric: str, shown: bool = False) -> str:
        """A sentence with the loss, its bounds, the decision, and the errors to expect with as many queries; shown: as
        in `fails`."""

        def share(value: float) -> str:
            return f"{100 * value / self.unit:.1f}%" if self.unit else f"{value:.4f}"

        def rates(limit: float) -> str:
            """How many of 100 systems would fail that are equally good, and pass that are worse by the limit."""
            equal, worse = (100 * self.failing(loss, limit) for loss in (0.0, self.limit))
            return (
                f"{equal:.0f} in 100 false alarms, and {100 - worse:.0f} in 100 real losses of {share(self.limit)} pass"
            )

        word = "shown" if self.fails(shown=True) else "likely, not shown" if self.fails() else "not above the limit"
        if not self.fails() and self.loss + self.half > self.limit:
            word += ", but these queries cannot tell"
        kind = "gain" if self.loss < 0 else "loss"
        size = abs(self.loss)
        change, low, high = map(share, (size, size - self.half, size + self.half))
        limit = f"{'limit' if kind == 'loss' else 'limit of a loss'} {share(self.limit)}"
        text = f"{'Fail' if self.fails(shown) else 'Pass'}: {name} against {baseline}: estimated {kind} of {metric} "
        text += f"{change} (one-sided 95% bounds {low} and {high}), {limit}: {word}. "
        if not self.error:
            return f"{text}All {self.n_queries:,} queries differ alike, so they say nothing about false alarms."
        text += f"In general, with these {self.n_queries:,} queries, "
        if shown:
            return f"{text}a gate for what is shown has {rates(self.limit + self.half)}."
        text += f"this limit has {rates(self.limit)}; a limit of {share(self.half)} has {rates(self.half)}."
        of_people = self.half if self.of_people is None else self.of_people
        if not 0 < self.limit < of_people:
            return text
        people = queries_needed(self.n_queries, of_people, self.limit)
        fewer = f" of people, or {many(self.needed)} {self.graded}" if self.needed < people else ""
        return f"{text} It would have 5 false alarms with {many(people)} queries{fewer}."


def gate(
    values: np.ndarray,
    baseline: np.ndarray,
    limit: tuple[float, bool],
    metric: Metric,
    pair: tuple[str, str] = ("the system", "the baseline"),
    judged: JudgedMetric | None = None,
) -> Gate:
    """Judge the values (n_queries,) of a metric of a system against those of a baseline; pair: their names; judged:
    these values beside those by a judge, which then counts too.

    Raises
        DataError        fewer than two queries have a value, or nothing can be worse than the baseline
        ParameterError   no system can lose more than the limit
    """
    known = np.isfinite(values) & np.isfinite(baseline)
    n = int(known.sum())
    if n < 2:
        raise DataError(f"a gate needs at least 2 queries with a value of the metric; got {n}.")
    if judged is None:
        both = np.array([values - baseline, baseline])[:, known]
        means = judged_means(both, np.full_like(both, np.nan), both[:, :0])
        difference, base = 0, 1
    else:
        means = judged.means
        difference, base = (judged.people.pairs.index(row) for row in (pair, (pair[1], None)))
    sign = 1 if metric.higher_is_better else -1
    mean = float(means.people.mean[base])
    unit, (number, is_share) = abs(mean), limit
    absolute = number * unit if is_share else number
    largest = sign * (mean - metric.limits[not metric.higher_is_better])
    if largest <= 0:
        remedy = "so nothing is worse; give another baseline."
        raise DataError(f"{pair[1]} has a mean {metric!r} of {figure(mean)}, {remedy}")
    if absolute >= largest:
        got = f"{100 * number:g}%" if is_share else f"{number:g} (a share is written {number:g}%)"
        raise ParameterError(
            "fail_if_worse", f"must be below {figure(largest)}, because no loss of {metric!r} is larger; got {got}."
        )

    of_people = float(means.people.half(TWO_SIDED)[difference])
    mean, error, freedom = (float(column[difference]) for column in means.decided)
    graded = "" if judged is None else times_as_many(judged.name, n, means.n_all)
    return Gate(-sign * mean, error, absolute, unit, n, freedom, of_people, graded)


def write_junit(rows: Sequence[Mapping[str, Any]], path: StrPath) -> None:
    """Write a JUnit report with one test for each row of `Comparison.gate`."""
    count = {"tests": str(len(rows)), "failures": str(sum(row["fails"] for row in rows))}
    suite = ElementTree.Element("testsuite", {"name": "sparserank evaluate", **count})
    for row in rows:
        case = ElementTree.SubElement(suite, "testcase", classname="sparserank", name=visible(row["system"]))
        element = ElementTree.SubElement(case, "failure" if row["fails"] else "system-out")
        element.text = visible(row["sentence"])
        if row["fails"]:
            element.set("message", element.text)
    with atomic_write(path) as out:
        out.write(f"{ElementTree.tostring(suite, encoding='unicode', xml_declaration=True)}\n")
