"""Input of fit, predict and score: checked as scikit-learn requires, grouped by query, missing values filled."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from sparserank.data.dataset import RankingDataset, numbers
from sparserank.data.filling import fill_known, fill_matrix, missing_cells
from sparserank.data.matrices import as_dense, sparse_as_csr, stored_values, with_holes, without_mask
from sparserank.data.missing import MissingPolicy, any_missing, is_missing
from sparserank.data.query_ids import MANY_GRADED_ROWS, MANY_ROWS, as_query_ids, ids_of_rows, query_codes
from sparserank.data.read_files import is_dask
from sparserank.data.tables.frames import names_of, without_qid
from sparserank.data.varying import nothing_varies
from sparserank.errors import DataError, ParameterError, warn_caller
from sparserank.metrics import Metric, parse_metric
from sparserank.number_checks import usable_weights
from sparserank.objective import PairwiseObjective
from sparserank.options import Count, parse_option
from sparserank.text import brief

FORMS: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
ROUTING = (
    "In a search or cross-validation, use a data frame X with a column qid; or, after "
    "sklearn.set_config(enable_metadata_routing=True), fit(X, y, qid=qid, groups=qid) of the search, or "
    "params={'qid': qid, 'groups': qid} of cross_val_score."
)

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


def training_data(
    ranker: Any, X: Any, y: Any, qid: Any, group: Any, doc_weight: Any, query_weight: Any, policy: MissingPolicy | None
) -> RankingDataset:
    """Make the training data, with rows grouped by query; set the ranker's n_features_in_ and feature_names_in_.

    Fill values are learned from the rows of queries with a positive weight.

    Raises
        DataError   the data are invalid
    """
    owner = type(ranker).__name__
    X, y, qid, doc_weight = (v.compute() if is_dask(v) else v for v in (X, y, qid, doc_weight))
    X, qid = without_qid(X, qid)
    X = with_holes(X) if policy is not None else without_mask(X)
    # scikit-learn detects infinities by a sum, which may overflow
    with np.errstate(invalid="ignore"), _naming_missing(ranker):
        X, y = validate_data(ranker, X, y, y_numeric=True, ensure_all_finite=policy is None, **FORMS)
    names = getattr(ranker, "feature_names_in_", None)
    ids = ids_of_rows(qid, group, X.shape[0])
    fill_values = None
    filled = None
    if policy is not None:
        query = np.zeros(X.shape[0], dtype=np.int64) if ids is None else query_codes(as_query_ids(ids, X.shape[0]))
        filled = missing_cells(X)
        # the rows of queries with a positive weight; all for weights that are refused later
        n_queries = int(query.max(initial=-1)) + 1
        weight = None if query_weight is None else usable_weights(query_weight, n_queries)
        counted = None if weight is None else weight[query] > 0
        try:
            X, filling = fill_matrix(policy, X, query, names, counted)
        except DataError as error:
            raise DataError(f"{owner}: {error}") from error
        fill_values = filling.values
    data = RankingDataset(X, y, ids, None, names, doc_weight=doc_weight, fill_values=fill_values, filled=filled)
    # True if the data have more rows than a single result list is likely to have.
    is_long = data.n_docs > MANY_ROWS
    is_long |= data.n_docs > MANY_GRADED_ROWS and len(np.unique(data.relevance)) <= data.n_docs // 2
    if data.n_queries == 1 and qid is None and group is None and is_long:
        warn_caller(
            f"{owner}.fit: qid is missing, so all {data.n_docs} rows are ranked as one query; pass qid=, or a data "
            f"frame with a column qid. In cross_val_score and searches, groups= only splits the rows. {ROUTING}"
        )
    return data


def features_to_score(ranker: Any, X: Any, fill_values: np.ndarray | None) -> Any:
    """X (n_docs, n_features) as an array or CSR matrix, with missing values filled if the ranker learned a fill value.

    Raises
        DataError    a value is missing and has no fill value; the message names row and feature
        ValueError   the features differ from those in training; the message is that of scikit-learn
    """
    X, _ = without_qid(sparse_as_csr(X))
    X = with_holes(X) if fill_values is not None else without_mask(X)
    filled = (
        "fill them in beforehand, or score with to_model().predict(X, missing='model'), which uses training medians"
    )
    with np.errstate(invalid="ignore"), _naming_missing(ranker, filled):
        X = validate_data(ranker, X, reset=False, ensure_all_finite=fill_values is None, **FORMS)
    X = X if fill_values is None else fill_known(X, fill_values)
    if any_missing(stored_values(X)):
        row, j = (int(v) for v in np.argwhere(is_missing(as_dense(X)))[0])
        name = feature_names(ranker, X.shape[1])[j]
        remedy = "missing= does not cover it" if hasattr(ranker, "missing") else "must be filled in beforehand"
        raise DataError(
            f"{type(ranker).__name__}: row {row}, feature {brief(name)} is missing, and {remedy}; "
            "to_model().predict(X, missing='model') uses its training median."
        )
    return X


def feature_names(ranker: Any, n_features: int) -> list[str]:
    """The names of a ranker's features; their numbers if it has no names."""
    names = getattr(ranker, "feature_names_in_", None)
    return [str(n) for n in (numbers(n_features, ranker.__dict__.get("_index_base")) if names is None else names)]


