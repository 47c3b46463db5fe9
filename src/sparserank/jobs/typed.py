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
    from sparserank.penalties import Penalty


class SelectOptions(TypedDict, total=False):
    """Options of `select` by name."""

    scaling: str
    """What features are divided by: within-query-std (their standard deviation within queries), none, min-max,
    standard, log-standard (signed log1p first), query-min-max; learned on training queries. Default
    'within-query-std'."""
    n_alphas: int
    """Points on each path. Default 40."""
    alpha_min_ratio: float
    """Last strength of a path relative to the first. Default 0.01."""
    tol: float
    """KKT violation to reach, relative to alpha_max (of a selection, in its final paths; folds stop at 1e-4).
    Default 1e-06."""
    pair_weights: str
    """pair (every pair counts the same) or query (every query does). Default 'pair'."""
    loss: str | PairwiseLoss
    """squared_hinge, modified_huber, or a loss of your own. Default 'squared_hinge'."""
    feature_transform: str | Sequence[str]
    """How features may enter, the best out of fold: none, log (signed log1p), asinh (of x over its median size),
    query-log (the log, from 0 to 1 within each query), mixed (each as it is or as its log), curves or curves(log)
    (piecewise linear curves, flat outside their knots; their straight models are tried too), or auto: none, log,
    and curves of training data in memory of at most 4 million values, else mixed. Default ('auto',)."""
    n_knots: int
    """Knots of each curve, at quantiles of the training values. Default 10."""
    engine: str | None
    """Engine that is to run the model: solr, elasticsearch, opensearch, vespa, lucene, ranklib, onnx, python, sql.
    Only what it can run is tried. Default None."""
    monotone: Mapping[str, str | int] | None
    """{name: '+'} or {name: '-'}: a larger value of the feature may only raise, or only lower, the score. Default
    None."""
    keep: Sequence[str] | None
    """Names of features that every sparse model uses, whatever they cost (budget counts it). Default None."""
    drop: Sequence[str] | None
    """Names of features that no model may use. Default None."""
    feature_groups: str | os.PathLike | Mapping[str, str] | None
    """Features that are computed together: {feature: group}, or a file of lines feature,group,cost. A group enters
    whole and is paid for once; other features are groups of their own, and a cost that is not given is 1. Default
    None."""
    relaxed: bool
    """Try the models of each size also relaxed: refitted without the sparsity penalty, half-way (0.5) and fully
    (1). Default True."""
    metric_refits: bool
    """Try models of a few sizes also refitted for the metric (ndcg, from 100 training queries on): pairs weighted
    by what they change in it, and small steps that raise it on both halves of the training queries. Default
    False."""
    query_weight: str | os.PathLike | Mapping[Any, float] | Sequence[float] | None
    """Weights >= 0 of the queries of train and validation in the loss: {query id: weight}, one for each query in
    order of first appearance, or a file of lines 'query-id weight'. Queries of weight 0 are left out; metrics count
    the others alike. Default None."""
    doc_weight: Any
    """Weights >= 0 of the training documents, of every pair in which the document is the preferred one, e.g. 1 /
    propensity of its click: an array, a file with one per line of the training files, or a column of a table.
    Metrics do not know them. Default None."""
    report_metrics: Sequence[str | Metric]
    """Further metrics to report. Default ('map', 'ndcg@5')."""
    convention: str
    """Metric convention: default, letor3, letor4, trec, xgboost, lightgbm. Default 'default'."""
    cv: int
    """Folds of the cv protocol. Default 5."""
    random_state: int
    """Seed of the folds. Default 0."""
    guarantee: float | None
    """Instead of margin: take the smallest model that is shown, with confidence, to lose at most this share of the
    best. Default None."""
    confidence: float
    """Of every bound and interval: above 0.5, at most 0.99. Default 0.95."""
    costs: str | os.PathLike | Sequence[float] | Mapping[str, float] | None
    """Costs > 0 of the features: one for each, or a file with one per line; they weight the penalties too. With
    feature_groups {group: cost}. Default None."""
    protocol: str
    """cv (out of fold over the queries of train and validation) or holdout (choice on validation alone). Default
    'cv'."""
    half_samples: int
    """Halves of the queries on which the choice of features is repeated, to say how stable it is; even, 0: none.
    Default 20."""
    current: str | os.PathLike | RankingModel | None
    """What ranks today: a model (file), or the feature that holds its score, which is then left out of the features
    unless keep names it. It moves nothing in the choice; the result says what a change gains and loses, with an
    interval. Default None."""
    rival: str | os.PathLike | None
    """Trees that are trained on the same folds and compared, and move nothing in the choice: auto (LightGBM in two
    settings, where it is installed), none, lightgbm, or a file: a model that LightGBM saved or a file of its
    parameters, whose settings are used. Default 'auto'."""
    rival_time: float
    """Seconds that each of the trees of rival has for all folds; what is not finished by then is left out. Default
    300.0."""
    n_features: int | None
    """Number of features of text, when the files need not show the last one. Default None."""
    missing: str | float | Mapping[Any, str | float] | None
    """What NULL, nan, inf and 1.797e308 become: error, zero, min or median (of the training values; the model
    remembers), query-min, a number, or per feature: '11,12=zero;bm25=min;*=median'. Default error."""
    index_base: int
    """Number of the first feature in files of text, 0 or 1. Default 1."""
    unjudged: str
    """Rows with label -1: error, drop or zero. Default 'error'."""
    feature_names: str | os.PathLike | Sequence[str] | None
    """File with one feature name per line. Default None."""
    docid: Any
    """Column of a table with the document ids; beside an array of features, the ids themselves. Default a text
    column docno, docid or doc_id."""
    feature_columns: Sequence[str] | None
    """Columns of a table that are features, in order. Default every other column."""
    ignore_columns: Sequence[str]
    """Columns of a table that are left out. Default none."""
    sparse: bool | None
    """Keep features of text sparse, or dense. Default whichever is smaller."""
    dtype: Any | None
    """What features are kept in: float32 or float64. Default what the files hold."""
    allow_overlap: bool
    """Accept a query id in two of train, validation and test. Default False."""
    restart: bool
    """Discard what out already holds of other data or options. Default False."""
    client: Any
    """A dask.distributed Client whose workers read the training data: a store on a disk that they all see; anything
    else is written to one in the folder for temporary files (TMPDIR) first. Default None."""


