"""Base of all linear rankers: scikit-learn interface, query ids, prediction, the model file."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from sparserank.bins import STRAIGHT, Shape, StepFunction
from sparserank.crossval.feature_groups import groups_of_columns
from sparserank.data.dataset import RankingDataset, first_index, numbered
from sparserank.data.filling import training_medians
from sparserank.data.missing import ERROR
from sparserank.data.query_ids import MANY_ROWS, ids_of_rows
from sparserank.data.store.features import check_unchanged
from sparserank.data.tables.frames import QID, column_names, without_qid
from sparserank.errors import DataError, ParameterError
from sparserank.evaluation import evaluate, mean_of
from sparserank.losses import PairwiseLoss, loss_name
from sparserank.metrics import Metric
from sparserank.model.ranking_model import RankingModel
from sparserank.number_checks import checked_weights
from sparserank.objective import PairwiseObjective
from sparserank.options.arguments import check_arguments
from sparserank.options.kinds import Kind
from sparserank.options.option import refuse_unknown
from sparserank.options.paths import LINEAR_SCALINGS
from sparserank.options.reading import READING
from sparserank.rankers.inputs import (
    ROUTING,
    checked_metric,
    checked_missing,
    evaluation_sets,
    feature_names,
    features_to_score,
    query_weights,
    refuse_foreign,
    require_variation,
    training_data,
    weighted_mean,
)
from sparserank.shards.dask import placed
from sparserank.shards.scaling import FeatureScaling
from sparserank.solvers import Solution
from sparserank.text import brief
from sparserank.transforms import Transform


class LinearRanker(SelectorMixin, BaseEstimator):
    """Base of the rankers: `coef_` ranks documents by X @ coef_, larger first.

    `qid` is the query of each row, ints or strings in any order; None puts all rows into one query. Alternatively,
    `group` contains the sizes of consecutive blocks. Features with a non-zero coefficient are selected (SelectorMixin).
    `medians_` (n_features,) contains the training medians of the selected features, and NaN for other features;
    `to_model().predict(X, missing='model')` replaces missing values by these medians.
    """

    __metadata_request__fit = {"qid": True}  # noqa: RUF012 (scikit-learn reads it from the class)
    __metadata_request__score = {"qid": True}  # noqa: RUF012
    __metadata_request__predict = {"qid": True}  # noqa: RUF012

    coef_: np.ndarray
    scaled_coef_: np.ndarray
    alpha_: float
    scaling: str
    _kinds: ClassVar[Mapping[str, Kind]] = {}  # allowed values of the constructor's parameters
    _takes_client = False  # whether the ranker needs only sums over shards of the data, and so can run on a cluster
    _takes_doc_weight = False  # whether every pair of the ranker's loss can carry the weight of its preferred document

    @property
    def _name(self) -> str:
        """The name of the ranker in messages."""
        return type(self).__name__

    def __new__(cls, *_: Any, **parameters: Any) -> Self:
        """Refuse parameters that the constructor does not have, in one sentence with their present name."""
        refuse_unknown(cls.__name__, cls._get_param_names(), parameters, of=cls.__name__)
        return super().__new__(cls)

    def fit(
        self,
        X: Any,
        y: Any,
        *,
        qid: Any = None,
        group: Any = None,
        eval_set: Any = None,
        eval_qid: Any = None,
        eval_group: Any = None,
        query_weight: Any = None,
        doc_weight: Any = None,
        client: Any = None,
        **others: Any,
    ) -> Self:
        """Fit the ranker.

        Parameters
        ----------
        X : array_like, frame or SciPy sparse matrix of shape (n_docs, n_features)
            Features. The column qid of a frame is the query of each row, not a feature. Dask collections are computed
            into memory.
        y : array_like of shape (n_docs,)
            Relevance, finite.
        qid : array_like of shape (n_docs,), optional
            Query of each row, in any order. Default: all rows are one query.
        group : array_like, optional
            Sizes of consecutive queries, instead of qid.
        eval_set, eval_qid, eval_group : pair, array_like, or lists of them, optional
            Evaluation sets, (X, y) or a list of such pairs, with the features of X. Only SparseRankerCV uses them;
            other rankers accept them for callers that always pass them.
        query_weight : array_like of shape (n_queries,), optional
            Weights >= 0 of the queries, in order of first appearance.
        doc_weight : array_like of shape (n_docs,), optional
            Weight of every pair in which the document is the preferred one. Not all rankers accept it.
        client : dask.distributed.Client, optional
            Workers that read a store on a shared file system. Other data are first written to a store in the directory
            for temporary files (TMPDIR). Not all rankers accept it.
        **others
            Keywords of other libraries' rankers. They are refused; the message names the alternative.

        Returns
        -------
        self
            The fitted ranker. coef_ has the dtype of X, or float64 if float32 would turn a weight into infinity or 0.

        Raises
        ------
        DataError
            Parameters or data are invalid, there is no preferred pair, or no feature varies within the queries.
        """
        refuse_foreign(self._name, others)
        self.check_parameters()
        self._require_doc_weight(doc_weight)
        policy = checked_missing(self._name, self._missing)
        data = training_data(self, X, y, qid, group, doc_weight, query_weight, policy)
        self.n_queries_in_ = data.n_queries
        self._rows_without_ids = data.n_docs if qid is None and group is None and data.n_queries == 1 else 0
        sets = evaluation_sets(self, eval_set, eval_qid, eval_group, data)
        one_list = qid is None and group is None and QID not in column_names(X)
        return self._fit(TrainingSet(data, query_weight, client, sets, one_list))

    def fit_dataset(self, data: RankingDataset, *, query_weight: Any = None, client: Any = None) -> Self:
        """Fit on a data set, which may be stored.

        Features of a store are read in place, and copied only for a feature_transform. Rankers other than SparseRanker
        and RankSVM may need all features in memory for other computations.

        Parameters
        ----------
        data : RankingDataset
            The documents; their `doc_weight` is used.
        query_weight : array_like of shape (n_queries,), optional
            Weights >= 0 of the queries.
        client : dask.distributed.Client, optional
            As in `fit`.

        Returns
        -------
        self
            The fitted ranker.

        Raises
        ------
        DataError
            As `fit`.
        """
        check_arguments(LinearRanker.fit_dataset, locals())
        self.check_parameters()
        self._require_doc_weight(data.doc_weight)
        self.n_features_in_ = data.n_features
        self.n_queries_in_ = data.n_queries
        if not numbered(data.names, data.index_base):
            self.feature_names_in_ = np.array(data.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        return self._fit(TrainingSet(data, query_weight, client))

    def _fit(self, training: TrainingSet) -> Self:
        data = training.data
        self._index_base = first_index(data)
        self._derived = data.derived or {}
        self._groups = groups_of_columns(data.names, data.sources) if self._derived else None
        ready = self._prepared(data)
        if training.client is not None:
            if not self._takes_client:
                raise DataError(f"{self._name} does not run on a cluster; SparseRanker does.")
            ready = placed(training.client, ready)
        for old in ("transform_", "shaped_coef_", "steps_", "fill_values_", "medians_"):
            self.__dict__.pop(old, None)
        if data.fill_values is not None and np.isfinite(data.fill_values).any():
            self.fill_values_ = data.fill_values
        try:
            weight = training.query_weight
            if weight is not None:
                expected = f"one finite weight >= 0 per query ({data.n_queries}), in order of first appearance"
                weight = checked_weights("query_weight", weight, data.n_queries, expected)
            self._learn(replace(training, data=ready, query_weight=weight))
            check_unchanged(data.X)
        except np.linalg.LinAlgError as error:
            raise DataError(
                f"{self._name}: a system of equations has no solution in floating point ({error}). Rescale "
                "the features so that their values are near 1, or use larger regularisation strengths."
            ) from error
        self._keep_weights(self.coef_, data.X.dtype)
        # medians are over the rows of queries with a positive weight
        counted = None if weight is None or (weight > 0).all() else np.repeat(weight > 0, data.sizes)
        self.medians_ = training_medians(data.X, self.support_, counted)
        if self._steps is not None or not self._is_linear:
            del self.coef_
        elif self._fitted_transform is not None:
            self.shaped_coef_ = self.coef_
            del self.coef_
        return self

    def _prepared(self, data: RankingDataset) -> RankingDataset:
        """The data after the nonlinear part of the scaling: logarithms, or min-max within queries."""
        return data

    @property
    def _is_linear(self) -> bool:
        """Whether the scaling only divides each feature by a number."""
        return getattr(self, "scaling", "none") in LINEAR_SCALINGS

    @property
    def _steps(self) -> Mapping[int, StepFunction] | None:
        """The fitted step functions, each giving the contribution of a feature to the score; None: the contribution is
        value times weight."""
        return self.__dict__.get("steps_")

    @property
    def _fitted_transform(self) -> Transform | None:
        """Transform of the features before they are weighted; None: no transform."""
        transform = self.__dict__.get("transform_")
        return None if transform is None or transform.is_identity else transform

    def __getattr__(self, name: str) -> Any:
        why = ""
        instead = "scaled_coef_ for the weights of the scaled features"
        if name != "coef_":
            pass
        elif self._steps is not None:
            why = "fits steps, so features have no weights"
            instead = (
                "steps_ for each feature's contribution to the score, scaled_coef_ for the size of each contribution"
            )
        elif self._fitted_transform is not None:
            why = "weights transformed features, so there is no coef_ in units of X"
            instead = f"shaped_coef_ for the weights of transform_(X), {instead}"
        elif "scaled_coef_" in self.__dict__ and not self._is_linear:
            why = f"scales by {self.scaling}, so there is no coef_ in units of X"
        if not why:
            raise AttributeError(f"{self._name!r} object has no attribute {name!r}")
        raise AttributeError(f"{self._name} {why}. Use {instead}, and to_model() for the whole model.")

    @property
    def _selecting(self) -> np.ndarray:
        """The weights that define which features are selected: those of the scaled features if the ranker scales."""
        check_is_fitted(self)
        return self.scaled_coef_ if hasattr(self, "scaled_coef_") else self.coef_

    def check_parameters(self) -> None:
        """Check the parameters; scikit-learn requires that the constructor does not, so every fit does."""
        parameters = self.get_params(deep=False)
        for name, kind in {"n_threads": READING["n_threads"].kind, **self._kinds}.items():
            if name in parameters and (problem := kind.problem(parameters[name])):
                raise ParameterError(name, problem, owner=self._name)
        if "metric" in parameters:
            checked_metric(self._name, "metric", parameters["metric"])
        checked_missing(self._name, self._missing)
        self._check_parameters()

    def _require_doc_weight(self, doc_weight: Any) -> None:
        """Refuse weights of documents if the ranker takes none."""
        if doc_weight is not None and not self._takes_doc_weight:
            raise DataError(f"{self._name} takes no doc_weight; SparseRanker does.")

    @property
    def _missing(self) -> Any:
        """Rule for missing values; the rankers of the papers have none."""
        return getattr(self, "missing", ERROR)

    def _check_parameters(self) -> None:
        """Raise DataError for invalid parameters that only this ranker has."""

    def _learn(self, training: TrainingSet) -> None:
        """Set coef_ (n_features,) float64 and the ranker's other fitted attributes."""
        raise NotImplementedError

    def _objective(
        self,
        training: TrainingSet,
        *,
        loss: str | PairwiseLoss = "squared_hinge",
        pair_weights: str = "pair",
        scale: np.ndarray | None = None,
        shape: Shape = STRAIGHT,
    ) -> PairwiseObjective:
        """The mean loss over preferred pairs; raise DataError if no feature varies within the queries."""
        objective = PairwiseObjective(
            training.data,
            loss=loss,
            query_weight=training.query_weight,
            pair_weights=pair_weights,
            scale=scale,
            shape=shape,
            n_threads=getattr(self, "n_threads", None),
            client=training.client,
        )
        require_variation(self._name, objective)
        return objective

    def _keep_weights(self, coef: np.ndarray, dtype: np.dtype) -> None:
        """Set coef_ in the dtype of X, or in float64 if that would lose a weight.

        Raises
            DataError   a weight, or the loss or objective at the weights, is not finite
        """
        names = feature_names(self, len(coef))
        lost = [f"the weight of feature {brief(names[j])}" for j in np.flatnonzero(~np.isfinite(coef))[:1]]
        lost += [f"{what}_" for what in ("loss", "objective") if not np.isfinite(getattr(self, f"{what}_", 0.0))]
        if lost:
            self.__dict__.pop("coef_", None)  # a ranker whose fit failed must not count as fitted
            raise DataError(
                f"{self._name}: {lost[0]} overflowed. Rescale the features so that their values are near 1, "
                "or use larger regularisation strengths or smaller steps."
            )
        with np.errstate(over="ignore", under="ignore"):
            cast = coef.astype(dtype, copy=False)
        exact = np.isfinite(cast).all() and not ((np.abs(cast) < np.finfo(dtype).tiny) & (coef != 0)).any()
        self.coef_ = cast if exact else coef

    def predict(self, X: Any, qid: Any = None) -> np.ndarray:
        """Score documents.

        Parameters
        ----------
        X : array_like, frame or SciPy sparse matrix of shape (n_docs, n_features)
            Features; the column qid of a frame is ignored.
        qid : array_like of shape (n_docs,), optional
            Query of each row, which only scaling='query-min-max' uses.

        Returns
        -------
        ndarray of shape (n_docs,)
            Scores in row order.
        """
        check_is_fitted(self)
        qid = qid if self._is_linear else without_qid(X, qid)[1]
        X = features_to_score(self, X, self.__dict__.get("fill_values_"))
        if self._steps is not None or not self._is_linear:
            return self.to_model().predict(X, qid=qid)
        if self._fitted_transform is not None:
            return np.asarray(self._fitted_transform(X) @ self.shaped_coef_).ravel()
        return np.asarray(X @ self.coef_).ravel()

    def transform(self, X: Any) -> Any:
        """Return X with only the selected features; the column qid of a data frame is left out."""
        return super().transform(without_qid(X)[0])

    def score(self, X: Any, y: Any, sample_weight: Any = None, *, qid: Any = None) -> float:
        """Mean of `metric` (default NDCG@10) over queries.

        Parameters
        ----------
        X : array_like, frame or SciPy sparse matrix of shape (n_docs, n_features)
            Features.
        y : array_like of shape (n_docs,)
            Relevance.
        sample_weight : array_like of shape (n_docs,), optional
            Weights >= 0 of the queries. A metric has one value per query, so all rows of a query must have the same
            weight.
        qid : array_like of shape (n_docs,), optional
            Query of each row.

        Returns
        -------
        float
            The mean over queries that have a value.

        Raises
        ------
        DataError
            Weights differ within a query, are not numbers >= 0, or leave no query with a positive weight. Also raised
            if the ranker was fitted on several queries and there is neither qid nor a column qid in X: all rows would
            be scored as one query.
        """
        check_is_fitted(self)
        scores = self.predict(X, qid)
        _, qid = without_qid(X, qid)
        by_oversight = self.__dict__.get("_rows_without_ids", 0) > MANY_ROWS
        if qid is None and (self.n_queries_in_ > 1 or by_oversight):
            of = "many rows without query ids" if by_oversight else f"{self.n_queries_in_} queries"
            raise DataError(
                f"{self._name}.score: pass qid=. The ranker was fitted on {of}; without qid, all rows would "
                f"be scored as one query. {ROUTING}"
            )
        data = RankingDataset(scores.reshape(-1, 1), y, ids_of_rows(qid, None, len(scores)))
        metric = checked_metric(self._name, "metric", getattr(self, "metric", "ndcg@10"))
        (values,) = evaluate(scores, data, [metric]).per_query.values()
        if sample_weight is None:
            return mean_of(values)
        return weighted_mean(values, query_weights(f"{self._name}.score", sample_weight, data))

    @property
    def feature_importances_(self) -> np.ndarray:
        """(n_features,) absolute coefficients, of the scaled features if the ranker scales features."""
        return np.abs(self._selecting)

    @property
    def support_(self) -> np.ndarray:
        """Selected features, 0-based, ascending."""
        return np.flatnonzero(self._selecting)

    def _get_support_mask(self) -> np.ndarray:
        return self._selecting != 0

    def to_model(self) -> RankingModel:
        """Return the fitted ranker as a model, which can be saved and exported."""
        check_is_fitted(self)
        d = self.n_features_in_
        size = self._selecting
        names = tuple(feature_names(self, d))
        scale = getattr(self, "scale_", None)
        method = "none" if scale is None and self._is_linear else self.scaling
        scaling = FeatureScaling(method, np.zeros(d), np.ones(d) if scale is None else scale)
        parameters = {k: _parameter(v) for k, v in self.get_params(deep=False).items()}
        return RankingModel.from_arrays(
            size.astype(np.float64),
            names,
            scaling,
            parameters,
            {"estimator": self._name},
            self._fitted_transform,
            {j: replace(f, values=f.values / size[j]) for j, f in (self._steps or {}).items()},
            self.__dict__.get("fill_values_"),
            self.__dict__.get("medians_"),
            index_base=self.__dict__.get("_index_base", 1),
            derived=self.__dict__.get("_derived", {}),
        )

    def save(self, path: str | os.PathLike) -> Self:
        """Write the model file (JSON); `sparserank.load_model` reads it."""
        check_arguments(type(self).save, locals())
        self.to_model().save(path)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.estimator_type = "ranker"
        tags.target_tags.required = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = self._missing not in (ERROR, None)
        return tags