@contextmanager
def _naming_missing(ranker: Any, remedy: str | None = None) -> Iterator[None]:
    """Turn scikit-learn's errors about X and y into ours, which name the remedy for missing values."""
    owner = type(ranker).__name__
    try:
        yield
    except TypeError as error:  # scikit-learn's check of estimators asks for a TypeError
        raise TypeError(f"{owner}: X and y must contain numbers ({error}).") from error
    except OverflowError as error:
        raise DataError(f"{owner}: X and y must contain numbers that floats can represent ({error}).") from error
    except ValueError as error:
        message = str(error).splitlines()[0]
        if "could not convert" in message:
            raise DataError(f"{owner}: X and y must contain numbers ({message}).") from error
        if "contains NaN" not in message and "contains infinity" not in message:
            raise
        if remedy is None:
            learns = "set a fill value with missing='median' (or 'zero', 'min', a number)"
            remedy = learns if hasattr(ranker, "missing") else "fill them in beforehand"
        if message.startswith("Input y"):
            remedy = "drop the rows without a label"
        raise DataError(f"{owner}: {message.rstrip('.')}; {remedy}.") from error


def evaluation_sets(
    ranker: Any, eval_set: Any, eval_qid: Any, eval_group: Any, data: RankingDataset
) -> list[RankingDataset]:
    """Check the sets and group their rows by query. Their features must be those of the training data in the same
    order, and their missing values get the fill values of the training data.

    Parameters
        eval_set               (X, y), or a list of such pairs; None: no set
        eval_qid, eval_group   the query of each row, or sizes of consecutive queries; for a list of sets, a list
        data                   the training data
    Raises
        DataError   a set has another form, shape or order of features
    """
    owner = type(ranker).__name__
    names = getattr(ranker, "feature_names_in_", None)
    if eval_set is None:
        if eval_qid is not None or eval_group is not None:
            raise DataError(f"{owner}: eval_qid and eval_group need eval_set, which is missing.")
        return []
    several = isinstance(eval_set, list)
    pairs = eval_set if several else [eval_set]
    ids, sizes = (_one_each(owner, v, len(pairs), several) for v in (eval_qid, eval_group))
    sets = []
    for pair, qid, group in zip(pairs, ids, sizes, strict=True):
        if not isinstance(pair, tuple | list) or len(pair) != 2 or len(_shape(pair[1])) != 1:
            raise DataError(f"{owner}: eval_set must be a pair (X, y) of features and relevance, or a list of them.")
        X, qid = without_qid(pair[0], qid)
        names_in_data = names_of(X)
        if names_in_data is not None and names is not None and list(names_in_data) != list(names):
            absent = next((n for n in names if n not in names_in_data), None)
            how = "another order, or additional columns" if absent is None else f"no {brief(absent)}"
            raise DataError(
                f"{owner}: the columns of eval_set differ from those of the training data ({how}); pass the same "
                "columns in the same order."
            )
        if len(_shape(X)) != 2 or _shape(X)[1] != data.n_features:
            raise DataError(
                f"{owner}: eval_set must have the {data.n_features} features of the training data; got X of shape "
                f"{_shape(X)}."
            )
        if qid is None and group is None and data.n_queries > 1:
            raise DataError(
                f"{owner}: eval_set needs eval_qid (or eval_group, or a frame with a column qid). The training data "
                f"have {data.n_queries} queries, but without ids all rows of eval_set would form one query."
            )
        if len(pair[1]) == 0:
            raise DataError(f"{owner}: eval_set has no rows.")
        ids_of = ids_of_rows(qid, group, len(pair[1]))
        sets.append(RankingDataset(X, pair[1], ids_of, feature_names=names, fill_values=data.fill_values))
    return sets


def _one_each(owner: str, ids: Any, n: int, several: bool) -> list[Any]:
    """One entry for each of n sets, from `ids`: query ids or group sizes. For one set, the list around the entry is
    optional."""
    if ids is None:
        return [None] * n
    if several and isinstance(ids, list) and len(ids) == n and all(v is None or np.ndim(v) == 1 for v in ids):
        return ids
    if n == 1:
        return [ids]
    raise DataError(
        f"{owner}: eval_set is a list of {n} sets; eval_qid or eval_group must be a list with one array per set."
    )


def _shape(value: Any) -> tuple[int, ...]:
    """The shape of a value; () if it has none, for instance rows of unequal length."""
    try:
        return tuple(np.shape(value))
    except ValueError:
        return ()


def refuse_foreign(owner: str, keywords: Mapping[str, Any]) -> None:
    """Accept keywords without effect; refuse all others, with the alternative.

    Raises
        DataError   a keyword of another library's rankers is not None
        TypeError   no ranker has this keyword
    """
    for name, value in keywords.items():
        if name in OURS and value is not None:
            raise DataError(f"{owner}.fit takes no {name}: {OURS[name]}.")
        if name not in OURS and name not in HARMLESS:
            raise TypeError(f"{owner}.fit() got an unexpected keyword argument {name!r}")


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
    """The policy for missing values that `value` names; it must be able to fill in values without query ids."""
    policy = parse_option("missing", MissingPolicy.parse, value, owner)
    if policy is not None and policy.by_query:
        raise DataError(
            f"{owner}: missing='query-min' needs the query of every row, also in predict. Fill in values beforehand, "
            "or use 'min'."
        )
    return policy


def random_generator(owner: str, value: Any) -> np.random.Generator:
    """The generator of a seed; `value` is None, an integer >= 0, or a Generator."""
    if isinstance(value, np.random.Generator):
        return value
    if value is not None and (problem := Count(0, 2**128 - 1).problem(value)):
        raise ParameterError("random_state", problem, owner=owner)
    return np.random.default_rng(value)


def require_variation(owner: str, objective: PairwiseObjective) -> None:
    """Raise DataError when every feature is constant within every query."""
    if not objective.varying.any():
        raise DataError(f"{owner}: {nothing_varies(objective.n_docs)}")


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
