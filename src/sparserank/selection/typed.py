"""The types of options by name, for type checkers; a test compares them with the declarations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

from sparserank.data.reading import RowOptions

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from sparserank.losses import PairwiseLoss
    from sparserank.metrics import Metric
    from sparserank.model.ranking_model import RankingModel
    from sparserank.paths.makers import SizedMaker
    from sparserank.penalties import Penalty
    from sparserank.workdir.work import Progress


class ModelOptions(RowOptions, total=False):
    """Options that `select` and `fit_model` share: reading, and the rules of a model."""

    scaling: str
    tol: float
    loss: str | PairwiseLoss
    monotone: Mapping[str, str | int] | None
    keep: Sequence[str] | None
    drop: Sequence[str] | None
    feature_groups: str | os.PathLike | Mapping[str, str] | None
    costs: str | os.PathLike | Sequence[float] | Mapping[str, float] | None


class ChoiceOptions(TypedDict, total=False):
    """Options that `select` and `fuse` share: the choice of a model."""

    relaxed: bool
    report_metrics: Sequence[str | Metric]
    convention: str
    cv: int
    random_state: int
    guarantee: float | None
    confidence: float
    half_samples: int
    restart: bool


class SelectOptions(ModelOptions, ChoiceOptions, total=False):
    """Options of `select` by name."""

    n_alphas: int
    alpha_min_ratio: float
    pair_weights: str
    round: int | None
    start: str | os.PathLike | None
    prefer: str | os.PathLike | RankingModel | None
    feature_transform: str | Sequence[str]
    engine: str | None
    query: str | os.PathLike | Mapping[str, Any] | None
    query_weight: str | os.PathLike | Mapping[Any, float] | Sequence[float] | None
    doc_weight: Any
    protocol: str
    fast: bool
    current: str | os.PathLike | RankingModel | Mapping[Any, Any] | None
    rival: str | os.PathLike | None
    rival_time: float
    sizes: Sequence[int] | None
    allow_overlap: bool
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


class FitOptions(ModelOptions, total=False):
    """Options of `fit_model` by name."""

    label: Any
    qid: Any
    penalty: str | Penalty | SizedMaker | None
    alpha: float | None
    alpha_ratio: float
    k: int | None
    feature_transform: str
    n_threads: int | None


class FuseOptions(ChoiceOptions, total=False):
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
    costs: str | os.PathLike | Mapping[str, float] | None
    cost_rule: str
    label: Any
    qid: Any
    docid: Any


class AllFuseOptions(FuseOptions, ChoiceAndRun, total=False):
    """All options of `fuse`."""

    engine: str | None
