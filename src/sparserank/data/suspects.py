"""Detect columns that should not be features: values derived from the label, logged positions, row numbers and ids."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.data.categories import Derived
from sparserank.data.dataset import RankingDataset
from sparserank.data.matrices import column, n_stored
from sparserank.errors import warn_caller
from sparserank.options import option
from sparserank.text import brief

PERFECT = 0.99  # a feature is reported if it alone orders this share of preferred pairs correctly (ties count half)
# Queries with pairs that `_perfect` needs, plus one for each doubling of the features: then one data set in a million
# has a report by chance.
MIN_QUERIES = 20
MIN_ROWS = 50  # with fewer, nothing is reported: by chance, counts may all differ, and a flag may equal the labels
# limits of the sample
MAX_QUERIES = 200
MAX_PAIRS = 10_000
PAIRS_OF_QUERY = 50
MAX_VALUES = 1 << 23  # limit of the values in the sampled rows; 2 ** 24 for the sampled pairs
# Rows without the most common value that must agree with the label: fewer may agree by chance.
MIN_OTHERS = 10
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")  # words of a name, split at capitals and at non-letters
DIGIT = re.compile(r"\d")
OF_A_LIST = ("rank", "position", "pos", "slot")  # words for the place of a document in a list that was shown
# Words whose `rank` is known before documents are ranked.
OF_A_SITE = ("page", "site", "domain", "host", "trust", "text", "sales", "seller")
# Words for what users do with a document of a list that was shown; `clicks` are more often those of earlier lists.
OUTCOME = re.compile(
    "click(ed)?|purchased?|bought|booked|bookings?|conversions?|converted|ordered|cart(ed)?|checkout|revenue|gmv|dwell"
)
# Words that make of an outcome a statistic of earlier lists, or a prediction.
OF_HISTORY = re.compile(
    "rate|ratio|share|counts?|num|number|sum|total|avg|average|mean|median|hist|history|historical|past|prev|previous|"
    "prior|last|recent|hours?|days?|daily|weeks?|weekly|months?|monthly|year|pred|predicted|prediction|prob|probability|"
    "model|score|log|smoothed|url|popularity"
)
UNKNOWN = "; leave it out if it is not known when documents are ranked ({remedy})."
LIKE_A_POSITION = f"is named like a position in a list that was shown{UNKNOWN}"
LIKE_AN_OUTCOME = f"is named like something that users do after documents are ranked{UNKNOWN}"


def warn_of_suspects(data: RankingDataset, excused: Iterable[str] = ()) -> dict[str, str]:
    """Issue a DataWarning for each message of `suspected`, and return the messages."""
    messages = suspected(data, excused)
    for sentence in messages.values():
        warn_caller(sentence)
    return messages


def names_in(*options: Any) -> list[str]:
    """The names in the values of options that take one name or a sequence of names."""
    listed = [[o] if isinstance(o, str) else o for o in options]
    return [name for names in listed if isinstance(names, Sequence) for name in names if isinstance(name, str)]


def suspected(data: RankingDataset, excused: Iterable[str] = (), *, remedy: str = "drop") -> dict[str, str]:
    """One message for each column with a feature that has a single value per label, has a different whole number in
    every row, orders nearly all preferred pairs correctly by itself, or is named like a position or an outcome.

    The check is cheap: it examines a few hundred queries, and reads only conspicuous columns completely.

    Parameters
        excused   columns that are left out, or that the user has named as known when documents are ranked
        remedy    the option that leaves a feature out: drop or ignore_columns
    Notes
        A feature without information, and without equal values in a query, orders all pairs of a query correctly with
        a probability of at most one half. The probability that any of d features does so in all of
        MIN_QUERIES + log2(2 d) queries, in either direction, is at most 2 ** -MIN_QUERIES.
    """
    names = data.names
    sample = _sample(data)
    reasons: dict[int, str] = {}
    if sample is not None:
        _warn_of_repeats(sample)
        for detect in (_functions_of_label, _ids, _perfect):
            for j, reason in detect(data, sample):
                reasons.setdefault(j, reason)
    derived = data.derived or {}
    columns = data.sources
    messages = dict.fromkeys(excused, "")
    for j in sorted(reasons):  # a reason in the values goes before a reason in the name
        messages.setdefault(columns[j], suspect(columns[j], reasons[j], remedy, derived=derived.get(names[j])))
    for name in columns:
        if reason := reason_in_name(name):
            messages.setdefault(name, suspect(name, reason, remedy))
    return {column: messages[column] for column in dict.fromkeys(columns) if messages.get(column)}


def suspect(
    column: str,
    reason: str,
    remedy: str = "drop",
    *,
    derived: Derived | None = None,
) -> str:
    """The message about a column of a table; `reason` has a placeholder {remedy}. made: the feature of the column that
    is suspect, if it is not the column itself."""
    part = (
        ""
        if derived is None
        else f" (the level {brief(derived.level)})"
        if derived.level
        else " (whether it is missing)"
    )
    return f"feature {brief(column)}{part} {reason.format(remedy=option(remedy, [column]))}"


def reason_in_name(name: str) -> str:
    """The reason to suspect a column because of its name, or "". A suspect name means a position in a list (but not
    PageRank and the like), or something that users do with a document (unless a word or number in the name makes it a
    statistic of earlier lists)."""
    words = [word.lower() for word in WORD.findall(name)]
    if any(w in OF_A_LIST and before not in OF_A_SITE for before, w in zip(["", *words], words, strict=False)):
        return LIKE_A_POSITION
    if any(map(OUTCOME.fullmatch, words)) and not (DIGIT.search(name) or any(map(OF_HISTORY.fullmatch, words))):
        return LIKE_AN_OUTCOME
    return ""


def _sample(data: RankingDataset) -> RankingDataset | None:
    """Evenly spread queries with preferred pairs; None: there are none, or too few rows for a conclusion."""
    if data.n_docs < MIN_ROWS:
        return None
    starts = data.query_ptr[:-1]
    sizes = data.sizes
    y = np.asarray(data.relevance)
    varied = np.flatnonzero(np.maximum.reduceat(y, starts) > np.minimum.reduceat(y, starts))
    if len(varied) == 0:
        return None
    taken = varied[np.linspace(0, len(varied) - 1, min(MAX_QUERIES, len(varied))).astype(np.int64)]
    width = n_stored(data.X) / data.n_docs
    fits = np.cumsum(sizes[taken]) * max(width, 1) <= MAX_VALUES
    return data.take_queries(taken[: max(int(fits.sum()), 1)])


def _warn_of_repeats(sample: RankingDataset) -> None:
    """Issue a DataWarning if a query has a document several times: each of its rows counts, and takes a rank."""
    if sample.docid is not None and sample.qid is not None:
        pair, n = Counter(zip(sample.qid, sample.docid, strict=True)).most_common(1)[0]
        if n > 1 and pair[1]:
            sentence = "query {} has document {} in {} rows; drop rows that are repeated.".format(*map(brief, pair), n)
            warn_caller(sentence)


def _where(X: Any, accepts: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Columns of X that `accepts` selects. Of a sparse X, only columns that store at least all rows but one are
    examined."""
    if not sp.issparse(X):
        return np.flatnonzero(accepts(X))
    full = np.flatnonzero(np.bincount(X.indices, minlength=X.shape[1]) >= X.shape[0] - 1)
    return full[accepts(X[:, full].toarray())] if len(full) else full


