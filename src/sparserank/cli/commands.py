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
    "cv": "--folds",
    "random_state": "--seed",
    "sizes": "--size",
    "label": "--label-column",
    "qid": "--qid-column",
    "docid": "--docid-column",
    "n_threads": "--threads",
    "client": "--scheduler",
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
        "--out", help="Directory for results. If the command is killed, run it again to resume.", show_default=False
    ),
]
Valid = Annotated[
    list[Path] | None, typer.Option("--valid", help="Validation file; may be repeated.", show_default=False)
]
Test = Annotated[
    list[Path] | None,
    typer.Option("--test", help="Test file, used only for the comparison; may be repeated.", show_default=False),
]
Penalties = Annotated[
    list[str] | None,
    typer.Option(
        "--penalty",
        help="Penalties to try: l1, l0.5, log, mcp, scad, elastic_net, best_k (splicing, size by size), "
        "or with parameters: 'mcp(gamma=2.0)'; may be repeated. \\[default: l1, mcp]",
        rich_help_panel="Models",
        show_default=False,
    ),
]
Scaling = Annotated[
    str,
    typer.Option(
        "--scaling",
        help="Scaling of the features, learned on training queries: within-query-std (by the standard "
        "deviation within queries), none, min-max, standard, log-standard (signed log1p first) or "
        "query-min-max.",
        rich_help_panel="Models",
    ),
]
NAlphas = Annotated[
    int, typer.Option("--n-alphas", help="Number of regularisation strengths on each path.", rich_help_panel="Models")
]
AlphaMinRatio = Annotated[
    float,
    typer.Option(
        "--alpha-min-ratio",
        help="Last regularisation strength of a path, as a fraction of the first.",
        rich_help_panel="Models",
    ),
]
Tol = Annotated[
    float,
    typer.Option(
        "--tol",
        help="KKT violation at which the solver stops, relative to alpha_max. In a selection, this "
        "applies to the final paths; folds stop at 1e-4.",
        rich_help_panel="Models",
    ),
]
PairWeights = Annotated[
    str,
    typer.Option(
        "--pair-weights",
        help="Weighting of the loss: pair (all pairs count equally) or query (all queries count equally).",
        rich_help_panel="Models",
    ),
]
Loss = Annotated[str, typer.Option("--loss", help="Loss: squared_hinge or modified_huber.", rich_help_panel="Models")]
FeatureTransform = Annotated[
    list[str] | None,
    typer.Option(
        "--transform",
        help="Transforms of the features; the best one is chosen out of fold. none; log (signed log1p); "
        "asinh (of x divided by the median of |x|); mixed (each feature unchanged or as its log); "
        "curves or curves(log) (piecewise linear, flat outside the knots; models without bends are "
        "tried too). auto tries none and curves(log) if the training data are in memory and have at"
        " most 4 million values, otherwise none and mixed; without logarithms where they do not "
        "differ from the features; may be repeated. \\[default: auto]",
        rich_help_panel="Models",
        show_default=False,
    ),
]
NKnots = Annotated[
    int,
    typer.Option(
        "--n-knots",
        help="Number of knots of each curve, placed at quantiles of the training values.",
        rich_help_panel="Models",
    ),
]
Engine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help="Engine that will run the model: solr, elasticsearch, opensearch, vespa, lucene, ranklib, "
        "onnx, python, sql. Only models that it can run are tried.",
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
        help="Feature that every sparse model uses, regardless of its cost, which counts towards "
        "--budget; may be repeated.",
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
        help="File with lines feature,group,cost, which groups the features that are computed together. "
        "A group is selected as a whole, and its cost is counted once. Every other feature is a "
        "group by itself; a missing cost counts as 1.",
        rich_help_panel="Models",
        show_default=False,
    ),
]
Relaxed = Annotated[
    bool,
    typer.Option(
        "--relaxed/--no-relaxed",
        help="Also try relaxed models of each size. They are refitted without the sparsity penalty, "
        "either half-way (0.5) or fully (1).",
        rich_help_panel="Models",
    ),
]
QueryWeight = Annotated[
    Path | None,
    typer.Option(
        "--query-weight",
        help="File with lines 'query-id weight': the weights (>= 0) of the training and validation "
        "queries in the loss. Queries with weight 0 are left out. Metrics weight all other queries "
        "equally.",
        rich_help_panel="Models",
        show_default=False,
    ),
]
DocWeight = Annotated[
    str | None,
    typer.Option(
        "--doc-weight",
        help="File with one weight (>= 0) for each line of the training files, or the name of a table "
        "column. The weight (for example 1 / the propensity of the click) applies to every pair in "
        "which the document is the preferred one.",
        rich_help_panel="Models",
        show_default=False,
    ),
]
Metric = Annotated[str, typer.Option("--metric", help="Metric for choosing models.", rich_help_panel="Choice")]
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
Cv = Annotated[int, typer.Option("--folds", help="Number of folds of the cv protocol.", rich_help_panel="Choice")]
RandomState = Annotated[
    int, typer.Option("--seed", help="Random seed for drawing the folds.", rich_help_panel="Choice")
]
Margin = Annotated[
    float,
    typer.Option(
        "--margin",
        help="Choose the smallest model whose estimated loss is at most this share of the metric of the "
        "best model tried (0.01 is 1%). The bound on the loss is also reported.",
        rich_help_panel="Choice",
    ),
]
Guarantee = Annotated[
    float | None,
    typer.Option(
        "--guarantee",
        help="Used instead of --margin: choose the smallest model that is shown, with --confidence, to "
        "lose at most this share of the metric of the best model tried.",
        rich_help_panel="Choice",
        show_default=False,
    ),
]
Confidence = Annotated[
    float,
    typer.Option(
        "--confidence",
        help="Confidence level of every bound and interval, above 0.5 and at most 0.99.",
        rich_help_panel="Choice",
    ),
]
K = Annotated[
    int | None,
    typer.Option(
        "--k", help="Choose the best model with at most K features.", rich_help_panel="Choice", show_default=False
    ),
]
Budget = Annotated[
    float | None,
    typer.Option(
        "--budget",
        help="Choose the best model with at most this total cost.",
        rich_help_panel="Choice",
        show_default=False,
    ),
]
Costs = Annotated[
    Path | None,
    typer.Option(
        "--costs",
        help="File with one feature cost (> 0) per line; costs also weight the penalties.",
        rich_help_panel="Choice",
        show_default=False,
    ),
]
Protocol = Annotated[
    str,
    typer.Option(
        "--protocol",
        help="cv (out of fold on the training and validation queries) or holdout (choice on the "
        "validation queries only).",
        rich_help_panel="Choice",
    ),
]
HalfSamples = Annotated[
    int,
    typer.Option(
        "--half-samples",
        help="Number of half-samples of the queries on which the selection is repeated to measure its "
        "stability. An even number; 0 means none.",
        rich_help_panel="Choice",
    ),
]
Current = Annotated[
    str | None,
    typer.Option(
        "--current",
        help="The ranker in use: a model (file), or the feature that contains its score. That feature is"
        " then left out unless --keep names it. The choice is not affected; the result reports the "
        "gains and losses of switching to the chosen model, with an interval.",
        rich_help_panel="Choice",
        show_default=False,
    ),
]
Rival = Annotated[
    str,
    typer.Option(
        "--rival",
        help="Trees that are trained and compared on the same folds, without affecting the choice: auto "
        "(LightGBM, if it is installed), none, lightgbm, or the path of a saved LightGBM model or "
        "of a parameter file, whose settings are used.",
        rich_help_panel="Choice",
    ),
]
RivalTime = Annotated[
    float,
    typer.Option(
        "--rival-time",
        help="Time limit, in seconds, for training each ensemble of --rival on all folds. Ensembles that"
        " exceed the limit are left out.",
        rich_help_panel="Choice",
    ),
]
ForModel = Annotated[
    str | None,
    typer.Option(
        "--for-model",
        help="Choose features for this ranker: lightgbm, or the path of a saved LightGBM model or of a "
        "parameter file, whose settings are used. The result is the shortest list on which the "
        "ranker ranks as well as on the best list tried. Lists come from the path of one penalty "
        "(mcp) and from the gain of the trees. This needs sparserank\\[trees].",
        rich_help_panel="Trees",
        show_default=False,
    ),
]
Sizes = Annotated[
    list[int] | None,
    typer.Option(
        "--size",
        help="Lengths of the feature lists to try with --for-model; may be repeated. \\[default: an "
        "eighth and a third of the features that may be used]",
        rich_help_panel="Trees",
        show_default=False,
    ),
]
NFeatures = Annotated[
    int | None,
    typer.Option(
        "--n-features",
        help="Number of features in text files; needed only if the files may lack the last feature.",
        rich_help_panel="Reading files",
        show_default=False,
    ),
]
Missing = Annotated[
    str | None,
    typer.Option(
        "--missing",
        help="Replacement for missing values (NULL, nan, inf and 1.797e308). error; zero; min or median "
        "(of the training values, stored in the model); query-min; a number; or one per feature, "
        "such as '11,12=zero;bm25=min;*=median'. \\[default: error]",
        rich_help_panel="Reading files",
        show_default=False,
    ),
]
IndexBase = Annotated[
    int,
    typer.Option(
        "--index-base", help="Index of the first feature in text files, 0 or 1.", rich_help_panel="Reading files"
    ),
]
Unjudged = Annotated[
    str,
    typer.Option(
        "--unjudged",
        help="Treatment of rows with label -1 (unjudged): error, drop or zero.",
        rich_help_panel="Reading files",
    ),
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
        help="Table column that contains the labels. \\[default: label]",
        rich_help_panel="Reading files",
        show_default=False,
    ),
]
Qid = Annotated[
    str | None,
    typer.Option(
        "--qid-column",
        help="Table column that contains the query ids. \\[default: qid]",
        rich_help_panel="Reading files",
        show_default=False,
    ),
]
Docid = Annotated[
    str | None,
    typer.Option(
        "--docid-column",
        help="Table column that contains the document ids. \\[default: a text column docno, docid or doc_id]",
        rich_help_panel="Reading files",
        show_default=False,
    ),
]
FeatureColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--feature-columns",
        help="Table columns used as features: comma-separated names (in double quotes if a name contains"
        " a comma), or a file with one name per line; may be repeated. \\[default: every other "
        "column]",
        rich_help_panel="Reading files",
        show_default=False,
    ),
]
IgnoreColumns = Annotated[
    list[str] | None,
    typer.Option(
        "--ignore-columns",
        help="Table columns to ignore: comma-separated names (in double quotes if a name contains a "
        "comma); may be repeated. \\[default: none]",
        rich_help_panel="Reading files",
        show_default=False,
    ),
]
AllowOverlap = Annotated[
    bool,
    typer.Option(
        "--allow-overlap",
        help="Accept query ids that occur in more than one of train, validation and test.",
        rich_help_panel="Reading files",
    ),
]
Restart = Annotated[
    bool, typer.Option("--restart", help="Discard the results of earlier runs in --out with other data or options.")
]
NThreads = Annotated[
    int | None,
    typer.Option(
        "--threads", help="Number of threads; results do not depend on it. \\[default: all cores]", show_default=False
    ),
]
Client = Annotated[
    str | None,
    typer.Option(
        "--scheduler",
        help="Address of a Dask scheduler whose workers read the training data, e.g. tcp://host:8786.",
        show_default=False,
    ),
]
Runs = Annotated[
    list[Path],
    typer.Argument(
        help="Runs, one of each retriever: TREC runs (plain or gzip), JSON, Parquet or CSV files. A "
        "retriever is named after its file, or by NAME=FILE.",
        show_default=False,
    ),
]
Qrels = Annotated[
    Path | None, typer.Option("--qrels", help="Judgments in TREC format (qid 0 docno rel).", show_default=False)
]
Norm = Annotated[
    list[str] | None,
    typer.Option(
        "--norm",
        help="Norms of the lists; the best one is chosen out of fold: minmax, l2, zscore (of scores), "
        "rrf or rrf(k=10) (1 / (k + rank)), logrank, or returned. auto tries minmax, zscore and "
        "rrf; for ranks, rrf, rrf(k=10) and logrank; with --engine, those that the engine computes;"
        " may be repeated. \\[default: auto]",
        rich_help_panel="Runs",
        show_default=False,
    ),
]
Depth = Annotated[
    int | None,
    typer.Option(
        "--depth",
        help="Rank at which every list is cut before it is normalised, in training and in use. "
        "\\[default: 100, or the metric's cutoff if that is larger; where most retrievers return "
        "fewer documents, the median of their median depths, at least the cutoff; of a table, its "
        "largest rank or longest list]",
        rich_help_panel="Runs",
        show_default=False,
    ),
]
RankColumns = Annotated[
    bool,
    typer.Option(
        "--rank-columns",
        help="Read a table of judged documents instead of runs. Each column is a retriever and contains "
        "its ranks, missing (NULL) for documents that it did not return.",
        rich_help_panel="Runs",
    ),
]
ScoreColumns = Annotated[
    bool, typer.Option("--score-columns", help="Like --rank-columns, for a table of scores.", rich_help_panel="Runs")
]
Unjudged2 = Annotated[
    str,
    typer.Option(
        "--unjudged",
        help="Returned documents without a judgment: zero (not relevant) or skip (left out of the fused "
        "lists before they are evaluated).",
        rich_help_panel="Judgments",
    ),
]
RelevantFrom = Annotated[
    float,
    typer.Option(
        "--relevant-from",
        help="Lowest grade of a relevant document in metrics without gains, such as recall@100 and map.",
        rich_help_panel="Judgments",
    ),
]
TestQrels = Annotated[
    Path | None,
    typer.Option(
        "--test-qrels",
        help="Judgments of other queries of the same runs, used only for the comparison.",
        rich_help_panel="Judgments",
        show_default=False,
    ),
]
Penalties2 = Annotated[
    list[str] | None,
    typer.Option(
        "--penalty",
        help="Penalties to try: l1, l0.5, log, mcp, scad, elastic_net, best_k (splicing, size by size), "
        "or with parameters: 'mcp(gamma=2.0)'; may be repeated. \\[default: l1, mcp, best_k]",
        rich_help_panel="Models",
        show_default=False,
    ),
]
Sign = Annotated[
    str,
    typer.Option(
        "--sign",
        help="Signs of the weights: positive (which nearly every engine requires) or free.",
        rich_help_panel="Models",
    ),
]
K2 = Annotated[
    int | None,
    typer.Option(
        "--k", help="Choose the best model with at most K retrievers.", rich_help_panel="Choice", show_default=False
    ),
]
Costs2 = Annotated[
    Path | None,
    typer.Option(
        "--costs",
        help="File of lines 'retriever cost': the cost > 0 of each retriever, such as milliseconds.",
        rich_help_panel="Choice",
        show_default=False,
    ),
]
CostRule = Annotated[
    str,
    typer.Option(
        "--cost-rule",
        help="How costs combine: sum (money, work), or max (latency of retrievers that run in parallel).",
        rich_help_panel="Choice",
    ),
]
Engine2 = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help="Engine that will fuse: only formulas that it can compute are tried, by its rules. One of "
        "elasticsearch, opensearch, vespa, qdrant, ranx, pyterrier, python, sql.",
        rich_help_panel="Choice",
        show_default=False,
    ),
]
Out2 = Annotated[Path, typer.Option("--out", help="Model file to write (JSON).", show_default=False)]
Penalty = Annotated[
    str | None,
    typer.Option(
        "--penalty",
        help="Penalty: l1, l0.5, log, mcp, scad, elastic_net, ridge or best_k (splicing, one size after "
        "another). Parameters are given in parentheses, as in 'mcp(gamma=2.0)'. \\[default: l1; mcp "
        "if --k is set]",
        rich_help_panel="Models",
        show_default=False,
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option(
        "--alpha",
        help="Regularisation strength. Alpha times the penalty of the scaled features is added to the "
        "mean loss. \\[default: --alpha-ratio times the first strength of the path]",
        rich_help_panel="Models",
        show_default=False,
    ),
]
AlphaRatio = Annotated[
    float,
    typer.Option(
        "--alpha-ratio",
        help="Regularisation strength, as a multiple of the first strength of the penalty's path.",
        rich_help_panel="Models",
    ),
]
K3 = Annotated[
    int | None,
    typer.Option(
        "--k",
        help="Choose the densest model of the path with at most K features.",
        rich_help_panel="Models",
        show_default=False,
    ),
]
FeatureTransform2 = Annotated[
    str,
    typer.Option(
        "--transform",
        help="Transform of the features. none; log (signed log1p); asinh (of x divided by its median "
        "absolute value); or curves, curves(log), ... (each feature, or its log, either linear or "
        "piecewise linear, flat outside the knots).",
        rich_help_panel="Models",
    ),
]
Files = Annotated[
    list[Path],
    typer.Argument(
        help="Input files, all of the same kind, followed by the store (or file) to write.", show_default=False
    ),
]
Dtype = Annotated[
    str | None,
    typer.Option(
        "--dtype",
        help="Data type of the features: float32 or float64. \\[default: float32; for a store, its dtype]",
        rich_help_panel="Reading files",
        show_default=False,
    ),
]
Sparse = Annotated[
    bool | None,
    typer.Option(
        "--sparse/--dense",
        help="Store the features of text files as a sparse or as a dense matrix. \\[default: whichever is smaller]",
        rich_help_panel="Reading files",
        show_default=False,
    ),
]
ShardMb = Annotated[int, typer.Option("--shard-mb", help="Megabytes of features per shard.")]
DocWeight2 = Annotated[
    str | None,
    typer.Option(
        "--doc-weight",
        help="Table column with the document weights.",
        rich_help_panel="Reading files",
        show_default=False,
    ),
]
Like = Annotated[
    Path | None,
    typer.Option(
        "--like",
        help="Store of the training data; its feature order and missing-value replacements are used.",
        show_default=False,
    ),
]
Restart2 = Annotated[bool, typer.Option("--restart", help="Discard the existing contents of OUT.")]
Model = Annotated[Path, typer.Argument(help="Model file of select or fit.", show_default=False)]
Data = Annotated[list[Path], typer.Argument(help="Files to score: LETOR text or tables.", show_default=False)]
K4 = Annotated[
    int | None,
    typer.Option(
        "--k",
        help="For a run directory: use its model with K features or, if there is none, the best smaller model.",
        show_default=False,
    ),
]
Out3 = Annotated[
    Path | None, typer.Option("--out", help="File for the scores; standard output by default.", show_default=False)
]
Run = Annotated[
    Path | None,
    typer.Option("--run", help="Write a TREC run (qid Q0 docno rank score tag) instead of scores.", show_default=False),
]
Qrels2 = Annotated[
    Path | None,
    typer.Option("--qrels", help="Also write the judgments as TREC qrels (qid 0 docno rel).", show_default=False),
]
Missing2 = Annotated[
    str | None,
    typer.Option(
        "--missing",
        help="Replacement for NULL, nan, inf and 1.797e308: model (the training median stored in the "
        "model), zero, query-min, a number, or one replacement per feature ('11,12=zero;bm25=3'). "
        "\\[default: as in training, otherwise an error]",
        rich_help_panel="Reading files",
        show_default=False,
    ),
]
Data2 = Annotated[list[Path] | None, typer.Argument(help="LETOR files or tables with judgments.", show_default=False)]
System = Annotated[
    list[Path],
    typer.Option(
        "--system",
        help="Model (ours or LightGBM's), run (TREC, JSON, Parquet or CSV) or scores; repeatable; may be repeated.",
        show_default=False,
    ),
]
Qrels3 = Annotated[
    Path | None,
    typer.Option(
        "--qrels",
        help="Judgments (TREC or BEIR), used instead of judged documents; every system must then be a "
        "run or a model of fuse.",
        show_default=False,
    ),
]
Runs2 = Annotated[
    list[Path] | None,
    typer.Option(
        "--runs",
        help="With --qrels: run of a retriever that a model of fuse uses, named after its file or by "
        "NAME=FILE; may be repeated.",
        show_default=False,
    ),
]
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
    list[Path],
    typer.Argument(help="Data files (read as one data set), a store, or one model file.", show_default=False),
]
Verify = Annotated[bool, typer.Option("--verify", help="Read the whole store and compare every checksum.")]
Data3 = Annotated[list[Path], typer.Argument(help="Files that contain the query.", show_default=False)]
Query = Annotated[str, typer.Option("--query", help="Id of the query.", show_default=False)]
Pair = Annotated[
    list[str] | None,
    typer.Option(
        "--pair",
        help="Document id. The option may be repeated once, to see why the first document is ranked above the second.",
        show_default=False,
    ),
]
Most = Annotated[int, typer.Option("--most", help="Number of documents to show, best first.")]


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
    for_model: ForModel = None,
    sizes: Sizes = None,
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
) -> None:
    call("select", context, locals())


