"""Definitions of metrics in published tools: gain, discount, ties, queries without relevant documents."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from sparserank.errors import DataError, ParameterError
from sparserank.text import brief

MAX_EXPONENTIAL_GRADE = 100  # sums of 2^100 over any list do not overflow


def exponential_gain(relevance: np.ndarray) -> np.ndarray:
    """2^rel - 1, at least 0.

    Raises
        DataError   relevance above MAX_EXPONENTIAL_GRADE
    """
    if np.max(relevance, initial=0.0) > MAX_EXPONENTIAL_GRADE:
        raise DataError(
            f"relevance {np.max(relevance):g} is too large for a gain of 2^relevance - 1 (at most "
            f"{MAX_EXPONENTIAL_GRADE}). Use NDCG by the trec convention (linear gain), or map the labels to grades."
        )
    return np.maximum(np.exp2(relevance) - 1.0, 0.0)


VALUES = {
    "gain": ("exp2", "linear", "letor"),
    "discount": ("log2", "letor"),
    "ties": ("pessimistic", "file", "docid"),
    "empty": ("zero", "one"),
    "short_lists": ("full", "zero_ndcg", "zero", "length"),
    "most_hits": ("all", "cutoff"),
    "zero_scores": ("ranked", "left_out"),
}


@dataclass(frozen=True)
class Convention:
    """The rules of one tool.

    gain         'exp2' (2^rel - 1), 'linear' (rel) or 'letor' (2^rel - 1 for the grades 0..4, any other label 0)
    discount     'log2' (1 / log2(rank + 1)) or 'letor' (1, 1, 1 / log2(rank) from rank 3)
    ties         order of equal scores: 'pessimistic' (least relevant first: independent of row order),
                 'file' (row order) or 'docid' (document id descending)
    empty        value of a query without relevant documents: 'zero' or 'one'. It applies to NDCG and average precision;
                 the other metrics are 0 for such a query.
    short_lists  'full' (a cutoff beyond the list uses the whole list, P@n is padded), 'zero_ndcg' (NDCG@n is 0 for n >
                 length, P@n is padded) or 'zero' (both are 0): the LETOR scripts 4.0 and 3.0; 'length' (P@n is a
                 fraction of the list if that is shorter)
    most_hits    divisor of average precision at a cutoff: 'all' relevant documents of the list, or at most the
                 'cutoff'
    mean_ndcg    whether the tool reports MeanNDCG
    zero_scores  documents with a score of exactly 0: 'ranked' like others, or 'left_out' of the list, in which case
                 they count only in the number of relevant documents and in the ideal order
    longest      documents of a larger rank are left out of the list too; None: no limit
    of_clauses   scores are sums of the scores of clauses, as `number_checks.clause_sums` adds them
    relevant_from  lowest grade of a relevant document in metrics without gains (average precision, P, MRR, recall);
                 if it is not 1, names end with it: 'map(rel=2)'
    """

    name: str
    gain: str = "exp2"
    discount: str = "log2"
    ties: str = "pessimistic"
    empty: str = "zero"
    short_lists: str = "full"
    mean_ndcg: bool = True
    most_hits: str = "all"
    zero_scores: str = "ranked"
    longest: int | None = None
    of_clauses: bool = False
    relevant_from: float = 1

    def __post_init__(self) -> None:
        wrong = partial(ParameterError, owner="Convention")
        for field, allowed in VALUES.items():
            if getattr(self, field) not in allowed:
                raise wrong(field, f"must be one of {', '.join(allowed)}; got {brief(getattr(self, field))}.")
        if self.longest is not None and not (type(self.longest) is int and self.longest >= 1):
            raise wrong("longest", f"must be an integer >= 1 or None; got {brief(self.longest)}.")
        if not 0 < self.relevant_from < np.inf:
            raise wrong("relevant_from", f"must be a number > 0; got {brief(self.relevant_from)}.")

    @property
    def affixes(self) -> tuple[str, str]:
        """Prefix and suffix of the name of a metric: ('letor4:', ''); for XGBoost ('xgboost:', '-')."""
        tool = self.name.removesuffix("-")
        return "" if self.name == "default" else f"{tool}:", "" if tool == self.name else "-"

    @property
    def without_relevant(self) -> float:
        """NDCG and average precision of a query without relevant documents."""
        return float(self.empty == "one")

    @property
    def shown_gain(self) -> str:
        """The gain of a grade, as a formula."""
        return {"linear": "grade", "letor": "2^grade - 1, 0 beyond grade 4", "exp2": "2^grade - 1"}[self.gain]

    def gains(self, relevance: np.ndarray) -> np.ndarray:
        if self.gain == "linear":
            return np.maximum(relevance, 0.0)
        if self.gain == "letor":
            known = (relevance >= 0) & (relevance <= 4) & (relevance == np.round(relevance))
            return np.where(known, np.exp2(np.where(known, relevance, 0.0)) - 1.0, 0.0)
        return exponential_gain(relevance)

    def relevant(self, relevance: np.ndarray) -> np.ndarray:
        return (relevance >= self.relevant_from) & ((relevance <= 4) if self.gain == "letor" else True)

    def discounts(self, ranks: np.ndarray) -> np.ndarray:
        """(n,) discount of each of these ranks, from a table of all ranks up to the largest."""
        place = np.arange(1, int(ranks.max(initial=0)) + 1, dtype=np.float64)
        place = np.maximum(place, 2.0) if self.discount == "letor" else place + 1.0
        return (1.0 / np.log2(place))[ranks - 1]


CONVENTIONS = {
    c.name: c
    for c in (
        Convention("default"),
        Convention("letor3", "letor", "letor", "file", "zero", "zero", mean_ndcg=False),
        Convention("letor4", "letor", "letor", "file", "zero", "zero_ndcg"),
        Convention("trec", "linear", "log2", "docid", "zero"),
        Convention("xgboost", "exp2", "log2", "file", "one", "length", most_hits="cutoff"),
        # XGBoost writes ndcg@10-, map@10-
        Convention("xgboost-", "exp2", "log2", "file", "zero", "length", most_hits="cutoff"),
        Convention("lightgbm", "exp2", "log2", "file", "one", "length", most_hits="cutoff"),
    )
}


def parse_convention(convention: str | Convention) -> Convention:
    """Return a preset by name, or a custom convention unchanged."""
    if isinstance(convention, Convention):
        return convention
    if not isinstance(convention, str) or convention not in CONVENTIONS:
        known = ", ".join(CONVENTIONS)
        raise ParameterError("convention", f"unknown metric convention {brief(convention)}; known: {known}.")
    return CONVENTIONS[convention]
