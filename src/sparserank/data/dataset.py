"""The query container: documents grouped by query, immutable."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparserank.data.categories import Derived, sources_of
from sparserank.data.filling import fill_known, missing_cells
from sparserank.data.matrices import as_csr, columns_dense, with_nan
from sparserank.data.missing import any_missing, is_missing
from sparserank.data.query_ids import as_query_ids, group_rows, rows_of_queries
from sparserank.data.store.features import StoredFeatures
from sparserank.data.tables.frames import names_of, repeated, without_qid
from sparserank.data.varying import extremes, varying_dense, varying_sparse
from sparserank.errors import DataError, ParameterError
from sparserank.number_checks import as_floats, usable_weights
from sparserank.options import option
from sparserank.options.arguments import Positions, check_arguments
from sparserank.text import brief

MISSING_REMEDY = (
    "Choose a replacement: missing='median' (or 'zero', 'min', a number) when you read data or create a ranker."
)
# Optional fields of rows. When a data set that lacks a field is joined with one that has it, its rows get this value;
# None: the joined data set does not have the field.
ROWS = {"docid": None, "comment": None, "doc_weight": 1.0, "filled": False, "table": None, "returned": True}
FEATURES = ("fill_values", "filled")  # optional fields of features, which are the last axis
Features = Any  # a float array (n_docs, n_features), a CSR matrix of that shape, or StoredFeatures


def _frozen(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


@dataclass(frozen=True, eq=False)
class RankingDataset:
    """Query-document features with relevance, grouped by query.

    Rows may come in any order. Queries are in the order of their first rows, and the documents of a query in the order
    of their rows.

    Parameters
    ----------
    X : array_like or SciPy sparse matrix of shape (n_docs, n_features)
        Features, float32 or float64. A sparse matrix is kept as CSR.
    relevance : array_like of shape (n_docs,)
        Integer grades or finite real numbers; larger means more relevant.
    qid : array_like of shape (n_docs,), optional
        Query ids, integers or strings. Default: column `qid` of a frame; without one, all rows are one query.
    docid : array_like of shape (n_docs,), optional
        Document ids, strings.
    feature_names : sequence of str, optional
        Unique names. Default: the column names of a frame, otherwise f1, f2, ... (f0, f1, ... with `index_base` 0)
    comment : array_like of shape (n_docs,), optional
        Comments from ranking text, kept for `write_letor`.
    doc_weight : array_like of shape (n_docs,), optional
        Weight >= 0 of every pair in which the document is the preferred one, for example 1 over the propensity of its
        click (Joachims et al. 2017). With weight 0 a document is never the preferred one.
    fill_values : array_like of shape (n_features,), optional
        Replacement for a missing value (NaN, infinity, 1.797e308) of each feature, here and in models trained on these
        data. NaN: a missing value is rejected. `read` and the rankers learn these values (`missing=`).
    keep_missing : bool, default False
        Keep missing values as NaN. Only models that contain replacements can use such data.
    filled : bool array of shape (n_docs, n_features), optional
        True where a value of dense X was missing and has been filled in. Default: where `fill_values` was used.
    index_base : {1, 0}, optional
        Number of the first feature in the ranking text that the data were read from. Default: they are not from text.
    derived : mapping, optional
        {feature name: the column of a table, and its level}, for features that `read` makes from categories, and flags
        of missing values.
    table : array of shape (n_docs, n_columns), optional
        Columns of a table that `read` keeps as they are, because trees read categories whole: numbers, or text; None or
        NaN where a value is missing.
    kept_columns : mapping, optional
        {name of a column of `table`: whether it is numbers}.
    booleans : sequence of str, optional
        The features that were boolean columns of the table that `read` read them from.
    returned : bool array of shape (n_docs,), optional
        False for documents that no search response has: they count only in the number of relevant documents and in the
        ideal order. Default: all are ranked.

    Raises
    ------
    DataError
        Shapes do not match; relevance is not finite; X is not numeric, not finite or not a valid sparse matrix; a query
        id is missing; names are repeated or cannot be written as UTF-8. Messages number rows from 0.

    Notes
    -----
    The rows of query `q` are `query_ptr[q]:query_ptr[q + 1]`. X, relevance, qid, docid and the other arrays are in the
    order of the data set, and so is everything that you compute from X. Scores are in the order of the *input*:
    `evaluate` and `write_run` expect this order, and `RankingModel.score_dataset` returns it. The two orders are the
    same unless the rows of a query were scattered. `row_index` contains the input position of each row;
    `to_input_order` and `from_input_order` convert between the orders. The input of a stored data set is the store
    itself. Arrays are read-only views; nothing is copied if the rows are already grouped.

    Examples
    --------
    >>> import sparserank as sr
    >>> X = [[3.0, 0.1], [1.0, 0.5], [2.0, 0.9], [4.0, 0.2]]
    >>> data = sr.RankingDataset(X, relevance=[2, 0, 1, 0], qid=["a", "a", "b", "b"], feature_names=["bm25", "age"])
    >>> data.n_queries, data.n_features, data.query_ptr.tolist()
    (2, 2, [0, 2, 4])
    """

    X: Features
    relevance: np.ndarray
    qid: np.ndarray | None = None
    docid: np.ndarray | None = None
    feature_names: Sequence[str] | None = None
    comment: np.ndarray | None = None
    doc_weight: np.ndarray | None = None
    fill_values: np.ndarray | None = None
    keep_missing: bool = False
    filled: np.ndarray | None = None
    index_base: int | None = None
    derived: Mapping[str, Derived] | None = None
    table: np.ndarray | None = None
    kept_columns: Mapping[str, bool] = field(default_factory=dict)
    booleans: Sequence[str] = ()
    returned: np.ndarray | None = None
    query_ptr: np.ndarray = field(init=False)
    query_ids: np.ndarray = field(init=False)
    row_index: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        check_arguments(RankingDataset, {"keep_missing": self.keep_missing, "index_base": self.index_base})
        fill_values = None if self.fill_values is None else _as_fill_values(self.fill_values)
        features, ids = without_qid(self.X, self.qid)
        X = _as_features(features, fill_values, keep_missing=self.keep_missing)
        n_docs, n_features = X.shape
        filled = _as_mask("filled", self.filled, X.shape)
        returned = _as_mask("returned", self.returned, (n_docs,))
        if filled is None and fill_values is not None and not self.keep_missing:
            filled = missing_cells(features)
        relevance = _as_relevance(self.relevance, n_docs)
        qid = np.zeros(n_docs, dtype=np.int64) if ids is None else as_query_ids(ids, n_docs)
        feature_names = names_of(features) if self.feature_names is None else self.feature_names
        names = checked_names(feature_names, n_features, self.index_base)
        order, query_ptr, query_ids = group_rows(qid)
        columns: dict[str, Any] = {"relevance": relevance, "qid": qid, "table": self.table}
        columns |= {"filled": filled, "returned": returned}
        for name, texts in self._present(("docid", "comment")):
            columns[name] = np.asarray(texts, dtype=object)
            if columns[name].shape != (n_docs,):
                raise DataError(f"{name} must have one value per row of X ({n_docs}); got shape {columns[name].shape}.")
        if self.doc_weight is not None:
            columns["doc_weight"] = _as_weights(self.doc_weight, n_docs)
        if isinstance(X, StoredFeatures):
            cut = np.flatnonzero(~np.isin(X.starts, query_ptr))
            if order is not None or len(cut):
                raise DataError(
                    "the rows of a query are spread over several stored parts; convert these inputs together, into one "
                    "store."
                )
        if order is not None:
            X = X[order]
            columns = {name: None if c is None else c[order] for name, c in columns.items()}
        columns |= {"query_ptr": query_ptr, "query_ids": query_ids}
        columns["row_index"] = np.arange(n_docs) if order is None else order
        self._set({"X": X, "feature_names": names, "fill_values": fill_values, **columns})

    def _set(self, fields: dict[str, Any]) -> None:
        """Set fields; arrays become read-only."""
        for name, value in fields.items():
            object.__setattr__(self, name, _frozen(value) if isinstance(value, np.ndarray) else value)

    @classmethod
    def of_groups(
        cls,
        X: Features,
        relevance: np.ndarray,
        query_ptr: np.ndarray,
        query_ids: np.ndarray,
        **others: Any,
    ) -> RankingDataset:
        """Create a data set from arrays that are already grouped and checked, without checking them again; other fields
        than these have their defaults."""
        self = object.__new__(cls)
        ids = query_ids if query_ids.dtype.kind in "iu" else query_ids.astype(object)  # strings are shared, not copied
        names = checked_names(others.pop("feature_names", None), X.shape[1], others.get("index_base"))
        self._set(
            {
                "X": X,
                "feature_names": names,
                "relevance": relevance,
                "qid": np.repeat(ids, np.diff(query_ptr)),
                "row_index": np.arange(X.shape[0]),
                "query_ptr": query_ptr,
                "query_ids": query_ids,
                "kept_columns": {},
                **others,
            }
        )
        return self

    @property
    def n_docs(self) -> int:
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        return int(self.X.shape[1])

    @property
    def n_queries(self) -> int:
        return len(self.query_ptr) - 1

    @property
    def sizes(self) -> np.ndarray:
        """(n_queries,) number of documents of each query."""
        return np.diff(self.query_ptr)

    @property
    def names(self) -> tuple[str, ...]:
        """(n_features,) names of the features: `feature_names`, which the constructor completes."""
        return tuple(self.feature_names or ())

    @property
    def sources(self) -> tuple[str, ...]:
        """(n_features,) the column of a table that each feature is made from."""
        return sources_of(self.derived or {}, self.names)

    @property
    def is_sparse(self) -> bool:
        return bool(self.X.is_sparse if self.is_stored else sp.issparse(self.X))

    @property
    def is_stored(self) -> bool:
        """Whether the features stay on disk."""
        return isinstance(self.X, StoredFeatures)

    def __repr__(self) -> str:
        kind = "csr" if self.is_sparse else "dense"
        return (
            f"RankingDataset({self.n_docs} documents, {self.n_queries} queries, "
            f"{self.n_features} features, {'stored ' if self.is_stored else ''}{kind} {self.X.dtype})"
        )

    def to_input_order(self, values: np.ndarray) -> np.ndarray:
        """Reorder per-document `values` (n_docs,) from the order of this data set
        to the order of the constructor's rows."""
        values = self._per_document(values)
        out = np.empty_like(values)
        out[self.row_index] = values
        return out

    def from_input_order(self, values: np.ndarray) -> np.ndarray:
        """Reorder per-document `values` (n_docs,) from the order of the constructor's rows to that of this data set."""
        return np.asarray(self._per_document(values)[self.row_index])

    def _per_document(self, values: np.ndarray) -> np.ndarray:
        array = np.asarray(values)
        if array.shape[:1] != (self.n_docs,):
            raise ParameterError("values", f"must have one entry per document ({self.n_docs}); got {brief(values)}.")
        return array

    def column(self, name: str) -> np.ndarray:
        """(n_docs,) the values of a column of the table, unchanged, or of a feature.

        Raises
            DataError   there is no such column
        """
        for names, X in ((self.kept_columns, self.table), (self.names, self.X)):
            if X is not None and name in names:
                return columns_dense(X, np.array([[*names].index(name)]))[:, 0]
        raise DataError(f"trees need the column {brief(name)}, which some of the data do not have; add it.")

    def replace_features(self, X: Features) -> RankingDataset:
        """The same documents with new feature values; names are kept if the number of features is the same."""
        if len(getattr(X, "shape", ())) != 2:
            raise ParameterError("X", f"must be a matrix of {self.n_docs} rows; got {brief(X)}.")
        if X.shape[0] != self.n_docs:
            raise DataError(f"new features must have {self.n_docs} rows; got shape {X.shape}.")
        names = self.feature_names if X.shape[1] == self.n_features else None
        return self._with(X=X, feature_names=names, **dict.fromkeys(FEATURES))

    def take_features(self, columns: Sequence[int]) -> RankingDataset:
        """The data set with only these features, in this order; values are copied."""
        check_arguments(RankingDataset.take_features, locals(), columns=Positions(self.n_features, "feature"))
        at = np.asarray(columns, dtype=np.int64)
        names = [self.names[j] for j in at.tolist()]
        taken = {name: column[..., at] for name, column in self._present(FEATURES)}
        return self._with(X=self.X[:, at], feature_names=names, **taken)

    def rename_features(self, names: Sequence[str]) -> RankingDataset:
        """The same data set with new feature names."""
        out = self._with(feature_names=names)  # refuses wrong names
        old = self.derived or {}
        derived = {new: old[name] for name, new in zip(self.names, out.names, strict=True) if name in old}
        out._set({"derived": derived or None})
        return out

    def _present(self, names: Iterable[str]) -> list[tuple[str, Any]]:
        """(name, value) of those of the fields that are not None."""
        return [(name, column) for name in names if (column := getattr(self, name)) is not None]

    def _with(self, **changed: Any) -> RankingDataset:
        """The same documents with other features; `row_index` still refers to the rows of the original
        constructor."""
        out = replace(self, **changed)
        derived = {name: d for name, d in (out.derived or {}).items() if name in set(out.names)}
        out._set({"row_index": self.row_index, "derived": derived or None})
        return out

    def take_queries(self, queries: np.ndarray) -> RankingDataset:
        """The data set with only the queries at these positions, in this order; rows are copied."""
        kind = Positions(self.n_queries, "query", masks=True)
        check_arguments(RankingDataset.take_queries, {"queries": queries}, queries=kind)
        queries = np.asarray(queries)
        queries = np.flatnonzero(queries) if queries.dtype == bool else queries.astype(np.int64)
        rows, _ = rows_of_queries(self.query_ptr, queries)
        return replace(self, **{name: column[rows] for name, column in self._present(("X", "relevance", "qid", *ROWS))})

    def unfilled(self) -> RankingDataset:
        """The same data with NaN in place of filled-in values, where these are known (dense data in memory)."""
        if self.filled is None or not self.filled.any():
            return self
        X = np.array(self.X)
        X[self.filled] = np.nan
        return self.with_missing(X, self.names)

    def with_missing(self, X: np.ndarray, names: Sequence[str]) -> RankingDataset:
        """The same documents with other features, whose missing values stay NaN."""
        return self._with(X=X, feature_names=names, keep_missing=True, **dict.fromkeys(FEATURES))

    def single_valued_features(self) -> np.ndarray:
        """(n_features,) bool: features that have a single value in all documents, or are missing in all."""
        low, high, missing = zip(*map(extremes, getattr(self.X, "parts", (self.X,))), strict=True)
        lowest = np.fmin.reduce(low)
        some_missing = np.any(missing, axis=0) & ~np.isnan(lowest)
        return np.asarray(~((np.fmax.reduce(high) > lowest) | some_missing))

    def constant_features(self) -> np.ndarray:
        """(n_features,) bool: features that are constant within every query, up to rounding;
        no linear ranker can use them."""
        varying = np.zeros(self.n_features, dtype=bool)
        lo = 0
        for X in getattr(self.X, "parts", (self.X,)):
            first, last = np.searchsorted(self.query_ptr, [lo, lo + X.shape[0]])
            varying |= (varying_sparse if self.is_sparse else varying_dense)(X, self.query_ptr[first : last + 1] - lo)
            lo += X.shape[0]
        return ~varying


