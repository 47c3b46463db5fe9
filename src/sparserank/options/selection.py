"""Options of `select`: what is selected, and how."""

from __future__ import annotations

from dataclasses import replace

from sparserank.options import Choice, Count, Flag, Given, Number, Option, Or, Parsed
from sparserank.options import paths as of_paths

MODEL, CHOICE = of_paths.PANEL, "Choice"
PROTOCOLS = ("cv", "holdout")
REQUESTS = ("elasticsearch-query", "opensearch-query", "solr-query")  # boosts of the clauses of a search request
SEARCH = ("solr", "elasticsearch", "opensearch", *REQUESTS, "vespa", "lucene", "ranklib")
ENGINES = (*SEARCH, "onnx", "python", "sql", "spark")
LINEAR = ("l1", "mcp")  # the penalties tried by default
MIN_QUERIES_OF_STEPS, MIN_DOCS_OF_STEPS, MAX_FEATURES_OF_STEPS = 50, 2_000, 2_000  # limits of steps by default
TREES = ("lightgbm", "xgboost", "xgboost-dump", "solr-trees")  # formats of trees, for models of steps
DEFAULT_MARGIN = 0.01  # largest acceptable estimated loss, relative to the best mean
DEFAULT_CONFIDENCE = 0.95
MAX_CONFIDENCE = 0.99  # of simultaneous bounds: there are enough draws for this

