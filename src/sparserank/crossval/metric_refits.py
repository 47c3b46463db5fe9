"""Which models are refitted for the metric: a few sizes of one maker under each transform, fixed before anything is
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
    """What refits for the metric are made of.

    metric      NDCG; seed: of the halves of the training queries
    sizes       rising; features at most, or costs
    n_features  of the data, each of which may have several columns
    """

    metric: Metric
    seed: int
    sizes: tuple[float, ...]
    n_features: int

    @property
    def sizes_label(self) -> str:
        """What stored pieces are called by besides, where sizes are not the usual ones."""
        return "" if self.sizes == SIZES else f" at {', '.join(f'{k:g}' for k in self.sizes)}"


def sizes_within(limit: float | None, unit: float = 1) -> tuple[float, ...]:
    """The sizes, in units of a feature's usual cost; those within a limit, and the limit itself."""
    sizes = tuple(unit * k for k in SIZES)
    return sizes if limit is None else (*(k for k in sizes if k < limit), limit)[-len(SIZES) :]


def preferred(names: Sequence[str]) -> int:
    """Which of several makers, by the names of their rules, has its models refitted. One is, by a rule made before any
    data were seen: so no value of a query plays a part in it, in no fold."""
    known = [name for name in PREFERRED if name in names]
    return names.index(known[0]) if known else 0


def why_not(metric: Metric, n_queries: int) -> str | None:
    """Why no model is refitted for this metric on so many training queries; None: they are."""
    if not is_known(metric):
        return f"no model was refitted for {metric!r}: that is known for ndcg alone."
    if n_queries < MIN_QUERIES:
        return (
            f"no model was refitted for {metric!r}: {n_queries} training queries are fewer than the {MIN_QUERIES} that "
            "it takes."
        )
    return None


def notes_of(metric: Metric) -> list[str]:
    """What is said of refits for the metric that were tried."""
    return (
        [f"refits for {metric!r}, which has no cutoff, look at the first {NO_CUTOFF} documents of each list."]
        if metric.cutoff is None
        else []
    )
