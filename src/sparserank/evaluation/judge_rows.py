"""What a judge is worth for a comparison of systems: rows of estimates, and facts about its grades."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparserank.data.run_reader import USUAL, judgments_of
from sparserank.data.runs import Qrels
from sparserank.errors import DataError, ParameterError
from sparserank.evaluation.judges import (
    LEAST_APART,
    LEAST_QUERIES,
    JudgedMeans,
    judged_means,
    p_of_selection,
)
from sparserank.evaluation.statistics import holm, mean_interval, most_apart
from sparserank.metrics import Metric
from sparserank.options import option
from sparserank.text import brief, figure

Grades = Mapping[tuple[str, str], float]
Values = Mapping[str, Mapping[str, np.ndarray]]
LEVEL = 0.05  # p values below it are differences beyond noise
MAX_NAMED = 3  # queries for which the judge differs most
MAX_GRADES = 8  # that a message names


@dataclass(frozen=True, repr=False)
class Judge:
    """A judge of a comparison.

    query_ids   (N,) the queries that it graded
    values      {system: {metric: (N,)}} by its grades
    rooms       {metric: (m, N)} its room to favour each other system, or the baseline
    grades      its grades, on the scale of people
    lacking     {system: sentence} for runs that have no documents for some of its queries
    """

    name: str
    query_ids: np.ndarray
    values: Values
    rooms: Mapping[str, np.ndarray]
    grades: Qrels
    lacking: Mapping[str, str]


@dataclass(frozen=True, repr=False)
class JudgedMetric:
    """Values of one metric by people and by a judge: of each system, then differences of the others from the baseline.

    pairs          [(system, None)], then [(system, baseline)]
    human, judge   (m, n) of the queries of people; NaN where the judge has none
    rest           (m, r) of the other queries of the judge
    queries        (n,) those of people
    has_strata     whether their estimates are weighted by strata
    means          the estimates of the pairs
    """

    name: str
    metric: Metric
    pairs: list[tuple[str, str | None]]
    human: np.ndarray
    judge: np.ndarray
    rest: np.ndarray
    queries: np.ndarray
    has_strata: bool
    means: JudgedMeans

    def rows(self, confidence: float) -> list[dict[str, Any]]:
        """One row for each system and difference."""
        means = self.means
        if means.n_human < LEAST_QUERIES:
            confidence = math.nan  # all intervals are NaN
        n_judge = int(np.isfinite(self.judge[0]).sum()) + self.rest.shape[1]
        rows = []
        for i, (system, against) in enumerate(self.pairs):
            row: dict[str, Any] = {
                "judge": self.name,
                "metric": repr(self.metric),
                "system": system,
                "against": against,
                "n_human": means.n_human,
                "n_judge": n_judge,
            }
            for name, by in (("human", means.people), ("estimate", means.decided)):
                mean = float(by.mean[i])
                half = float(by.half(confidence)[i])
                row |= {name: mean, f"{name}_low": mean - half, f"{name}_high": mean + half}
            bias, low, high = mean_interval(self.judge[i] - self.human[i], confidence)
            row |= {
                "bias": bias,
                "bias_low": low,
                "bias_high": high,
                "lambda": float(means.lam[i] * means.used[i]),
                "worth": int(means.worth[i]) - means.n_human,
                "differs": most_apart(self.queries, self.human[i], self.judge[i], ("human", "judge"), MAX_NAMED),
            }
            rows.append(row | {"sentence": self._sentence(row, int(means.n_apart[i]))})
        return rows

    def _sentence(self, row: Mapping[str, Any], n_apart: int) -> str:
        """A sentence with the number of human queries that the judge is worth for the row, and with its bias; n_apart:
        as in `JudgedMeans`."""
        n, worth, system, against = (row[name] for name in ("n_human", "worth", "system", "against"))
        subject = _subject(system, against)
        queries = "queries" if worth > 1 else "query"
        text = f"worth {worth} more human {queries} (n = {n} -> {n + worth}) for {subject}."
        if worth <= 0:
            why = "use the human grades."
            if not self.rest.shape[1]:
                why = "people graded all of its queries."
            elif n < LEAST_QUERIES:
                why = f"people graded {n} queries, and an interval needs {LEAST_QUERIES}."
            elif n_apart < LEAST_APART:
                few = f"it differs from people on {n_apart} of {n} queries"
                why = f"{few}, too few to show how wrong it is elsewhere; {why}"
            text = f"worth nothing here, for {subject}: {why}"
        text = f"{self.name} is {text}"
        if against is not None and n >= LEAST_QUERIES:
            is_shown = row["estimate_low"] > 0 or row["estimate_high"] < 0
            text += f" A difference is {'shown' if is_shown else 'not shown: the interval contains 0'}."
        low = row["bias_low"]
        high = row["bias_high"]
        if against is None or not (low > 0 or high < 0):
            return text
        least, most = sorted((abs(low), abs(high)))
        favoured = system if (low > 0) == self.metric.higher_is_better else against
        return f"{text} It favours {favoured} by {abs(row['bias']):.3f} ({least:.3f} to {most:.3f})."

    def notes(self) -> list[str]:
        """Notes on queries that the judge lacks, and a warning if, by its own grades, the queries of people differ from
        its others."""
        notes = []
        lacking = self.queries[np.isnan(self.judge[0])]
        if len(lacking):
            which = f"{len(lacking)} of the queries of people, e.g. {brief(lacking[0])}"
            notes.append(f"{self.name} lacks {which}; they count without it.")
        if self.has_strata or len(self.queries) < LEAST_QUERIES:
            return notes
        p_values = holm(p_of_selection(self.judge, self.rest))
        first = int(np.argmin(p_values))
        if p_values[first] < LEVEL:
            of_people, others = (figure(float(np.nanmean(values[first])), 3) for values in (self.judge, self.rest))
            notes.append(
                f"warning: by the grades of {self.name}, the mean {self.metric!r} of {_subject(*self.pairs[first])} is "
                f"{of_people} for the queries of people and {others} for its others (p = {p_values[first]:.2g}), so "
                "people graded a selection: all means here are those of such queries. Draw them at random, or name "
                f"{option('strata')}."
            )
        return notes


def _subject(system: str, against: str | None) -> str:
    return system if against is None else f"{system} against {against}"


def judged_metric(
    judge: Judge,
    values: Values,
    baseline: str,
    query_ids: np.ndarray,
    metric: Metric,
    strata: Mapping[str, str] | None,
) -> JudgedMetric:
    """The values of a comparison and the values by a judge, on the queries where all systems have a value.

    Raises
        DataError   a query has no stratum, or people graded fewer than two queries of one
    """
    name = repr(metric)
    systems = [*values]
    base = systems.index(baseline)
    of_systems = (np.array([by[s][name] for s in systems]) for by in (values, judge.values))
    by_people, by_judge = (np.vstack([of, np.delete(of - of[base], base, axis=0)]) for of in of_systems)
    graded, judged = (np.isfinite(by).all(axis=0) for by in (by_people, by_judge))
    people = query_ids[graded].astype(str)
    ids = judge.query_ids.astype(str)
    others = judged & ~np.isin(ids, people)
    human = by_people[:, graded]
    _, at, known = np.intersect1d(people, ids, return_indices=True)

    def arranged(of_judge: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(m, n) of the queries of people, NaN where it lacks them, and (m, r) of its others."""
        of_people = np.full(human.shape, np.nan)
        of_people[:, at] = of_judge[:, known]
        return of_people, of_judge[:, others]

    pairs = [*((s, None) for s in systems), *((s, baseline) for s in systems if s != baseline)]
    numbers = None if strata is None else _numbered(strata, people, ids[others])
    of_people, rest = arranged(by_judge)
    # Means of one system leave no room for favour.
    room = np.vstack([np.zeros((len(systems), len(ids))), judge.rooms[name]])
    means = judged_means(human, of_people, rest, numbers, np.hstack(arranged(room)))
    return JudgedMetric(judge.name, metric, pairs, human, of_people, rest, people, strata is not None, means)