def _as_weights(doc_weight: Any, n_docs: int) -> np.ndarray:
    """(n_docs,) float64, finite and >= 0."""
    weights = usable_weights(doc_weight, n_docs)
    if weights is None:
        raise DataError(
            f"doc_weight must contain one finite weight >= 0 per row of X ({n_docs}); got {brief(doc_weight)}."
        )
    return weights


def _as_mask(name: str, values: np.ndarray | None, shape: tuple[int, ...]) -> np.ndarray | None:
    """A bool array of this shape, or None."""
    if values is not None and not (isinstance(values, np.ndarray) and values.dtype == bool and values.shape == shape):
        raise ParameterError(name, f"must be a bool array of shape {shape}, as X; got {brief(values)}.")
    return values


def _as_fill_values(fill_values: Any) -> np.ndarray:
    """(n_features,) float64, NaN for a feature without a replacement."""
    try:
        numbers = as_floats(fill_values).copy()
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"fill_values must contain one number per feature; got {brief(fill_values)}.") from error
    if numbers.ndim != 1 or (is_missing(numbers) & ~np.isnan(numbers)).any():
        raise DataError(f"fill_values must contain one finite number per feature, or NaN; got {brief(fill_values)}.")
    return numbers


def _as_features(X: Features, fill_values: np.ndarray | None = None, *, keep_missing: bool = False) -> Features:
    """X as C-ordered float32/float64 array or canonical CSR, filled; raises DataError unless numeric and finite."""
    if isinstance(X, StoredFeatures):
        return X
    if keep_missing:
        return with_nan(X)
    if fill_values is not None:
        X = fill_known(X, fill_values)
    if sp.issparse(X):
        csr = as_csr(X)
        if csr.dtype not in (np.float32, np.float64):
            csr = csr.astype(np.float64)
        if not csr.has_canonical_format:
            csr = csr.copy()
            csr.sum_duplicates()
        if any_missing(csr.data):
            raise DataError(f"X must be finite; it contains NaN, infinity or 1.797e308. {MISSING_REMEDY}")
        frozen = sp.csr_matrix(
            (_frozen(csr.data), _frozen(csr.indices), _frozen(csr.indptr)), shape=csr.shape, copy=False
        )
        frozen.has_canonical_format = True
        return frozen
    X = _unmasked("X", X)
    if getattr(getattr(X, "dtype", None), "kind", "f") in "cmM":
        raise DataError(f"X must be numeric; got dtype {X.dtype}.")
    try:
        dense = np.asarray(X)
        if dense.dtype not in (np.float32, np.float64):
            dense = as_floats(dense)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(_why_not_numeric(X, error)) from error
    if dense.ndim != 2:
        raise DataError(f"X must be two-dimensional (n_docs, n_features); got shape {dense.shape}.")
    dense = np.ascontiguousarray(dense)
    if any_missing(dense):
        row, column = (int(v) for v in np.argwhere(is_missing(dense))[0])
        mark = ", which means a missing value" if np.isfinite(dense[row, column]) else ""
        raise DataError(
            f"X must be finite; row {row}, feature f{column + 1} is {dense[row, column]}{mark}. {MISSING_REMEDY}"
        )
    return dense


