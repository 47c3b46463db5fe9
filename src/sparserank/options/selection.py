"""Options of `select` and `fit`: what is selected, and how."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from sparserank.errors import ParameterError
from sparserank.options import CheckedLater, Choice, Count, Flag, Number, Option, Or, Parsed, options_of
from sparserank.options import paths as of_paths
from sparserank.options import reading as of_data
from sparserank.options.kinds import COUNT_OR_NONE, FILE, TEXT, TEXTS
from sparserank.text import brief

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

    from sparserank.metrics import Metric
    from sparserank.model.ranking_model import RankingModel
    from sparserank.paths.makers import SizedMaker
    from sparserank.penalties import Penalty
    from sparserank.workdir.work import Progress

MODEL = of_paths.PANEL
CHOICE = "Choice"
TREE_PANEL = "Trees"
PROTOCOLS = ("cv", "holdout")
# engines whose export is a search request with boosts
REQUESTS = ("elasticsearch-query", "opensearch-query", "solr-query")
SEARCH = ("solr", "elasticsearch", "opensearch", *REQUESTS, "vespa", "lucene", "ranklib")
ENGINES = (*SEARCH, "onnx", "python", "sql", "spark")
LINEAR = ("l1", "mcp")  # the penalties tried by default
SPARSE = "l1, l0.5, log, mcp, scad, elastic_net"  # the penalties that select features
# steps are tried by default only within these limits
MIN_QUERIES_OF_STEPS = 50
MIN_DOCS_OF_STEPS = 2_000
MAX_FEATURES_OF_STEPS = 2_000
TREES = ("lightgbm", "xgboost", "xgboost-dump", "solr-trees")  # export formats of trees, for models of steps
DEFAULT_MARGIN = 0.01  # largest acceptable estimated loss, relative to the best mean
DEFAULT_CONFIDENCE = 0.95
MAX_CONFIDENCE = 0.99  # highest confidence for which simultaneous bounds have enough random draws

MAKERS = Parsed("paths.fit:parse_maker", several=True)


def lengths_of(sizes: Any) -> tuple[int, ...]:
    """Distinct numbers of features, in ascending order.

    Raises
        ParameterError   they are not positive whole numbers
    """
    many = isinstance(sizes, Iterable) and not isinstance(sizes, str) and getattr(sizes, "ndim", True)
    listed = list(sizes) if many else []
    if not listed or any(map(Count().problem, listed)):
        raise ParameterError("sizes", f"must be whole numbers >= 1; got {brief(sizes)}.")
    return tuple(sorted({int(s) for s in listed}))


Penalties = Annotated[
    "str | Penalty | SizedMaker | Sequence[str | Penalty | SizedMaker] | None",
    Option(
        Or(None, MAKERS),
        None,
        f"Penalties to try: {SPARSE}, best_k (splicing, size by size), steps (boosted step functions), or with "
        "parameters: 'mcp(gamma=2.0)'.",
        MODEL,
        flag="--penalty",
        shown=f"{' and '.join(LINEAR)}; from {MIN_QUERIES_OF_STEPS} queries and {MIN_DOCS_OF_STEPS:,} documents on "
        "steps too, if {feature_transform} is auto",
    ),
]
ReportedMetrics = Annotated[
    "Sequence[str | Metric]",
    Option(Parsed("metrics:parse_metric", several=True), ("map", "ndcg@5"), "Further metrics to report.", CHOICE),
]
Costs = Annotated[
    "str | os.PathLike | Sequence[float] | Mapping[str, float] | None",
    Option(
        FILE,
        None,
        "Costs > 0 of the features: one cost for each feature, or a file with one cost per line. Costs also weight "
        "the penalties. With {feature_groups}, pass a mapping {group: cost}.",
        CHOICE,
        says="File with one feature cost (> 0) per line; costs also weight the penalties.",
    ),
]
Client = Annotated[
    Any,
    Option(
        TEXT,
        None,
        "A dask.distributed Client whose workers read the training data from a store on a disk that all of them can "
        "access. Other data are first written to a store in the folder for temporary files (TMPDIR).",
        says="Address of a Dask scheduler whose workers read the training data, e.g. tcp://host:8786.",
        flag="--scheduler",
    ),
]
SEARCHED = Parsed("paths.fit:parse_maker")


class FeatureOptions(TypedDict, total=False):
    """Options that concern single features."""

    monotone: Annotated[
        "Mapping[str, str | int] | None",
        Option(
            TEXTS,
            None,
            "{name: '+'} or {name: '-'}: a larger value of the feature may only raise, or only lower, the score.",
            MODEL,
            says="NAME=+ or NAME=-: a larger value of the feature may only raise, or only lower, the score.",
        ),
    ]
    keep: Annotated[
        "Sequence[str] | None",
        Option(
            TEXTS,
            None,
            "Names of features that every sparse model uses, whatever their costs; a budget includes these costs.",
            MODEL,
            says="Feature that every sparse model uses, whatever its cost; a budget includes that cost.",
        ),
    ]
    drop: Annotated[
        "Sequence[str] | None",
        Option(
            TEXTS,
            None,
            "Names of features that no model may use.",
            MODEL,
            says="Feature that no model may use.",
        ),
    ]
    feature_groups: Annotated[
        "str | os.PathLike | Mapping[str, str] | None",
        Option(
            FILE,
            None,
            "Features that are computed together: {feature: group}, or a file with lines feature,group,cost. A group "
            "is selected as a whole, and its cost is counted once. Every other feature is a group by itself; a missing "
            "cost counts as 1.",
            MODEL,
            says="File with lines feature,group,cost, which groups the features that are computed together. A group is "
            "selected as a whole, and its cost is counted once. Every other feature is a group by itself; a missing "
            "cost counts as 1.",
        ),
    ]
    costs: Costs


class Choosing(TypedDict, total=False):
    """Options for the choice of a model, without those that signatures write out."""

    report_metrics: ReportedMetrics
    convention: Annotated[
        str,
        Option(
            Parsed("metrics:parse_convention"),
            "default",
            "Metric convention: default, letor3, letor4, trec, xgboost, lightgbm.",
            CHOICE,
        ),
    ]
    cv: Annotated[int, Option(Count(2), 5, "Number of folds of the cv protocol.", CHOICE, flag="--folds")]
    random_state: Annotated[
        int, Option(Count(0, 2**63 - 1), 0, "Random seed for drawing the folds.", CHOICE, flag="--seed")
    ]
    guarantee: Annotated[
        float | None,
        Option(
            Or(None, Number(above=0, below=1)),
            None,
            "Used instead of {margin}: choose the smallest model that is shown, with {confidence}, to lose at most "
            "this share of the metric of the best model tried.",
            CHOICE,
        ),
    ]
    confidence: Annotated[
        float,
        Option(
            Number(above=0.5, most=MAX_CONFIDENCE),
            DEFAULT_CONFIDENCE,
            "Confidence level of every bound and interval, above 0.5 and at most 0.99.",
            CHOICE,
        ),
    ]
    restart: Annotated[
        bool,
        Option(Flag(), False, "Discard the results of earlier runs in {out} with other data or options."),
    ]


class Stable(Choosing, total=False):
    """Options of `select` and `fuse` that concern our own models; a selection of features for trees does not take
    them."""

    relaxed: Annotated[
        bool,
        Option(
            Flag(),
            True,
            "Also try relaxed models of each size. They are refitted without the sparsity penalty, either half-way "
            "(0.5) or fully (1). l1 is not relaxed if mcp, or another penalty that starts from its models, is tried "
            "too.",
            MODEL,
            flag="--relaxed/--no-relaxed",
        ),
    ]
    half_samples: Annotated[
        int,
        Option(
            Count(0, 10_000),
            20,
            "Number of half-samples of the queries on which the selection is repeated to measure its stability. An "
            "even number; 0 means none.",
            CHOICE,
        ),
    ]


class Written(TypedDict, total=False):
    """Options that are written out in the signatures of `select` and `fuse`."""

    metric: Annotated[
        "str | Metric", Option(Parsed("metrics:parse_metric"), "ndcg@10", "Metric for choosing models.", CHOICE)
    ]
    margin: Annotated[
        float,
        Option(
            Number(least=0, below=1),
            DEFAULT_MARGIN,
            "Choose the smallest model whose estimated loss is at most this share of the metric of the best model "
            "tried (0.01 is 1%). The bound on the loss is also reported.",
            CHOICE,
        ),
    ]
    k: Annotated[
        int | None,
        Option(COUNT_OR_NONE, None, "Choose the best of at most K features or retrievers.", CHOICE),
    ]
    budget: Annotated[
        float | None,
        Option(Or(None, Number(above=0)), None, "Choose the best model with at most this total cost.", CHOICE),
    ]
    out: Annotated[
        "str | os.PathLike | None",
        Option(
            CheckedLater("Path", path=True),
            None,
            "Directory for results. If the process is killed, make the same call again to resume from this directory.",
        ),
    ]
    n_threads: of_data.Threads
    progress: Annotated[
        "Progress | None",
        Option(
            CheckedLater(),
            None,
            "Called with (pieces done, pieces in total, the last piece or what it shows, seconds left or None).",
            flag="",
        ),
    ]


class WrittenForModel(Written, total=False):
    """Options that are written out in the signature of `select`, if it makes a model."""

    label: of_data.Label
    qid: of_data.Qid
    penalties: Penalties


class WrittenForFeatures(WrittenForModel, total=False):
    """All options that are written out in the signature of `select`."""

    for_model: Annotated[
        "str | os.PathLike | None",
        Option(
            TEXT,
            None,
            "Choose features for this ranker: lightgbm, or the path of a saved LightGBM model or of a parameter file, "
            "whose settings are used. The result is the shortest list on which the ranker ranks as well as on the best "
            "list tried, of those with the largest gain in the trees. This needs sparserank[trees].",
            TREE_PANEL,
        ),
    ]


Judge = Annotated[
    "str | os.PathLike | Mapping[Any, Any] | None",
    Option(
        FILE,
        None,
        "Judgments of a judge, such as a language model, for other queries too, with {qrels} of people: learned from "
        "where people gave none. Candidates are judged on the queries of people, with what the judge is worth.",
        of_data.PANEL,
    ),
]
JudgeGrades = Annotated[
    str | None,
    Option(
        TEXT,
        None,
        "What the grades of a judge mean on the scale of people, such as 0=0,1=0,2=1,3=1.",
        of_data.PANEL,
    ),
]


class Lists(of_data.RowOptions, total=False):
    """Options of `select` that can be combined with for_model, apart from rules and choice."""

    sizes: Annotated[
        "Sequence[int] | None",
        Option(
            Or(None, Parsed(lengths_of)),
            None,
            "Lengths of the feature lists to try with {for_model}.",
            TREE_PANEL,
            flag="--size",
            command="list[int] | None",
            shown="at most eight, from 1 on, below the number of features that may be used, and k",
        ),
    ]
    allow_overlap: Annotated[
        bool,
        Option(
            Flag(), False, "Accept query ids that occur in more than one of train, validation and test.", of_data.PANEL
        ),
    ]


class SelectOptions(of_paths.JobPaths, FeatureOptions, Stable, Lists, total=False):
    """Options of `select` by name."""

    feature_transform: Annotated[
        "str | Sequence[str]",
        Option(
            Parsed("transforms:parse_transform", several=True),
            ("auto",),
            "Transforms of the features; the best one is chosen out of fold. none; log (signed log1p); asinh (of x "
            "divided by the median of |x|); distilled or distilled(log) (weights that learn the order of trees and "
            "steps in place of the labels). auto tries none, and log where logarithms differ from the features, MCP "
            f"only on the latter; from {MIN_QUERIES_OF_STEPS} queries and {MIN_DOCS_OF_STEPS:,} documents on also "
            "distilled(log) with MCP, unless a penalty is named.",
            MODEL,
            flag="--transform",
        ),
    ]
    engine: Annotated[
        str | None,
        Option(
            Or(None, Choice((*ENGINES, *TREES))),
            None,
            f"Engine that will run the model: {', '.join(ENGINES)} (steps alone: {', '.join(TREES)}). Only models that "
            "it can run are tried.",
            MODEL,
        ),
    ]
    query: Annotated[
        "str | os.PathLike | Mapping[str, Any] | None",
        Option(
            FILE,
            None,
            "Search request (JSON) whose named clauses are tuned, with {engine} elasticsearch-query, opensearch-query "
            "or solr-query; the data are responses to it. Its boosts are the ranker in use.",
            MODEL,
        ),
    ]
    query_weight: Annotated[
        "str | os.PathLike | Mapping[Any, float] | Sequence[float] | None",
        Option(
            FILE,
            None,
            "Weights (>= 0) of the training and validation queries in the loss: {query id: weight}, one weight for "
            "each query in order of first appearance, or a file with lines 'query-id weight'. Queries with weight 0 "
            "are left out. Metrics weight all other queries equally.",
            MODEL,
            says="File with lines 'query-id weight': the weights (>= 0) of the training and validation queries "
            "in the loss. Queries with weight 0 are left out. Metrics weight all other queries equally.",
        ),
    ]
    doc_weight: of_data.DocWeight
    judge: Judge
    judge_column: Annotated[
        str | None,
        Option(
            TEXT,
            None,
            "Like {judge}, for a table: the column with the grades of the judge. Labels are those of people, missing "
            "(NULL) where they gave none.",
            of_data.PANEL,
        ),
    ]
    judge_grades: JudgeGrades
    protocol: Annotated[
        str,
        Option(
            Choice(PROTOCOLS),
            "cv",
            "cv (out of fold on the training and validation queries) or holdout (choice on the validation queries "
            "only).",
            CHOICE,
        ),
    ]
    fast: Annotated[
        bool,
        Option(
            Flag(),
            False,
            "Stop at the first look: only weights that learn from labels (l1, MCP), without steps, rivals, ablation "
            "and half-samples. The same call without this option adds the rest.",
            CHOICE,
        ),
    ]
    current: Annotated[
        "str | os.PathLike | RankingModel | Mapping[Any, Any] | None",
        Option(
            CheckedLater("str | None", path=True),
            None,
            "The ranker in use: a model (file), a run (what users see), or the feature that contains its score. That "
            "feature is then left out unless {keep} names it. The choice is not affected; the result reports the gains "
            "and losses of switching to the chosen model, with an interval.",
            CHOICE,
        ),
    ]
    rival: Annotated[
        "str | os.PathLike | None",
        Option(
            CheckedLater("str"),
            "auto",
            "Trees that are trained on the same folds, compared, and never chosen; distilled weights learn from them: "
            "auto (LightGBM, if it is installed), none, lightgbm, or the path of a saved LightGBM model or of a "
            "parameter file, whose settings are used.",
            CHOICE,
        ),
    ]
    rival_time: Annotated[
        float,
        Option(
            Number(above=0),
            300.0,
            "Time limit, in seconds, for training each ensemble of {rival} on all folds. Ensembles that exceed the "
            "limit are left out; those that are expected to exceed it on one core do not teach distilled weights.",
            CHOICE,
        ),
    ]
    start: Annotated[
        "str | os.PathLike | None",
        Option(
            FILE,
            None,
            "Directory of an earlier selection, whose options are used except for those that you give and {fast=True}. "
            "A first look uses no {rival} and no {half_samples}.",
            CHOICE,
        ),
    ]
    prefer: Annotated[
        "str | os.PathLike | RankingModel | None",
        Option(
            FILE,
            None,
            "Directory of an earlier selection (or a model), whose features are chosen again if the loss without all "
            "others is within {margin}. Queries on which it was not trained decide, if there are 50 of them.",
            CHOICE,
        ),
    ]
    client: Client


class ModelOptions(SelectOptions, WrittenForModel, total=False):
    """Options of `select` that makes a model."""


class AllSelectOptions(SelectOptions, WrittenForFeatures, total=False):
    """All options of `select`."""


class ForModelOptions(WrittenForFeatures, FeatureOptions, Choosing, Lists, total=False):
    """Options of `select` that can be combined with for_model, without NOT_OF_TREES, which are removed below."""


class FitOptions(FeatureOptions, of_data.RowOptions, total=False):
    """Options of `fit_model` by name."""

    label: of_data.Label
    qid: of_data.Qid
    penalty: Annotated[
        "str | Penalty | SizedMaker | None",
        Option(
            Or(None, SEARCHED),
            None,
            f"Penalty: {SPARSE}, ridge, best_k (splicing, one size after another) or steps (boosted step functions). "
            "Parameters are given in parentheses, as in 'mcp(gamma=2.0)'.",
            MODEL,
            shown="l1; mcp if {k} is set",
        ),
    ]
    alpha: Annotated[
        float | None,
        Option(
            Or(None, Number(above=0)),
            None,
            "Regularisation strength. Alpha times the penalty of the scaled features is added to the mean loss.",
            MODEL,
            shown="{alpha_ratio} times the first strength of the path",
        ),
    ]
    alpha_ratio: Annotated[
        float,
        Option(
            Number(above=0),
            0.05,
            "Regularisation strength, as a multiple of the first strength of the penalty's path.",
            MODEL,
        ),
    ]
    k: Annotated[
        int | None,
        Option(COUNT_OR_NONE, None, "Choose the densest model of the path with at most K features.", MODEL),
    ]
    scaling: of_paths.Scaling
    feature_transform: Annotated[
        str,
        Option(
            Parsed("transforms:parse_kind"),
            "none",
            "Transform of the features: none, log (signed log1p) or asinh (of x divided by its median absolute value).",
            MODEL,
            flag="--transform",
        ),
    ]
    loss: of_paths.Loss
    tol: of_paths.Tol
    n_threads: of_data.Threads
    client: Client


SELECT = options_of(AllSelectOptions)
FIT = options_of(FitOptions)
NOT_OF_TREES = ("monotone", "penalties")
FOR_MODEL = {name: option for name, option in options_of(ForModelOptions).items() if name not in NOT_OF_TREES}