def _numbered(strata: Mapping[str, str], people: np.ndarray, others: np.ndarray) -> list[np.ndarray]:
    """Numbers of the strata of queries; raises as `judged_metric`."""
    every = [*people, *others]
    lacking = [q for q in every if q not in strata]
    if lacking:
        n = f"{len(lacking):,} queries"
        raise DataError(f"the strata lack {n}, e.g. {brief(lacking[0])}; give each query of the judge a stratum.")
    names, number = np.unique([strata[q] for q in every], return_inverse=True)
    counts = np.bincount(number[: len(people)], minlength=len(names))
    least = int(np.argmin(counts))
    if counts[least] < 2:
        name = brief(str(names[least]))
        raise DataError(f"stratum {name} has {counts[least]} queries of people, and needs 2; merge it with another.")
    return np.split(number, [len(people)])


def agreement(people: Grades, judge: Grades) -> dict[str, Any]:
    """How far a judge agrees with people on the documents that both graded.

    Returns
        kappa       Cohen's kappa with quadratic weights; NaN if all grades are equal
        by_people   their grades; by_judge: its grades
        documents   number of documents, a list over `by_judge` for each of `by_people`
    """
    pairs = [(grade, judge[key]) for key, grade in people.items() if key in judge]
    a, b = np.array(pairs).T
    # The expected squared difference of independent grades is that of their means and variances.
    expected = a.var() + b.var() + (a.mean() - b.mean()) ** 2
    kappa = 1.0 - ((a - b) ** 2).mean() / expected if expected > 0 else np.nan
    by_people = np.unique(a).tolist()
    by_judge = np.unique(b).tolist()
    count = Counter(pairs)
    documents = [[count[h, g] for g in by_judge] for h in by_people]
    return {"kappa": float(kappa), "by_people": by_people, "by_judge": by_judge, "documents": documents}


