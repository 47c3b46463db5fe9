"""The models to refit for the metric: a few sizes of one maker under each transform, fixed before anything is
judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sparserank.metrics import Metric
from sparserank.paths.metric_sample import NO_CUTOFF, is_known

MIN_QUERIES = 100  # training queries: with fewer the rise on them says too little about others
SIZES = (3, 5, 8, 12, 17, 24)  # features at most; three refits of each: 18 candidates a transform
PREFERRED = ("mcp", "scad", "log", "best_k", "lp")  # the least shrunk supports first; else what was asked for first


@dataclass(frozen=True)
class MetricRefits:
    """Settings of refits for the metric.

    metric      NDCG; seed: of the halves of the training queries
    sizes       rising; maximum numbers of features, or costs
    n_features  of the data; a feature may have several columns
    """

    metric: Metric
    seed: int
    sizes: tuple[float, ...]
    n_features: int

    @property
    def sizes_label(self) -> str:
        """An addition to the names of stored pieces if sizes are not the default ones."""
        return "" if self.sizes == SIZES else f" at {', '.join(f'{k:g}' for k in self.sizes)}"


def sizes_within(limit: float | None, unit: float = 1, among: Sequence[int] = SIZES) -> tuple[float, ...]:
    """The sizes, in units of a feature's usual cost; with a limit, the sizes below it and the limit itself."""
    sizes = tuple(unit * k for k in among)
    return sizes if limit is None else (*(k for k in sizes if k < limit), limit)[-len(SIZES) :]


def preferred(names: Sequence[str]) -> int:
    """The index of the maker whose models are refitted, by the names of the makers' rules. The rule was fixed before
    any data were seen, so no value of a query in any fold influences it."""
    known = [name for name in PREFERRED if name in names]
    return names.index(known[0]) if known else 0


def why_not(metric: Metric, n_queries: int) -> str | None:
    """The reason why no model is refitted for this metric on so many training queries; None if models are."""
    if not is_known(metric):
        return f"no model was refitted for {metric!r}: only ndcg is supported."
    if n_queries < MIN_QUERIES:
        return (
            f"no model was refitted for {metric!r}: this needs at least {MIN_QUERIES} training queries; there are "
            f"{n_queries}."
        )
    return None


def notes_of(metric: Metric) -> list[str]:
    """Notes on refits for the metric that were tried."""
    return (
        [f"refits for {metric!r}, which has no cutoff, use the first {NO_CUTOFF} documents of each list."]
        if metric.cutoff is None
        else []
    )
