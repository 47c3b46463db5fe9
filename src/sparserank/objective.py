"""The mean loss over preferred pairs as a function of the coefficients: ordered sums over shards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sparserank.bins import STRAIGHT, Shape
from sparserank.data.dataset import RankingDataset, checked_names
from sparserank.errors import DataError
from sparserank.lazy import cached_property
from sparserank.losses import PairwiseLoss, parse_loss
from sparserank.losses.dual import Dual
from sparserank.number_checks import checked_weights, usable_weights
from sparserank.options.arguments import LATER, check_arguments
from sparserank.shards import Shards, make_shards
from sparserank.shards.dask import placed, shards_on
from sparserank.text import brief
from sparserank.weighting import LossEvaluation, Weighting


class PairwiseObjective:
    """Weighted mean of a pairwise loss over all preferred pairs, as a function of the coefficients.

    f(w) = sum over pairs of v_p phi(margin of p), phi the loss, sum of v_p = 1.

    Parameters
    ----------
    X : RankingDataset, or float array or CSR matrix of shape (n_docs, n_features)
        A RankingDataset also provides relevance, queries, document weights and names. Otherwise, rows must be grouped
        by query, and arrays C-ordered.
    relevance : ndarray of shape (n_docs,), optional
        Grades, finite.
    query_ptr : ndarray of shape (n_queries + 1,), optional
        Offsets of the queries, int64.
    loss : str or PairwiseLoss, default 'squared_hinge'
        phi.
    query_weight : ndarray of shape (n_queries,), optional
        Finite weights >= 0, such as 0/1 for a fold or counts for a bootstrap sample; default 1.
    doc_weight : ndarray of shape (n_docs,), optional
        Finite weight >= 0 of every pair in which the document is the preferred one, such as 1 over its propensity;
        default 1. A document of weight 0 is never the preferred one, but can still be the other document of a pair.
    pair_weights : {'pair', 'query'}, default 'pair'
        v_p = 1/P, or the same total for every query with pairs of positive weight.
    scale : ndarray of shape (n_features,), optional
        Finite divisors > 0 of the features; default 1.
    shape : Straight or Bins, optional
        Bins of the features, instead of a scale. Each feature then has `width` coefficients, its steps; `n_features`
        counts these coefficients.
    n_threads : int, optional
        Number of threads. Default: all cores. Results do not depend on it.
    feature_names : sequence of str, optional
        Names, for messages and paths; default f1, f2, ...
    client : dask.distributed.Client, optional
        Workers that read the shards of a store.

    Raises
    ------
    DataError
        No preferred pair has positive weight, or the sum of weights leaves the range of floating-point numbers. On
        first use, also if the deviations of a feature within queries are outside 1e-100 to 1e100, or are lost to
        rounding because the offset of the feature is too large.

    Notes
    -----
    Pairs are weighted by `query_weight`, by the `doc_weight` of their preferred document and by the grade-pair weights
    of the loss, then normalised. Coefficients refer to features divided by `scale`; X itself is never copied. Features
    that are constant within every query have gradient exactly 0. Solvers access this object only, never X. `n_pairs`
    counts the pairs whose query and preferred document have positive weight. `total_weight` is the reference of
    sum-scaled strengths (C_sum, gamma_scale="sum"); it equals `n_pairs` unless queries, documents or grade pairs are
    weighted. Results are bitwise reproducible: they depend only on the arguments. Several threads may use one
    objective.

    Examples
    --------
    >>> import numpy as np
    >>> import sparserank as sr
    >>> from sparserank.solvers import PairwiseObjective
    >>> data = sr.RankingDataset([[1.0], [3.0]], [0, 1], ["a", "a"])
    >>> objective = PairwiseObjective(data, scale=np.array([2.0]))
    >>> objective.n_pairs, objective.value_and_gradient(np.array([0.5]))[0]  # one pair, margin 0.5
    (1, 0.25)
    """

    def __init__(
        self,
        X: Any,
        relevance: np.ndarray | None = None,
        query_ptr: np.ndarray | None = None,
        *,
        loss: str | PairwiseLoss = "squared_hinge",
        query_weight: np.ndarray | None = None,
        doc_weight: np.ndarray | None = None,
        pair_weights: str = "pair",
        scale: np.ndarray | None = None,
        shape: Shape = STRAIGHT,
        n_threads: int | None = None,
        feature_names: Sequence[str] | None = None,
        client: Any = None,
    ) -> None:
        check_arguments(PairwiseObjective.__init__, locals(), loss=LATER, query_weight=LATER, doc_weight=LATER)
        if isinstance(X, RankingDataset):
            doc_weight = X.doc_weight if doc_weight is None else doc_weight
            feature_names = X.feature_names if feature_names is None else feature_names
            X, relevance, query_ptr = X.X, X.relevance, X.query_ptr
        of_pairs = parse_loss(loss)
        relevance, query_ptr = _checked_lists(X, relevance, query_ptr)
        n_docs = int(query_ptr[-1])
        n_queries = len(query_ptr) - 1
        expected = f"{n_docs} finite weights >= 0, one per document"
        of_docs = None if doc_weight is None else checked_weights("doc_weight", doc_weight, n_docs, expected)
        query_weights = np.ones(n_queries) if query_weight is None else query_weight
        weight = checked_weights("query_weight", query_weights, n_queries)
        if client is None:
            shards: Shards = make_shards(shape.rows(X), relevance, query_ptr, of_pairs, of_docs, n_threads)
        else:
            ids = np.arange(n_queries)
            held = RankingDataset.of_groups(X, relevance, query_ptr, ids, doc_weight=of_docs)
            shards = shards_on(client, placed(client, held), held.relevance, of_pairs, shape)
        scales = None if scale is None else _scales(scale, shards.n_columns)
        weighting = Weighting(
            shards,
            weight[None, :],
            scale=scales,
            shape=shape,
            pair_weights=pair_weights,
            feature_names=checked_names(feature_names, shards.n_columns // shape.m),
            doc_weighted=of_docs is not None,
        )
        self._attach(weighting, 0)

    @classmethod
    def _of(cls, weighting: Weighting, k: int) -> PairwiseObjective:
        objective = cls.__new__(cls)
        objective._attach(weighting, k)
        return objective

    def _attach(self, weighting: Weighting, k: int) -> None:
        self.weighting = weighting
        self.k = k
        self.shards = weighting.shards
        self.loss = weighting.shards.loss
        self.n_docs = weighting.shards.n_docs
        self.n_features = weighting.shards.n_columns
        self.n_pairs = weighting.n_pairs[k]
        self.total_weight = weighting.total_weight[k]
        # number of documents in queries that have pairs of positive weight
        self.n_useful_docs = weighting.n_useful_docs[k]
        # whether a second w costs much less if it is evaluated in the same read
        self.shares_reads = weighting.shares_reads
        self.pair_weights = weighting.pair_weights
        self.feature_names = weighting.names
        # The last evaluation, always replaced as a whole: other threads may read it, and losing it costs only time.
        self._last: tuple[np.ndarray, LossEvaluation] | None = None
        self.n_evaluations = 0

    def value_and_gradient(self, w: np.ndarray, query_weight: np.ndarray | None = None) -> tuple[float, np.ndarray]:
        """f(w) and its gradient (n_features,), in one pass over X; `query_weight` (n_queries,) replaces the weights of
        the objective."""
        if query_weight is not None:
            weight = checked_weights("query_weight", query_weight, self.shards.n_queries)
            return self._reweighted(weight).value_and_gradient(w)
        value, gradient, _ = self.evaluate(w)
        return value, gradient

    def _reweighted(self, query_weight: np.ndarray) -> PairwiseObjective:
        weighting = Weighting(
            self.shards,
            query_weight[None, :],
            scale=self.weighting.scale_of(self.k),
            shape=self.weighting.shape,
            pair_weights=self.pair_weights,
            feature_names=self.feature_names,
        )
        return objectives_of(weighting)[0]

    def evaluate(self, w: np.ndarray) -> LossEvaluation:
        """f(w), its gradient, and the sum for the dual, in one pass over X."""
        w = self._finite(w)
        (result,) = self.weighting.evaluate([self.k], w[None, :])
        if not np.isfinite(result.value):
            raise DataError(
                f"the loss at w is {result.value}: X contains NaN or infinity, or w and X are so large "
                "that their squares overflow."
            )
        return self.remember(w, result)

    def checked(self, w: Any) -> np.ndarray:
        """w as a new float64 array."""
        try:
            coef = np.array(w).astype(np.float64, casting="same_kind")
        except (TypeError, ValueError):
            raise DataError(f"w must contain real numbers, one coefficient per feature ({self.n_features}).") from None
        if coef.shape != (self.n_features,):
            raise DataError(f"w must contain one coefficient per feature ({self.n_features}); got shape {coef.shape}.")
        return coef

    def _finite(self, w: Any) -> np.ndarray:
        coef = self.checked(w)
        if not np.isfinite(coef).all():
            raise DataError("w must be finite; it contains NaN or infinity.")
        return coef

    def remember(self, w: np.ndarray, result: LossEvaluation) -> LossEvaluation:
        """Store an evaluation at w that was computed elsewhere."""
        self._last = w, result
        self.n_evaluations += 1
        return result

    def _evaluated(self, w: np.ndarray) -> LossEvaluation:
        last = self._last
        return last[1] if last is not None and np.array_equal(w, last[0]) else self.evaluate(w)

    def hessian(self, w: np.ndarray, columns: np.ndarray, n_docs: int | None = None) -> np.ndarray:
        """Generalised Hessian (k, k) at w on k columns. With `n_docs`, it is computed on a sample of queries with about
        that many documents.

        The sample is spread evenly and is the same every time. The result is divided by its share of the total pair
        weight.
        """
        columns = np.asarray(columns)
        wrong = columns.ndim != 1 or (columns.size > 0 and columns.dtype.kind not in "iu")
        if wrong or ((columns < 0) | (columns >= self.n_features)).any():
            raise DataError(
                f"columns must be whole numbers from 0 to {self.n_features - 1}; got {brief(columns.tolist())}."
            )
        if n_docs is not None and n_docs < 1:
            raise DataError(f"n_docs must be >= 1 or None; got {n_docs}.")
        return self.weighting.hessians([(self._finite(w), columns.astype(np.int64), self.k, n_docs, 0)])[0]

    def hessian_matvec(self, w: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Generalised Hessian at w times v (n_features,), without forming the Hessian."""
        parts = self.shards.call("hessian_matvec", self._finite(w), self._finite(v), self.weighting.key, self.k)
        return np.where(self.varying, sum(parts[1:], start=parts[0]), 0.0)

    def along(self, w: np.ndarray, v: np.ndarray) -> Callable[[float], tuple[float, float, float]]:
        """mu -> (f, df/dmu, d2f/dmu2) at w + mu v, with one sweep of the scores per evaluation; X is read only once."""
        w = self._finite(w)
        v = self._finite(v)

        def at(mu: float) -> tuple[float, float, float]:
            parts = self.shards.call("line", w, v, [mu], self.weighting.key, self.k)
            value, slope, curvature = sum(parts[1:], start=parts[0])[0].tolist()
            return value, slope, curvature

        return at

    def dual(self, w: np.ndarray, here: LossEvaluation) -> Dual:
        """The contribution of the loss to the dual at w, from which certificates are computed.

        This costs nothing for losses whose dual follows from the evaluation, and otherwise at most as much as
        `dual_sums`.
        """
        with np.errstate(
            over="ignore", invalid="ignore"
        ):  # trial points may be far away; solvers refuse values that are not finite
            slope = float(w @ here.gradient)
        return self.loss.dual(here.value, slope, lambda: here.square, lambda s: self._swept_dual(w, s))

    def dual_sums(self, w: np.ndarray, s: float) -> float:
        """sum_p v_p phi*(s phi'_p) at w, where phi* is the conjugate of the loss, for 0 <= s <= 1 (any s >= 0 if phi*
        is finite there).

        This takes at most one sweep of the scores, and no pass over X if w is the last point.
        """
        return self.dual(w, self._evaluated(w)).value(s)

    def _swept_dual(self, w: np.ndarray, s: float) -> float:
        return float(sum(self.shards.call("dual_sums", self.checked(w), s, self.weighting.key, self.k)))

    def pair_square(self, v: np.ndarray) -> float:
        """sum over pairs of v_p (v.(x_i - x_j))^2, whether active or not: half the curvature of f along v at 0."""
        return float(sum(self.shards.call("pair_square", self.checked(v), self.weighting.key, self.k)))

    @property
    def query_scale(self) -> np.ndarray:
        """(n_queries,) weight v_p of each pair of a query (before grade-pair and document weights);
        0 for queries without pairs."""
        return self.weighting.query_scale[self.k]

    @property
    def pair_norms(self) -> np.ndarray:
        """(n_features,) sum over pairs of v_p (x_ia - x_ja)^2, computed without forming pairs; exactly 0 for a feature
        that is constant within queries up to rounding.

        These norms times the smoothness of the loss bound the curvature of f along each coordinate: `curvature`.
        """
        return self.weighting.pair_norms[self.k]

    @cached_property
    def curvature(self) -> np.ndarray:
        """(n_features,) bound on the curvature of f along each coordinate, at any w;
        the squared hinge attains it at 0."""
        return self.loss.smoothness * self.pair_norms

    @property
    def varying(self) -> np.ndarray:
        """(n_features,) bool: features that differ within some preferred pair; other features cannot be used."""
        return self.weighting.varying[self.k]

    @property
    def width(self) -> int:
        """Number of coefficients of each feature."""
        return self.weighting.shape.m

    @property
    def at_zero(self) -> LossEvaluation:
        """The evaluation at w = 0."""
        return self.weighting.at_zero[self.k]

    @property
    def gradient_at_zero(self) -> np.ndarray:
        return self.at_zero.gradient


