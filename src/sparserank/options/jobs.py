"""Options of the jobs and their values, in the order of the documentation."""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import Any

from sparserank.errors import ParameterError
from sparserank.options import Flag, Given, Number, Option, Or, Parsed
from sparserank.options import paths as of_paths
from sparserank.options import reading as of_data
from sparserank.options import selection as of_selection
from sparserank.options.kinds import is_flag
from sparserank.options.rankers import ALPHA, ALPHA_RATIO, RULES_OF_FEATURES, SIZE, SPARSE_RANKER
from sparserank.text import brief

PANEL = "Trees"


def lengths_of(sizes: Any) -> tuple[int, ...]:
    """Distinct numbers of features, in ascending order.

    Raises
        ParameterError   they are not positive whole numbers
    """
    many = isinstance(sizes, Iterable) and not isinstance(sizes, str) and getattr(sizes, "ndim", True)
    listed = list(sizes) if many else []
    if not listed or any(is_flag(s) or not isinstance(s, Integral) or s < 1 for s in listed):
        raise ParameterError("sizes", f"must be whole numbers >= 1; got {brief(sizes)}.")
    return tuple(sorted({int(s) for s in listed}))


OUT = Option(
    name="out",
    kind=Given("str | os.PathLike | None", "Path"),
    help="Directory for results. If the process is killed, make the same call again to resume from this directory.",
)
RESTART = Option(
    name="restart",
    kind=Flag(),
    default=False,
    help="Discard the results of earlier runs in {out} with other data or options.",
)
PROGRESS = Option(
    name="progress",
    kind=Given("Progress | None"),
    help="Called with (pieces done, pieces in total, the last piece or what it shows, seconds left or None).",
    flag="",
)
CLIENT = Option(
    name="client",
    kind=Given("Any", "str | None"),
    help="A dask.distributed Client whose workers read the training data from a store on a disk that all of them can "
    "access. Other data are first written to a store in the folder for temporary files (TMPDIR).",
    says="Address of a Dask scheduler whose workers read the training data, e.g. tcp://host:8786.",
    flag="--scheduler",
)
ALLOW_OVERLAP = Option(
    name="allow_overlap",
    kind=Flag(),
    default=False,
    help="Accept query ids that occur in more than one of train, validation and test.",
    panel=of_data.PANEL,
)
DOC_WEIGHT = Option(
    name="doc_weight",
    kind=Given("Any", "str | None"),
    help="Weights >= 0 of the training documents: an array, a file with one weight per line of the training files, or "
    "a column of a table. Each weight (for example 1 / the propensity of the click) applies to every pair in "
    "which the document is the preferred one. Metrics ignore the weights.",
    says="File with one weight (>= 0) for each line of the training files, or the name of a table column. The weight "
    "(for example 1 / the propensity of the click) applies to every pair in which the document is the preferred one.",
    panel=of_selection.MODEL,
)
CURRENT = Option(
    name="current",
    kind=Given("str | os.PathLike | RankingModel | Mapping[Any, Any] | None", "str | None"),
    help="The ranker in use: a model (file), a run (what users see), or the feature that contains its score. That "
    "feature is then left out unless {keep} names it. The choice is not affected; the result reports the gains and "
    "losses of switching to the chosen model, with an interval.",
    panel=of_selection.CHOICE,
)
RIVAL = Option(
    name="rival",
    kind=Given("str | os.PathLike | None", "str", words=True),
    default="auto",
    help="Trees that are trained on the same folds, compared, and never chosen; distilled weights learn from them: "
    "auto (LightGBM, if it is installed), none, lightgbm, or the path of a saved LightGBM model or of a parameter "
    "file, whose settings are used.",
    panel=of_selection.CHOICE,
)
RIVAL_TIME = Option(
    name="rival_time",
    kind=Number(above=0),
    default=300.0,
    help="Time limit, in seconds, for training each ensemble of {rival} on all folds. Ensembles that exceed the limit "
    "are left out; those that are expected to exceed it on one core do not teach distilled weights.",
    panel=of_selection.CHOICE,
)
FOR_MODEL = Option(
    name="for_model",
    kind=Given("str | os.PathLike | None", "str | None", words=True),
    help="Choose features for this ranker: lightgbm, or the path of a saved LightGBM model or of a parameter file, "
    "whose settings are used. The result is the shortest list on which the ranker ranks as well as on the best list "
    "tried. Lists come from the path of one penalty (mcp) and from the gain of the trees. This needs "
    "sparserank[trees].",
    panel=PANEL,
)
SIZES = Option(
    name="sizes",
    kind=Or(None, Parsed(lengths_of, "Sequence[int]", refused=(0, "three", (0,), (2.5,), (True,), ()))),
    help="Lengths of the feature lists to try with {for_model}.",
    panel=PANEL,
    flag="--size",
    command="list[int] | None",
    shown="at most eight, from 1 up to the number of features that may be used",
)
START = Option(
    name="start",
    kind=Given("str | os.PathLike | None", "Path | None"),
    help="Directory of an earlier selection, whose options are used except for those that you give and {fast=True}.",
    panel=of_selection.CHOICE,
)
QUERY = Option(
    name="query",
    kind=Given("str | os.PathLike | Mapping[str, Any] | None", "Path | None"),
    help="Search request (JSON) whose named clauses are tuned, with {engine} elasticsearch-query, opensearch-query or "
    "solr-query; the data are responses to it. Its boosts are the ranker in use.",
    panel=of_selection.MODEL,
)
PREFER = Option(
    name="prefer",
    kind=Given("str | os.PathLike | RankingModel | None", "Path | None"),
    help="Directory of an earlier selection (or a model), whose features are chosen again if the loss without all "
    "others is within {margin}. Queries on which it was not trained decide, if there are 50 of them.",
    panel=of_selection.CHOICE,
)
RUN = (OUT, RESTART, of_data.N_THREADS, PROGRESS)
SELECT = (
    of_selection.PENALTIES,
    *of_paths.SETTINGS,
    of_selection.TRANSFORM,
    of_selection.ENGINE,
    QUERY,
    of_selection.MONOTONE,
    of_selection.KEEP,
    of_selection.DROP,
    of_selection.GROUPS,
    of_selection.REFITS,
    of_selection.QUERY_WEIGHT,
    DOC_WEIGHT,
    *of_selection.CHOOSING,
    of_selection.COSTS,
    of_selection.PROTOCOL,
    of_selection.HALF_SAMPLES,
    of_selection.FAST,
    CURRENT,
    RIVAL,
    RIVAL_TIME,
    FOR_MODEL,
    SIZES,
    *of_data.READING,
    ALLOW_OVERLAP,
    START,
    PREFER,
    *RUN,
    CLIENT,
)
FOR_MODEL_TAKES = (  # the options of `select` that can be combined with for_model
    of_selection.PENALTIES,
    of_selection.TRANSFORM,
    of_selection.KEEP,
    of_selection.DROP,
    of_selection.GROUPS,
    *of_selection.CHOOSING,
    of_selection.COSTS,
    FOR_MODEL,
    SIZES,
    *of_data.READING,
    ALLOW_OVERLAP,
    *RUN,
)
FIT = (
    next(o for o in SPARSE_RANKER if o.name == "penalty"),
    ALPHA,
    ALPHA_RATIO,
    SIZE,
    of_paths.SCALING,
    of_paths.TRANSFORM,
    *RULES_OF_FEATURES,
    of_paths.LOSS,
    of_paths.TOL,
    *of_data.READING,
    of_data.N_THREADS,
    CLIENT,
)
