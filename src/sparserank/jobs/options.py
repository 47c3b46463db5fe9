"""Options of the jobs: what each takes, in the order of documents."""

from __future__ import annotations

from sparserank.crossval.tree_rivals import AUTO
from sparserank.data import options as of_data
from sparserank.options import Flag, Given, Number, Option
from sparserank.paths import options as of_paths
from sparserank.rankers.options import ALPHA, ALPHA_RATIO, SIZE, SPARSE_RANKER
from sparserank.selection import options as of_selection

OUT = Option(
    name="out",
    kind=Given("str | os.PathLike | None", "Path"),
    help="Directory for results; the same call goes on there after a kill.",
)
RESTART = Option(
    name="restart", kind=Flag(), default=False, help="Discard what {out} already holds of other data or options."
)
PROGRESS = Option(
    name="progress",
    kind=Given("Progress | None"),
    help="Called with (pieces done, pieces in all, the last one, seconds left or None).",
    flag="",
)
CLIENT = Option(
    name="client",
    kind=Given("Any", "str | None"),
    help="A dask.distributed Client whose workers read the training data: a store on a disk that they all see; "
    "anything else is written to one in the folder for temporary files (TMPDIR) first.",
    says="Address of a Dask scheduler whose workers read the training data, e.g. tcp://host:8786.",
    flag="--scheduler",
)
ALLOW_OVERLAP = Option(
    name="allow_overlap",
    kind=Flag(),
    default=False,
    help="Accept a query id in two of train, validation and test.",
    panel=of_data.PANEL,
)
DOC_WEIGHT = Option(
    name="doc_weight",
    kind=Given("Any", "str | None"),
    help="Weights >= 0 of the training documents, of every pair in which the document is the preferred one, e.g. 1 / "
    "propensity of its click: an array, a file with one per line of the training files, or a column of a table. "
    "Metrics do not know them.",
    says="File with one weight (>= 0) per line of the training files, or column of a table: of every pair in which the "
    "document is the preferred one, e.g. 1 / propensity of its click.",
    panel=of_selection.MODEL,
)
CURRENT = Option(
    name="current",
    kind=Given("str | os.PathLike | RankingModel | None", "str | None"),
    help="What ranks today: a model (file), or the feature that holds its score, which is then left out of the "
    "features unless {keep} names it. It moves nothing in the choice; the result says what a change gains and "
    "loses, with an interval.",
    panel=of_selection.CHOICE,
)
RIVAL = Option(
    name="rival",
    kind=Given("str | os.PathLike | None", "str"),
    default=AUTO,
    help="Trees that are trained on the same folds and compared, and move nothing in the choice: auto (LightGBM in two "
    "settings, where it is installed), none, lightgbm, or a file: a model that LightGBM saved or a file of its "
    "parameters, whose settings are used.",
    panel=of_selection.CHOICE,
)
RIVAL_TIME = Option(
    name="rival_time",
    kind=Number(above=0),
    default=300.0,
    help="Seconds that each of the trees of {rival} has for all folds; what is not finished by then is left out.",
    panel=of_selection.CHOICE,
)
RUN = (OUT, RESTART, of_data.N_THREADS, PROGRESS)
SELECT = (
    of_selection.PENALTIES,
    *of_paths.SETTINGS,
    of_selection.TRANSFORM,
    of_paths.N_KNOTS,
    of_selection.ENGINE,
    of_selection.MONOTONE,
    of_selection.KEEP,
    of_selection.DROP,
    of_selection.GROUPS,
    of_selection.REFITS,
    of_selection.METRIC_REFITS,
    of_selection.QUERY_WEIGHT,
    DOC_WEIGHT,
    *of_selection.CHOOSING,
    of_selection.COSTS,
    of_selection.PROTOCOL,
    of_selection.HALF_SAMPLES,
    CURRENT,
    RIVAL,
    RIVAL_TIME,
    *of_data.READING,
    ALLOW_OVERLAP,
    *RUN,
    CLIENT,
)
FIT = (
    next(o for o in SPARSE_RANKER if o.name == "penalty"),
    ALPHA,
    ALPHA_RATIO,
    SIZE,
    of_paths.SCALING,
    of_paths.TRANSFORM,
    of_paths.N_KNOTS,
    of_selection.MONOTONE,
    of_selection.KEEP,
    of_selection.DROP,
    of_selection.GROUPS,
    of_paths.LOSS,
    of_paths.TOL,
    *of_data.READING,
    of_data.N_THREADS,
    CLIENT,
)