def _unmasked(name: str, values: Any) -> Any:
    """Return `values`; raise DataError if any are masked, because masked values are not data."""
    if isinstance(values, np.ma.MaskedArray) and np.ma.getmaskarray(values).any():
        raise DataError(f"{name} contains masked values; fill or drop them.")
    return values


def _as_relevance(labels: Any, n_docs: int) -> np.ndarray:
    """(n_docs,) float64, finite."""
    labels = _unmasked("relevance", labels)
    try:
        relevance = np.asarray(labels)
    except (TypeError, ValueError, OverflowError) as error:
        raise DataError(f"relevance must contain one number per row of X ({n_docs}); got {brief(labels)}.") from error
    if relevance.shape != (n_docs,):
        raise DataError(f"relevance must have one value per row of X ({n_docs}); got shape {relevance.shape}.")
    if relevance.dtype.kind not in "biuf":
        raise DataError(f"relevance must be numeric; got dtype {relevance.dtype}.")
    relevance = relevance.astype(np.float64, copy=False)
    if not np.isfinite(relevance).all():
        row = int(np.flatnonzero(~np.isfinite(relevance))[0])
        raise DataError(f"relevance must be finite; row {row} has {relevance[row]}. Drop or correct that row.")
    return relevance


def _why_not_numeric(X: Any, error: Exception) -> str:
    """One sentence on why X cannot become a float array."""
    rows = X if isinstance(X, list | tuple) else ()
    sizes = [f"{len(row)} values" if isinstance(row, list | tuple) else "one value" for row in rows]
    for row, size in enumerate(sizes):
        if size != sizes[0]:
            return f"X must have rows of equal length; row 0 has {sizes[0]}, row {row} has {size}."
    return f"X must be numeric: {brief(str(error))}."


