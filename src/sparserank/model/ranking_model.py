"""The ranking model: selected features, weights, scaling, transforms, steps."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np

from sparserank.bins import Bins, StepFunction
from sparserank.data.categories import Derived, KnownLevels, sources_of, texts_in
from sparserank.data.dataset import RankingDataset, numbered, numbered_from_1
from sparserank.data.matrices import NO_MATRIX, as_array, as_dense, csr_or_array
from sparserank.data.missing import ERROR, any_missing, is_missing
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
from sparserank.errors import DataError, ParameterError
from sparserank.files import atomic_write
from sparserank.model.feature import Feature, Shaping, numbers
from sparserank.model.file_format import content_of
from sparserank.number_checks import clause_sums
from sparserank.options import option
from sparserank.options.arguments import LATER, Typed, check_arguments
from sparserank.shards.scaling import FeatureScaling
from sparserank.text import brief
from sparserank.transforms import NONE, Transform

OF_CLAUSES = "of_clauses"  # the parameter of models of search responses, whose scores are sums as in engines
OF_MODEL = "model"  # the rule that replaces missing values by the training medians of the model


@dataclass(frozen=True, eq=False, repr=False)
class RankingModel:
    """A fitted model: score = sum over selected features of coef * (t(x) - mean) / scale.

    The larger the score, the better the rank.

    Parameters
    ----------
    features : tuple of Feature
        The selected features, one record each: weight, mean, scale, t, replacement for missing values. Those with the
        weight 0 are left out.
    feature_names : tuple of str
        Names of all features.
    scaling : str
        The method of the scaling, see `fit_scaling`; 'log-standard' takes logarithms, too.
    parameters, metadata : mapping, optional
        Parameters of the fit; any other content of the model file.
    index_base : {1, 0}, default 1
        Number of the first feature in ranking text; read text for this model with it.
    derived : mapping, optional
        {feature name: the column of a table, and its level}, for features that are made from a column: 1 where it has
        the level, or is missing, else 0. Frames and tables need only that column.

    Raises
    ------
    DataError
        A feature has no place among the names, or two have the same one.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(40, 8, 6, n_informative=2, n_redundant=1).data
    >>> model = sr.SparseRanker(k=2, penalty="mcp").fit(data.X, data.relevance, qid=data.qid).to_model()
    >>> len(model.support), model.predict(data.X).shape
    (2, (320,))
    >>> [feature.name for feature in model.features]
    ['f1', 'f3']
    """

    features: tuple[Feature, ...]
    feature_names: tuple[str, ...]
    scaling: str = NONE
    parameters: Mapping[str, Any] = field(default_factory=dict)
    metadata: Mapping[str, Any] = field(default_factory=dict)
    index_base: int = 1
    derived: Mapping[str, Derived] = field(default_factory=dict)

    def __post_init__(self) -> None:
        anything = Typed(Mapping)  # values that a model file cannot contain are written as text
        check_arguments(RankingModel, vars(self), parameters=anything, metadata=anything, derived=anything)
        names = tuple(self.feature_names)
        places = set()
        for f in self.features:
            if not 0 <= f.index < len(names):
                raise DataError(f"feature index {brief(f.index)} is outside 0..{len(names) - 1}, by the feature names.")
            if f.name != names[f.index]:
                raise DataError(
                    f"feature index {f.index} belongs to feature {brief(names[f.index])}, not to {brief(f.name)}, by "
                    "the feature names."
                )
            if f.index in places:
                raise DataError(f"feature {brief(f.name)} is listed twice.")
            if f.steps is not None and f.transform != NONE:
                raise DataError(
                    f"feature {brief(f.name)} has a transform and steps, which replace transforms; omit one."
                )
            places.add(f.index)
        features = sorted(f for f in self.features if f.coef != 0)
        if self.derived:
            features = [f._replace(derived=self.derived.get(f.name)) for f in features]
        object.__setattr__(self, "features", tuple(features))
        object.__setattr__(self, "feature_names", names)

    @classmethod
    def from_arrays(
        cls,
        coef: np.ndarray,
        feature_names: tuple[str, ...],
        scaling: FeatureScaling,
        parameters: Mapping[str, Any] = MappingProxyType({}),
        metadata: Mapping[str, Any] = MappingProxyType({}),
        transform: Transform | None = None,
        steps: Mapping[int, StepFunction] = MappingProxyType({}),
        fill_values: np.ndarray | None = None,
        medians: np.ndarray | None = None,
        **more: Any,
    ) -> RankingModel:
        """Make a model from arrays with a number for every feature, as solvers have them.

        Parameters
        ----------
        coef : ndarray of shape (n_features,)
            Weights, 0 for features that are not selected.
        feature_names : tuple of str
            Names of all features.
        scaling : FeatureScaling
            Center and scale of each feature.
        parameters, metadata : mapping, optional
            As in `RankingModel`.
        transform : Transform, optional
            The transform of each feature. None: none is transformed.
        steps : mapping, optional
            {number of a feature: the StepFunction that is its t}.
        fill_values, medians : ndarray of shape (n_features,), optional
            Replacements for missing values, and medians of the training values; NaN or None: none.
        **more
            `index_base` and `derived`, as in `RankingModel`.

        Returns
        -------
        RankingModel
            The model.

        Raises
        ------
        DataError
            An array does not have one number for each name.
        """
        check_arguments(RankingModel.from_arrays, locals(), parameters=LATER, metadata=LATER)
        per_feature: dict[str, Any] = {"coef": coef, "mean": scaling.center, "scale": scaling.scale}
        per_feature |= {"missing": fill_values, "median": medians}
        if transform is not None:
            per_feature |= {"transform": transform.kinds, "constant": transform.constants}
        arrays = {field: np.asarray(values) for field, values in per_feature.items() if values is not None}
        names = tuple(feature_names)
        if any(a.shape != (len(names),) for a in arrays.values()):
            shapes = ", ".join(str(a.shape) for a in arrays.values())
            raise DataError(
                f"a model needs one weight, center and scale for each of its {len(names)} feature names; "
                f"got arrays of shapes {shapes}."
            )
        features = []
        for j in np.flatnonzero(coef).tolist():
            fields = {field: a[j].item() for field, a in arrays.items()}
            for name in ("missing", "median"):
                if np.isnan(fields.get(name, 0.0)):
                    del fields[name]
            features.append(Feature(index=j, name=names[j], steps=steps.get(j), **fields))
        return cls(tuple(features), names, scaling.method, parameters, metadata, **more)

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
        return len(self.feature_names)

    @property
    def n_available(self) -> int:
        """Number of features; those that are made from one column of a table count as one."""
        return len(set(sources_of(self.derived, self.feature_names)))

    @cached_property
    def coef(self) -> np.ndarray:
        """(n_features,) weights, 0 for features that are not selected."""
        out = np.zeros(self.n_features)
        out[self.support] = numbers(self.features, "coef")
        out.flags.writeable = False
        return out

    @cached_property
    def support(self) -> np.ndarray:
        """The numbers of the selected features, from 0."""
        out = np.array([f.index for f in self.features], dtype=np.int64)
        out.flags.writeable = False
        return out

    @property
    def sources(self) -> dict[str, list[Feature]]:
        """{column of a table that the model uses: the selected features that are made from it}"""
        out: dict[str, list[Feature]] = {}
        for f in self.features:
            out.setdefault(f.source, []).append(f)
        return out

    @property
    def columns(self) -> dict[str, list[int]]:
        """{selected column of a table: numbers of the selected features that are made from it}"""
        return {name: [f.index for f in members] for name, members in self.sources.items()}

    @property
    def weights(self) -> dict[str, float]:
        """{selected column of a table: weight of its feature, or for a category, the range of the contributions of its
        levels}, the largest first."""
        out = {}
        for name, members in self.sources.items():
            out[name] = members[0].coef
            if members[0].derived is not None:
                rises = list(map(self.rise, members))
                out[name] = rises[0] if len(rises) == 1 else max(*rises, 0.0) - min(*rises, 0.0)
        return dict(sorted(out.items(), key=lambda item: -abs(item[1])))

    def flag_of(self, feature: str) -> float | None:
        """The contribution to the score where a number is missing, in addition to that of its replacement; None: no
        such contribution."""
        first, *flags = self.sources[feature]
        return sum(map(self.rise, flags)) if flags and first.derived is None else None

    def rise(self, feature: Feature, low: float = 0.0, high: float = 1.0) -> float:
        """The contribution of a feature at x = high, minus that at x = low."""
        at = Shaping.of([feature], self.scaling)(np.array([[low], [high]]), np.array([0, 2]))
        return float(feature.coef * (at[1, 0] - at[0, 0]))

    @property
    def per_query(self) -> bool:
        """Whether a score depends on the other documents of the query."""
        return FeatureScaling(self.scaling).per_query

    @property
    def logarithmic(self) -> bool:
        """Whether the scaling takes logarithms."""
        return FeatureScaling(self.scaling).logarithmic

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
        ParameterError
            The value is not one of these.
        DataError
            The model has no median of a feature that it uses.
        """
        if missing is None or (isinstance(missing, str) and missing == ERROR):
            return self
        if not (isinstance(missing, str) and missing == OF_MODEL):
            raise ParameterError(
                "missing",
                f"must be {OF_MODEL!r} (the training medians) or {ERROR!r} for a model; got {brief(missing)}. To fill "
                "in other values, replace them in the data first.",
            )
        features = [f._replace(missing=f.median if f.missing is None else f.missing) for f in self.features]
        for f in features:
            if f.missing is None:
                raise DataError(
                    f"the model contains no training median of {brief(f.name)} (models saved by sparserank 0.2 contain "
                    f"no medians). Train it again, or set a fill value for missing values "
                    f"({option('missing', 'zero')})."
                )
        return replace(self, features=tuple(features))

    def predict(self, X: Any, qid: Any = None, *, missing: str | None = None) -> np.ndarray:
        """Score documents; only the selected columns are read.

        Parameters
        ----------
        X : array_like, frame or SciPy sparse matrix of shape (n_docs, n_features)
            Columns of a frame are matched by name, in any order; other columns may have any type. Its column qid is the
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
            The number of features differs from training; no column has the name of a selected feature; a selected
            value is missing (NaN, infinite, 1.797e308) without a fill value, or so large that the score is not finite;
            or qid is missing. Messages number rows from 0.

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
            columns = self._named(X)
            qid = query_ids(X, qid)
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
        columns = self.selected_values(data)
        self._score(columns, data.query_ptr, data.row_index)  # raises if a row has no score
        return np.asarray(self._shaping(columns, data.query_ptr) * self.coef[self.support])

    def explained(self, data: RankingDataset) -> dict[str, tuple[list[float | str], np.ndarray]]:
        """{selected column: (its values, its contributions (n_docs,) to the scores)}, in the row order of the data set.
        The value of a category is its level, or 'other' for levels without a weight."""
        columns = self.selected_values(data)
        parts = self.contributions(data)
        out: dict[str, tuple[list[float | str], np.ndarray]] = {}
        for name, members in self.sources.items():
            places = np.searchsorted(self.support, [f.index for f in members])
            values = np.full(len(columns), "other", dtype=object)
            for f, column in zip(members, columns[:, places].T, strict=True):
                values = np.where(column > 0, f.level, values) if f.level else column.astype(object)
            out[name] = values.tolist(), parts[:, places].sum(axis=1)
        return out

    def score_dataset(self, data: RankingDataset, *, missing: str | None = None) -> np.ndarray:
        """Scores (n_docs,) of `data`, matched by feature name if the data have names. Scores and row numbers in
        messages follow the row order that was passed to the constructor of `data`. `missing` is as in `predict`."""
        check_arguments(RankingModel.score_dataset, locals(), missing=LATER)
        if missing is not None:
            return self.with_missing(missing).score_dataset(data)
        return data.to_input_order(self._score(self.selected_values(data), data.query_ptr, data.row_index))

    def selected_values(self, data: RankingDataset) -> np.ndarray:
        """Unscaled values of the selected features of `data`, (n_docs, len(support)) float64, in the row order of the
        data set. Features are matched by name. They are matched by position if data or model have only generated names
        and share none."""
        check_arguments(RankingModel.selected_values, locals())
        names = data.names
        at = {name: j for j, name in enumerate(names)}
        nameless = numbered(names, data.index_base), numbered(self.feature_names, self.index_base)
        if names == self.feature_names:
            return self._selected(data.X)
        if nameless[0] and data.index_base == 1 and self.index_base == 0:
            raise DataError(numbered_from_1("the features of the data", "the model"))
        if all(nameless) or (any(nameless) and at.keys().isdisjoint(self.feature_names)):
            return self._selected(data.X)
        for f in self.features:
            if f.name not in at and f.derived is not None:
                raise DataError(
                    f"the data have no feature that is made from column {brief(f.source)}, which the model uses; "
                    "pass the table itself."
                )
            if f.name not in at:
                raise DataError(f"the data have no feature {brief(f.name)}, which the model uses.")
        positions = [at[f.name] for f in self.features]
        columns = as_array(as_dense(data.X[:, positions]), dtype=np.float64, order="C")
        return self._shaping.filled(columns)

    def _selected(self, X: Any) -> np.ndarray:
        """The columns of X, by position, that the selected features read."""
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
        return self._shaping.filled(columns)

    def _finds_by_name(self, X: Any) -> bool:
        """Whether X is a data frame whose columns are matched by name. They are matched by position if the model has no
        names, or the frame has only numbers as names."""
        known = [name for name in column_names(X) if isinstance(name, str)]
        nameless = numbered(self.feature_names, self.index_base) or numbered([n for n in known if n != QID])
        columns = sources_of(self.derived, self.feature_names)
        return bool(known) and not (set(known).isdisjoint(columns) and nameless)

    def _named(self, frame: Any) -> np.ndarray:
        """The columns of a data frame that the selected features read, matched by name in any order; other columns are
        ignored."""
        known = KnownLevels(self.derived)
        columns = [self._column(frame, f, known) for f in self.features]
        known.warn("X")
        return self._shaping.filled(np.column_stack(columns) if columns else np.zeros((len(frame), 0)))

    def _column(self, frame: Any, feature: Feature, known: KnownLevels) -> np.ndarray:
        """(n_docs,) values of one feature, which may be made from another column of the frame."""
        derived = feature.derived
        names = column_names(frame)
        if derived is None or derived.source not in names:
            return numbers_in(frame, feature.name if feature.name in names else feature.source)
        if derived.level is None:
            return is_missing(numbers_in(frame, derived.source)).astype(np.float64)
        try:
            texts = texts_in(column_of(frame, derived.source))
        except ValueError as error:  # pyarrow's are ValueErrors
            raise DataError(f"X: column {brief(derived.source)} contains values that are no category.") from error
        known.see(derived.source, texts)
        return derived.among(texts).astype(np.float64)

    def __repr__(self) -> str:
        return f"RankingModel({len(self.columns)} of {self.n_available} features, scaling {self.scaling})"

    def _score(
        self, columns: np.ndarray, query_ptr: np.ndarray | None = None, row_index: np.ndarray | None = None
    ) -> np.ndarray:
        """Scores of the selected columns. `row_index` (n_docs,) is the number of each row in messages, by default its
        position."""
        if any_missing(columns):
            row, k = (int(i) for i in np.argwhere(is_missing(columns))[0])
            feature = self.features[k]
            remedy = ""
            if feature.median is not None:
                remedy = f"use its training median {feature.median:g} with {option('missing', OF_MODEL)}, "
            raise DataError(
                f"row {_number_of(row, row_index)}: feature {brief(feature.name)} is {columns[row, k]}; "
                f"{remedy}replace missing and infinite values with finite numbers, or train with "
                f"{option('missing', 'median')}."
            )
        with np.errstate(all="ignore"):
            scaled = self._shaping(columns, query_ptr)
            weights = self.coef[self.support]
            of_clauses = OF_CLAUSES in self.parameters
            scores = clause_sums(scaled, weights) if of_clauses else np.asarray(scaled @ weights)
            finite = np.isfinite(scores)
            if not finite.all():
                row = int(np.argmin(finite))
                to_blame = np.flatnonzero(~np.isfinite(scaled[row] * weights))
                why = " because the values are too large for the weights"
                if len(to_blame) == 1:
                    k = int(to_blame[0])
                    why = f" because feature {brief(self.features[k].name)} is {columns[row, k]:g}"
                raise DataError(
                    f"row {_number_of(row, row_index)}: the score is not finite{why}; clip or correct them."
                )
        return scores

    @cached_property
    def _shaping(self) -> Shaping:
        return Shaping.of(self.features, self.scaling)

    def to_json(self) -> dict[str, Any]:
        """Content of the model file.

        Returns
        -------
        dict
            Parameters and metadata are reduced to JSON values.

        Raises
        ------
        DataError
            Weights, means or scales are not finite, names are not strings or not unique, or the scaling is unknown.
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
            As `export`; the message contains the remedy.
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


def step_model(bins: Bins, jumps: np.ndarray, names: tuple[str, ...], **fields: Any) -> RankingModel:
    """Make a model of steps from the jumps (n_features * BINS - 1,) at the edges of these bins. The weight of a feature
    is half the range of its steps, negative if they end lower than they begin."""
    steps = bins.functions(jumps.reshape(len(names), -1))
    weights = np.zeros(len(names))
    for j, f in steps.items():
        size = 0.5 * float(np.ptp(f.values))
        weights[j] = -size if f.values[-1] < f.values[0] else size
        steps[j] = StepFunction(f.edges, f.values / weights[j])
    none = FeatureScaling(NONE, np.zeros(len(names)), np.ones(len(names)))
    return RankingModel.from_arrays(weights, names, none, steps=steps, **fields)


def _number_of(row: int, row_index: np.ndarray | None) -> int:
    return row if row_index is None else int(row_index[row])