def _functions_of_label(data: RankingDataset, sample: RankingDataset) -> Iterator[tuple[int, str]]:
    labels, of_row = np.unique(np.asarray(sample.relevance), return_inverse=True)
    X = sample.X
    columns = np.arange(sample.n_features)
    if sp.issparse(X):  # for each label, a column must store a value in all rows or none
        is_nonzero = X.data != 0
        label_of = np.repeat(of_row, np.diff(X.indptr))
        at = label_of[is_nonzero] * X.shape[1] + X.indices[is_nonzero]
        stored = np.bincount(at, minlength=len(labels) * X.shape[1]).reshape(len(labels), X.shape[1])
        all_or_none = (stored == 0) | (stored == np.bincount(of_row)[:, None])
        columns = np.flatnonzero(all_or_none.all(axis=0) & (stored > 0).any(axis=0))
        X = X[:, columns].toarray()
    for j in columns[_one_value_per_label(X, of_row)].tolist():
        values = column(data.X, j)
        y = np.asarray(data.relevance)
        if not _one_value_per_label(values[:, None], np.unique(y, return_inverse=True)[1])[0]:
            continue
        same = bool((values == y.astype(data.X.dtype)).all())
        _, of_value, counts = np.unique(values, return_inverse=True, return_counts=True)
        others = y[of_value != counts.argmax()]
        # the first row of each further label cannot disagree, unless the value must equal the label
        n_agree = len(others) - (0 if same else len(np.unique(others)) - 1)
        if n_agree < MIN_OTHERS:
            continue
        relation = "equals the label" if same else "has one value for each label"
        yield (
            j,
            f"{relation} in all {data.n_docs} rows, so a model would learn only to copy the label; leave it out "
            "({remedy}).",
        )