def _checked_lists(X: Any, relevance: Any, query_ptr: Any) -> tuple[np.ndarray, np.ndarray]:
    """relevance (n_docs,) and query_ptr (n_queries + 1,), checked against the rows of X."""
    if hasattr(X, "dtype"):  # other types of rows check themselves
        if X.dtype not in (np.float32, np.float64) or X.ndim != 2:
            raise DataError(f"X must be a float32 or float64 matrix; got {X.ndim} dimensions of {X.dtype}.")
        n_docs = X.shape[0]
    elif hasattr(X, "n_docs"):
        n_docs = X.n_docs
    else:
        raise DataError(f"X must be a RankingDataset or a float32 or float64 matrix; got {brief(X)}.")
    relevance = np.asarray(relevance)
    query_ptr = np.asarray(query_ptr)
    if relevance.shape != (n_docs,) or relevance.dtype.kind not in "biuf":
        raise DataError(f"relevance must contain one number per row of X ({n_docs}).")
    if not np.isfinite(relevance).all():
        raise DataError("relevance must be finite; it contains NaN or infinity.")
    if query_ptr.ndim != 1 or query_ptr.dtype.kind not in "iu" or len(query_ptr) == 0:
        raise DataError("query_ptr must contain the query offsets: whole numbers from 0 to the number of rows.")
    if query_ptr[0] != 0 or query_ptr[-1] != n_docs or (np.diff(query_ptr.astype(np.int64)) < 0).any():
        raise DataError(f"query_ptr must rise from 0 to the {n_docs} rows of X; got {brief(query_ptr.tolist())}.")
    return relevance, query_ptr.astype(np.int64, copy=False)


def _scales(scale: Any, n: int) -> np.ndarray:
    scales = usable_weights(scale, n)
    if scales is None or not scales.all():
        raise DataError(f"scale must contain {n} finite numbers > 0, one per feature.")
    return scales[None, :]


def objectives_of(weighting: Weighting) -> list[PairwiseObjective]:
    """The objectives of the K weightings, which share reads of X where they can."""
    return [PairwiseObjective._of(weighting, k) for k in range(len(weighting.query_scale))]
