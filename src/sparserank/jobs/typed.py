"""The types of options by name.

Written by `make options` from the declarations in jobs/options.py: edit those."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from sparserank.losses import PairwiseLoss
    from sparserank.metrics import Metric
    from sparserank.model.ranking_model import RankingModel
    from sparserank.paths.best_k import BestK
    from sparserank.paths.makers import SizedMaker
    from sparserank.penalties import Penalty


class SelectOptions(TypedDict, total=False):
    """Options of `select` by name."""

    scaling: str
    """Scaling of the features, learned on training queries: within-query-std (by the standard deviation within
    queries), none, min-max, standard, log-standard (signed log1p first) or query-min-max. Default
    'within-query-std'."""
    n_alphas: int
    """Number of regularisation strengths on each path. Default 40."""
    alpha_min_ratio: float
    """Last regularisation strength of a path, as a fraction of the first. Default 0.01."""
    tol: float
    """KKT violation at which the solver stops, relative to alpha_max. In a selection, this applies to the final
    paths; folds stop at 1e-4. Default 1e-06."""
    pair_weights: str
    """Weighting of the loss: pair (all pairs count equally) or query (all queries count equally). Default
    'pair'."""
    loss: str | PairwiseLoss
    """Loss: squared_hinge, modified_huber or a custom PairwiseLoss. Default 'squared_hinge'."""
    feature_transform: str | Sequence[str]
    """Transforms of the features; the best one is chosen out of fold. none; log (signed log1p); asinh (of x divided
    by the median of |x|); mixed (each feature unchanged or as its log); curves or curves(log) (piecewise linear,
    flat outside the knots; models without bends are tried too). auto tries none and curves(log) if the training
    data are in memory and have at most 4 million values, otherwise none and mixed; without logarithms where they do
    not differ from the features. Default ('auto',)."""
    n_knots: int
    """Number of knots of each curve, placed at quantiles of the training values. Default 10."""
    engine: str | None
    """Engine that will run the model: solr, elasticsearch, opensearch, vespa, lucene, ranklib, onnx, python, sql.
    Only models that it can run are tried. Default None."""
    monotone: Mapping[str, str | int] | None
    """{name: '+'} or {name: '-'}: a larger value of the feature may only raise, or only lower, the score. Default
    None."""
    keep: Sequence[str] | None
    """Names of features that every sparse model uses, regardless of their cost, which counts towards budget.
    Default None."""
    drop: Sequence[str] | None
    """Names of features that no model may use. Default None."""
    feature_groups: str | os.PathLike | Mapping[str, str] | None
    """Features that are computed together: {feature: group}, or a file with lines feature,group,cost. A group is
    selected as a whole, and its cost is counted once. Every other feature is a group by itself; a missing cost
    counts as 1. Default None."""
    relaxed: bool
    """Also try relaxed models of each size. They are refitted without the sparsity penalty, either half-way (0.5)
    or fully (1). Default True."""
    query_weight: str | os.PathLike | Mapping[Any, float] | Sequence[float] | None
    """Weights (>= 0) of the training and validation queries in the loss: {query id: weight}, one weight for each
    query in order of first appearance, or a file with lines 'query-id weight'. Queries with weight 0 are left out.
    Metrics weight all other queries equally. Default None."""
    doc_weight: Any
    """Weights >= 0 of the training documents: an array, a file with one weight per line of the training files, or a
    column of a table. Each weight (for example 1 / the propensity of the click) applies to every pair in which the
    document is the preferred one. Metrics ignore the weights. Default None."""
    report_metrics: Sequence[str | Metric]
    """Further metrics to report. Default ('map', 'ndcg@5')."""
    convention: str
    """Metric convention: default, letor3, letor4, trec, xgboost, lightgbm. Default 'default'."""
    cv: int
    """Number of folds of the cv protocol. Default 5."""
    random_state: int
    """Random seed for drawing the folds. Default 0."""
    guarantee: float | None
    """Used instead of margin: choose the smallest model that is shown, with confidence, to lose at most this share
    of the metric of the best model tried. Default None."""
    confidence: float
    """Confidence level of every bound and interval, above 0.5 and at most 0.99. Default 0.95."""
    costs: str | os.PathLike | Sequence[float] | Mapping[str, float] | None
    """Costs > 0 of the features: one cost for each feature, or a file with one cost per line. Costs also weight the
    penalties. With feature_groups, pass a mapping {group: cost}. Default None."""
    protocol: str
    """cv (out of fold on the training and validation queries) or holdout (choice on the validation queries only).
    Default 'cv'."""
    half_samples: int
    """Number of half-samples of the queries on which the selection is repeated to measure its stability. An even
    number; 0 means none. Default 20."""
    current: str | os.PathLike | RankingModel | None
    """The ranker in use: a model (file), or the feature that contains its score. That feature is then left out
    unless keep names it. The choice is not affected; the result reports the gains and losses of switching to the
    chosen model, with an interval. Default None."""
    rival: str | os.PathLike | None
    """Trees that are trained and compared on the same folds, without affecting the choice: auto (LightGBM, if it is
    installed), none, lightgbm, or the path of a saved LightGBM model or of a parameter file, whose settings are
    used. Default 'auto'."""
    rival_time: float
    """Time limit, in seconds, for training each ensemble of rival on all folds. Ensembles that exceed the limit are
    left out. Default 300.0."""
    sizes: Sequence[int] | None
    """Lengths of the feature lists to try with for_model. Default an eighth and a third of the features that may be
    used."""
    n_features: int | None
    """Number of features in text files; needed only if the files may lack the last feature. Default None."""
    missing: str | float | Mapping[Any, str | float] | None
    """Replacement for missing values (NULL, nan, inf and 1.797e308). error; zero; min or median (of the training
    values, stored in the model); query-min; a number; or one per feature, such as '11,12=zero;bm25=min;*=median'.
    Default error."""
    index_base: int
    """Index of the first feature in text files, 0 or 1. Default 1."""
    unjudged: str
    """Treatment of rows with label -1 (unjudged): error, drop or zero. Default 'error'."""
    feature_names: str | os.PathLike | Sequence[str] | None
    """File with one feature name per line. Default None."""
    docid: Any
    """Table column that contains the document ids; with an array of features, the ids themselves. Default a text
    column docno, docid or doc_id."""
    feature_columns: Sequence[str] | None
    """Table columns used as features, in order. Default every other column."""
    ignore_columns: Sequence[str]
    """Table columns to ignore. Default none."""
    sparse: bool | None
    """Store the features of text files as a sparse or as a dense matrix. Default whichever is smaller."""
    dtype: Any | None
    """Data type of the features: float32 or float64. Default as in the files."""
    allow_overlap: bool
    """Accept query ids that occur in more than one of train, validation and test. Default False."""
    restart: bool
    """Discard the results of earlier runs in out with other data or options. Default False."""
    client: Any
    """A dask.distributed Client whose workers read the training data from a store on a disk that all of them can
    access. Other data are first written to a store in the folder for temporary files (TMPDIR). Default None."""


class FitOptions(TypedDict, total=False):
    """Options of `fit_model` by name."""

    penalty: str | Penalty | BestK | None
    """Penalty: l1, l0.5, log, mcp, scad, elastic_net, ridge or best_k (splicing, one size after another).
    Parameters are given in parentheses, as in 'mcp(gamma=2.0)'. Default l1; mcp if k is set."""
    alpha: float | None
    """Regularisation strength. Alpha times the penalty of the scaled features is added to the mean loss. Default
    alpha_ratio times the first strength of the path."""
    alpha_ratio: float
    """Regularisation strength, as a multiple of the first strength of the penalty's path. Default 0.05."""
    k: int | None
    """Choose the densest model of the path with at most K features. Default None."""
    scaling: str
    """Scaling of the features, learned on training queries: within-query-std (by the standard deviation within
    queries), none, min-max, standard, log-standard (signed log1p first) or query-min-max. Default
    'within-query-std'."""
    feature_transform: str
    """Transform of the features. none; log (signed log1p); asinh (of x divided by its median absolute value); or
    curves, curves(log), ... (each feature, or its log, either linear or piecewise linear, flat outside the knots).
    Default 'none'."""
    n_knots: int
    """Number of knots of each curve, placed at quantiles of the training values. Default 10."""
    monotone: Mapping[str, str | int] | None
    """{name: '+'} or {name: '-'}: a larger value of the feature may only raise, or only lower, the score. Default
    None."""
    keep: Sequence[str] | None
    """Names of features that every sparse model uses, regardless of their cost, which counts towards budget.
    Default None."""
    drop: Sequence[str] | None
    """Names of features that no model may use. Default None."""
    feature_groups: str | os.PathLike | Mapping[str, str] | None
    """Features that are computed together: {feature: group}, or a file with lines feature,group,cost. A group is
    selected as a whole, and its cost is counted once. Every other feature is a group by itself; a missing cost
    counts as 1. Default None."""
    loss: str | PairwiseLoss
    """Loss: squared_hinge, modified_huber or a custom PairwiseLoss. Default 'squared_hinge'."""
    tol: float
    """KKT violation at which the solver stops, relative to alpha_max. In a selection, this applies to the final
    paths; folds stop at 1e-4. Default 1e-06."""
    n_features: int | None
    """Number of features in text files; needed only if the files may lack the last feature. Default None."""
    missing: str | float | Mapping[Any, str | float] | None
    """Replacement for missing values (NULL, nan, inf and 1.797e308). error; zero; min or median (of the training
    values, stored in the model); query-min; a number; or one per feature, such as '11,12=zero;bm25=min;*=median'.
    Default error."""
    index_base: int
    """Index of the first feature in text files, 0 or 1. Default 1."""
    unjudged: str
    """Treatment of rows with label -1 (unjudged): error, drop or zero. Default 'error'."""
    feature_names: str | os.PathLike | Sequence[str] | None
    """File with one feature name per line. Default None."""
    label: Any
    """Table column that contains the labels; with an array of features, the labels themselves. Default label."""
    qid: Any
    """Table column that contains the query ids; with an array of features, the ids themselves. Default qid."""
    docid: Any
    """Table column that contains the document ids; with an array of features, the ids themselves. Default a text
    column docno, docid or doc_id."""
    feature_columns: Sequence[str] | None
    """Table columns used as features, in order. Default every other column."""
    ignore_columns: Sequence[str]
    """Table columns to ignore. Default none."""
    sparse: bool | None
    """Store the features of text files as a sparse or as a dense matrix. Default whichever is smaller."""
    dtype: Any | None
    """Data type of the features: float32 or float64. Default as in the files."""
    n_threads: int | None
    """Number of threads; results do not depend on it. Default all cores."""


