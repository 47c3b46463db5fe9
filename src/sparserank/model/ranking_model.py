"""The ranking model: selected features, weights, scaling, transforms, steps."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sparserank.bins import Bins, StepFunction
from sparserank.data.dataset import RankingDataset, numbered, numbered_from_1
from sparserank.data.derived import Derived, KnownLevels, sources_of, texts_in
from sparserank.data.filling import fill_known
from sparserank.data.matrices import NO_MATRIX, as_array, as_dense, csr_or_array
from sparserank.data.missing import ERROR, holds_missing, is_missing
from sparserank.data.query_ids import as_query_ids, group_rows
from sparserank.data.store.features import StoredFeatures
from sparserank.data.tables.frames import (
    NO_NUMBERS,
    QID,
    collected,
    column_names,
    column_of,
    numbers_in,
    query_ids,
    without_qid,
)
from sparserank.errors import DataError
from sparserank.files import atomic_write
from sparserank.model.content import content_of
from sparserank.number_checks import clause_sums
from sparserank.options import option
from sparserank.options.arguments import LATER, Position, Typed, check_arguments
from sparserank.shards.scaling import FeatureScaling
from sparserank.text import brief
from sparserank.transforms import NONE, STEPS, Transform

OF_CLAUSES = "of_clauses"  # the parameter of models of search responses, whose scores are sums as in engines
OF_MODEL = "model"  # the rule that replaces missing values by the training medians of the model


@dataclass(frozen=True, eq=False, repr=False)
class RankingModel:
    """A fitted model: score = sum over selected features of coef * (t(x) - center) / scale.

    The larger the score, the better the rank.

    Parameters
    ----------
    coef : ndarray of shape (n_features,)
        Weights, 0 for features that are not selected.
    feature_names : tuple of str
        Names of all features.
    scaling : FeatureScaling
        Provides center and scale, and also t if `transform` is None and the method is 'log-standard'.
    parameters, metadata : mapping, optional
        Parameters of the fit; any other content of the model file.
    transform : Transform, optional
        The function t. None: features are not transformed.
    steps : mapping, optional
        {number of a feature: the StepFunction that is its t}.
    fill_values : ndarray of shape (n_features,), optional
        Replacements for a missing x (NaN, infinite or 1.797e308). NaN or None: a missing value is rejected.
    medians : ndarray of shape (n_features,), optional
        Medians of the training values, used only with missing='model'. NaN or None: unknown.
    index_base : {1, 0}, default 1
        Number of the first feature in ranking text; read text for this model with it.
    derived : mapping, optional
        {feature name: the column of a table, and its level}, for features that are made from a column: 1 where it has
        the level, or is missing, else 0. Frames and tables need only that column.

    Raises
    ------
    DataError
        There is not exactly one weight, name, center, scale, fill value and median per feature.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(40, 8, 6, n_informative=2, n_redundant=1).data
    >>> model = sr.SparseRanker(k=2, penalty="mcp").fit(data.X, data.relevance, qid=data.qid).to_model()
    >>> len(model.support), model.predict(data.X).shape
    (2, (320,))
    """

    coef: np.ndarray
    feature_names: tuple[str, ...]
    scaling: FeatureScaling
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    transform: Transform | None = None
    steps: Mapping[int, StepFunction] = field(default_factory=dict)
    fill_values: np.ndarray | None = None
    medians: np.ndarray | None = None
    index_base: int = 1
    derived: Mapping[str, Derived] = field(default_factory=dict)

    def __post_init__(self) -> None:
        anything = Typed(Mapping)  # values that a model file cannot contain are written as text
        check_arguments(RankingModel, vars(self), parameters=anything, metadata=anything, derived=anything)
        numbers = [self.coef, self.scaling.center, self.scaling.scale]
        numbers += [values for values in (self.fill_values, self.medians) if values is not None]
        if any(getattr(a, "shape", None) != (len(self.feature_names),) for a in numbers):
            shapes = ", ".join(str(np.shape(a)) for a in numbers)
            raise DataError(
                f"a model needs one weight, center and scale for each of its {len(self.feature_names)} feature names; "
                f"got arrays of shapes {shapes}."
            )
        for j in self.steps:
            if self.transform is not None and self.transform.kinds[j] != NONE:
                name = brief(self.feature_names[j])
                raise DataError(f"feature {name} has a transform and steps, which replace transforms; omit one.")

    @classmethod
    def from_pipeline(cls, pipeline: Any) -> RankingModel:
        """Convert a fitted scikit-learn pipeline to a model that includes its imputer, scalers and selectors.

        The model accepts the same features as the pipeline.

        Parameters
        ----------
        pipeline : sklearn.pipeline.Pipeline
            A pipeline whose last step is a ranker of this package.

        Returns
        -------
        RankingModel
            The model.

        Raises
        ------
        DataError
            A step cannot be expressed by a model; the message names it and contains the remedy.
        """
        from sparserank.pipelines import model_of_pipeline

        return model_of_pipeline(pipeline)

    @property
    def n_features(self) -> int:
        return len(self.coef)

    @property
    def n_available(self) -> int:
        """Number of features, of which those that are made from one column of a table count as one."""
        return len(set(sources_of(self.derived, self.feature_names)))

    @property
    def support(self) -> np.ndarray:
        return np.flatnonzero(self.coef)

    @property
    def columns(self) -> dict[str, list[int]]:
        """{selected feature: [its number]}; features that are made from one column of a table are one, by the name of
        that column."""
        out: dict[str, list[int]] = {}
        names = sources_of(self.derived, self.feature_names)
        for j in self.support.tolist():
            out.setdefault(names[j], []).append(j)
        return out

    @property
    def weights(self) -> dict[str, float]:
        """{selected feature: its weight; of a category, the range of what its levels add}, the largest first."""
        out = {}
        for name, columns in self.columns.items():
            out[name] = float(self.coef[columns[0]])
            if self.derived_of(columns[0]) is not None:
                rises = [self.rise(j) for j in columns]
                out[name] = rises[0] if len(rises) == 1 else max(*rises, 0.0) - min(*rises, 0.0)
        return dict(sorted(out.items(), key=lambda own: -abs(own[1])))

    def flag_of(self, feature: str) -> float | None:
        """What is added to the score where a number is missing, beside its replacement; None: nothing."""
        first, *more = self.columns[feature]
        is_flagged = bool(more) and self.derived_of(first) is None
        return sum(self.rise(j) for j in more) if is_flagged else None

    def derived_of(self, j: int) -> Derived | None:
        """The column and level that feature j is made from; None: it is a number of its own."""
        return self.derived.get(self.feature_names[j])

    def rise(self, j: int, low: float = 0.0, high: float = 1.0) -> float:
        """What selected feature j adds to the score at one value, minus what it adds at another."""
        k = int(np.searchsorted(self.support, j))
        rows = np.zeros((2, len(self.support)))
        rows[:, k] = low, high
        at = self._scaled(rows, np.array([0, 2]))[:, k]
        return float(self.coef[j] * (at[1] - at[0]))

    @property
    def per_query(self) -> bool:
        """Whether a score depends on the other documents of the query."""
        return self.scaling.per_query

    def with_missing(self, missing: str | None) -> RankingModel:
        """Return the model with another rule for missing values.

        Parameters
        ----------
        missing : {'model', 'error'} or None
            'model': the training median replaces a missing value, unless training set a fill value for the feature.
            None or 'error': the model is unchanged.

        Returns
        -------
        RankingModel
            The model.

        Raises
        ------
        DataError
            The value is not one of these, or the model has no median of a feature that it uses.
        """
        if missing is None or (isinstance(missing, str) and missing == ERROR):
            return self
        if not isinstance(missing, str) or missing != OF_MODEL:
            raise DataError(
                f"missing must be {OF_MODEL!r} (the training medians) or {ERROR!r} for a model; got {brief(missing)}. "
                "To fill in other values, replace them in the data first."
            )
        unknown = np.full(self.n_features, np.nan)
        known = unknown if self.fill_values is None else self.fill_values
        values = np.where(np.isnan(known), unknown if self.medians is None else self.medians, known)
        lacking = next((self.feature_names[j] for j in self.support if np.isnan(values[j])), None)
        if lacking is not None:
            raise DataError(
                f"the model contains no training median of {brief(lacking)} (models saved by sparserank 0.2 contain "
                f"no medians). Train it again, or set a fill value for missing values ({option('missing', 'zero')})."
            )
        return replace(self, fill_values=values)

    def predict(self, X: Any, qid: Any = None, *, missing: str | None = None) -> np.ndarray:
        """Score documents; only the selected columns are read.

        Parameters
        ----------
        X : array_like, frame or SciPy sparse matrix of shape (n_docs, n_features)
            Columns of a frame are found by name, in any order; other columns may have any type. Its column qid is the
            query of each row.
        qid : array_like of shape (n_docs,), optional
            Query of each row, in any order; only for models that scale or normalise within queries.
        missing : {'model'}, optional
            Replace a missing value with the training median. Default: a missing value is rejected if training set no
            fill value for the feature.

        Returns
        -------
        ndarray of shape (n_docs,)
            Finite scores in row order.

        Raises
        ------
        DataError
            The number of features differs from training; a selected feature is not found by name; a selected value is
            missing (NaN, infinite, 1.797e308) without a fill value, or so large that the score is not finite; or qid
            is missing. Messages number rows from 0.

        Warns
        -----
        DataWarning
            Features are normalised within lists, and the median list is more than five times longer or shorter than in
            training.
        """
        if missing is not None:
            return self.with_missing(missing).predict(X, qid)
        X = collected(X)
        if self._finds_by_name(X):
            columns, qid = self._named(X), query_ids(X, qid)
        else:
            X, qid = without_qid(X, qid)
            columns = self._selected(X)
        if not self.per_query:
            return self._score(columns)
        if qid is None:
            raise DataError("this model scales features within each query; pass qid.")
        order, query_ptr, _ = group_rows(as_query_ids(qid, len(columns)))
        if order is None:
            return self._score(columns, query_ptr)
        out = np.empty(len(order))
        out[order] = self._score(columns[order], query_ptr, order)
        return out

    def selected_values(self, data: RankingDataset) -> np.ndarray:
        """Unscaled values of the selected features of `data`, (n_docs, len(support)) float64, in the row order of the
        data set; features are found by name if it has names."""
        check_arguments(RankingModel.selected_values, locals())
        return self._of_dataset(data)

    def contributions(self, data: RankingDataset) -> np.ndarray:
        """Contribution of each selected feature to the score of each document.

        Parameters
        ----------
        data : RankingDataset
            The documents.

        Returns
        -------
        ndarray of shape (n_docs, len(support))
            Rows are in the order of the data set, and each sums to the score.

        Raises
        ------
        DataError
            As `score_dataset`.
        """
        check_arguments(RankingModel.contributions, locals())
        columns = self._of_dataset(data)
        self._score(columns, data.query_ptr, data.row_index)  # raises if a row has no score
        return np.asarray(self._scaled(columns, data.query_ptr) * self.coef[self.support])

    def score_dataset(self, data: RankingDataset, *, missing: str | None = None) -> np.ndarray:
        """Scores (n_docs,) of `data`; features are found by name if the data have names. Scores and messages follow
        the row order that was passed to the constructor of `data`. `missing` is as in `predict`."""
        check_arguments(RankingModel.score_dataset, locals(), missing=LATER)
        if missing is not None:
            return self.with_missing(missing).score_dataset(data)
        return data.to_input_order(self._score(self._of_dataset(data), data.query_ptr, data.row_index))

    def _of_dataset(self, data: RankingDataset) -> np.ndarray:
        """The selected columns: by name, or by position if data or model have only generated names and share none."""
        held = data.names
        at = {name: j for j, name in enumerate(held)}
        nameless = numbered(held, data.index_base), numbered(self.feature_names, self.index_base)
        if held == self.feature_names:
            return self._selected(data.X)
        if nameless[0] and data.index_base == 1 and self.index_base == 0:
            raise DataError(numbered_from_1("the features of the data", "the model"))
        if all(nameless) or (any(nameless) and at.keys().isdisjoint(self.feature_names)):
            return self._selected(data.X)
        missing = next((self.feature_names[j] for j in self.support if self.feature_names[j] not in at), None)
        if missing is not None:
            made = self.derived.get(missing)
            if made is not None:
                raise DataError(
                    f"the data have no feature that is made from column {brief(made.source)}, which the model uses; "
                    "pass the table itself."
                )
            raise DataError(f"the data have no feature {brief(missing)}, which the model uses.")
        own = [at[self.feature_names[j]] for j in self.support]
        columns = as_array(as_dense(data.X[:, own]), dtype=np.float64, order="C")
        return self._filled(columns)

    def _selected(self, X: Any) -> np.ndarray:
        """The columns of the selected features."""
        if not isinstance(X, StoredFeatures):
            frame = column_names(X) and hasattr(X, "to_numpy")
            X = csr_or_array(X.to_numpy() if frame else X)
        if len(X.shape) != 2 or X.dtype.kind in NO_NUMBERS:
            raise DataError(NO_MATRIX)
        if X.shape[1] != self.n_features and self.derived:
            raise DataError("features of this model are made from columns; pass a frame that has these by name.")
        if X.shape[1] != self.n_features:
            raise DataError(f"the model was trained on {self.n_features} features; the data have {X.shape[1]}.")
        columns = as_array(as_dense(X[:, self.support]), dtype=np.float64, order="C")
        return self._filled(columns)

    def _filled(self, columns: np.ndarray) -> np.ndarray:
        """The selected columns, with missing values replaced if there is a fill value."""
        return columns if self.fill_values is None else fill_known(columns, self.fill_values[self.support])

    def _finds_by_name(self, X: Any) -> bool:
        """Whether X is a data frame whose columns are found by name;
        they are found by position if the model has no names, or the frame only numbers."""
        known = [name for name in column_names(X) if isinstance(name, str)]
        nameless = numbered(self.feature_names, self.index_base) or numbered([n for n in known if n != QID])
        own = sources_of(self.derived, self.feature_names)
        return bool(known) and not (set(known).isdisjoint(own) and nameless)

    def _named(self, frame: Any) -> np.ndarray:
        """The selected columns of a data frame, by name in any order; other columns are ignored."""
        known = KnownLevels(self.derived)
        columns = [self._column(frame, self.feature_names[j], known) for j in self.support]
        known.tell("X")
        return self._filled(np.column_stack(columns) if columns else np.zeros((len(frame), 0)))

    def _column(self, frame: Any, name: str, known: KnownLevels) -> np.ndarray:
        """(n_docs,) the feature, which may be made from another column of the frame."""
        derived = self.derived.get(name)
        if derived is None or derived.source not in column_names(frame):
            return numbers_in(frame, name if derived is None or name in column_names(frame) else derived.source)
        if derived.level is None:
            return is_missing(numbers_in(frame, derived.source)).astype(np.float64)
        try:
            texts = texts_in(column_of(frame, derived.source))
        except ValueError as error:  # pyarrow's are ValueErrors
            raise DataError(f"X: column {brief(derived.source)} contains values that are no category.") from error
        known.see(derived.source, texts)
        return derived.among(texts).astype(np.float64)

    def __repr__(self) -> str:
        return f"RankingModel({len(self.columns)} of {self.n_available} features, scaling {self.scaling.method})"

    def _score(
        self, columns: np.ndarray, query_ptr: np.ndarray | None = None, row_index: np.ndarray | None = None
    ) -> np.ndarray:
        """Scores of the selected columns; `row_index` (n_docs,) is the user's number of each row,
        default their order."""
        S = self.support
        if holds_missing(columns):
            row, k = (int(i) for i in np.argwhere(is_missing(columns))[0])
            median = np.nan if self.medians is None else float(self.medians[S[k]])
            own = "" if np.isnan(median) else f"use its training median {median:g} with {option('missing', OF_MODEL)}, "
            raise DataError(
                f"row {_number_of(row, row_index)}: feature {brief(self.feature_names[S[k]])} is {columns[row, k]}; "
                f"{own}replace missing and infinite values with finite numbers, or train with "
                f"{option('missing', 'median')}."
            )
        with np.errstate(all="ignore"):
            scaled = self._scaled(columns, query_ptr)
            of_clauses, weights = OF_CLAUSES in self.parameters, self.coef[S]
            scores = clause_sums(scaled, weights) if of_clauses else np.asarray(scaled @ weights)
            finite = np.isfinite(scores)
            if not finite.all():
                row = int(np.argmin(finite))
                to_blame = np.flatnonzero(~np.isfinite(scaled[row] * self.coef[S]))
                why = " because the values are too large for the weights"
                if len(to_blame) == 1:
                    k = int(to_blame[0])
                    why = f" because feature {brief(self.feature_names[S[k]])} is {columns[row, k]:g}"
                raise DataError(
                    f"row {_number_of(row, row_index)}: the score is not finite{why}; clip or correct them."
                )
        return scores

    def _scaled(self, columns: np.ndarray, query_ptr: np.ndarray | None) -> np.ndarray:
        """The selected columns, transformed, passed through steps and scaled: the weights apply to these."""
        S = self.support
        scaling = FeatureScaling(self.scaling.method, self.scaling.center[S], self.scaling.scale[S])
        columns = columns if self.transform is None else self.transform.take(S)(columns)
        return np.asarray(scaling.transform(self._stepped(columns), query_ptr))

    def _stepped(self, columns: np.ndarray) -> np.ndarray:
        """The selected columns, each through its steps."""
        if not self.steps:
            return columns
        out = columns.copy()
        for k, j in enumerate(self.support.tolist()):
            if j in self.steps:
                out[:, k] = self.steps[j](columns[:, k])
        return out

    def transform_of(self, j: int) -> str:
        """The transform of feature j: 'none', 'log', 'asinh' or 'steps'."""
        check_arguments(RankingModel.transform_of, locals(), j=Position(self.n_features, "feature"))
        if j in self.steps:
            return STEPS
        return NONE if self.transform is None else self.transform.kinds[j]

    def to_json(self) -> dict[str, Any]:
        """Content of the model file.

        Returns
        -------
        dict
            Parameters and metadata are reduced to JSON values.

        Raises
        ------
        DataError
            Weights, centers or scales are not finite, names are not strings or not unique, or the scaling is unknown.
        """
        return content_of(self)

    def export(self, to: str, *, missing: str | None = None, **options: Any) -> dict[str, str | bytes]:
        """Write the model in the format of a search engine, a database or a runtime.

        Parameters
        ----------
        to : str
            The format, see `export`.
        missing : str, optional
            As in `predict`.
        **options
            As in `export`.

        Returns
        -------
        dict
            {file name: content}.

        Raises
        ------
        DataError
            The format cannot express the model or an option; the message contains the remedy.
        """
        from sparserank.export import export

        return export(self.with_missing(missing), to, **options)

    def save(self, path: str | os.PathLike) -> None:
        """Write the model file (JSON), completely or not at all.

        Parameters
        ----------
        path : path
            The file.

        Raises
        ------
        DataError
            As `to_json`.
        RunDirectoryError
            The file cannot be written.
        """
        check_arguments(RankingModel.save, locals())
        text = json.dumps(self.to_json(), indent=1, allow_nan=False)
        with atomic_write(path) as out:
            out.write(text + "\n")


def step_model(bins: Bins, jumps: np.ndarray, names: tuple[str, ...], **more: Any) -> RankingModel:
    """The model with jumps (n_features * BINS - 1,) at the edges of these bins. The weight of a feature is half the
    range of its steps, negative if these are lower at their end than at their beginning."""
    steps = bins.functions(jumps.reshape(len(names), -1))
    weights = np.zeros(len(names))
    for j, f in steps.items():
        size = 0.5 * float(np.ptp(f.values))
        weights[j] = -size if f.values[-1] < f.values[0] else size
    unit = {j: StepFunction(f.edges, f.values / weights[j]) for j, f in steps.items()}
    none = FeatureScaling("none", np.zeros(len(names)), np.ones(len(names)))
    return RankingModel(weights, names, none, steps=unit, **more)


def _number_of(row: int, row_index: np.ndarray | None) -> int:
    return row if row_index is None else int(row_index[row])
