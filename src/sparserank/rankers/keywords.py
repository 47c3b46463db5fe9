"""Messages for keywords that `fit` of other libraries' rankers takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparserank.errors import DataError

HARMLESS = ("verbose",)  # nothing is printed anyway
OURS = {
    "sample_weight": (
        "pass one weight per query as query_weight= (SparseRanker also takes one per document, doc_weight=)"
    ),
    "group_id": "pass the query id of each row as qid=",
    "subgroup_id": "pass the query id of each row as qid=",
    "group_weight": "pass one weight per query as query_weight=",
    "eval_at": "set the metric and its cutoff in the constructor, metric='ndcg@10'",
    "eval_metric": "set the metric in the constructor, metric='ndcg@10'",
    "callbacks": (
        "fitting has no rounds, so callbacks are never called; fit a whole path with sr.fit_path, or monitor a "
        "selection with sr.select(progress=)"
    ),
    "early_stopping_rounds": "there are no rounds; SparseRankerCV chooses the strength on eval_set",
    "feature_weights": "pass a penalty with weights, sr.penalties.L1(weights=...)",
    "feature_name": "pass X as a data frame; its column names are used",
    "cat_features": "features must be numbers; encode categories first",
    "categorical_feature": "features must be numbers; encode categories first",
    "init_score": (
        "initial scores are not supported; pass the score as a feature, and name it in keep= of the penalty"
    ),
    "baseline": ("initial scores are not supported; pass the score as a feature, and name it in keep= of the penalty"),
    "base_margin": (
        "initial scores are not supported; pass the score as a feature, and name it in keep= of the penalty"
    ),
}


def refuse_foreign(owner: str, given: Mapping[str, Any]) -> None:
    """Accept keywords without effect; refuse all others, with the alternative.

    Raises
        DataError   a keyword of another library's rankers is not None
        TypeError   no ranker has this keyword
    """
    for name, value in given.items():
        if name in OURS and value is not None:
            raise DataError(f"{owner}.fit takes no {name}: {OURS[name]}.")
        if name not in OURS and name not in HARMLESS:
            raise TypeError(f"{owner}.fit() got an unexpected keyword argument {name!r}")