class FuseOptions(TypedDict, total=False):
    """Options of `fuse` by name."""

    norm: str | Sequence[str]
    """Norms of the lists; the best one is chosen out of fold: minmax, l2, zscore (of scores), rrf or rrf(k=10) (1 /
    (k + rank)), logrank, or returned. auto tries minmax, zscore and rrf; for ranks, rrf, rrf(k=10) and logrank;
    with engine, those that the engine computes. Default ('auto',)."""
    depth: int | None
    """Rank at which every list is cut before it is normalised, in training and in use. Default 100, or the metric's
    cutoff if that is larger; where most retrievers return fewer documents, the median of their median depths, at
    least the cutoff; of a table, its largest rank or longest list."""
    rank_columns: bool
    """Read a table of judged documents instead of runs. Each column is a retriever and contains its ranks, missing
    (NULL) for documents that it did not return. Default False."""
    score_columns: bool
    """Like rank_columns, for a table of scores. Default False."""
    unjudged: str
    """Returned documents without a judgment: zero (not relevant) or skip (left out of the fused lists before they
    are evaluated). Default 'zero'."""
    relevant_from: float
    """Lowest grade of a relevant document in metrics without gains, such as recall@100 and map. Default 1.0."""
    test_qrels: str | os.PathLike | Mapping[Any, Any] | None
    """Judgments of other queries of the same runs, used only for the comparison. Default None."""
    penalties: str | Penalty | SizedMaker | Sequence[str | Penalty | SizedMaker]
    """Penalties to try: l1, l0.5, log, mcp, scad, elastic_net, best_k (splicing, size by size), or with parameters:
    'mcp(gamma=2.0)'. Default ('l1', 'mcp', 'best_k')."""
    sign: str
    """Signs of the weights: positive (which nearly every engine requires) or free. Default 'positive'."""
    relaxed: bool
    """Also try relaxed models of each size. They are refitted without the sparsity penalty, either half-way (0.5)
    or fully (1). Default True."""
    report_metrics: Sequence[str | Metric]
    """Further metrics to report. Default ('map', 'ndcg@5')."""
    convention: str
    """Metric convention: default, letor3, letor4, trec, xgboost, lightgbm. Default 'default'."""
    cv: int
    """Number of folds of the cv protocol. Default 5."""
    random_state: int
    """Random seed for drawing the folds. Default 0."""
    guarantee: float | None
    """Used instead of margin: choose the smallest model that is shown, with confidence, to lose at most this share
    of the metric of the best model tried. Default None."""
    confidence: float
    """Confidence level of every bound and interval, above 0.5 and at most 0.99. Default 0.95."""
    costs: str | os.PathLike | Mapping[str, float] | None
    """Cost > 0 of each retriever, such as milliseconds: {retriever: cost}, or a file of lines 'retriever cost'.
    Default None."""
    cost_rule: str
    """How costs combine: sum (money, work), or max (latency of retrievers that run in parallel). Default 'sum'."""
    half_samples: int
    """Number of half-samples of the queries on which the selection is repeated to measure its stability. An even
    number; 0 means none. Default 20."""
    label: Any
    """Table column that contains the labels; with an array of features, the labels themselves. Default label."""
    qid: Any
    """Table column that contains the query ids; with an array of features, the ids themselves. Default qid."""
    docid: Any
    """Table column that contains the document ids; with an array of features, the ids themselves. Default a text
    column docno, docid or doc_id."""
    restart: bool
    """Discard the results of earlier runs in out with other data or options. Default False."""