class TreesOptions(TypedDict, total=False):
    """Options of `select_for_trees` by name."""

    feature_transform: str
    """How features enter our path: none, log, asinh, query-log, mixed (each as it is or as its log), or auto: mixed
    where logs differ from the features. Default 'auto'."""
    keep: Sequence[str] | None
    """Names of features that every sparse model uses, whatever they cost (budget counts it). Default None."""
    drop: Sequence[str] | None
    """Names of features that no model may use. Default None."""
    feature_groups: str | os.PathLike | Mapping[str, str] | None
    """Features that are computed together: {feature: group}, or a file of lines feature,group,cost. A group enters
    whole and is paid for once; other features are groups of their own, and a cost that is not given is 1. Default
    None."""
    report_metrics: Sequence[str | Metric]
    """Further metrics to report. Default ('map', 'ndcg@5')."""
    convention: str
    """Metric convention: default, letor3, letor4, trec, xgboost, lightgbm. Default 'default'."""
    cv: int
    """Folds of the cv protocol. Default 5."""
    random_state: int
    """Seed of the folds. Default 0."""
    guarantee: float | None
    """Instead of margin: take the smallest model that is shown, with confidence, to lose at most this share of the
    best. Default None."""
    confidence: float
    """Of every bound and interval: above 0.5, at most 0.99. Default 0.95."""
    costs: str | os.PathLike | Sequence[float] | Mapping[str, float] | None
    """Costs > 0 of the features: one for each, or a file with one per line; they weight the penalties too. With
    feature_groups {group: cost}. Default None."""
    for_model: str | os.PathLike
    """The ranker whose features are chosen: lightgbm, or a file: a model that LightGBM saved or a file of its
    parameters, whose settings are used in place of n_trees, n_leaves and learning_rate. Default 'lightgbm'."""
    n_trees: int
    """Trees of each ensemble of LightGBM. Default 150."""
    n_leaves: int
    """Leaves of each tree. Default 7."""
    learning_rate: float
    """Shrinkage of each tree. Default 0.05."""
    n_seeds: int
    """Seeds of the trees on every list; values are means over them. Default 3."""
    n_features: int | None
    """Number of features of text, when the files need not show the last one. Default None."""
    missing: str | float | Mapping[Any, str | float] | None
    """What NULL, nan, inf and 1.797e308 become: error, zero, min or median (of the training values; the model
    remembers), query-min, a number, or per feature: '11,12=zero;bm25=min;*=median'. Default error."""
    index_base: int
    """Number of the first feature in files of text, 0 or 1. Default 1."""
    unjudged: str
    """Rows with label -1: error, drop or zero. Default 'error'."""
    feature_names: str | os.PathLike | Sequence[str] | None
    """File with one feature name per line. Default None."""
    docid: Any
    """Column of a table with the document ids; beside an array of features, the ids themselves. Default a text
    column docno, docid or doc_id."""
    feature_columns: Sequence[str] | None
    """Columns of a table that are features, in order. Default every other column."""
    ignore_columns: Sequence[str]
    """Columns of a table that are left out. Default none."""
    sparse: bool | None
    """Keep features of text sparse, or dense. Default whichever is smaller."""
    dtype: Any | None
    """What features are kept in: float32 or float64. Default what the files hold."""
    allow_overlap: bool
    """Accept a query id in two of train, validation and test. Default False."""
    restart: bool
    """Discard what out already holds of other data or options. Default False."""


