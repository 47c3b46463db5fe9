"""Checks of the parameters of rankers, of queries and their weights, and the splits of a cross-validation."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.folds import query_folds
from sparserank.data.missing import MissingPolicy
from sparserank.data.varying import nothing_varies
from sparserank.errors import DataError, ParameterError
from sparserank.metrics import Metric, parse_metric
from sparserank.number_checks import checked_weights, usable_weights
from sparserank.objective import PairwiseObjective
from sparserank.options import parse_option
from sparserank.options.kinds import Count
from sparserank.paths import BestK, BoostedSteps, SizedMaker, on_groups, parse_maker, resolved
from sparserank.penalties import Penalty
from sparserank.text import brief

EXPECTED = "a number of folds >= 2, a scikit-learn splitter, or a list of pairs (train rows, test rows)"
HARMLESS = ("verbose",)  # nothing is printed anyway
OURS = {
    "sample_weight": (
        "pass one weight per query as query_weight= (SparseRanker also takes one per document, doc_weight=)"
    ),
    **dict.fromkeys(("group_id", "subgroup_id"), "pass the query id of each row as qid="),
    "group_weight": "pass one weight per query as query_weight=",
    "eval_at": "set the metric and its cutoff in the constructor, metric='ndcg@10'",
    "eval_metric": "set the metric in the constructor, metric='ndcg@10'",
    "callbacks": (
        "fitting has no rounds, so callbacks are never called; fit a whole path with sr.fit_path, or monitor a "
        "selection with sr.select(progress=)"
    ),
    "early_stopping_rounds": "there are no rounds; SparseRankerCV chooses the strength on eval_set",
    "feature_weights": "pass a penalty with weights, sr.penalties.L1(weights=...)",
    "feature_name": "pass X as a data frame; its column names are used",
    **dict.fromkeys(
        ("cat_features", "categorical_feature"), "features must be numbers; use fit_dataset(sr.read(table))"
    ),
    **dict.fromkeys(
        ("init_score", "baseline", "base_margin"),
        "initial scores are not supported; pass the score as a feature, and name it in keep= of the penalty",
    ),
}


def check_splits(owner: str, cv: Any) -> None:
    """Raise DataError unless `cv` is one of EXPECTED; its splits are checked later."""
    if hasattr(cv, "split") and not isinstance(cv, str):
        return
    again = isinstance(cv, Iterable) and not isinstance(cv, Iterator)  # a generator could be used for only one fit
    if isinstance(cv, bool | str) or not (isinstance(cv, int | np.integer) or again):
        raise ParameterError("cv", f"must be {EXPECTED}; got {brief(cv)}.", owner=owner)
    if isinstance(cv, int | np.integer) and (problem := Count(2).problem(cv)):
        raise ParameterError("cv", problem, owner=owner)


def split_queries(owner: str, cv: Any, data: RankingDataset, counted: np.ndarray, random_state: int) -> np.ndarray:
    """(n_counted,) the fold in which each of the counted queries is held out.

    A splitter splits the queries: each query is one sample and one group. Row numbers refer to the rows of fit, and
    must form whole queries.

    Raises
        DataError   a query is never held out, held out twice or in part, or used for training while held out
    """
    n = len(counted)
    if isinstance(cv, int | np.integer):
        return query_folds(n, min(int(cv), n), random_state)
    if hasattr(cv, "split"):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # from splitters that ignore groups
                parts = [(np.asarray(a), np.asarray(b)) for a, b in cv.split(np.zeros((n, 1)), None, np.arange(n))]
        except (TypeError, ValueError) as error:
            raise DataError(f"{owner}: cv cannot split {n} queries: {brief(str(error))}.") from error
    else:
        code = data.to_input_order(np.repeat(np.arange(data.n_queries), data.sizes))
        parts = [tuple(_whole(owner, rows, code, counted) for rows in pair) for pair in _pairs(owner, cv)]  # type: ignore[misc]
    fold = np.full(n, -1)
    for number, (train, test) in enumerate(parts):
        if any(
            part.dtype.kind not in "iu" or (part < 0).any() or (part >= n).any() for part in (train, test) if len(part)
        ):
            raise DataError(f"{owner}: cv must yield indices of the {n} queries.")
        if len(test) == 0 or len(train) == 0 or len(np.intersect1d(train, test)):
            raise DataError(f"{owner}: each split of cv must train on some queries and hold out others.")
        if len(train) + len(test) != n or (fold[test] >= 0).any():
            raise DataError(
                f"{owner}: cv must hold out every query once and train on all other queries; use GroupKFold or KFold."
            )
        fold[test] = number
    if (fold < 0).any():
        raise DataError(
            f"{owner}: cv must hold out every query once; {int((fold < 0).sum())} of {n} are never held out."
        )
    return fold


def _pairs(owner: str, cv: Any) -> list[tuple[Any, Any]]:
    pairs = [] if getattr(cv, "ndim", 1) == 0 else list(cv)
    if not pairs or any(not isinstance(p, tuple | list) or len(p) != 2 for p in pairs):
        raise DataError(f"{owner}: cv must be {EXPECTED}; got {brief(cv)}.")
    return [(a, b) for a, b in pairs]


def _whole(owner: str, rows: Any, code: np.ndarray, counted: np.ndarray) -> np.ndarray:
    """The positions, among the counted queries, of the queries of these rows."""
    try:
        rows = np.asarray(rows)
    except ValueError:  # rows of unequal length
        rows = np.empty(0)
    if rows.dtype == bool and rows.shape == code.shape:
        rows = np.flatnonzero(rows)
    if (
        rows.dtype.kind not in "iu"
        or rows.ndim != 1
        or (len(rows) and not -len(code) <= rows.min() <= rows.max() < len(code))
    ):
        raise DataError(f"{owner}: cv must contain indices of the {len(code)} rows; got {brief(rows)}.")
    held = np.bincount(code[np.unique(rows % len(code))], minlength=int(code.max()) + 1)
    size = np.bincount(code)
    if ((held > 0) & (held < size)).any():
        raise DataError(
            f"{owner}: cv splits the rows of a query; pass rows of whole queries (GroupKFold with groups=qid)."
        )
    return np.flatnonzero(held[counted] > 0)


def checked_penalty(owner: str, value: Any) -> Penalty | SizedMaker:
    """The penalty that `value` names, best_k or steps."""
    found = parse_option("penalty", parse_maker, value, owner)
    if not isinstance(found, Penalty | BestK | BoostedSteps):
        works = f"must be a penalty, best_k or steps; {found.name} works only with `select` and `fit_path`."
        raise ParameterError("penalty", works, owner=owner)
    return found


def checked_metric(owner: str, name: str, value: Any) -> Metric:
    """The metric that `value` names; higher must be better."""
    if not isinstance(value, str | Metric):
        raise ParameterError(name, f"must be a name; got {brief(value)}.", owner=owner)
    try:
        metric = parse_metric(value)
    except DataError as error:
        unknown = f"{brief(value)} is unknown ({str(error).rstrip('.')})."
        raise ParameterError(name, unknown, owner=owner) from error
    if not metric.higher_is_better:
        raise ParameterError(name, f"must be a metric where higher is better; got {brief(value)}.", owner=owner)
    return metric


def checked_missing(owner: str, value: Any) -> MissingPolicy | None:
    """The policy that `value` names; it must fill in values without query ids."""
    policy = parse_option("missing", MissingPolicy.parse, value, owner)
    if policy is not None and policy.by_query:
        raise DataError(
            f"{owner}: missing='query-min' needs the query of every row, also in predict. Fill in values beforehand, "
            "or use 'min'."
        )
    return policy


def random_generator(owner: str, name: str, value: Any) -> np.random.Generator:
    """The generator of a seed; `value` is None, an integer >= 0, or a Generator."""
    if isinstance(value, np.random.Generator):
        return value
    if value is not None and (problem := Count(0, 2**128 - 1).problem(value)):
        raise ParameterError(name, problem, owner=owner)
    return np.random.default_rng(value)


def require_variation(owner: str, objective: PairwiseObjective) -> None:
    """Raise DataError when every feature is constant within every query."""
    if not objective.varying.any():
        raise DataError(f"{owner}: {nothing_varies(objective.n_docs)}")


def usable_penalty(owner: str, penalty: Penalty | SizedMaker, objective: PairwiseObjective) -> Penalty:
    """The penalty with every parameter on the mean-loss scale.

    Raises
        DataError   the penalty forbids every feature that varies
    """
    assert isinstance(penalty, Penalty)  # rankers that support models by size handle them before
    on_scale = resolved(penalty, objective)
    if not (objective.varying & on_groups(on_scale, objective).usable(objective.n_features)).any():
        raise DataError(
            f"{owner}: the penalty excludes every feature that varies (by drop, or by weights of inf); allow at least "
            "one."
        )
    return on_scale


def checked_query_weight(data: RankingDataset, query_weight: Any) -> np.ndarray | None:
    """query_weight (n_queries,) as float64, or None."""
    expected = f"one finite weight >= 0 per query ({data.n_queries}), in order of first appearance"
    return None if query_weight is None else checked_weights("query_weight", query_weight, data.n_queries, expected)


def refuse_foreign(owner: str, given: Mapping[str, Any]) -> None:
    """Accept keywords without effect; refuse all others, with the alternative.

    Raises
        DataError   a keyword of another library's rankers is not None
        TypeError   no ranker has this keyword
    """
    for name, value in given.items():
        if name in OURS and value is not None:
            raise DataError(f"{owner}.fit takes no {name}: {OURS[name]}.")
        if name not in OURS and name not in HARMLESS:
            raise TypeError(f"{owner}.fit() got an unexpected keyword argument {name!r}")


def query_weights(owner: str, sample_weight: Any, data: RankingDataset) -> np.ndarray:
    """(n_queries,) from sample_weight (n_docs,), one weight per input row of the data set.

    Raises
        DataError   not one finite number >= 0 per row; weights differ within a query
    """
    weights = usable_weights(sample_weight, data.n_docs)
    if weights is None:
        raise DataError(
            f"{owner}: sample_weight must contain one finite weight >= 0 per row ({data.n_docs}); got "
            f"{brief(sample_weight)}."
        )
    rows = data.from_input_order(weights)
    of_query = rows[data.query_ptr[:-1]]
    differs = rows != np.repeat(of_query, data.sizes)
    if differs.any():
        row = int(np.argmax(differs))
        q = int(np.searchsorted(data.query_ptr, row, side="right")) - 1
        raise DataError(
            f"{owner}: sample_weight is the weight of the query, so it must be the same for all rows of a query; the "
            f"first row of query {brief(data.query_ids.tolist()[q])} has {of_query[q]:g}, row {data.row_index[row]} "
            f"has {rows[row]:g}."
        )
    return of_query


def weighted_mean(values: np.ndarray, weights: np.ndarray) -> float:
    """Weighted mean over the queries that have a value; NaN if none has.

    Raises
        DataError   no query with a value has a positive weight
    """
    known = np.isfinite(values)
    if not known.any():
        return float("nan")
    largest = float(weights[known].max())
    if largest == 0:
        raise DataError("sample_weight must be positive for at least one query with a metric value; all are 0.")
    shares = weights[known] / largest  # divided, so that their sum is finite
    return float(np.average(values[known], weights=shares))