NAMED = Parsed(
    "paths.fit:parse_maker", "str | Penalty | SizedMaker | Sequence[str | Penalty | SizedMaker]", several=True
)
PENALTIES = Option(
    name="penalties",
    kind=Or(None, NAMED),
    help="Penalties to try: l1, l0.5, log, mcp, scad, elastic_net, best_k (splicing, size by size), steps (boosted "
    "step functions), or with parameters: 'mcp(gamma=2.0)'.",
    panel=MODEL,
    flag="--penalty",
    shown=f"{' and '.join(LINEAR)}; from {MIN_QUERIES_OF_STEPS} queries on steps too, if {{feature_transform}} is auto",
)
METRIC = Option(
    name="metric",
    kind=Parsed("metrics:parse_metric", "str | Metric"),
    default="ndcg@10",
    help="Metric for choosing models.",
    panel=CHOICE,
)
ALSO = Option(
    name="report_metrics",
    kind=Parsed("metrics:parse_metric", "Sequence[str | Metric]", several=True),
    default=("map", "ndcg@5"),
    help="Further metrics to report.",
    panel=CHOICE,
)
CONVENTION = Option(
    name="convention",
    kind=Parsed("metrics:parse_convention", "str"),
    default="default",
    help="Metric convention: default, letor3, letor4, trec, xgboost, lightgbm.",
    panel=CHOICE,
)
PROTOCOL = Option(
    name="protocol",
    kind=Choice(PROTOCOLS),
    default="cv",
    help="cv (out of fold on the training and validation queries) or holdout (choice on the validation queries only).",
    panel=CHOICE,
)
FOLDS = Option(
    name="cv", flag="--folds", kind=Count(2), default=5, help="Number of folds of the cv protocol.", panel=CHOICE
)
SEED = Option(
    name="random_state",
    flag="--seed",
    kind=Count(0, 2**63 - 1),
    default=0,
    help="Random seed for drawing the folds.",
    panel=CHOICE,
)
MARGIN = Option(
    name="margin",
    kind=Number(least=0, below=1),
    default=DEFAULT_MARGIN,
    help="Choose the smallest model whose estimated loss is at most this share of the metric of the best model tried "
    "(0.01 is 1%). The bound on the loss is also reported.",
    panel=CHOICE,
)
GUARANTEE = Option(
    name="guarantee",
    kind=Or(None, Number(above=0, below=1)),
    help="Used instead of {margin}: choose the smallest model that is shown, with {confidence}, to lose at most this "
    "share of the metric of the best model tried.",
    panel=CHOICE,
)
CONFIDENCE = Option(
    name="confidence",
    kind=Number(above=0.5, most=MAX_CONFIDENCE),
    default=DEFAULT_CONFIDENCE,
    help="Confidence level of every bound and interval, above 0.5 and at most 0.99.",
    panel=CHOICE,
)
K = Option(name="k", kind=Or(None, Count()), help="Choose the best model with at most K features.", panel=CHOICE)
BUDGET = Option(
    name="budget",
    kind=Or(None, Number(above=0)),
    help="Choose the best model with at most this total cost.",
    panel=CHOICE,
)
COSTS = Option(
    name="costs",
    kind=Given("str | os.PathLike | Sequence[float] | Mapping[str, float] | None", "Path | None"),
    help="Costs > 0 of the features: one cost for each feature, or a file with one cost per line. Costs also weight "
    "the penalties. With {feature_groups}, pass a mapping {group: cost}.",
    says="File with one feature cost (> 0) per line; costs also weight the penalties.",
    panel=CHOICE,
)
GROUPS = Option(
    name="feature_groups",
    kind=Given("str | os.PathLike | Mapping[str, str] | None", "Path | None"),
    help="Features that are computed together: {feature: group}, or a file with lines feature,group,cost. A group is "
    "selected as a whole, and its cost is counted once. Every other feature is a group by itself; a missing cost "
    "counts as 1.",
    says="File with lines feature,group,cost, which groups the features that are computed together. A group is "
    "selected as a whole, and its cost is counted once. Every other feature is a group by itself; a missing cost "
    "counts as 1.",
    panel=MODEL,
)
QUERY_WEIGHT = Option(
    name="query_weight",
    kind=Given("str | os.PathLike | Mapping[Any, float] | Sequence[float] | None", "Path | None"),
    help="Weights (>= 0) of the training and validation queries in the loss: {query id: weight}, one weight for each "
    "query in order of first appearance, or a file with lines 'query-id weight'. Queries with weight 0 are left "
    "out. Metrics weight all other queries equally.",
    says="File with lines 'query-id weight': the weights (>= 0) of the training and validation queries "
    "in the loss. Queries with weight 0 are left out. Metrics weight all other queries equally.",
    panel=MODEL,
)
REFITS = Option(
    name="relaxed",
    kind=Flag(),
    default=True,
    help="Also try relaxed models of each size. They are refitted without the sparsity penalty, either half-way (0.5) "
    "or fully (1). l1 is not relaxed if mcp, or another penalty that starts from its models, is tried too.",
    panel=MODEL,
    flag="--relaxed/--no-relaxed",
)
TRANSFORM = replace(
    of_paths.TRANSFORM,
    kind=Parsed("transforms:parse_transform", "str | Sequence[str]", several=True),
    default=("auto",),
    help="Transforms of the features; the best one is chosen out of fold. none; log (signed log1p); asinh (of x "
    "divided by the median of |x|); distilled or distilled(log) (weights that learn the order of trees and "
    "steps in place of the labels). auto tries none, and log where logarithms differ from the features, MCP only on "
    f"the latter; from {MIN_QUERIES_OF_STEPS} queries and {MIN_DOCS_OF_STEPS:,} documents on also "
    "distilled(log) with MCP, unless a penalty is named.",
)
ENGINE = Option(
    name="engine",
    kind=Or(None, Choice((*ENGINES, *TREES))),
    help=f"Engine that will run the model: {', '.join(ENGINES)} (steps alone: "
    f"{', '.join(TREES)}). Only models that it can run are tried.",
    panel=MODEL,
)
MONOTONE = Option(
    name="monotone",
    kind=Given("Mapping[str, str | int] | None", "list[str] | None"),
    help="{name: '+'} or {name: '-'}: a larger value of the feature may only raise, or only lower, the score.",
    says="NAME=+ or NAME=-: a larger value of the feature may only raise, or only lower, the score.",
    panel=MODEL,
)
KEEP = Option(
    name="keep",
    kind=Given("Sequence[str] | None", "list[str] | None"),
    help="Names of features that every sparse model uses, whatever their costs; a budget includes these costs.",
    says="Feature that every sparse model uses, whatever its cost; a budget includes that cost.",
    panel=MODEL,
)
DROP = Option(
    name="drop",
    kind=Given("Sequence[str] | None", "list[str] | None"),
    help="Names of features that no model may use.",
    says="Feature that no model may use.",
    panel=MODEL,
)
HALF_SAMPLES = Option(
    name="half_samples",
    kind=Count(0, 10_000),
    default=20,
    help="Number of half-samples of the queries on which the selection is repeated to measure its stability. An "
    "even number; 0 means none.",
    panel=CHOICE,
)
FAST = Option(
    name="fast",
    kind=Flag(),
    default=False,
    help="Stop at the first look: only weights that learn from labels (l1, MCP), without steps, rivals, ablation and "
    "half-samples. The same call without this option adds the rest.",
    panel=CHOICE,
)
CHOOSING = (METRIC, ALSO, CONVENTION, FOLDS, SEED, MARGIN, GUARANTEE, CONFIDENCE, K, BUDGET)
PLANNED = (  # options that `SelectionPlan` stores and checks itself
    PROTOCOL,
    FOLDS,
    SEED,
    MARGIN,
    GUARANTEE,
    CONFIDENCE,
    K,
    BUDGET,
    REFITS,
    TRANSFORM,
    ENGINE,
    HALF_SAMPLES,
    FAST,
)
OF_FEATURES = (COSTS, GROUPS, MONOTONE, KEEP, DROP)  # options about single features