class CompareOptions(TypedDict, total=False):
    """Options of `compare_with_trees` by name."""

    feature_transform: str | Sequence[str]
    """How features may enter, the best out of fold: none, log (signed log1p), asinh (of x over its median size),
    query-log (the log, from 0 to 1 within each query), mixed (each as it is or as its log), curves or curves(log)
    (piecewise linear curves, flat outside their knots; their straight models are tried too), or auto: none, log,
    and curves of training data in memory of at most 4 million values, else mixed. Default ('auto',)."""
    n_knots: int
    """Knots of each curve, at quantiles of the training values. Default 10."""
    sizes: Sequence[int]
    """Numbers of features. Default 1 to 20."""
    cv: int
    """Folds of the cv protocol. Default 5."""
    repeats: int
    """Times that all folds are drawn anew. Default 1."""
    n_seeds: int
    """Seeds of the trees on all features, whose mean is shown. Default 5."""
    random_state: int
    """Seed of the folds. Default 0."""
    n_trees: int
    """Trees of each ensemble of LightGBM. Default 150."""
    n_leaves: int
    """Leaves of each tree. Default 7."""
    convention: str
    """Metric convention: default, letor3, letor4, trec, xgboost, lightgbm. Default 'default'."""
    n_features: int | None
    """Number of features of text, when the files need not show the last one. Default None."""
    missing: str | float | Mapping[Any, str | float] | None
    """What NULL, nan, inf and 1.797e308 become: error, zero, min or median (of the training values; the model
    remembers), query-min, a number, or per feature: '11,12=zero;bm25=min;*=median'. Default error."""
    index_base: int
    """Number of the first feature in files of text, 0 or 1. Default 1."""
    unjudged: str
    """Rows with label -1: error, drop or zero. Default 'error'."""
    feature_names: str | os.PathLike | Sequence[str] | None
    """File with one feature name per line. Default None."""
    docid: Any
    """Column of a table with the document ids; beside an array of features, the ids themselves. Default a text
    column docno, docid or doc_id."""
    feature_columns: Sequence[str] | None
    """Columns of a table that are features, in order. Default every other column."""
    ignore_columns: Sequence[str]
    """Columns of a table that are left out. Default none."""
    sparse: bool | None
    """Keep features of text sparse, or dense. Default whichever is smaller."""
    dtype: Any | None
    """What features are kept in: float32 or float64. Default what the files hold."""
    restart: bool
    """Discard what out already holds of other data or options. Default False."""


