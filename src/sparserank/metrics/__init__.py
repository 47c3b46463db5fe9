"""Ranking metrics: declarations and pure functions, with the conventions of published tools as presets."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sparserank.errors import DataError
from sparserank.metrics.base import Metric
from sparserank.metrics.cascade import ExpectedReciprocalRank, ReciprocalRank
from sparserank.metrics.conventions import CONVENTIONS, Convention, parse_convention
from sparserank.metrics.ndcg import MeanNdcg, Ndcg
from sparserank.metrics.pairwise import PairwiseError
from sparserank.metrics.precision import AveragePrecision, Precision

METRICS: dict[str, type[Metric]] = {
    m.name: m
    for m in (Ndcg, AveragePrecision, Precision, ReciprocalRank, ExpectedReciprocalRank, MeanNdcg, PairwiseError)
}
_NAME = re.compile(r"(?:(?P<convention>[a-z0-9]+):)?(?P<name>[a-z_]+)(?:@(?P<cutoff>-?\d+))?")


def parse_metric(name: str | Metric, convention: str | Convention = "default") -> Metric:
    """A metric from its name: 'ndcg@10', 'map', 'letor4:mean_ndcg'; a prefix wins over `convention`.

    Raises
        DataError   an unknown name, convention or cutoff
    """
    if isinstance(name, Metric):
        return name
    match = _NAME.fullmatch(name.strip().lower())
    if match is None or match["name"] not in METRICS:
        raise DataError(f"unknown metric {name!r}; known: {', '.join(METRICS)}, with a cutoff such as ndcg@10.")
    chosen = parse_convention(match["convention"] or convention)
    cutoff = None if match["cutoff"] is None else int(match["cutoff"])
    return METRICS[match["name"]](cutoff, chosen)


def parse_metrics(
    names: Sequence[str | Metric] | str | Metric, convention: str | Convention = "default"
) -> list[Metric]:
    if isinstance(names, str | Metric):
        names = [names]
    return [parse_metric(n, convention) for n in names]


__all__ = ["CONVENTIONS", "METRICS", "Convention", "Metric", "parse_convention", "parse_metric", "parse_metrics"]
