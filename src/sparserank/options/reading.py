"""Options of every reader, the fields of `Reading`."""

from __future__ import annotations

from sparserank.options import Choice, Count, Flag, Given, Option, Or, Parsed

PANEL = "Reading files"
NAMES = "comma-separated names (in double quotes if a name contains a comma)"

N_FEATURES = Option(
    name="n_features",
    kind=Or(None, Count()),
    help="Number of features in text files; needed only if the files may lack the last feature.",
    panel=PANEL,
)
MISSING = Option(
    name="missing",
    kind=Parsed(
        "data.missing:MissingPolicy.parse",
        "str | float | Mapping[Any, str | float] | None",
        refused=("nothing", b"zero", (1, 2)),
    ),
    help="Replacement for missing values (NULL, nan, inf and 1.797e308). error; zero; min or median (of the training "
    "values, stored in the model); query-min; a number; or one per feature, such as '11,12=zero;bm25=min;*=median'.",
    panel=PANEL,
    command="str | None",
    shown="error; in tables, the median and a flag",
)
INDEX_BASE = Option(
    name="index_base",
    kind=Count(0, 1),
    default=1,
    help="Index of the first feature in text files, 0 or 1.",
    panel=PANEL,
)
UNJUDGED = Option(
    name="unjudged",
    kind=Choice(("error", "drop", "zero")),
    default="error",
    help="Treatment of rows with label -1 (unjudged): error, drop or zero.",
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
    help="Table column that contains the labels; with an array of features, the labels themselves.",
    says="Table column that contains the labels.",
    panel=PANEL,
    flag="--label-column",
    shown="label",
)
QID = Option(
    name="qid",
    kind=Given("Any", "str | None"),
    help="Table column that contains the query ids; with an array of features, the ids themselves.",
    says="Table column that contains the query ids.",
    panel=PANEL,
    flag="--qid-column",
    shown="qid",
)
DOCID = Option(
    name="docid",
    kind=Given("Any", "str | None"),
    help="Table column that contains the document ids; with an array of features, the ids themselves.",
    says="Table column that contains the document ids.",
    panel=PANEL,
    flag="--docid-column",
    shown="a text column docno, docid or doc_id",
)
FEATURE_COLUMNS = Option(
    name="feature_columns",
    kind=Given("Sequence[str] | None", "list[str] | None"),
    help="Table columns used as features, in order.",
    says=f"Table columns used as features: {NAMES}, or a file with one name per line; may be repeated.",
    panel=PANEL,
    shown="every other column",
)
IGNORE_COLUMNS = Option(
    name="ignore_columns",
    kind=Given("Sequence[str]", "list[str] | None"),
    default=(),
    help="Table columns to ignore.",
    says=f"Table columns to ignore: {NAMES}; may be repeated.",
    panel=PANEL,
    shown="none",
)
CATEGORIES = Option(
    name="categories",
    kind=Given("Sequence[str]", "list[str] | None"),
    default=(),
    help="Table columns of whole numbers that are categories, in addition to columns of text.",
    says=f"Table columns of whole numbers that are categories too, like columns of text: {NAMES}; may be repeated.",
    panel=PANEL,
    shown="none",
)
SPARSE = Option(
    name="sparse",
    kind=Or(None, Flag()),
    help="Store the features of text files as a sparse or as a dense matrix.",
    panel=PANEL,
    flag="--sparse/--dense",
    shown="whichever is smaller",
)
DTYPE = Option(
    name="dtype",
    kind=Or(None, Parsed("data.matrices:float_type", "Any", refused=("nothing", "FLOAT32x", "int32", 3.5))),
    help="Data type of the features: float32 or float64.",
    panel=PANEL,
    command="str | None",
    shown="as in the files",
)
N_THREADS = Option(
    name="n_threads",
    kind=Or(None, Count()),
    help="Number of threads; results do not depend on it.",
    panel="",
    flag="--threads",
    shown="all cores",
)
QRELS = Option(
    name="qrels",
    kind=Given("Any", "Path | None"),
    help="Judgments (TREC, BEIR, JSON or a table such as Quepid's) of the documents in search responses, which have no "
    "labels. Other documents count as 0; queries without any judgment are left out.",
    panel=PANEL,
)
ROWS = (N_FEATURES, MISSING, INDEX_BASE, UNJUDGED, FEATURE_NAMES)
COLUMNS = (LABEL, QID, DOCID, FEATURE_COLUMNS, IGNORE_COLUMNS)
READING = (*ROWS, *COLUMNS, CATEGORIES, QRELS, SPARSE, DTYPE)  # reading options of jobs, besides N_THREADS
