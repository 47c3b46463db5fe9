"""Convert the lists of a retriever to a feature: its scores, normalised within each list, or a function of its ranks.

Every document that a retriever returned has a value > 0, and every other document has 0, whatever the norm.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sparserank.data.fusion.lists import RetrieverLists
from sparserank.errors import DataError
from sparserank.text import brief

MINMAX = "minmax"
L2 = "l2"
ZSCORE = "zscore"
RRF = "rrf"
LOGRANK = "logrank"
RETURNED = "returned"
OF_SCORES = (MINMAX, L2, ZSCORE)
RRF_K = 60  # Cormack et al. 2009
LEAST = 1e-9  # value of a returned document whose norm would be 0
AUTO = "auto"  # tries several norms and takes the best out of fold
_NAME = re.compile(r"([a-z0-9]+)(?:\(k=(\d{1,9})\))?")


@dataclass(frozen=True)
class EdgeRules:
    """How an engine treats edge cases of a norm. Unless a rule says otherwise, a normalised value of 0 becomes LEAST.

    least         min-max: value in place of 0
    equal         min-max and z-score: value of every document if all scores of a list are equal, or differ by less than
                  `equal_within`
    zeros         whether a document with the score 0 is returned, of a retriever without scores below 0
    l2_least      l2: Euclidean norm of a list below which its scores are unchanged
    trims         whether a fused list is cut at the depth
    """

    least: float = LEAST
    equal: float = 1.0
    equal_within: float = 0.0
    zeros: bool = True
    l2_least: float = 0.0
    trims: bool = False

    def of(self, norm: Norm) -> tuple[float, ...]:
        """The rules that affect a norm, except those for lists of nearly equal scores."""
        if norm.name == MINMAX:
            return self.zeros, self.least, self.equal
        return (self.zeros, self.equal) if norm.name == ZSCORE else (self.zeros,)


HOUSE_RULES = EdgeRules()
ENGINE_RULES: Mapping[str, EdgeRules] = {
    # x-pack/plugin/rank-rrf, MinMaxScoreNormalizer.java and L2ScoreNormalizer.java
    "elasticsearch": EdgeRules(equal_within=1e-6, l2_least=1e-6, trims=True),
    # neural-search, MinMaxScoreNormalizationTechnique.java, L2ScoreNormalizationTechnique.java and
    # HybridTopScoreDocCollector.java, which leaves out scores of 0
    "opensearch": EdgeRules(least=0.001, zeros=False, trims=True),
    # ranx 0.3, normalization/min_max_norm.py
    "ranx": EdgeRules(equal=LEAST),
    "qdrant": EdgeRules(trims=True),  # at the limit of a query
}


def rules_of(engine: str | None) -> EdgeRules:
    """The rules of an engine; HOUSE_RULES for None and for engines without special rules."""
    return ENGINE_RULES.get(engine or "", HOUSE_RULES)


@dataclass(frozen=True)
class Norm:
    """A norm: minmax, l2 or zscore of the scores; rrf (with constant k) or logrank of the ranks; or returned.

    k   the constant of rrf, >= 0
    """

    name: str
    k: int = RRF_K

    def __str__(self) -> str:
        return self.name if self.name != RRF or self.k == RRF_K else f"{self.name}(k={self.k})"

    def __call__(self, lists: RetrieverLists, depth: int, rules: EdgeRules = HOUSE_RULES) -> np.ndarray:
        """(n_entries,) values > 0 of lists that are cut at `depth`.

        Raises
            DataError   l2 of negative scores
        """
        if not len(lists.document):
            return np.zeros(0)
        least = LEAST
        if self.name == RRF:
            values = 1.0 / (self.k + lists.rank)
        elif self.name == LOGRANK:
            values = np.log1p(depth) - np.log(lists.rank)
        elif self.name == RETURNED:
            values = np.ones(len(lists.document))
        elif self.name == L2:
            values = _l2(lists, rules)
        elif self.name == ZSCORE:
            values = _z_score(lists, rules)
        else:
            values = _min_max(lists, rules)
            least = rules.least
        return np.asarray(np.where(values > 0, values, least))


def check_norm(name: object) -> None:
    """Raise DataError unless `name` is a norm or AUTO."""
    if not isinstance(name, str) or name != AUTO:
        parse_norm(name)


def parse_norm(name: object) -> Norm:
    """Parse the name of a norm, such as 'minmax' or 'rrf(k=10)'.

    Raises
        DataError   there is no such norm
    """
    known = (MINMAX, L2, ZSCORE, RRF, LOGRANK, RETURNED)
    match = _NAME.fullmatch(name) if isinstance(name, str) else None
    if match is None or match[1] not in known or (match[2] and match[1] != RRF):
        raise DataError(f"norms are {', '.join(known)} and rrf(k=10); got {brief(name)}.")
    return Norm(match[1], int(match[2] or RRF_K))


def _per_list(values: np.ndarray, lists: RetrieverLists) -> np.ndarray:
    """Repeat one value per list for each of its entries, (n_entries,)."""
    return np.repeat(values, lists.depths)


def _min_max(lists: RetrieverLists, rules: EdgeRules) -> np.ndarray:
    """(s - min) / (max - min)."""
    low = np.minimum.reduceat(lists.score, lists.list_ptr[:-1])
    high = np.maximum.reduceat(lists.score, lists.list_ptr[:-1])
    flat = (high == low) | (high - low < rules.equal_within)
    values = (lists.score - _per_list(low, lists)) / _per_list(np.where(flat, 1.0, high - low), lists)
    return np.where(_per_list(flat, lists), rules.equal, values)


def _powers(widths: np.ndarray, lists: RetrieverLists) -> np.ndarray:
    """(n_entries,) exponents of powers of two near `widths`, one width per list. Scores that are divided by these
    powers lose no bits, and their squares do not underflow."""
    return _per_list(np.frexp(widths)[1], lists)


def _l2(lists: RetrieverLists, rules: EdgeRules) -> np.ndarray:
    """s / |s|, with |s| the Euclidean norm of the list."""
    if lists.score.min() < 0:
        raise DataError(f"{lists.name}: l2 needs scores >= 0; use minmax, zscore or a norm of ranks.")
    power = _powers(np.maximum.reduceat(lists.score, lists.list_ptr[:-1]), lists)
    score = np.ldexp(lists.score, -power)
    norm = _per_list(np.sqrt(np.add.reduceat(score**2, lists.list_ptr[:-1])), lists)
    as_they_are = (norm == 0) | (np.ldexp(norm, power) < rules.l2_least)
    return np.where(as_they_are, lists.score, score / np.where(norm == 0, 1.0, norm))


def _z_score(lists: RetrieverLists, rules: EdgeRules) -> np.ndarray:
    """Z-scores (s - mean) / sd of a list, shifted so that the lowest is 0, the value of documents that were not
    returned. Documents keep the order of their z-scores."""
    n = lists.depths
    starts = lists.list_ptr[:-1]
    low = np.minimum.reduceat(lists.score, starts)
    high = np.maximum.reduceat(lists.score, starts)
    power = _powers(high - low, lists)
    flat = low == high
    score = np.ldexp(lists.score, -power)
    mean = np.add.reduceat(score, starts) / n
    deviation = np.sqrt(np.add.reduceat((score - _per_list(mean, lists)) ** 2, starts) / n)
    above = score - np.ldexp(_per_list(low, lists), -power)
    return np.where(_per_list(flat, lists), rules.equal, above / _per_list(np.where(flat, 1.0, deviation), lists))
