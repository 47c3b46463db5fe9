"""Keywords that the fit of other rankers takes: what is said to those who bring them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparserank.errors import DataError

HARMLESS = ("verbose",)  # nothing is printed anyway
OURS = {
    "sample_weight": (
        "give one weight per query as query_weight= (SparseRanker takes one per document too, doc_weight=)"
    ),
    "group_id": "give the query of each row as qid=",
    "subgroup_id": "give the query of each row as qid=",
    "group_weight": "give one weight per query as query_weight=",
    "eval_at": "name the metric with its cutoff when the ranker is made, metric='ndcg@10'",
    "eval_metric": "name the metric when the ranker is made, metric='ndcg@10'",
    "callbacks": (
        "a fit has no rounds to call back after; follow a whole path with sr.fit_path, or a selection with "
        "sr.select(progress=)"
    ),
    "early_stopping_rounds": "there are no rounds; SparseRankerCV chooses the strength on eval_set",
    "feature_weights": "give a penalty with weights, sr.penalties.L1(weights=...)",
    "feature_name": "give X as a data frame, whose columns are the names",
    "cat_features": "features are numbers; encode categories first",
    "categorical_feature": "features are numbers; encode categories first",
    "init_score": ("scores to start from are not known; give the score as a feature, which a penalty can keep (keep=)"),
    "baseline": ("scores to start from are not known; give the score as a feature, which a penalty can keep (keep=)"),
    "base_margin": (
        "scores to start from are not known; give the score as a feature, which a penalty can keep (keep=)"
    ),
}


def refuse_foreign(owner: str, given: Mapping[str, Any]) -> None:
    """Accept what changes nothing; refuse the rest with what to say instead.

    Raises
        DataError   a keyword of other rankers that is not None
        TypeError   one of nobody's
    """
    for name, value in given.items():
        if name in OURS and value is not None:
            raise DataError(f"{owner}.fit takes no {name}: {OURS[name]}.")
        if name not in OURS and name not in HARMLESS:
            raise TypeError(f"{owner}.fit() got an unexpected keyword argument {name!r}")
