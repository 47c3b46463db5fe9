"""The commands, as Typer reads them.

Written by `make options` from the declarations in cli/declared.py: edit those."""

from pathlib import Path
from typing import Annotated

import typer

from sparserank.cli.given import call

FLAGS = {
    "penalties": "--penalty",
    "feature_transform": "--transform",
    "relaxed": "--relaxed",
    "metric_refits": "--metric-refits",
    "cv": "--folds",
    "random_state": "--seed",
    "label": "--label-column",
    "qid": "--qid-column",
    "docid": "--docid-column",
    "n_threads": "--threads",
    "client": "--scheduler",
    "with_": "--with",
    "sizes": "--size",
    "n_seeds": "--seeds",
    "k": "--k",
    "sparse": "--sparse",
}

Train = Annotated[
    list[Path],
    typer.Argument(
        help="Training files: LETOR text (plain or gzip), Parquet, CSV or Arrow tables, or a folder of Parquet files.",
        show_default=False,
    ),
]
Out = Annotated[
    Path,
    typer.Option(
        "--out", help="Directory for results; the same command goes on there after a kill.", show_default=False
    ),
]
Valid = Annotated[
    list[Path] | None, typer.Option("--valid", help="Validation file; may be repeated.", show_default=False)
]
Test = Annotated[
    list[Path] | None,
    typer.Option("--test", help="Test file; may be repeated. Used for the comparison only.", show_default=False),
]
Penalties = Annotated[
    list[str] | None,
    typer.Option(
        "--penalty",
        help="l1, l0.5, log, mcp, scad, elastic_net, best_k (splicing, size by size), or with "
        "parameters: 'mcp(gamma=2.0)'; may be repeated. \\[default: l1, log, mcp]",
        rich_help_panel="Models",
        show_default=False,
    ),
]
Scaling = Annotated[
    str,
    typer.Option(
        "--scaling",
        help="What features are divided by: within-query-std (their standard deviation within queries), "
        "none, min-max, standard, log-standard (signed log1p first), query-min-max; learned on "
        "training queries.",
        rich_help_panel="Models",
    ),
]
NAlphas = Annotated[int, typer.Option("--n-alphas", help="Points on each path.", rich_help_panel="Models")]
AlphaMinRatio = Annotated[
    float,
    typer.Option("--alpha-min-ratio", help="Last strength of a path relative to the first.", rich_help_panel="Models"),
]
Tol = Annotated[
    float,
    typer.Option(
        "--tol",
        help="KKT violation to reach, relative to alpha_max (of a selection, in its final paths; folds stop at 1e-4).",
        rich_help_panel="Models",
    ),
]
PairWeights = Annotated[
    str,
    typer.Option(
        "--pair-weights",
        help="pair (every pair counts the same) or query (every query does).",
        rich_help_panel="Models",
    ),
]
Loss = Annotated[str, typer.Option("--loss", help="squared_hinge or modified_huber.", rich_help_panel="Models")]
FeatureTransform = Annotated[
    list[str] | None,
    typer.Option(
        "--transform",
        help="How features may enter, the best out of fold: none, log (signed log1p), asinh (of x over "
        "its median size), query-log (the log, from 0 to 1 within each query), mixed (each as it is"
        " or as its log), curves or curves(log) (piecewise linear curves, flat outside their knots;"
        " their straight models are tried too), or auto: none, log, and curves of training data in "
        "memory of at most 4 million values, else mixed; may be repeated. \\[default: auto]",
        rich_help_panel="Models",
        show_default=False,
    ),
]
NKnots = Annotated[
    int,
    typer.Option(
        "--n-knots", help="Knots of each curve, at quantiles of the training values.", rich_help_panel="Models"
    ),
]
Engine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help="Engine that is to run the model: solr, elasticsearch, opensearch, vespa, lucene, ranklib, "
        "onnx, python, sql. Only what it can run is tried.",
        rich_help_panel="Models",
        show_default=False,
    ),
]
Monotone = Annotated[
    list[str] | None,
    typer.Option(
        "--monotone",
        help="NAME=+ or NAME=-: a larger value of the feature may only raise, or only lower, the score; "
        "may be repeated.",
        rich_help_panel="Models",
        show_default=False,
    ),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        help="Feature that every sparse model uses, whatever it costs (--budget counts it); may be repeated.",
        rich_help_panel="Models",
        show_default=False,
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(
        "--drop", help="Feature that no model may use; may be repeated.", rich_help_panel="Models", show_default=False
    ),
]
FeatureGroups = Annotated[
    Path | None,
    typer.Option(
        "--feature-groups",
        help="File of lines feature,group,cost: features that are computed together. A group enters "
        "whole and is paid for once; others are groups of their own, and a cost that is not given "
        "is 1.",
        rich_help_panel="Models",
        show_default=False,
    ),
]
Relaxed = Annotated[
    bool,
    typer.Option(
        "--relaxed/--no-relaxed",
        help="Try the models of each size also relaxed: refitted without the sparsity penalty, half-way "
        "(0.5) and fully (1).",
        rich_help_panel="Models",
    ),
]
MetricRefits = Annotated[
    bool,
    typer.Option(
        "--metric-refits/--no-metric-refits",
        help="Try models of a few sizes also refitted for the metric (ndcg, from 100 training queries "
        "on): pairs weighted by what they change in it, and small steps that raise it on both "
        "halves of the training queries.",
        rich_help_panel="Models",
    ),
]
QueryWeight = Annotated[
    Path | None,
    typer.Option(
        "--query-weight",
        help="File of lines 'query-id weight' (>= 0) for train and validation: weights of queries in the"
        " loss. Queries of weight 0 are left out; metrics count the others alike.",
        rich_help_panel="Models",
        show_default=False,
    ),
]
DocWeight = Annotated[
    str | None,
    typer.Option(
        "--doc-weight",
        help="File with one weight (>= 0) per line of the training files, or column of a table: of every"
        " pair in which the document is the preferred one, e.g. 1 / propensity of its click.",
        rich_help_panel="Models",
        show_default=False,
    ),
]
Metric = Annotated[str, typer.Option("--metric", help="Metric of choice.", rich_help_panel="Choice")]
ReportMetrics = Annotated[
    list[str] | None,
    typer.Option(
        "--report-metrics",
        help="Further metrics to report; may be repeated. \\[default: map, ndcg@5]",
        rich_help_panel="Choice",
        show_default=False,
    ),
]
Convention = Annotated[
    str,
    typer.Option(
        "--convention",
        help="Metric convention: default, letor3, letor4, trec, xgboost, lightgbm.",
        rich_help_panel="Choice",
    ),
]
Cv = Annotated[int, typer.Option("--folds", help="Folds of the cv protocol.", rich_help_panel="Choice")]
RandomState = Annotated[int, typer.Option("--seed", help="Seed of the folds.", rich_help_panel="Choice")]
Margin = Annotated[
    float,
    typer.Option(
        "--margin",
        help="Take the smallest model whose estimated loss against the best of all models tried is at "
        "most this share of it (0.01 is 1%); the bound on the loss is reported beside it.",
        rich_help_panel="Choice",
    ),
]
Guarantee = Annotated[
    float | None,
    typer.Option(
        "--guarantee",
        help="Instead of --margin: take the smallest model that is shown, with --confidence, to lose at "
        "most this share of the best.",
        rich_help_panel="Choice",
        show_default=False,
    ),
]
Confidence = Annotated[
    float,
    typer.Option(
        "--confidence", help="Of every bound and interval: above 0.5, at most 0.99.", rich_help_panel="Choice"
    ),
]
K = Annotated[
    int | None,
    typer.Option(
        "--k", help="Take the best model of at most K features.", rich_help_panel="Choice", show_default=False
    ),
]
Budget = Annotated[
    float | None,
    typer.Option(
        "--budget", help="Take the best model of at most this total cost.", rich_help_panel="Choice", show_default=False
    ),
]
Costs = Annotated[
    Path | None,
    typer.Option(
        "--costs",
        help="File with one feature cost > 0 per line; costs also weight the penalties.",
        rich_help_panel="Choice",
        show_default=False,
    ),
]
Protocol = Annotated[
    str,
    typer.Option(
        "--protocol",
        help="cv (out of fold over the queries of train and validation) or holdout (choice on validation alone).",
        rich_help_panel="Choice",
    ),
]
HalfSamples = Annotated[
    int,
    typer.Option(
        "--half-samples",
        help="Halves of the queries on which the choice of features is repeated, to say how stable it "
        "is; even, 0: none.",
        rich_help_panel="Choice",
    ),
]
Current = Annotated[
    str | None,
    typer.Option(
        "--current",
        help="What ranks today: a model (file), or the feature that holds its score, which is then left "
        "out of the features unless --keep names it. It moves nothing in the choice; the result "
        "says what a change gains and loses, with an interval.",
        rich_help_panel="Choice",
        show_default=False,
    ),
]
Rival = Annotated[
    str,
    typer.Option(
        "--rival",
        help="Trees that are trained on the same folds and compared, and move nothing in the choice: "
        "auto (LightGBM in two settings, where it is installed), none, lightgbm, or a file: a model"
        " that LightGBM saved or a file of its parameters, whose settings are used.",
        rich_help_panel="Choice",
    ),
]
RivalTime = Annotated[
    float,
    typer.Option(
        "--rival-time",
        help="Seconds that each of the trees of --rival has for all folds; what is not finished by then is left out.",
        rich_help_panel="Choice",
    ),
]
NFeatures = Annotated[
    int | None,
    typer.Option(
        "--n-features",
        help="Number of features of text, when the files need not show the last one.",
        rich_help_panel="Reading files",
        show_default=False,
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(
        "--missing",
        help="What NULL, nan, inf and 1.797e308 become: error, zero, min or median (of the training "
        "values; the model remembers), query-min, a number, or per feature: "
        "'11,12=zero;bm25=min;*=median'. \\[default: error]",
        rich_help_panel="Reading files",
        show_default=False,
    ),
]
IndexBase = Annotated[
    int,
    typer.Option(
        "--index-base", help="Number of the first feature in files of text, 0 or 1.", rich_help_panel="Reading files"
    ),
]
Unjudged = Annotated[
    str, typer.Option("--unjudged", help="Rows with label -1: error, drop or zero.", rich_help_panel="Reading files")
]
FeatureNames = Annotated[
    Path | None,
    typer.Option(
        "--feature-names",
        help="File with one feature name per line.",
        rich_help_panel="Reading files",
        show_default=False,
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        "--label-column",
        help="Column of a table with the labels. \\[default: label]",
        rich_help_panel="Reading files",
        show_default=False,
    ),
]
Qid = Annotated[
    str | None,
    typer.Option(
        "--qid-column",
        help="Column of a table with the query ids. \\[default: qid]",
        rich_help_panel="Reading files",
        show_default=False,
    ),
]
Docid = Annotated[
    str | None,
    typer.Option(
        "--docid-column",
        help="Column of a table with the document ids. \\[default: a text column docno, docid or doc_id]",
        rich_help_panel="Reading files",
        show_default=False,
    ),
]
FeatureColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--feature-columns",
        help="Columns of a table that are features: names with commas between them (in double quotes "
        "where a name holds one), or a file with one per line; may be repeated. \\[default: every "
        "other column]",
        rich_help_panel="Reading files",
        show_default=False,
    ),
]
IgnoreColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore-columns",
        help="Columns of a table that are left out: names with commas between them (in double quotes "
        "where a name holds one); may be repeated. \\[default: none]",
        rich_help_panel="Reading files",
        show_default=False,
    ),
]
AllowOverlap = Annotated[
    bool,
    typer.Option(
        "--allow-overlap",
        help="Accept a query id in two of train, validation and test.",
        rich_help_panel="Reading files",
    ),
]
Restart = Annotated[bool, typer.Option("--restart", help="Discard what --out already holds of other data or options.")]
NThreads = Annotated[
    int | None,
    typer.Option("--threads", help="Threads; results do not depend on it. \\[default: all cores]", show_default=False),
]
Client = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        help="Address of a Dask scheduler whose workers read the training data, e.g. tcp://host:8786.",
        show_default=False,
    ),
]
ForModel = Annotated[
    str | None,
    typer.Option(
        "--for-model",
        help="Choose features for this ranker: lightgbm, or a file: a model that LightGBM saved or a "
        "file of its parameters, whose settings are used. The result is the shortest list of "
        "features on which it ranks as well as on the best that was tried, among lists of ours, of "
        "its own gain and of SHAP values; needs sparserank\\[trees].",
        rich_help_panel="Trees",
        show_default=False,
    ),
]
NTrees = Annotated[int, typer.Option("--n-trees", help="Trees of each ensemble of LightGBM.", rich_help_panel="Trees")]
NLeaves = Annotated[int, typer.Option("--n-leaves", help="Leaves of each tree.", rich_help_panel="Trees")]
With = Annotated[str, typer.Option("--with", help="The tree ranker: lightgbm.", rich_help_panel="Trees")]
Sizes = Annotated[
    list[int] | None,
    typer.Option(
        "--size",
        help="Numbers of features; may be repeated. \\[default: 1 to 20]",
        rich_help_panel="Trees",
        show_default=False,
    ),
]
Repeats = Annotated[
    int, typer.Option("--repeats", help="Times that all folds are drawn anew.", rich_help_panel="Choice")
]
NSeeds = Annotated[
    int,
    typer.Option("--seeds", help="Seeds of the trees on all features, whose mean is shown.", rich_help_panel="Trees"),
]
Out2 = Annotated[Path, typer.Option("--out", help="Model file to write (JSON).", show_default=False)]
Penalty = Annotated[
    str | None,
    typer.Option(
        "--penalty",
        help="l1, l0.5, log, mcp, scad, elastic_net, ridge, best_k (splicing, size by size), or with "
        "parameters: 'mcp(gamma=2.0)'. \\[default: l1, with --k mcp]",
        rich_help_panel="Models",
        show_default=False,
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option(
        "--alpha",
        help="Strength on the mean-loss scale, for scaled features. \\[default: --alpha-ratio times where"
        " the path starts]",
        rich_help_panel="Models",
        show_default=False,
    ),
]
AlphaRatio = Annotated[
    float,
    typer.Option(
        "--alpha-ratio", help="Strength relative to where the penalty's path starts.", rich_help_panel="Models"
    ),
]
K2 = Annotated[
    int | None,
    typer.Option(
        "--k",
        help="Take the densest point of the path with at most K features.",
        rich_help_panel="Models",
        show_default=False,
    ),
]
FeatureTransform2 = Annotated[
    str,
    typer.Option(
        "--transform",
        help="How features enter: none, log (signed log1p), asinh (of x over its median size), query-log"
        " (the log, from 0 to 1 within each query), or curves, curves(log), ...: each feature, or "
        "its log, straight or as a piecewise linear curve, flat outside its knots.",
        rich_help_panel="Models",
    ),
]
Files = Annotated[
    list[Path], typer.Argument(help="Files of one kind, then the store (or file) to write.", show_default=False)
]
Dtype = Annotated[
    str | None,
    typer.Option(
        "--dtype",
        help="What features are kept in: float32 or float64. \\[default: float32; that of a store that is read]",
        rich_help_panel="Reading files",
        show_default=False,
    ),
]
Sparse = Annotated[
    bool | None,
    typer.Option(
        "--sparse/--dense",
        help="Keep features of text sparse, or dense. \\[default: whichever is smaller]",
        rich_help_panel="Reading files",
        show_default=False,
    ),
]
ShardMb = Annotated[int, typer.Option("--shard-mb", help="Megabytes of features per shard.")]
DocWeight2 = Annotated[
    str | None,
    typer.Option(
        "--doc-weight",
        help="Column of a table with the weights of documents.",
        rich_help_panel="Reading files",
        show_default=False,
    ),
]
Like = Annotated[
    Path | None,
    typer.Option(
        "--like",
        help="Store of the training data: its features in their order, and its values for missing ones.",
        show_default=False,
    ),
]
Restart2 = Annotated[bool, typer.Option("--restart", help="Discard what OUT already holds.")]
Model = Annotated[Path, typer.Argument(help="Model file of select or fit.", show_default=False)]
Data = Annotated[list[Path], typer.Argument(help="Files to score: LETOR text or tables.", show_default=False)]
Out3 = Annotated[
    Path | None, typer.Option("--out", help="File for the scores; default standard output.", show_default=False)
]
Run = Annotated[
    Path | None,
    typer.Option("--run", help="Write a TREC run (qid Q0 docno rank score tag) instead.", show_default=False),
]
Qrels = Annotated[
    Path | None,
    typer.Option(
        "--qrels", help="Write the judgments of the documents as TREC qrels (qid 0 docno rel) too.", show_default=False
    ),
]
Missing2 = Annotated[
    str | None,
    typer.Option(
        "--missing",
        help="What NULL, nan, inf and 1.797e308 become: what training said, else error; model (the "
        "training median that the model holds), zero, query-min, a number, or per feature: "
        "'11,12=zero;bm25=3'. \\[default: what training said, else error]",
        rich_help_panel="Reading files",
        show_default=False,
    ),
]
Data2 = Annotated[list[Path] | None, typer.Argument(help="LETOR files or tables with judgments.", show_default=False)]
System = Annotated[
    list[Path], typer.Option("--system", help="Model, TREC run or score file; may be repeated.", show_default=False)
]
Qrels2 = Annotated[Path | None, typer.Option("--qrels", help="TREC judgments instead, for runs.", show_default=False)]
Metric2 = Annotated[
    list[str] | None,
    typer.Option("--metric", help="Metric; may be repeated. \\[default: ndcg@10, map]", show_default=False),
]
Convention2 = Annotated[
    str | None,
    typer.Option(
        "--convention",
        help="Metric convention: default, letor3, letor4, trec, xgboost, lightgbm. \\[default: default; "
        "trec with --qrels]",
        show_default=False,
    ),
]
Files2 = Annotated[
    list[Path], typer.Argument(help="Data files (read as one set), a store, or one model file.", show_default=False)
]
Verify = Annotated[bool, typer.Option("--verify", help="Read a store whole and compare every checksum.")]
Data3 = Annotated[list[Path], typer.Argument(help="Files with the query.", show_default=False)]
Query = Annotated[str, typer.Option("--query", help="Id of the query.", show_default=False)]
Pair = Annotated[
    list[str] | None,
    typer.Option(
        "--pair",
        help="A document of it, by its id; given twice: why the first is above the second.",
        show_default=False,
    ),
]
Most = Annotated[int, typer.Option("--most", help="Documents that are shown, best first.")]


def select(
    context: typer.Context,
    train: Train,
    out: Out,
    valid: Valid = None,
    test: Test = None,
    penalties: Penalties = None,
    scaling: Scaling = "within-query-std",
    n_alphas: NAlphas = 40,
    alpha_min_ratio: AlphaMinRatio = 0.01,
    tol: Tol = 1e-06,
    pair_weights: PairWeights = "pair",
    loss: Loss = "squared_hinge",
    feature_transform: FeatureTransform = None,
    n_knots: NKnots = 10,
    engine: Engine = None,
    monotone: Monotone = None,
    keep: Keep = None,
    drop: Drop = None,
    feature_groups: FeatureGroups = None,
    relaxed: Relaxed = True,
    metric_refits: MetricRefits = False,
    query_weight: QueryWeight = None,
    doc_weight: DocWeight = None,
    metric: Metric = "ndcg@10",
    report_metrics: ReportMetrics = None,
    convention: Convention = "default",
    cv: Cv = 5,
    random_state: RandomState = 0,
    margin: Margin = 0.01,
    guarantee: Guarantee = None,
    confidence: Confidence = 0.95,
    k: K = None,
    budget: Budget = None,
    costs: Costs = None,
    protocol: Protocol = "cv",
    half_samples: HalfSamples = 20,
    current: Current = None,
    rival: Rival = "auto",
    rival_time: RivalTime = 300.0,
    n_features: NFeatures = None,
    missing: Missing = None,
    index_base: IndexBase = 1,
    unjudged: Unjudged = "error",
    feature_names: FeatureNames = None,
    label: Label = None,
    qid: Qid = None,
    docid: Docid = None,
    feature_columns: FeatureColumns = None,
    ignore_columns: IgnoreColumns = None,
    allow_overlap: AllowOverlap = False,
    restart: Restart = False,
    n_threads: NThreads = None,
    client: Client = None,
    for_model: ForModel = None,
    n_trees: NTrees = 150,
    n_leaves: NLeaves = 7,
) -> None:
    call("select", context, locals())


def compare(
    context: typer.Context,
    data: Train,
    out: Out,
    with_: With = "lightgbm",
    penalties: Penalties = None,
    feature_transform: FeatureTransform = None,
    n_knots: NKnots = 10,
    sizes: Sizes = None,
    cv: Cv = 5,
    repeats: Repeats = 1,
    n_seeds: NSeeds = 5,
    random_state: RandomState = 0,
    n_trees: NTrees = 150,
    n_leaves: NLeaves = 7,
    metric: Metric = "ndcg@10",
    convention: Convention = "default",
    n_features: NFeatures = None,
    missing: Missing = None,
    index_base: IndexBase = 1,
    unjudged: Unjudged = "error",
    feature_names: FeatureNames = None,
    label: Label = None,
    qid: Qid = None,
    docid: Docid = None,
    feature_columns: FeatureColumns = None,
    ignore_columns: IgnoreColumns = None,
    restart: Restart = False,
    n_threads: NThreads = None,
) -> None:
    call("compare", context, locals())


def fit(
    context: typer.Context,
    train: Train,
    out: Out2,
    penalty: Penalty = None,
    alpha: Alpha = None,
    alpha_ratio: AlphaRatio = 0.05,
    k: K2 = None,
    scaling: Scaling = "within-query-std",
    feature_transform: FeatureTransform2 = "none",
    n_knots: NKnots = 10,
    monotone: Monotone = None,
    keep: Keep = None,
    drop: Drop = None,
    feature_groups: FeatureGroups = None,
    loss: Loss = "squared_hinge",
    tol: Tol = 1e-06,
    n_features: NFeatures = None,
    missing: Missing = None,
    index_base: IndexBase = 1,
    unjudged: Unjudged = "error",
    feature_names: FeatureNames = None,
    label: Label = None,
    qid: Qid = None,
    docid: Docid = None,
    feature_columns: FeatureColumns = None,
    ignore_columns: IgnoreColumns = None,
    n_threads: NThreads = None,
    client: Client = None,
) -> None:
    call("fit", context, locals())


def convert(
    context: typer.Context,
    files: Files,
    dtype: Dtype = None,
    sparse: Sparse = None,
    shard_mb: ShardMb = 128,
    doc_weight: DocWeight2 = None,
    n_features: NFeatures = None,
    missing: Missing = None,
    index_base: IndexBase = 1,
    unjudged: Unjudged = "error",
    feature_names: FeatureNames = None,
    label: Label = None,
    qid: Qid = None,
    docid: Docid = None,
    feature_columns: FeatureColumns = None,
    ignore_columns: IgnoreColumns = None,
    like: Like = None,
    restart: Restart2 = False,
    n_threads: NThreads = None,
) -> None:
    call("convert", context, locals())


def predict(
    context: typer.Context,
    model: Model,
    data: Data,
    out: Out3 = None,
    run: Run = None,
    qrels: Qrels = None,
    missing: Missing2 = None,
    index_base: IndexBase = 1,
    unjudged: Unjudged = "zero",
    label: Label = None,
    qid: Qid = None,
    docid: Docid = None,
    feature_columns: FeatureColumns = None,
    ignore_columns: IgnoreColumns = None,
) -> None:
    call("predict", context, locals())


def evaluate(
    context: typer.Context,
    system: System,
    data: Data2 = None,
    qrels: Qrels2 = None,
    metric: Metric2 = None,
    convention: Convention2 = None,
    n_features: NFeatures = None,
    missing: Missing2 = None,
    index_base: IndexBase = 1,
    unjudged: Unjudged = "error",
    label: Label = None,
    qid: Qid = None,
    docid: Docid = None,
    feature_columns: FeatureColumns = None,
    ignore_columns: IgnoreColumns = None,
) -> None:
    call("evaluate", context, locals())


def inspect(
    context: typer.Context,
    files: Files2,
    n_features: NFeatures = None,
    missing: Missing = None,
    index_base: IndexBase = 1,
    unjudged: Unjudged = "error",
    feature_names: FeatureNames = None,
    label: Label = None,
    qid: Qid = None,
    docid: Docid = None,
    feature_columns: FeatureColumns = None,
    ignore_columns: IgnoreColumns = None,
    verify: Verify = False,
) -> None:
    call("inspect", context, locals())


def explain(
    context: typer.Context,
    model: Model,
    data: Data3,
    query: Query,
    pair: Pair = None,
    most: Most = 10,
    missing: Missing2 = None,
    index_base: IndexBase = 1,
    unjudged: Unjudged = "zero",
    label: Label = None,
    qid: Qid = None,
    docid: Docid = None,
    feature_columns: FeatureColumns = None,
    ignore_columns: IgnoreColumns = None,
) -> None:
    call("explain", context, locals())