class ThreadedRanker(LinearRanker):
    """Base of the rankers whose fits use several threads."""

    metric: str | Metric
    n_threads: int | None

    def _keep_end_of(self, solution: Solution) -> None:
        """Set the attributes that describe how a solver ended."""
        self.objective_ = solution.value
        self.kkt_violation_ = solution.kkt_violation
        self.n_iter_ = solution.n_iter
        self.status_ = solution.status.value


def _parameter(value: Any) -> Any:
    """A parameter of an estimator in the form that the model file stores."""
    if isinstance(value, int | float | str | bool | None):
        return value
    return loss_name(value) if isinstance(value, PairwiseLoss) else repr(value)


@dataclass(frozen=True)
class TrainingSet:
    """Training data with the other arguments of a fit.

    query_weight   (n_queries,) >= 0, or None
    client         client of the workers that read the data, or None
    evaluation     evaluation sets; the rankers that choose a strength use them
    one_list       whether all rows form one list because the caller passed no query ids
    """

    data: RankingDataset
    query_weight: np.ndarray | None = None
    client: Any = None
    evaluation: Sequence[RankingDataset] = ()
    one_list: bool = False

    @property
    def used(self) -> RankingDataset:
        """The queries with a positive weight, for feature measures that do not support weights."""
        weight = self.query_weight
        return self.data if weight is None or (weight > 0).all() else self.data.take_queries(weight > 0)
