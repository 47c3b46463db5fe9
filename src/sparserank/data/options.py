"""How files are read: the options of every reader, which `Reading` holds."""

from __future__ import annotations

from sparserank.data.matrices import float_type
from sparserank.data.missing import MissingPolicy
from sparserank.options import Choice, Count, Flag, Given, Option, Or, Parsed

PANEL = "Reading files"

N_FEATURES = Option(
    name="n_features",
    kind=Or(None, Count()),
    help="Number of features of text, when the files need not show the last one.",
    panel=PANEL,
)
MISSING = Option(
    name="missing",
    kind=Parsed(
        MissingPolicy.parse, "str | float | Mapping[Any, str | float] | None", refused=("nothing", b"zero", (1, 2))
    ),
    help="What NULL, nan, inf and 1.797e308 become: error, zero, min or median (of the training values; the model "
    "remembers), query-min, a number, or per feature: '11,12=zero;bm25=min;*=median'.",
    panel=PANEL,
    command="str | None",
    shown="error",
)
INDEX_BASE = Option(
    name="index_base",
    kind=Count(0, 1),
    default=1,
    help="Number of the first feature in files of text, 0 or 1.",
    panel=PANEL,
)
UNJUDGED = Option(
    name="unjudged",
    kind=Choice(("error", "drop", "zero")),
    default="error",
    help="Rows with label -1: error, drop or zero.",
    panel=PANEL,
)
FEATURE_NAMES = Option(
    name="feature_names",
    kind=Given("str | os.PathLike | Sequence[str] | None", "Path | None"),
    help="File with one feature name per line.",
    panel=PANEL,
)
LABEL = Option(
    name="label",
    kind=Given("Any", "str | None"),
    help="Column of a table with the labels; beside an array of features, the labels themselves.",
    says="Column of a table with the labels.",
    panel=PANEL,
    flag="--label-column",
    shown="label",
)
QID = Option(
    name="qid",
    kind=Given("Any", "str | None"),
    help="Column of a table with the query ids; beside an array of features, the ids themselves.",
    says="Column of a table with the query ids.",
    panel=PANEL,
    flag="--qid-column",
    shown="qid",
)
DOCID = Option(
    name="docid",
    kind=Given("Any", "str | None"),
    help="Column of a table with the document ids; beside an array of features, the ids themselves.",
    says="Column of a table with the document ids.",
    panel=PANEL,
    flag="--docid-column",
    shown="a text column docno, docid or doc_id",
)
FEATURE_COLUMNS = Option(
    name="feature_columns",
    kind=Given("Sequence[str] | None", "list[str] | None"),
    help="Columns of a table that are features, in order.",
    says="Columns of a table that are features: names with commas between them (in double quotes where a name holds "
    "one), or a file with one per line; may be repeated.",
    panel=PANEL,
    shown="every other column",
)
IGNORE_COLUMNS = Option(
    name="ignore_columns",
    kind=Given("Sequence[str]", "list[str] | None"),
    default=(),
    help="Columns of a table that are left out.",
    says="Columns of a table that are left out: names with commas between them (in double quotes where a name holds "
    "one); may be repeated.",
    panel=PANEL,
    shown="none",
)
SPARSE = Option(
    name="sparse",
    kind=Or(None, Flag()),
    help="Keep features of text sparse, or dense.",
    panel=PANEL,
    flag="--sparse/--dense",
    shown="whichever is smaller",
)
DTYPE = Option(
    name="dtype",
    kind=Or(None, Parsed(float_type, "Any", refused=("nothing", "FLOAT32x", "int32", 3.5))),
    help="What features are kept in: float32 or float64.",
    panel=PANEL,
    command="str | None",
    shown="what the files hold",
)
N_THREADS = Option(
    name="n_threads",
    kind=Or(None, Count()),
    help="Threads; results do not depend on it.",
    panel="",
    flag="--threads",
    shown="all cores",
)
ROWS = (N_FEATURES, MISSING, INDEX_BASE, UNJUDGED, FEATURE_NAMES)
COLUMNS = (LABEL, QID, DOCID, FEATURE_COLUMNS, IGNORE_COLUMNS)
READING = (*ROWS, *COLUMNS, SPARSE, DTYPE)  # of jobs, beside N_THREADS