class FitOptions(TypedDict, total=False):
    """Options of `fit_model` by name."""

    penalty: str | Penalty | BestK | None
    """l1, l0.5, log, mcp, scad, elastic_net, ridge, best_k (splicing, size by size), or with parameters:
    'mcp(gamma=2.0)'. Default l1, with k mcp."""
    alpha: float | None
    """Strength on the mean-loss scale, for scaled features. Default alpha_ratio times where the path starts."""
    alpha_ratio: float
    """Strength relative to where the penalty's path starts. Default 0.05."""
    k: int | None
    """Take the densest point of the path with at most K features. Default None."""
    scaling: str
    """What features are divided by: within-query-std (their standard deviation within queries), none, min-max,
    standard, log-standard (signed log1p first), query-min-max; learned on training queries. Default
    'within-query-std'."""
    feature_transform: str
    """How features enter: none, log (signed log1p), asinh (of x over its median size), query-log (the log, from 0
    to 1 within each query), or curves, curves(log), ...: each feature, or its log, straight or as a piecewise
    linear curve, flat outside its knots. Default 'none'."""
    n_knots: int
    """Knots of each curve, at quantiles of the training values. Default 10."""
    monotone: Mapping[str, str | int] | None
    """{name: '+'} or {name: '-'}: a larger value of the feature may only raise, or only lower, the score. Default
    None."""
    keep: Sequence[str] | None
    """Names of features that every sparse model uses, whatever they cost (budget counts it). Default None."""
    drop: Sequence[str] | None
    """Names of features that no model may use. Default None."""
    feature_groups: str | os.PathLike | Mapping[str, str] | None
    """Features that are computed together: {feature: group}, or a file of lines feature,group,cost. A group enters
    whole and is paid for once; other features are groups of their own, and a cost that is not given is 1. Default
    None."""
    loss: str | PairwiseLoss
    """squared_hinge, modified_huber, or a loss of your own. Default 'squared_hinge'."""
    tol: float
    """KKT violation to reach, relative to alpha_max (of a selection, in its final paths; folds stop at 1e-4).
    Default 1e-06."""
    n_features: int | None
    """Number of features of text, when the files need not show the last one. Default None."""
    missing: str | float | Mapping[Any, str | float] | None
    """What NULL, nan, inf and 1.797e308 become: error, zero, min or median (of the training values; the model
    remembers), query-min, a number, or per feature: '11,12=zero;bm25=min;*=median'. Default error."""
    index_base: int
    """Number of the first feature in files of text, 0 or 1. Default 1."""
    unjudged: str
    """Rows with label -1: error, drop or zero. Default 'error'."""
    feature_names: str | os.PathLike | Sequence[str] | None
    """File with one feature name per line. Default None."""
    label: Any
    """Column of a table with the labels; beside an array of features, the labels themselves. Default label."""
    qid: Any
    """Column of a table with the query ids; beside an array of features, the ids themselves. Default qid."""
    docid: Any
    """Column of a table with the document ids; beside an array of features, the ids themselves. Default a text
    column docno, docid or doc_id."""
    feature_columns: Sequence[str] | None
    """Columns of a table that are features, in order. Default every other column."""
    ignore_columns: Sequence[str]
    """Columns of a table that are left out. Default none."""
    sparse: bool | None
    """Keep features of text sparse, or dense. Default whichever is smaller."""
    dtype: Any | None
    """What features are kept in: float32 or float64. Default what the files hold."""
    n_threads: int | None
    """Threads; results do not depend on it. Default all cores."""
