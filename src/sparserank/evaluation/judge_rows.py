"""What a judge is worth for a comparison of systems: rows of estimates, and facts about its grades."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from sparserank.errors import DataError, ParameterError
from sparserank.evaluation.judges import (
    LEAST_QUERIES,
    JudgedMeans,
    judged_means,
    p_of_selection,
    without_favour,
)
from sparserank.evaluation.statistics import holm, mean_interval
from sparserank.metrics import Metric
from sparserank.options import option
from sparserank.text import brief, figure

Grades = Mapping[tuple[str, str], float]
Values = Mapping[str, Mapping[str, np.ndarray]]
LEVEL = 0.05  # p values below it are differences beyond noise
MAX_NAMED = 3  # queries for which the judge differs most
MAX_GRADES = 8  # that a message names
FEW = 20  # documents; as many equal grades are no accident


@dataclass(frozen=True, repr=False)
class Judge:
    """A judge of a comparison.

    query_ids   (N,) the queries that it graded
    values      {system: {metric: (N,)}} by its grades
    grades      its grades, on the scale of people
    lacking     {system: sentence} for runs that have no documents for some of its queries
    """

    name: str
    query_ids: np.ndarray
    values: Values
    grades: Grades
    lacking: Mapping[str, str]


@dataclass(frozen=True, repr=False)
class JudgedMetric:
    """Values of one metric by people and by a judge: of each system, then differences of the others from the baseline.

    pairs          [(system, None)], then [(system, baseline)]
    human, judge   (m, n) of the queries of people; NaN where the judge has none
    rest           (m, r) of the other queries of the judge
    queries        (n,) those of people
    strata         numbers of the strata of both, or None
    """

    name: str
    metric: str
    higher_is_better: bool
    pairs: list[tuple[str, str | None]]
    human: np.ndarray
    judge: np.ndarray
    rest: np.ndarray
    queries: list[str]
    strata: tuple[np.ndarray, np.ndarray] | None

    def means(self, *pairs: tuple[str, str | None]) -> JudgedMeans:
        """The estimates of the pairs, by default of all."""
        chosen = [*pairs] or self.pairs
        rows = [self.pairs.index(pair) for pair in chosen]
        is_mean = np.array([against is None for _, against in chosen])[:, None]
        own = self.judge[rows]
        others = self.rest[rows]
        judge, rest = without_favour(own, others)
        judge = np.where(is_mean, own, judge)
        rest = np.where(is_mean, others, rest)
        return judged_means(self.human[rows], judge, rest, self.strata)

    def rows(self, confidence: float) -> list[dict[str, Any]]:
        """One row for each system and difference."""
        means = self.means()
        if means.n_human < LEAST_QUERIES:
            confidence = math.nan  # all intervals are NaN
        n_judge = int(np.isfinite(self.judge[0]).sum()) + self.rest.shape[1]
        rows = []
        for i, (system, against) in enumerate(self.pairs):
            row: dict[str, Any] = {"judge": self.name, "metric": self.metric, "system": system, "against": against}
            row |= {"n_human": means.n_human, "n_judge": n_judge}
            for name, by in (("human", means.people), ("estimate", means.decided)):
                mean = float(by.mean[i])
                half = float(by.half(confidence)[i])
                row |= {name: mean, f"{name}_low": mean - half, f"{name}_high": mean + half}
            bias = mean_interval(self.judge[i] - self.human[i], confidence)
            row |= dict(zip(("bias", "bias_low", "bias_high"), bias, strict=True))
            row |= {"lambda": float(means.lam[i] * means.used[i]), "worth": int(means.worth[i]) - means.n_human}
            rows.append(row | {"differs": self._most_different(i), "sentence": self._sentence(row)})
        return rows

    def _sentence(self, row: Mapping[str, Any]) -> str:
        """A sentence with the number of human queries that the judge is worth for the row, and with its bias."""
        n, worth, system, against = (row[name] for name in ("n_human", "worth", "system", "against"))
        subject = _subject(system, against)
        text = f"{self.name} is worth nothing here, for {subject}: use the human grades."
        if worth > 0:
            queries = "queries" if worth > 1 else "query"
            text = f"{self.name} is worth {worth} more human {queries} (n = {n} -> {n + worth}) for {subject}."
        elif not self.rest.shape[1]:
            text = f"{self.name} is worth nothing here: people graded all of its queries."
        elif n < LEAST_QUERIES:
            text = f"{self.name} gives no interval: people graded {n} queries, and it needs {LEAST_QUERIES} of them."
        low = row["bias_low"]
        high = row["bias_high"]
        if against is None or not (low > 0 or high < 0):
            return text
        least, most = sorted((abs(low), abs(high)))
        favoured = system if (low > 0) == self.higher_is_better else against
        return f"{text} It favours {favoured} by {abs(row['bias']):.3f} ({least:.3f} to {most:.3f})."

    def _most_different(self, row: int) -> list[dict[str, Any]]:
        """The queries for which the judge differs most from people."""
        human = self.human[row]
        judge = self.judge[row]
        apart = np.abs(np.nan_to_num(judge - human))
        order = np.argsort(-apart, kind="stable")[:MAX_NAMED].tolist()
        return [{"query": self.queries[i], "human": human[i], "judge": judge[i]} for i in order if apart[i]]

    def notes(self) -> list[str]:
        """Notes on queries that the judge lacks, and a warning if, by its own grades, the queries of people differ from
        its others."""
        notes = []
        lacking = [q for q, value in zip(self.queries, self.judge[0], strict=True) if np.isnan(value)]
        if lacking:
            which = f"{len(lacking)} of the queries of people, e.g. {brief(lacking[0])}"
            notes.append(f"{self.name} lacks {which}; they count without it.")
        tested = self.strata is None and len(self.queries) >= LEAST_QUERIES
        p_values = holm(p_of_selection(self.judge, self.rest)) if tested else np.ones(1)
        first = int(np.argmin(p_values))
        if p_values[first] < LEVEL:
            of_people, others = (figure(float(np.nanmean(values[first])), 3) for values in (self.judge, self.rest))
            notes.append(
                f"warning: by the grades of {self.name}, the mean {self.metric} of {_subject(*self.pairs[first])} is "
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
    # Each row of the matrix makes one mean or difference from the values of all systems.
    one = np.eye(len(systems))
    base = systems.index(baseline)
    combined = np.vstack([one, np.delete(one - one[base], base, axis=0)])
    by_people, by_judge = (combined @ np.array([by[s][name] for s in systems]) for by in (values, judge.values))
    graded, judged = (np.isfinite(by).all(axis=0) for by in (by_people, by_judge))
    by_people = by_people[:, graded]
    by_judge = by_judge[:, judged]
    people = query_ids.astype(str)
    known = judge.query_ids[judged].astype(str)
    others = ~np.isin(known, people)
    people = people[graded]
    # The judge's values of the queries of people.
    _, of_people, of_judge = np.intersect1d(people, known, return_indices=True)
    judge_values = np.full_like(by_people, np.nan)
    judge_values[:, of_people] = by_judge[:, of_judge]
    queries = people.tolist()
    pairs = [*((s, None) for s in systems), *((s, baseline) for s in systems if s != baseline)]
    numbers = None if strata is None else _numbered(strata, queries, known[others].tolist())
    rest = by_judge[:, others]
    return JudgedMetric(
        judge.name, name, metric.higher_is_better, pairs, by_people, judge_values, rest, queries, numbers
    )


def _numbered(strata: Mapping[str, str], people: Sequence[str], others: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
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
    return number[: len(people)], number[len(people) :]


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


def on_scale(name: str, grades: Grades, people: Grades, meant: Mapping[float, float]) -> dict[tuple[str, str], float]:
    """The grades of a judge on the scale of people. meant: {its grade: theirs}; other grades are kept.

    Raises
        DataError   a grade is outside their scale; no query or document is theirs; or all grades are theirs
    """
    both = [key for key in people if key in grades]
    if not both:
        q, d = map(brief, next(iter(people)))
        remedy = "use the same ids of queries and documents in both."
        raise DataError(f"{name}: has no document that people graded, e.g. {d} of query {q}; {remedy}")
    least = min(*people.values(), 0.0)
    most = max(people.values())
    outside = {g for g in grades.values() if not least <= g <= most}.difference(meant)
    if outside:
        shown = sorted(outside)[:MAX_GRADES]
        first = f"{shown[0]:.15g}"
        pairs = ",".join(f"{g:.15g}={most if g > most else least:g}" for g in shown)
        if len(outside) > MAX_GRADES:
            raise DataError(
                f"{name}: has {len(outside):,} other grades than those of people ({least:g} to {most:g}), e.g. "
                f"{first}; give grades on their scale, not scores."
            )
        raise DataError(
            f"{name}: has the grade {first}, but those of people are {least:g} to {most:g}; say what it means, such as "
            f"{option('judge_grades', pairs)}, or {first}={first} if it is on their scale."
        )
    scaled = {key: meant.get(g, g) for key, g in grades.items()}
    # Files that list relevant documents only have one grade in common.
    varies = len({people[key] for key in both}) > 1
    if varies and len(both) >= FEW and all(scaled[key] == people[key] for key in both):
        raise DataError(
            f"{name}: has the grades of people for all {len(both):,} documents that both graded, so nothing shows how "
            "wrong it is elsewhere; give the grades of the judge alone."
        )
    return scaled


def copies(judges: Mapping[str, Judge]) -> list[str]:
    """A sentence for each two judges with the same grades."""
    return [
        f"{a} and {b} have the same grades: they are one judge, which is counted once for each."
        for a, b in combinations(judges, 2)
        if judges[a].grades == judges[b].grades
    ]
