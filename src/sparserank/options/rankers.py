"""Parameters of the rankers, in the order of their documentation."""

from __future__ import annotations

from dataclasses import replace

from sparserank.options import Choice, Count, Given, Number, Option, Or, Parsed
from sparserank.options import paths as of_paths
from sparserank.options import reading as of_data
from sparserank.options import selection as of_selection

MAX_ALPHAS = 100_000
RULES = ("smallest", "best")

METRIC = Option(
    name="metric",
    kind=Parsed("metrics:parse_metric", "str | Metric"),
    default="ndcg@10",
    help="Metric that `score` computes.",
)
MISSING = replace(of_data.MISSING, default="error")
ALPHA = Option(
    name="alpha",
    kind=Or(None, Number(above=0)),
    help="Regularisation strength. Alpha times the penalty of the scaled features is added to the mean loss.",
    panel=of_paths.PANEL,
    shown="{alpha_ratio} times the first strength of the path",
)
ALPHA_RATIO = Option(
    name="alpha_ratio",
    kind=Number(above=0),
    default=0.05,
    help="Regularisation strength, as a multiple of the first strength of the penalty's path.",
    panel=of_paths.PANEL,
)
SIZE = Option(
    name="k",
    kind=Or(None, Count()),
    help="Choose the densest model of the path with at most K features.",
    panel=of_paths.PANEL,
    flag="--k",
)
RULES_OF_FEATURES = (
    of_selection.MONOTONE,
    of_selection.KEEP,
    of_selection.DROP,
    of_selection.GROUPS,
    of_selection.COSTS,
)
SPARSE_RANKER = (
    of_paths.LOSS,
    replace(
        of_paths.PENALTY,
        kind=Or(None, Parsed("paths.fit:parse_maker", "str | Penalty | SizedMaker")),
        default=None,
        shown="l1; mcp if {k} is set",
    ),
    ALPHA,
    ALPHA_RATIO,
    SIZE,
    of_paths.SCALING,
    of_paths.TRANSFORM,
    *RULES_OF_FEATURES,
    MISSING,
    of_paths.PAIR_WEIGHTS,
    of_paths.TOL,
    replace(of_paths.MAX_ITER, default=500),
    replace(of_paths.N_ALPHAS, kind=Count(1, MAX_ALPHAS)),
    METRIC,
    of_data.N_THREADS,
)
SPARSE_RANKER_CV = (
    replace(of_paths.PENALTY, kind=Parsed("paths.fit:parse_maker", "str | Penalty")),
    replace(METRIC, help="Metric for choosing the model; higher values must be better."),
    Option(name="rule", kind=Choice(RULES), default="smallest", help="Rule for choosing the model: smallest or best."),
    of_selection.MARGIN,
    of_selection.GUARANTEE,
    of_selection.CONFIDENCE,
    replace(SIZE, help="Choose the best model with at most this many features instead of applying the rule."),
    Option(
        name="cv",
        kind=Given("Any"),
        default=5,
        help="Query folds: the number of folds, a splitter, or a list of pairs (train rows, test rows).",
    ),
    of_selection.SEED,
    replace(of_paths.N_ALPHAS, kind=Count(2, MAX_ALPHAS)),
    of_paths.ALPHA_MIN_RATIO,
    of_paths.SCALING,
    of_paths.TRANSFORM,
    *RULES_OF_FEATURES,
    MISSING,
    of_paths.PAIR_WEIGHTS,
    of_paths.TOL,
    of_paths.MAX_ITER,
    of_data.N_THREADS,
    of_paths.LOSS,
)
RANK_SVM = (
    replace(ALPHA, kind=Number(above=0), default=1e-3),
    of_paths.PAIR_WEIGHTS,
    of_paths.TOL,
    replace(of_paths.MAX_ITER, default=500),
    METRIC,
    of_data.N_THREADS,
)
