"""How paths of models are fitted: options of jobs and rankers alike."""

# Annotations contain the options, so they are evaluated at import; only type checkers evaluate the types in quotes.
from typing import TYPE_CHECKING, Annotated, TypedDict

from sparserank.options import CheckedLater, Choice, Count, Number, Option, Or, Parsed, options_of
from sparserank.options.kinds import COUNT_OR_NONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from sparserank.losses import PairwiseLoss

PANEL = "Models"
# scalings that can be undone by multiplying each weight by one factor
LINEAR_SCALINGS = ("within-query-std", "none", "min-max", "standard")
SCALINGS = ("within-query-std", "none", "min-max", "standard", "log-standard", "query-min-max")
WEIGHTS = ("pair", "query")

Scaling = Annotated[
    str,
    Option(
        Choice(SCALINGS),
        "within-query-std",
        "Scaling of the features, learned on training queries: within-query-std (by the standard deviation within "
        "queries), none, min-max, standard, log-standard (signed log1p first) or query-min-max.",
        PANEL,
    ),
]
NAlphas = Annotated[int, Option(Count(2, 10_000), 40, "Number of regularisation strengths on each path.", PANEL)]
AlphaMinRatio = Annotated[
    float,
    Option(
        Number(above=0, below=1), 0.01, "Last regularisation strength of a path, as a fraction of the first.", PANEL
    ),
]
Tol = Annotated[
    float,
    Option(
        Number(above=0),
        1e-6,
        "KKT violation at which the solver stops, relative to alpha_max. In a selection, this applies to the final "
        "paths; folds stop at 1e-4.",
        PANEL,
    ),
]
PairWeights = Annotated[
    str,
    Option(
        Choice(WEIGHTS),
        "pair",
        "Weighting of the loss: pair (all pairs count equally) or query (all queries count equally).",
        PANEL,
    ),
]
Loss = Annotated[
    "str | PairwiseLoss",
    Option(
        Parsed("losses:parse_loss"),
        "squared_hinge",
        "Loss: squared_hinge or a custom PairwiseLoss.",
        PANEL,
        flag="",  # not on the command line, because there is only one name
    ),
]


class JobPaths(TypedDict, total=False):
    """Options of every path of a job."""

    scaling: Scaling
    n_alphas: NAlphas
    alpha_min_ratio: AlphaMinRatio
    tol: Tol
    pair_weights: PairWeights
    loss: Loss
    round: Annotated[
        int | None,
        Option(
            Or(None, Count(1, 15)),
            None,
            "Number of significant digits of the weights, in units of the features or of their logarithms. Weights are "
            "rounded in every fold before they are judged, so all figures are those of rounded weights. No steps are "
            "tried.",
            PANEL,
            shown="all digits",
        ),
    ]


class PathOptions(TypedDict, total=False):
    """Options of `fit_path` by name."""

    n_alphas: NAlphas
    alpha_min_ratio: AlphaMinRatio
    alphas: Annotated[
        "Sequence[float] | np.ndarray | None",
        Option(
            CheckedLater(),
            None,
            "Regularisation strengths > 0, used instead of n_alphas and alpha_min_ratio; sorted in decreasing order.",
            PANEL,
        ),
    ]
    pair_weights: PairWeights
    loss: Loss
    scaling: Annotated[
        str,
        Option(
            Choice(LINEAR_SCALINGS),
            "within-query-std",
            "Scaling of the features: within-query-std (by the standard deviation within queries), standard, min-max "
            "or none.",
            PANEL,
        ),
    ]
    tol: Tol
    max_iter: Annotated[
        int, Option(Count(), 300, "Maximum number of solver iterations at one regularisation strength.", PANEL)
    ]
    k: Annotated[
        int | None,
        Option(
            COUNT_OR_NONE,
            None,
            "Stop after the first point with more features than this number.",
            PANEL,
            shown="never",
        ),
    ]
    early_stop: Annotated[
        float | None,
        Option(
            Or(None, Number(least=0)),
            None,
            "Stop when ten successive points together lower the loss by less than this fraction of it.",
            PANEL,
            shown="never",
        ),
    ]


JOB_PATHS = options_of(JobPaths)
FIT_PATH = options_of(PathOptions)