def numbered(names: Sequence[str], index_base: int | None = None) -> bool:
    """Whether features have only numbered names: f1, f2, ..., or from the number index_base on."""
    return tuple(names) == numbers(len(names), index_base)


def first_index(data: RankingDataset) -> int:
    """Number of the first feature in ranking text that belongs to these data."""
    return 1 if data.index_base is None else data.index_base


def numbers(n_features: int, index_base: int | None = None) -> tuple[str, ...]:
    """Default names: f1, f2, ..., or from the number index_base on."""
    first = 1 if index_base is None else index_base
    return tuple(f"f{j}" for j in range(first, first + n_features))


def numbered_from_1(features: str, others: str) -> str:
    """Error message: text was read with indices from 1, but the model or other data number features from 0."""
    return (
        f"{features} were read as text whose numbers begin at 1, but those of {others} begin at 0; read the text with "
        f"{option('index_base', 0)}, or name its features as there ({option('feature_names')})."
    )


def checked_names(names: Sequence[str] | None, n_features: int, index_base: int | None = None) -> tuple[str, ...]:
    if names is None:
        return numbers(n_features, index_base)
    if isinstance(names, str) or not isinstance(names, Iterable) or np.ndim(names) == 0:
        raise DataError(f"feature_names must be a list of {n_features} names; got {brief(names)}.")
    names = tuple(str(n) for n in names)
    if len(names) != n_features:
        raise DataError(f"feature_names must contain {n_features} names; got {len(names)}.")
    twice = repeated(names)
    if twice is not None:
        raise DataError(f"feature_names must be unique; {brief(twice)} appears twice.")
    for number, name in enumerate(names, start=1):
        try:
            name.encode()
        except UnicodeEncodeError as error:
            raise DataError(f"feature_names must be valid UTF-8 text; name {number} is {brief(name)}.") from error
    return names
