"""The types of options by name, for type checkers; a test compares them with the declarations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from sparserank.losses import PairwiseLoss
    from sparserank.metrics import Metric
    from sparserank.model.ranking_model import RankingModel
    from sparserank.paths.makers import SizedMaker
    from sparserank.penalties import Penalty
    from sparserank.workdir.work import Progress


class SelectOptions(TypedDict, total=False):
    """Options of `select` by name."""

    scaling: str
    n_alphas: int
    alpha_min_ratio: float
    tol: float
    pair_weights: str
    loss: str | PairwiseLoss
    round: int | None
    start: str | os.PathLike | None
    prefer: str | os.PathLike | RankingModel | None
    feature_transform: str | Sequence[str]
    n_knots: int
    engine: str | None
    query: str | os.PathLike | Mapping[str, Any] | None
    monotone: Mapping[str, str | int] | None
    keep: Sequence[str] | None
    drop: Sequence[str] | None
    feature_groups: str | os.PathLike | Mapping[str, str] | None
    relaxed: bool
    query_weight: str | os.PathLike | Mapping[Any, float] | Sequence[float] | None
    doc_weight: Any
    report_metrics: Sequence[str | Metric]
    convention: str
    cv: int
    random_state: int
    guarantee: float | None
    confidence: float
    costs: str | os.PathLike | Sequence[float] | Mapping[str, float] | None
    protocol: str
    half_samples: int
    fast: bool
    current: str | os.PathLike | RankingModel | Mapping[Any, Any] | None
    rival: str | os.PathLike | None
    rival_time: float
    sizes: Sequence[int] | None
    n_features: int | None
    missing: str | float | Mapping[Any, str | float] | None
    index_base: int
    unjudged: str
    feature_names: str | os.PathLike | Sequence[str] | None
    docid: Any
    feature_columns: Sequence[str] | None
    ignore_columns: Sequence[str]
    categories: Sequence[str]
    qrels: Any
    sparse: bool | None
    dtype: Any | None
    allow_overlap: bool
    restart: bool
    client: Any


class ChoiceAndRun(TypedDict, total=False):
    """Options that `select` and `fuse` have in their signatures."""

    metric: str | Metric
    margin: float
    k: int | None
    budget: float | None
    out: str | os.PathLike | None
    n_threads: int | None
    progress: Progress | None


class AllSelectOptions(SelectOptions, ChoiceAndRun, total=False):
    """All options of `select`."""

    label: Any
    qid: Any
    penalties: str | Penalty | SizedMaker | Sequence[str | Penalty | SizedMaker] | None
    for_model: str | os.PathLike | None


class FitOptions(TypedDict, total=False):
    """Options of `fit_model` by name."""

    penalty: str | Penalty | SizedMaker | None
    alpha: float | None
    alpha_ratio: float
    k: int | None
    scaling: str
    feature_transform: str
    n_knots: int
    monotone: Mapping[str, str | int] | None
    keep: Sequence[str] | None
    drop: Sequence[str] | None
    feature_groups: str | os.PathLike | Mapping[str, str] | None
    costs: str | os.PathLike | Sequence[float] | Mapping[str, float] | None
    loss: str | PairwiseLoss
    tol: float
    n_features: int | None
    missing: str | float | Mapping[Any, str | float] | None
    index_base: int
    unjudged: str
    feature_names: str | os.PathLike | Sequence[str] | None
    label: Any
    qid: Any
    docid: Any
    feature_columns: Sequence[str] | None
    ignore_columns: Sequence[str]
    categories: Sequence[str]
    qrels: Any
    sparse: bool | None
    dtype: Any | None
    n_threads: int | None


class FuseOptions(TypedDict, total=False):
    """Options of `fuse` by name."""

    norm: str | Sequence[str]
    depth: int | None
    rank_columns: bool
    score_columns: bool
    unjudged: str
    relevant_from: float
    test_qrels: str | os.PathLike | Mapping[Any, Any] | None
    penalties: str | Penalty | SizedMaker | Sequence[str | Penalty | SizedMaker]
    sign: str
    relaxed: bool
    report_metrics: Sequence[str | Metric]
    convention: str
    cv: int
    random_state: int
    guarantee: float | None
    confidence: float
    costs: str | os.PathLike | Mapping[str, float] | None
    cost_rule: str
    half_samples: int
    label: Any
    qid: Any
    docid: Any
    restart: bool


class AllFuseOptions(FuseOptions, ChoiceAndRun, total=False):
    """All options of `fuse`."""

    engine: str | None
