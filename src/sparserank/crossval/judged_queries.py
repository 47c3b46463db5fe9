"""Values of candidates by the grades of people for a few queries, with those of a judge for all
(docs/theory.md, section 10, *Candidates of a selection*)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparserank.data.combine import concatenate
from sparserank.data.dataset import RankingDataset
from sparserank.data.query_ids import rows_of_queries
from sparserank.evaluation.judge_rows import LEVEL
from sparserank.evaluation.judges import LARGEST_LAMBDA, LEAST_APART, LEAST_QUERIES, p_of_selection


@dataclass(frozen=True, eq=False)
class JudgedQueries:
    """The training queries that people graded; the others have the grades of a judge.

    name    of the judge
    people  (n_people,) numbers of the queries that people graded
    known   (n_people,) bool: whether the judge graded them too
    again   their documents once more, with the grades of the judge
    """

    name: str
    people: np.ndarray
    known: np.ndarray
    again: RankingDataset

    @classmethod
    def of(cls, name: str, judged: RankingDataset, by_people: np.ndarray, grades: np.ndarray) -> JudgedQueries:
        """The queries of people among those on which candidates are evaluated.

        Parameters
            by_people  (n_queries,) bool: whether people graded a query
            grades     (n_docs,) of the judge; NaN for documents without one
        """
        people = np.flatnonzero(by_people)
        rows, ptr = rows_of_queries(judged.query_ptr, people)
        known = np.logical_or.reduceat(np.isfinite(grades[rows]), ptr[:-1])
        again = replace(judged.take_queries(people), relevance=np.nan_to_num(grades[rows]))
        return cls(name, people, known, again)

    def evaluated(self, judged: RankingDataset) -> RankingDataset:
        """The training queries, followed by those of people with the grades of the judge."""
        return concatenate([judged, self.again], join_queries=False)

    def twice(self, of_queries: np.ndarray) -> np.ndarray:
        """(n_queries,) values of the training queries, extended to the queries of `evaluated`."""
        return np.concatenate([of_queries, of_queries[self.people]])

    def with_judge(self, values: np.ndarray, fold: np.ndarray, seed: int) -> WithJudge:
        """The values of people's queries with what the judge says of all.

        Parameters
            values   (m, n_queries + n_people) out of fold, of candidates on `evaluated`
            fold     (n_queries,) fold numbers
            seed     of the partners
        """
        n = values.shape[1] - len(self.people)
        finite = np.isfinite(values).all(axis=0)
        counts = finite[self.people]
        both = counts & self.known & finite[n:]
        rest = np.setdiff1d(np.flatnonzero(finite[:n]), self.people)
        n_people, n_both, n_rest = int(counts.sum()), int(both.sum()), len(rest)
        mean = values.mean(axis=0)
        # By the judge's own grades, people's queries should not differ from the rest.
        p_value = float(p_of_selection(mean[None, n:][:, both], mean[None, rest])[0])
        n_apart = int((both & (values[:, self.people] != values[:, n:]).any(axis=0)).sum())
        enough = n_people >= LEAST_QUERIES
        alone = JudgeWorth(self.name, n_people, n_people + n_rest, n_people, enough and p_value < LEVEL, n_apart)
        shares = np.zeros(len(both))
        people_alone = WithJudge(self.people, rest, shares, rest[:0], 0.0, alone)
        if not enough or n_apart < LEAST_APART or n_rest < 2:
            return people_alone
        # What all candidates share does not matter for the choice between them.
        apart = values - mean
        human = apart[:, self.people]
        judge = apart[:, n:]
        for f in np.unique(fold[self.people]):
            of_fold = fold[self.people] == f
            others = both & ~of_fold
            shares[both & of_fold] = _lambda(human[:, others], judge[:, others]) * n_rest / (n_both + n_rest)
        # The error of the judge's mean over the rest is that of one partner for each query of people, scaled.
        partners = np.resize(np.random.default_rng([seed, 3]).permutation(rest), len(both))
        scale = float(shares[counts].mean()) * np.sqrt(n_people / n_rest)
        judged = replace(people_alone, partners=partners, scale=scale)
        # As many queries of people alone would have the same variance.
        before = human[:, counts].var(axis=1).sum()
        after = judged.of(apart)[:, counts].var(axis=1).sum()
        worth = min(n_people * before / after, alone.n_all) if after > 0 else n_people
        if worth < n_people + 1:
            return people_alone
        return replace(judged, worth=replace(alone, worth=int(worth)))


def _lambda(human: np.ndarray, judge: np.ndarray) -> float:
    """Lambda for all candidates from their values (m, n) by people and by a judge on the same queries."""
    n = human.shape[1]
    h, g = (x - x.mean(axis=1, keepdims=True) if n else x for x in (human, judge))
    gh = (g * h).sum(axis=0)
    gg = (g * g).sum(axis=0)
    if n < 3 or gh.sum() <= 0:
        return 0.0
    slope = gh.sum() / gg.sum()
    # The squared error of a ratio of sums over queries, which errs towards 0 as in (6).
    error = ((gh - slope * gg) ** 2).sum() / gg.sum() ** 2 * n / (n - 2)
    return float(np.clip(slope - error / slope, 0.0, LARGEST_LAMBDA))


@dataclass(frozen=True)
class JudgeWorth:
    """What the grades of a judge are worth for the choice among candidates.

    n_human, n_all numbers of queries with a value: of people; of people or the judge
    worth          number of queries of people that would be as exact without the judge; n_human: nothing is believed
    is_selection   whether the judge's own means on the queries of people and on the others differ beyond noise
    n_apart        queries for which it differs from people
    """

    name: str
    n_human: int
    n_all: int
    worth: int
    is_selection: bool
    n_apart: int


@dataclass(frozen=True, eq=False)
class WithJudge:
    """Values of the queries of people, less what the judge says of them, plus what it says of the rest, (12).

    people, rest   numbers of the queries of people, and of the other queries of the judge
    shares         (n_people,) lambda c of each
    partners       (n_people,) queries of the rest, whose values have the error of their mean if multiplied by `scale`;
                   empty if nothing is believed
    """

    people: np.ndarray
    rest: np.ndarray
    shares: np.ndarray
    partners: np.ndarray
    scale: float
    worth: JudgeWorth

    def of(self, values: np.ndarray) -> np.ndarray:
        """(..., n_people) values, whose mean is the estimate and whose spread is its error, from values (..., n_queries
        + n_people)."""
        human = values[..., self.people]
        if not len(self.partners):
            return human
        judge = values[..., -len(self.people) :]
        mean = values[..., self.rest].mean(axis=-1, keepdims=True)
        noise = values[..., self.partners]
        noise = noise - noise.mean(axis=-1, keepdims=True, where=np.isfinite(human))
        return np.where(self.shares > 0, human - self.shares * (judge - mean), human) + self.scale * noise
