"""The constructors of rankers, written out as scikit-learn asks; a test compares them with the declarations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sklearn.base import BaseEstimator

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from sparserank.losses import PairwiseLoss
    from sparserank.metrics import Metric
    from sparserank.paths.makers import SizedMaker
    from sparserank.penalties import Penalty


class SparseRankerParameters(BaseEstimator):
    """The constructor of SparseRanker."""

    def __init__(
        self,
        *,
        loss: str | PairwiseLoss = "squared_hinge",
        penalty: str | Penalty | SizedMaker | None = None,
        alpha: float | None = None,
        alpha_ratio: float = 0.05,
        k: int | None = None,
        scaling: str = "within-query-std",
        feature_transform: str = "none",
        monotone: Mapping[str, str | int] | None = None,
        keep: Sequence[str] | None = None,
        drop: Sequence[str] | None = None,
        feature_groups: str | os.PathLike | Mapping[str, str] | None = None,
        costs: str | os.PathLike | Sequence[float] | Mapping[str, float] | None = None,
        missing: str | float | Mapping[Any, str | float] | None = "error",
        pair_weights: str = "pair",
        tol: float = 1e-06,
        max_iter: int = 500,
        n_alphas: int = 40,
        metric: str | Metric = "ndcg@10",
        n_threads: int | None = None,
    ) -> None:
        self.loss = loss
        self.penalty = penalty
        self.alpha = alpha
        self.alpha_ratio = alpha_ratio
        self.k = k
        self.scaling = scaling
        self.feature_transform = feature_transform
        self.monotone = monotone
        self.keep = keep
        self.drop = drop
        self.feature_groups = feature_groups
        self.costs = costs
        self.missing = missing
        self.pair_weights = pair_weights
        self.tol = tol
        self.max_iter = max_iter
        self.n_alphas = n_alphas
        self.metric = metric
        self.n_threads = n_threads

    __init__.__qualname__ = "SparseRanker.__init__"  # the name in the error for an unknown argument


class SparseRankerCVParameters(BaseEstimator):
    """The constructor of SparseRankerCV."""

    def __init__(
        self,
        *,
        penalty: str | Penalty = "l1",
        metric: str | Metric = "ndcg@10",
        rule: str = "smallest",
        margin: float = 0.01,
        guarantee: float | None = None,
        confidence: float = 0.95,
        k: int | None = None,
        cv: Any = 5,
        random_state: int = 0,
        n_alphas: int = 40,
        alpha_min_ratio: float = 0.01,
        scaling: str = "within-query-std",
        feature_transform: str = "none",
        monotone: Mapping[str, str | int] | None = None,
        keep: Sequence[str] | None = None,
        drop: Sequence[str] | None = None,
        feature_groups: str | os.PathLike | Mapping[str, str] | None = None,
        costs: str | os.PathLike | Sequence[float] | Mapping[str, float] | None = None,
        missing: str | float | Mapping[Any, str | float] | None = "error",
        pair_weights: str = "pair",
        tol: float = 1e-06,
        max_iter: int = 300,
        n_threads: int | None = None,
        loss: str | PairwiseLoss = "squared_hinge",
    ) -> None:
        self.penalty = penalty
        self.metric = metric
        self.rule = rule
        self.margin = margin
        self.guarantee = guarantee
        self.confidence = confidence
        self.k = k
        self.cv = cv
        self.random_state = random_state
        self.n_alphas = n_alphas
        self.alpha_min_ratio = alpha_min_ratio
        self.scaling = scaling
        self.feature_transform = feature_transform
        self.monotone = monotone
        self.keep = keep
        self.drop = drop
        self.feature_groups = feature_groups
        self.costs = costs
        self.missing = missing
        self.pair_weights = pair_weights
        self.tol = tol
        self.max_iter = max_iter
        self.n_threads = n_threads
        self.loss = loss

    __init__.__qualname__ = "SparseRankerCV.__init__"  # the name in the error for an unknown argument


class RankSVMParameters(BaseEstimator):
    """The constructor of RankSVM."""

    def __init__(
        self,
        *,
        alpha: float = 0.001,
        pair_weights: str = "pair",
        tol: float = 1e-06,
        max_iter: int = 500,
        metric: str | Metric = "ndcg@10",
        n_threads: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.pair_weights = pair_weights
        self.tol = tol
        self.max_iter = max_iter
        self.metric = metric
        self.n_threads = n_threads

    __init__.__qualname__ = "RankSVM.__init__"  # the name in the error for an unknown argument