def _one_value_per_label(X: np.ndarray, of_row: np.ndarray) -> np.ndarray:
    """(n_features,) bool: whether a column has a single value per label, but not the same value for all labels."""
    order = np.argsort(of_row, kind="stable")
    starts = np.searchsorted(of_row[order], np.arange(of_row.max() + 1))
    lowest, highest = (take.reduceat(X[order], starts, axis=0) for take in (np.minimum, np.maximum))
    return np.asarray((lowest == highest).all(axis=0) & (lowest != lowest[0]).any(axis=0))


def _ids(data: RankingDataset, sample: RankingDataset) -> Iterator[tuple[int, str]]:
    def accepts(X: np.ndarray) -> np.ndarray:
        whole = ~(np.floor(X) != X).any(axis=0)
        ordered = np.sort(X[:, whole], axis=0)
        whole[whole] = (ordered[1:] > ordered[:-1]).all(axis=0)
        return whole

    for j in _where(sample.X, accepts).tolist():
        values = column(data.X, j)
        if not (np.floor(values) != values).any() and len(np.unique(values)) == data.n_docs:
            reason = (
                f"has a different whole number in each of {data.n_docs} rows, like an id; leave it out if it is an id "
                "({remedy})."
            )
            yield j, reason


def _perfect(data: RankingDataset, sample: RankingDataset) -> Iterator[tuple[int, str]]:
    d = sample.n_features
    if sample.n_queries < MIN_QUERIES + math.log2(2 * d):
        return
    better, worse = _pairs(sample, min(MAX_PAIRS, max((MAX_VALUES * 2) // d, 1000)))
    right = _ordered(sample.X, better, worse)
    for j in np.flatnonzero(np.maximum(right, 1.0 - right) >= PERFECT).tolist():
        share = max(right[j], 1.0 - right[j])
        order = "" if right[j] >= 0.5 else ", in descending order"
        reason = (
            f"alone orders {math.floor(1000 * share) / 10:g}% of {len(better)} preferred pairs correctly{order} "
            f"(reported if at least {PERFECT:.0%}); leave it out if it was derived from the labels, or if it is "
            "not known when documents are ranked ({remedy})."
        )
        yield j, reason


def _pairs(sample: RankingDataset, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows (better, worse) of preferred pairs, the same number from each query where possible,
    drawn with a fixed seed."""
    rng = np.random.default_rng(0)
    n_per_query = max(min(PAIRS_OF_QUERY, most // sample.n_queries), 1)
    pairs_of_queries: list[np.ndarray] = []
    y = np.asarray(sample.relevance)
    for lo, hi in zip(sample.query_ptr[:-1].tolist(), sample.query_ptr[1:].tolist(), strict=True):
        n = hi - lo
        if n * n <= 100 * n_per_query * n_per_query:
            labels = y[lo:hi]
            preferred = np.argwhere(labels[:, None] > labels)
            drawn = rng.permutation(preferred)[:n_per_query]
        else:
            drawn = rng.integers(0, n, (100 * n_per_query, 2))
            a, b = y[lo + drawn].T
            drawn = drawn[a > b][:n_per_query]
        pairs_of_queries.append(lo + drawn)
    pairs = np.concatenate(pairs_of_queries)
    return pairs[:, 0], pairs[:, 1]


def _ordered(X: Any, better: np.ndarray, worse: np.ndarray) -> np.ndarray:
    """(n_features,) share of the pairs that each feature orders correctly; ties count half."""
    n = len(better)
    d = X.shape[1]
    if sp.issparse(X):
        difference = (X[better] - X[worse]).tocsr()
        sign = np.sign(difference.data)
        balance = np.bincount(difference.indices, weights=sign, minlength=d)
    else:
        balance = np.zeros(d)
        for at in range(0, n, 1000):
            a = X[better[at : at + 1000]]
            b = X[worse[at : at + 1000]]
            balance += (a > b).sum(axis=0) - (a < b).sum(axis=0, dtype=np.int64)
    return np.asarray(0.5 + 0.5 * balance / max(n, 1))
