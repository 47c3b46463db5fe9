"""How paths of models are fitted: options of jobs and rankers alike."""

from __future__ import annotations

from dataclasses import replace

from sparserank.options import Choice, Count, Given, Number, Option, Or, Parsed

PANEL = "Models"
MAX_ALPHAS = 10_000
LINEAR_SCALINGS = ("within-query-std", "none", "min-max", "standard")  # one factor per weight undoes them
SCALINGS = ("within-query-std", "none", "min-max", "standard", "log-standard", "query-min-max")
TRANSFORMS = ("none", "log", "asinh")  # transforms of a single model
WEIGHTS = ("pair", "query")

PENALTY = Option(
    name="penalty",
    kind=Parsed("paths.fit:parse_maker", "str | Penalty | SizedMaker"),
    default="l1",
    help="Penalty: l1, l0.5, log, mcp, scad, elastic_net, ridge, best_k (splicing, one size after another) or steps "
    "(boosted step functions). Parameters are given in parentheses, as in 'mcp(gamma=2.0)'.",
    panel=PANEL,
)
SCALING = Option(
    name="scaling",
    kind=Choice(SCALINGS),
    default="within-query-std",
    help="Scaling of the features, learned on training queries: within-query-std (by the standard deviation within "
    "queries), none, min-max, standard, log-standard (signed log1p first) or query-min-max.",
    panel=PANEL,
)
LINEAR_SCALING = Option(
    name="scaling",
    kind=Choice(LINEAR_SCALINGS),
    default="within-query-std",
    help="Scaling of the features: within-query-std (by the standard deviation within queries), standard, min-max "
    "or none.",
    panel=PANEL,
)
N_ALPHAS = Option(
    name="n_alphas",
    kind=Count(2, MAX_ALPHAS),
    default=40,
    help="Number of regularisation strengths on each path.",
    panel=PANEL,
)
ALPHA_MIN_RATIO = Option(
    name="alpha_min_ratio",
    kind=Number(above=0, below=1),
    default=0.01,
    help="Last regularisation strength of a path, as a fraction of the first.",
    panel=PANEL,
)
TOL = Option(
    name="tol",
    kind=Number(above=0),
    default=1e-6,
    help="KKT violation at which the solver stops, relative to alpha_max. In a selection, this applies to the final "
    "paths; folds stop at 1e-4.",
    panel=PANEL,
)
MAX_ITER = Option(
    name="max_iter",
    kind=Count(),
    default=300,
    help="Maximum number of solver iterations at one regularisation strength.",
    panel=PANEL,
)
PAIR_WEIGHTS = Option(
    name="pair_weights",
    kind=Choice(WEIGHTS),
    default="pair",
    help="Weighting of the loss: pair (all pairs count equally) or query (all queries count equally).",
    panel=PANEL,
)
LOSS = Option(
    name="loss",
    kind=Parsed("losses:parse_loss", "str | PairwiseLoss"),
    default="squared_hinge",
    flag="",  # of one name
    help="Loss: squared_hinge or a custom PairwiseLoss.",
    panel=PANEL,
)
TRANSFORM = Option(
    name="feature_transform",
    flag="--transform",
    kind=Choice(TRANSFORMS),
    default="none",
    help="Transform of the features: none, log (signed log1p) or asinh (of x divided by its median absolute value).",
    panel=PANEL,
)
ROUND = Option(
    name="round",
    kind=Or(None, Count(1, 15)),
    help="Number of significant digits of the weights, in units of the features or of their logarithms. Weights are "
    "rounded in every fold before they are judged, so all figures are those of rounded weights. No steps are tried.",
    panel=PANEL,
    shown="all digits",
)
SETTINGS = (SCALING, N_ALPHAS, ALPHA_MIN_RATIO, TOL, PAIR_WEIGHTS, LOSS, ROUND)  # options of every path of a job
FIT_PATH = (  # options of `fit_path`
    replace(N_ALPHAS, kind=Count(1, 10 * MAX_ALPHAS)),
    ALPHA_MIN_RATIO,
    Option(
        name="alphas",
        kind=Given("Sequence[float] | np.ndarray | None"),
        help="Regularisation strengths > 0, used instead of n_alphas and alpha_min_ratio; sorted in decreasing order.",
        panel=PANEL,
    ),
    PAIR_WEIGHTS,
    LOSS,
    LINEAR_SCALING,
    TOL,
    MAX_ITER,
    Option(
        name="k",
        kind=Or(None, Count()),
        help="Stop after the first point with more features than this number.",
        panel=PANEL,
        shown="never",
    ),
    Option(
        name="early_stop",
        kind=Or(None, Number(least=0)),
        help="Stop when ten successive points together lower the loss by less than this fraction of it.",
        panel=PANEL,
        shown="never",
    ),
)