def fuse(
    context: typer.Context,
    runs: Runs,
    out: Out,
    qrels: Qrels = None,
    norm: Norm = None,
    depth: Depth = None,
    rank_columns: RankColumns = False,
    score_columns: ScoreColumns = False,
    unjudged: Unjudged2 = "zero",
    relevant_from: RelevantFrom = 1.0,
    test_qrels: TestQrels = None,
    penalties: Penalties2 = None,
    sign: Sign = "positive",
    relaxed: Relaxed = True,
    metric: Metric = "ndcg@10",
    report_metrics: ReportMetrics = None,
    convention: Convention = "default",
    cv: Cv = 5,
    random_state: RandomState = 0,
    margin: Margin = 0.01,
    guarantee: Guarantee = None,
    confidence: Confidence = 0.95,
    k: K2 = None,
    budget: Budget = None,
    costs: Costs2 = None,
    cost_rule: CostRule = "sum",
    engine: Engine2 = None,
    half_samples: HalfSamples = 20,
    label: Label = None,
    qid: Qid = None,
    docid: Docid = None,
    restart: Restart = False,
    n_threads: NThreads = None,
) -> None:
    call("fuse", context, locals())


def fit(
    context: typer.Context,
    train: Train,
    out: Out2,
    penalty: Penalty = None,
    alpha: Alpha = None,
    alpha_ratio: AlphaRatio = 0.05,
    k: K3 = None,
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
    k: K4 = None,
    out: Out3 = None,
    run: Run = None,
    qrels: Qrels2 = None,
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
    qrels: Qrels3 = None,
    runs: Runs2 = None,
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
