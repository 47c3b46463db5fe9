"""What a judge is worth for a comparison of systems: rows of estimates, and facts about its grades."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

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
from sparserank.evaluation.statistics import (
    SAME_ABSOLUTE,
    Row,
    Rows,
    holm,
    mean_interval,
    most_apart,
    queries_needed,
)
from sparserank.metrics import Metric
from sparserank.options import option
from sparserank.text import brief, figure, many

if TYPE_CHECKING:
    from sparserank.evaluation.comparison import Comparison

Grades = Mapping[tuple[str, str], float]
LEVEL = 0.05  # p values below it are differences beyond noise
MAX_NAMED = 3  # queries for which the judge differs most
MAX_GRADES = 8  # that a message names
# What is said of a row.
WORTH = "{judge} is worth {worth} more human {queries} (n = {n_human} -> {n_with}) for {subject}."
NOTHING = "{judge} is worth nothing here, for {subject}: "
USE_PEOPLE = "use the human grades."
ALL_GRADED = f"{NOTHING}people graded all of its queries."
TOO_FEW = f"{NOTHING}people graded {{n_human}} queries, and an interval needs {LEAST_QUERIES}."
APART = "it differs from people on {n_apart} of {n_human} queries, too few to show how wrong it is elsewhere; "
HARDLY_WRONG = NOTHING + APART + USE_PEOPLE
FAVOURS = " It favours {} by {:.3f} ({:.3f} to {:.3f})."


@dataclass(frozen=True, repr=False)
class JudgedMetric:
    """Values of one metric by people and by a judge: of each system, then differences of the others from the baseline.

    people         the comparison by the grades of people; m: number of its pairs
    human, judge   (m, n) of the queries of people; NaN where the judge has none
    rest           (m, r) of the other queries of the judge
    queries        (n,) those of people
    means          the estimates of the pairs
    """

    name: str
    metric: Metric
    people: Comparison
    human: np.ndarray
    judge: np.ndarray
    rest: np.ndarray
    queries: np.ndarray
    means: JudgedMeans

    def rows(self, confidence: float) -> Rows:
        """One row for each system and difference."""
        means = self.means
        if means.n_human < LEAST_QUERIES:
            confidence = math.nan  # all intervals are NaN
        n_judge = int(np.isfinite(self.judge[0]).sum()) + self.rest.shape[1]
        rows = []
        for i, (system, against) in enumerate(self.people.pairs):
            row: Row = {
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

    def _sentence(self, row: Row, n_apart: int) -> str:
        """A sentence with the number of human queries that the judge is worth for the row, and with its bias; n_apart:
        as in `JudgedMeans`."""
        n = row["n_human"]
        against = row["against"]
        if row["worth"] > 0:
            said = WORTH
        elif not self.rest.shape[1]:
            said = ALL_GRADED
        elif n < LEAST_QUERIES:
            said = TOO_FEW
        elif n_apart < LEAST_APART:
            said = HARDLY_WRONG
        else:
            said = NOTHING + USE_PEOPLE
        queries = "queries" if row["worth"] > 1 else "query"
        subject = _subject(row["system"], against)
        text = said.format(**row, queries=queries, subject=subject, n_with=n + row["worth"], n_apart=n_apart)
        if against is None or n < LEAST_QUERIES:
            return text
        is_shown = row["estimate_low"] > 0 or row["estimate_high"] < 0
        text += f" A difference is {'shown' if is_shown else 'not shown: the interval contains 0'}."
        size = abs(row["estimate"])
        half = row["estimate_high"] - row["estimate"]
        if half > size > SAME_ABSOLUTE:  # not if the interval is unknown, NaN
            needed = queries_needed(n, half, size)
            graded = f", {times_as_many(self.name, n, self.means.n_all)}" if row["worth"] > 0 else ""
            text += f" One as large as the estimate needs {many(needed)} queries of people{graded}."
        bias = row["bias"]
        if not (row["bias_low"] > 0 or row["bias_high"] < 0):
            return text
        favoured = row["system"] if (bias > 0) == self.metric.higher_is_better else against
        least, most = sorted((abs(row["bias_low"]), abs(row["bias_high"])))
        return text + FAVOURS.format(favoured, abs(bias), least, most)

    def notes(self) -> list[str]:
        """Notes on queries that the judge lacks, and a warning if, by its own grades, the queries of people differ from
        its others."""
        notes = []
        lacking = self.queries[np.isnan(self.judge[0])]
        if len(lacking):
            which = f"{len(lacking)} of the queries of people, e.g. {brief(lacking[0])}"
            notes.append(f"{self.name} lacks {which}; they count without it.")
        if self.people.strata is not None or len(self.queries) < LEAST_QUERIES:
            return notes
        p_values = holm(p_of_selection(self.judge, self.rest))
        first = int(np.argmin(p_values))
        if p_values[first] < LEVEL:
            of_what = _subject(*self.people.pairs[first])
            of_people, others = (figure(float(np.nanmean(values[first])), 3) for values in (self.judge, self.rest))
            notes.append(
                f"warning: by the grades of {self.name}, the mean {self.metric!r} of {of_what} is "
                f"{of_people} for the queries of people and {others} for its others (p = {p_values[first]:.2g}), so "
                "people graded a selection: all means here are those of such queries. Draw them at random, or name "
                f"{option('strata')}."
            )
        return notes


def times_as_many(judge: str, n_human: int, n_all: int) -> str:
    """The condition under which an error with a judge shrinks as one of people alone does, if people grade more."""
    return f"if {judge} grades {n_all / n_human:.1f} times as many"


def _subject(system: str, against: str | None) -> str:
    return system if against is None else f"{system} against {against}"


def judged_metric(people: Comparison, judge: str, metric: str, room_of_judge: np.ndarray) -> JudgedMetric:
    """The values of a comparison and the values by one of its judges, on the queries where all systems have a value;
    room_of_judge: what `rooms` returns for the metric.

    Raises
        DataError   a query has no stratum, or people graded fewer than two queries of one
    """
    by_both = people, people.judges[judge]
    systems = [*people.values]
    base = systems.index(people.baseline)
    of_systems = (np.array([by.values[s][metric] for s in systems]) for by in by_both)
    by_people, by_judge = (np.vstack([of, np.delete(of - of[base], base, axis=0)]) for of in of_systems)
    graded, judged = (np.isfinite(by).all(axis=0) for by in (by_people, by_judge))
    queries, ids = (by.query_ids.astype(str) for by in by_both)
    queries = queries[graded]
    others = judged & ~np.isin(ids, queries)
    human = by_people[:, graded]
    # The judge's columns: the queries of people, a column of NaN for those that it lacks, then its others.
    _, at, known = np.intersect1d(queries, ids, return_indices=True)
    columns = np.full(len(queries), len(ids))
    columns[at] = known
    columns = np.concatenate([columns, np.flatnonzero(others)])
    room = np.zeros_like(by_judge)  # the mean of one system leaves none
    room[len(systems) :] = room_of_judge
    by_judge, room = (np.pad(of, ((0, 0), (0, 1)), constant_values=np.nan)[:, columns] for of in (by_judge, room))
    of_people, rest = np.split(by_judge, [len(queries)], axis=1)
    strata = people.strata
    numbers = None if strata is None else _numbered(strata, queries, ids[others])
    means = judged_means(human, of_people, rest, numbers, room)
    return JudgedMetric(judge, people.metrics[metric], people, human, of_people, rest, queries, means)


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


def agreement(people: Grades, judge: Grades) -> Row:
    """How far a judge agrees with people on the documents that both graded.

    Returns
        kappa       Cohen's kappa with quadratic weights; NaN if all grades are equal
        by_people   their grades; by_judge: its grades
        documents   number of documents, a list over `by_judge` for each of `by_people`
    """
    from scipy.stats.contingency import crosstab

    a, b = np.array([(grade, judge[key]) for key, grade in people.items() if key in judge]).T
    # The expected squared difference of independent grades is that of their means and variances.
    expected = a.var() + b.var() + (a.mean() - b.mean()) ** 2
    kappa = 1.0 - ((a - b) ** 2).mean() / expected if expected > 0 else np.nan
    (by_people, by_judge), documents = crosstab(a, b)
    grades = {"by_people": by_people.tolist(), "by_judge": by_judge.tolist()}
    return {"kappa": float(kappa), **grades, "documents": documents.tolist()}


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
    if len(meant) < len(pairs) or not np.isfinite([*meant, *meant.values()]).all():
        raise ParameterError("judge_grades", f"must be pairs such as 2=1,3=1, each grade once; got {brief(text)}.")
    return meant


def on_scale(name: str, grades: Collection[float], people: Collection[float], meant: str | None) -> dict[float, float]:
    """{grade of a judge: the same on the scale of people}

    Parameters
        meant   what its grades mean, as in `meant_grades`; other grades are kept
    Raises
        ParameterError   as `meant_grades`
        DataError        a grade is outside the scale
    """
    meaning = {} if meant is None else meant_grades(meant)
    least = min(*people, 0.0)
    most = max(people)
    outside = sorted(g for g in grades if g not in meaning and not least <= g <= most)
    if outside:
        first = f"{outside[0]:.15g}"
        if len(outside) > MAX_GRADES:
            raise DataError(
                f"{name}: has {len(outside):,} other grades than those of people ({least:g} to {most:g}), e.g. "
                f"{first}; give grades on their scale, not scores."
            )
        pairs = ",".join(f"{g:.15g}={most if g > most else least:g}" for g in outside)
        raise DataError(
            f"{name}: has the grade {first}, but those of people are {least:g} to {most:g}; say what it means, such as "
            f"{option('judge_grades', pairs)}, or {first}={first} if it is on their scale."
        )
    return {g: meaning.get(g, g) for g in grades}


def judgments_on_scale(name: str, judgments: Any, people: Qrels, meant: str | None) -> Qrels:
    """The judgments of a judge, in any form, with grades as `on_scale`, which raises too.

    Raises
        DataError   no query or document is theirs
    """
    grades = judgments if isinstance(judgments, Qrels) else judgments_of(judgments, USUAL, name)
    if people.keys().isdisjoint(grades):
        q, d = map(brief, next(iter(people)))
        remedy = "use the same ids of queries and documents in both."
        raise DataError(f"{name}: has no document that people graded, e.g. {d} of query {q}; {remedy}")
    scale = on_scale(name, {*grades.values()}, {*people.values()}, meant)
    return Qrels({key: scale[grade] for key, grade in grades.items()})
