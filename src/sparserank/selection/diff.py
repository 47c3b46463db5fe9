"""Compare two trained models: the features that came in and left, the weights that changed, and rankings on data."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from sparserank.arrow import has_arrow, pa, pq
from sparserank.bins import StepFunction
from sparserank.data.categories import sources_of
from sparserank.data.dataset import RankingDataset
from sparserank.data.missing import KEEP
from sparserank.data.read import as_datasets
from sparserank.data.reading import Reading
from sparserank.errors import DataError
from sparserank.evaluation import DEFAULT_METRICS, Comparison, compare_systems, mean_of
from sparserank.files import read_regular
from sparserank.metrics import parse_metrics
from sparserank.metrics.ordering import rank_lists
from sparserank.model.fusion import is_fusion
from sparserank.model.ranking_model import RankingModel
from sparserank.model.size_models import load_model
from sparserank.model.table_columns import with_columns_of
from sparserank.options import option
from sparserank.options.arguments import check_arguments
from sparserank.selection.facts import Row
from sparserank.strict_json import MAX_BYTES, plain, read_own_json
from sparserank.text import brief, figure
from sparserank.transforms import NONE

# Shares of the half-samples of the run that uses a feature, and of those of the other run. Of two samples of one
# population, a feature that is as good as another one has any share equally often, so it seems to have changed in 2% of
# the pairs (in 8% with the shares 0.8 and 0.2).
MIN_SHARE, MAX_SHARE = 0.9, 0.1
MIN_HALF_SAMPLES = 10
TOP = 10  # documents of a list that are compared
CAME, LEFT, BOTH = KINDS = ("came in", "left", "in both")
Source = str | os.PathLike | RankingModel


@dataclass(frozen=True)
class Side:
    """A model, and the content of its run directory.

    shares   {feature: share of the half-samples that chose it}, without features that none chose; None: not known
    metrics  of the run, the deciding one first
    trained  ids of the training queries; None: not known
    """

    model: RankingModel
    shares: Mapping[str, float] | None = None
    metrics: tuple[str, ...] = ()
    trained: frozenset[str] | None = None

    def in_units_of(self, other: Side) -> Side:
        """The same model with weights in the units of another model, if that scales features in another way."""
        if self.model.scaling == other.model.scaling:
            return self
        scales = {f.name: f.scale for f in other.model.features}
        features = []
        for f in self.model.features:
            scale = scales.get(f.name, 1.0)
            features.append(f._replace(coef=f.slope * scale, mean=f.mean / f.scale * scale, scale=scale))
        return replace(self, model=replace(self.model, features=tuple(features)))

    @property
    def total(self) -> float:
        """The sum of the absolute weights."""
        return sum(map(abs, self.model.weights.values())) or 1.0

    def weights(self) -> dict[str, float]:
        """{feature: its weight divided by the sum of the absolute weights}, of the features in use."""
        total = self.total
        return {name: weight / total for name, weight in self.model.weights.items()}

    def levels(self, column: str) -> dict[str, float]:
        """{feature made from the column: what it adds}, in the unit of `weights`."""
        derived = [f for f in self.model.sources[column] if f.derived is not None]
        return {f.name: self.model.rise(f) / self.total for f in derived}

    def known_levels(self, column: str) -> list[str]:
        """The levels of a category that have a feature, selected or not."""
        return [d.level for d in self.model.derived.values() if d.source == column and d.level]

    def steps(self, column: str) -> StepFunction | None:
        """The steps of a number in the unit of `weights`; None if it has none."""
        first = self.model.sources[column][0]
        if first.steps is None or first.derived is not None:
            return None
        return first.steps.times(first.slope / self.total)


@dataclass(frozen=True)
class ModelDiff:
    """The differences between two models, as returned by `diff`.

    Attributes
    ----------
    features : list of dict
        One row for each feature of either model: those that came in, those that left, and those in both, the largest
        change first. `change` ('came in', 'left' or 'in both'); `old` and `new`, the weights divided by the sum of the
        absolute weights of their model (None: not used), and `difference`; `shape`, for a feature in both with steps,
        or with levels: half the range of the difference of the two, in the same unit;
        `old_share` and `new_share` of the half-samples that chose it (None: not known); and `real` (None: no verdict).
    sentences : list of str
        The numbers of features, what the figures are, the rule by which a change is called real, the overlap, and how
        many queries of the data either model was trained on.
    comparison : Comparison or None
        Metrics of 'old' and 'new' on the data.
    queries : list of dict
        The ten queries whose metric changed most: `query`, `old`, `new`, `difference`.
    overlap : tuple of float and int, or None
        Share of the first ten documents that both models have in common, mean over the queries with more than ten
        documents; and the number of these queries. Without such queries, the share is NaN.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(40, 8, 6, n_informative=2, n_redundant=1).data
    >>> old, new = (sr.SparseRanker(k=k, penalty="mcp").fit_dataset(data).to_model() for k in (1, 2))
    >>> sr.diff(old, new).sentences[0]
    'The old model uses 1 of 6 features, the new one 2 of 6: 1 came in, 0 left, 1 in both.'
    """

    features: list[Row] = field(repr=False)
    sentences: list[str]
    comparison: Comparison | None = None
    queries: Sequence[Row] = ()
    overlap: tuple[float, int] | None = None

    def to_json(self) -> dict[str, Any]:
        """Everything on the screen in machine-readable form."""
        return plain(vars(self) | {"comparison": self.comparison and self.comparison.rows()})


def diff(
    old: Source, new: Source, data: Any = None, *, k: int | None = None, label: Any = None, qid: Any = None
) -> ModelDiff:
    """Compare a model with the model that was trained after it.

    Weights are divided by the sum of the absolute weights of their model, because the scores of a ranking have no
    scale. Whether a feature came in or left by chance is decided by the half-samples of both runs: a change is real
    if at least 90% of the half-samples of the run that uses the feature choose it, and at most 10% of those of the
    other run. Half-samples have the size of their run: whether a feature of the larger model came in or left by chance
    is not known, because it may have done so for the size alone. They keep no weights, so changes of weights have no
    verdict.

    Parameters
    ----------
    old, new : path or RankingModel
        The directory of a selection, or a model (file), of which no change is called real.
    data : RankingDataset or other source of `read`, optional
        Judged documents on which both models are compared, by the metrics of the new run (of the old one if the new
        model is not from a run, otherwise 'ndcg@10' and 'map').
    k : int, optional
        Compare the models of this size of two selections, or the best smaller ones.
    label, qid : str, optional
        Columns of a table, as in `read`.

    Returns
    -------
    ModelDiff
        Features, weights and, with data, the differences of metrics and rankings.

    Raises
    ------
    ModelFormatError
        A path is neither a selection nor a model.
    DataError
        One model ranks runs and the other documents; or the data cannot be read or scored.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(40, 12, 6, n_informative=2, n_redundant=1).data
    >>> old, new = (sr.SparseRanker(k=k, penalty="mcp").fit_dataset(data).to_model() for k in (1, 2))
    >>> found = sr.diff(old, new, data)
    >>> [row["change"] for row in found.features], found.overlap[1]
    (['came in', 'in both'], 40)
    """
    check_arguments(diff, locals())
    before = side_of(old, k)
    after = side_of(new, k)
    judged = None
    if data is not None:
        reading = with_columns_of(Reading(missing=KEEP), [before.model, after.model], data)
        judged = as_datasets({"data": data}, label=label, qid=qid, reading=reading)["data"]
    return diff_of(before, after, judged)


def side_of(source: Source, k: int | None = None) -> Side:
    """The model of a path, with the content of its run directory; damaged or missing files count as not known.

    Raises
        ModelFormatError   neither a selection nor a model
    """
    if isinstance(source, RankingModel):
        return Side(source)
    side = Side(load_model(source, k=k))
    folder = Path(source)
    with suppress(OSError, ValueError, LookupError, TypeError, NotImplementedError):
        result = read_own_json(folder / "result.json")
        table = folder / "per_query.parquet"
        side = replace(side, metrics=tuple(map(str, result["metrics"])))
        halves = result["stability"]
        size = result["chosen"]["n_features"]
        if halves and halves["half_samples"] >= MIN_HALF_SAMPLES and len(side.model.columns) == size:
            shares = {str(f["feature"]): float(f["selection_frequency"]) for f in halves["features"]}
            side = replace(side, shares=shares)
        # After a cross-validation, all training queries have out-of-fold values, except those of a judge.
        if result["protocol"] == "cv" and result.get("judge") is None and has_arrow() and table.exists():
            ids = pq.read_table(pa.BufferReader(read_regular(table, MAX_BYTES)), columns=["query"])["query"].unique()
            side = replace(side, trained=frozenset(map(str, ids.to_pylist())))
    return side


def diff_of(old: Side, new: Side, judged: RankingDataset | None) -> ModelDiff:
    """`diff` for models that are loaded already."""
    fused = [name for name, side in (("old", old), ("new", new)) if is_fusion(side.model)]
    if len(fused) == 1:
        why = "was made by 'sparserank fuse' and ranks runs, the other one ranks documents"
        raise DataError(f"the {fused[0]} model {why}; compare two models of the same kind.")
    scaled = new if old.model.scaling == NONE else old  # the model whose units both are expressed in
    judges = (old, new)
    old = old.in_units_of(scaled)
    new = new.in_units_of(scaled)
    before = old.weights()
    after = new.weights()
    features = [_feature(old, new, name, before.get(name), after.get(name)) for name in after | before]
    features.sort(key=lambda r: (KINDS.index(r["change"]), -max(abs(r["difference"]), r["shape"] or 0.0)))
    changes = ModelDiff(features, _sentences(old, new, features))
    return changes if judged is None else _on_data(changes, *judges, judged)


def _feature(old: Side, new: Side, name: str, before: float | None, after: float | None) -> Row:
    """A row of `ModelDiff.features`; before, after: the weights."""
    kind = CAME if before is None else LEFT if after is None else BOTH
    shape = None
    real = None
    known = [sources_of(s.model.derived, s.model.feature_names) for s in (old, new)]
    shares = [
        s.shares.get(name, 0.0) if s.shares and name in names else None
        for s, names in zip((old, new), known, strict=True)
    ]
    uses, lacks = (old, new) if kind == LEFT else (new, old)
    # Half-samples are of the size of their run: a feature of the larger model may have come in or left for that alone,
    # unless only the data of its run have it.
    is_larger = len(uses.model.columns) > len(lacks.model.columns) and None not in shares
    if kind != BOTH and old.shares and new.shares and not is_larger:
        chose, other = (share or 0.0 for share in (shares if kind == LEFT else shares[::-1]))
        real = chose >= MIN_SHARE and other <= MAX_SHARE
    if kind == BOTH and (a := old.steps(name)) and (b := new.steps(name)):
        x = np.nextafter(np.concatenate([a.begins, b.begins]), np.inf)
        shape = 0.5 * float(np.ptp(b(x) - a(x)))
    elif kind == BOTH and (had := old.levels(name)) and (has := new.levels(name)):
        changes = [has.get(level, 0.0) - had.get(level, 0.0) for level in has | had]
        shape = 0.5 * (max(*changes, 0.0) - min(*changes, 0.0))
    row = {"feature": name, "change": kind, "old": before, "new": after, "difference": (after or 0.0) - (before or 0.0)}
    return {**row, "shape": shape, "old_share": shares[0], "new_share": shares[1], "real": real}


def _sentences(old: Side, new: Side, features: list[Row]) -> list[str]:
    """Sentences about the numbers of features, the meaning of the figures, and the rule for real changes."""
    sizes = [f"{len(s.model.columns)} of {s.model.n_available}" for s in (old, new)]
    counts = ", ".join(f"{sum(row['change'] == kind for row in features)} {kind}" for kind in KINDS)
    sentences = [f"The old model uses {sizes[0]} features, the new one {sizes[1]}: {counts}."]
    sentences.append(
        "Weights are divided by the sum of the absolute weights of their model, because scores have no scale."
    )
    for name in (row["feature"] for row in features):
        had = old.known_levels(name)
        has = new.known_levels(name)
        came = ", ".join(brief(v) for v in has if v not in had)
        went = ", ".join(brief(v) for v in had if v not in has)
        if had and has and (came or went):
            changes = filter(None, [came and f"came {came}", went and f"went {went}"])
            sentences.append(f"Levels of {brief(name)}: {'; '.join(changes)}.")
    if any(row["shape"] is not None for row in features):
        sentences.append("Shape: half the range of the difference of steps or categories, in units of weights.")
    lacks = " and ".join(name for name, s in (("old", old), ("new", new)) if not s.shares)
    if lacks:
        needs = f"for that, each model needs a run directory with at least {MIN_HALF_SAMPLES} half-samples of its size"
        return [*sentences, f"No change is called real: {needs} (lacking: {lacks})."]
    by = f"{MIN_SHARE:.0%} or more of the half-samples of the run that uses it, and by {MAX_SHARE:.0%} or less of"
    real = f"A feature really came in or left if it is chosen by {by} those of the other run; otherwise it is noise."
    sizes_used = sorted(len(s.model.columns) for s in (old, new))
    if sizes_used[0] != sizes_used[1]:
        sentences.append(
            f"A feature that only the model with {sizes_used[1]} features uses may have come in or left for its size "
            f"alone: it has no verdict. To judge at one size, repeat that selection with {option('k', sizes_used[0])}."
        )
    return [*sentences, real, "Changes of weights have no verdict, because half-samples keep no weights."]


def _on_data(without: ModelDiff, old: Side, new: Side, judged: RankingDataset) -> ModelDiff:
    """The same differences, with those of metrics and rankings on the data."""
    metrics = parse_metrics(new.metrics or old.metrics or DEFAULT_METRICS)
    scores = {"old": _scores(old.model, judged), "new": _scores(new.model, judged)}
    comparison = compare_systems(scores, judged, metrics)
    ids = list(map(str, judged.query_ids))
    queries = comparison.most_changed("new")
    # Documents of equal scores are in the order that the metric gives them.
    lists = judged.relevance, judged.query_ptr, metrics[0].convention, judged.docid
    first, second = (rank_lists(judged.from_input_order(s), *lists).first(TOP) for s in scores.values())
    shared = np.add.reduceat(first & second, judged.query_ptr[:-1], dtype=np.float64)[judged.sizes > TOP] / TOP
    common = f"The two top {TOP}s have {figure(TOP * mean_of(shared), 2)} of {TOP} documents in common"
    known = ["an unknown number" if s.trained is None else str(len(s.trained.intersection(ids))) for s in (old, new)]
    trained = f"the old model was trained on {known[0]} and the new one on {known[1]}, by their ids"
    sentences = [f"{common} (mean of the {len(shared):,} queries with more than {TOP} documents)."]
    sentences.append(f"Of these {len(ids):,} queries, {trained}; queries on which a model was trained flatter it.")
    return ModelDiff(
        without.features, without.sentences + sentences, comparison, queries, (mean_of(shared), len(shared))
    )


def _scores(model: RankingModel, judged: RankingDataset) -> np.ndarray:
    """Scores of a model. Ranking text may have more features than one of the models, which then reads the first."""
    if model.n_features < judged.n_features and judged.names[: model.n_features] == model.feature_names:
        judged = judged.take_features(range(model.n_features))
    return model.score_dataset(judged)