def meant_grades(text: str) -> dict[float, float]:
    """{grade of a judge: grade of people} from '2=1,3=1'.

    Raises
        ParameterError   a grade is no number, or occurs twice
    """
    pairs = [pair.split("=") for pair in text.split(",")]
    try:
        meant = {float(of_judge): float(of_people) for of_judge, of_people in pairs}
    except ValueError:
        meant = {}
    if len(meant) < len(pairs) or not all(map(math.isfinite, [*meant, *meant.values()])):
        raise ParameterError("judge_grades", f"must be pairs such as 2=1,3=1, each grade once; got {brief(text)}.")
    return meant


def on_scale(name: str, judgments: Any, people: Qrels, meant: str | None) -> Qrels:
    """The grades of a judge on the scale of people.

    Parameters
        judgments   in any form
        meant       what its grades mean, as in `meant_grades`; other grades are kept
    Raises
        ParameterError   as `meant_grades`
        DataError        a grade is outside their scale, or no query or document is theirs
    """
    grades = judgments if isinstance(judgments, Qrels) else judgments_of(judgments, USUAL, name)
    meaning = {} if meant is None else meant_grades(meant)
    if people.keys().isdisjoint(grades):
        q, d = map(brief, next(iter(people)))
        remedy = "use the same ids of queries and documents in both."
        raise DataError(f"{name}: has no document that people graded, e.g. {d} of query {q}; {remedy}")
    least = min(*people.values(), 0.0)
    most = max(people.values())
    outside = {g for g in grades.values() if not least <= g <= most}.difference(meaning)
    if outside:
        first = f"{min(outside):.15g}"
        if len(outside) > MAX_GRADES:
            raise DataError(
                f"{name}: has {len(outside):,} other grades than those of people ({least:g} to {most:g}), e.g. "
                f"{first}; give grades on their scale, not scores."
            )
        pairs = ",".join(f"{g:.15g}={most if g > most else least:g}" for g in sorted(outside))
        raise DataError(
            f"{name}: has the grade {first}, but those of people are {least:g} to {most:g}; say what it means, such as "
            f"{option('judge_grades', pairs)}, or {first}={first} if it is on their scale."
        )
    return Qrels({key: meaning.get(g, g) for key, g in grades.items()})
