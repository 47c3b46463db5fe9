"""Ranking metrics: declarations and pure functions, with presets for the conventions of published tools."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sparserank.errors import DataError, ParameterError
from sparserank.metrics.base import Metric
from sparserank.metrics.cascade import ExpectedReciprocalRank, ReciprocalRank
from sparserank.metrics.conventions import CONVENTIONS, Convention, parse_convention
from sparserank.metrics.ndcg import MeanNdcg, Ndcg
from sparserank.metrics.pairwise import PairwiseError
from sparserank.metrics.precision import AveragePrecision, Precision, Recall
from sparserank.text import brief

METRICS: dict[str, type[Metric]] = {
    m.name: m
    for m in (
        Ndcg,
        AveragePrecision,
        Precision,
        Recall,
        ReciprocalRank,
        ExpectedReciprocalRank,
        MeanNdcg,
        PairwiseError,
    )
}
MAX_DIGITS = 19  # largest number of digits of a 64-bit integer
_NAME = re.compile(
    r"(?:(?P<convention>[a-z0-9]+):)?(?P<name>[a-z_]+)(?:\(rel=(?P<rel>[0-9.]+)\))?"
    r"(?:(?P<sign>[@_.])(?P<cutoff>-?[0-9]+))?(?P<minus>-?)"
)
OF_TREC_EVAL = {"ndcg_cut": "ndcg", "map_cut": "map", "recip_rank": "mrr"}  # also written P_10, recall.100
# the first of these are names in ir_measures
OTHER_NAMES = {"ap": "map", "rr": "mrr", "r": "recall", "precision": "p", **OF_TREC_EVAL}


def parse_metric(name: str | Metric, convention: str | Convention = "default") -> Metric:
    """Create a metric from its name.

    Parameters
    ----------
    name : str or Metric
        Such as 'ndcg@10', 'map', 'letor4:mean_ndcg', 'xgboost:ndcg@10-', or 'map(rel=2)', where documents are relevant
        from grade 2; or as in ir_measures ('nDCG@10', 'AP', 'RR@10', 'R@100') or trec_eval ('ndcg_cut_10', 'P_10',
        'recip_rank'). A Metric is returned unchanged.
    convention : str, default 'default'
        Definition of the metric; a prefix in the name overrides it. The names of trec_eval have its definition unless
        another one is asked for.

    Returns
    -------
    Metric
        A function of (scores, relevance, query_ptr) with a name.

    Raises
    ------
    DataError
        The name, convention or cutoff is unknown.

    Examples
    --------
    >>> import sparserank as sr
    >>> str(sr.parse_metric("ndcg@10", "letor4"))
    'letor4:ndcg@10'
    """
    if isinstance(name, Metric):
        return name
    match = _NAME.fullmatch(_bare(name.strip().lower(), convention)) if isinstance(name, str) else None
    known = "" if match is None else OTHER_NAMES.get(match["name"], match["name"])
    if match is None or known not in METRICS:
        unknown = f"unknown metric {brief(name)}; known: {', '.join(METRICS)}, with a cutoff such as ndcg@10."
        raise ParameterError("metric", unknown)
    chosen = parse_convention(match["convention"] or convention)
    if chosen.name == "default" and (match["name"] in OF_TREC_EVAL or match["sign"] not in ("@", None)):
        chosen = CONVENTIONS["trec"]
    if match["minus"]:
        if not chosen.name.startswith("xgboost"):
            raise DataError(f"{brief(name)}: the trailing minus is XGBoost's; write xgboost:ndcg@10-.")
        chosen = CONVENTIONS["xgboost-"]
    if match["rel"]:  # grades from this one on are relevant
        if not METRICS[known].is_binary:
            raise DataError(f"{known} uses grades, so it takes no (rel={match['rel']}).")
        try:
            chosen = replace(chosen, relevant_from=float(match["rel"]))
        except ValueError as error:
            raise DataError(f"rel must be a number > 0; got {brief(match['rel'])}.") from error
    cutoff: Any = match["cutoff"]
    if cutoff is not None and len(cutoff) <= MAX_DIGITS:  # longer numbers are refused by the metric
        cutoff = int(cutoff)
    return METRICS[known](cutoff, chosen)


def _bare(name: str, convention: str | Convention) -> str:
    """A metric's name without the prefix and suffix of a custom convention, which may have any name."""
    if not isinstance(convention, Convention):
        return name
    before, behind = convention.affixes
    before = before.lower().lstrip()
    if name.startswith(before) and name.endswith(behind):
        return name[len(before) : len(name) - len(behind)]
    return name


def parse_metrics(
    names: Sequence[str | Metric] | str | Metric, convention: str | Convention = "default"
) -> list[Metric]:
    if isinstance(names, str | Metric):
        names = [names]
    return [parse_metric(n, convention) for n in names]


__all__ = ["CONVENTIONS", "METRICS", "Convention", "Metric", "parse_convention", "parse_metric", "parse_metrics"]
