"""Options of the jobs with trees: their values, in the order of documents."""

from __future__ import annotations

from dataclasses import replace

from sparserank.crossval.options import N_LEAVES, N_TREES, PANEL, TREES
from sparserank.crossval.tree_rivals import LIGHTGBM
from sparserank.crossval.trees import lengths_of
from sparserank.data import options as of_data
from sparserank.jobs.options import ALLOW_OVERLAP, RUN
from sparserank.options import Count, Given, Option, Or, Parsed
from sparserank.paths import options as of_paths
from sparserank.selection import options as of_selection

TREE_RANKERS = ("lightgbm",)  # tree rankers
FOR_MODEL = Option(
    name="for_model",
    kind=Given("str | os.PathLike", "str | None", words=True),
    default=LIGHTGBM,
    help="The ranker for which features are chosen: lightgbm, or the path of a saved LightGBM model or of a parameter "
    "file. The settings in the file replace {n_trees}, {n_leaves} and {learning_rate}.",
    says="Choose features for this ranker: lightgbm, or the path of a saved LightGBM model or of a parameter file, "
    "whose settings are used. The result is the shortest list of features on which the ranker ranks as well as "
    "on the best list tried. Lists come from our path and from the gain of the trees. This needs "
    "sparserank[trees].",
    panel=PANEL,
)
LENGTHS = Parsed(lengths_of, "Sequence[int]", refused=(0, "three", (0,), (2.5,), (True,), ()))
SIZES = Option(
    name="sizes",
    kind=Or(None, LENGTHS),
    help="Lengths of the feature lists to try.",
    panel=PANEL,
    flag="--size",
    command="list[int] | None",
    shown="an eighth and a third of the features that may be used",
)
N_SEEDS = Option(
    name="n_seeds",
    kind=Count(),
    default=1,
    help="Number of random seeds with which the trees on every list are trained; values are averages over the seeds.",
    panel=PANEL,
    flag="--seeds",
)
COMPARED = (1, 2, 3, 4, 5, 7, 10, 12, 15, 20)  # sizes
REPEATS = Option(
    name="repeats",
    kind=Count(),
    default=1,
    help="Number of repetitions; the folds are drawn anew for each.",
    panel=of_selection.CHOICE,
)
SELECT_FOR_TREES = (
    replace(of_paths.PENALTY, default="mcp", help="Penalty of our path; the features along the path form the lists."),
    of_selection.TRANSFORM_OF_LISTS,
    of_selection.KEEP,
    of_selection.DROP,
    of_selection.GROUPS,
    *of_selection.CHOOSING,
    of_selection.COSTS,
    SIZES,
    FOR_MODEL,
    *TREES,
    N_SEEDS,
    *of_data.READING,
    ALLOW_OVERLAP,
    *RUN,
)
COMPARE = (
    of_selection.PENALTIES,
    of_selection.TRANSFORM,
    of_paths.N_KNOTS,
    replace(SIZES, kind=LENGTHS, default=COMPARED, help="Numbers of features to compare.", shown="1 to 20"),
    of_selection.FOLDS,
    REPEATS,
    replace(
        N_SEEDS,
        default=5,
        help="Number of random seeds with which the trees on all features are trained; values are "
        "averages over the seeds.",
    ),
    of_selection.SEED,
    N_TREES,
    N_LEAVES,
    of_selection.METRIC,
    of_selection.CONVENTION,
    *of_data.READING,
    *RUN,
)
