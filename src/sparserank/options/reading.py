"""Options of every reader, among the fields of `Reading`."""

from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from sparserank.options import CheckedLater, Choice, Count, Flag, Option, Or, Parsed, options_of
from sparserank.options.kinds import COUNT_OR_NONE, FILE, TEXT, TEXTS

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence

PANEL = "Reading files"
NAMES = "comma-separated names (in double quotes if a name contains a comma)"

Label = Annotated[
    Any,
    Option(
        TEXT,
        None,
        "Table column that contains the labels; with an array of features, the labels themselves.",
        PANEL,
        says="Table column that contains the labels.",
        flag="--label-column",
        shown="label",
    ),
]
Qid = Annotated[
    Any,
    Option(
        TEXT,
        None,
        "Table column that contains the query ids; with an array of features, the ids themselves.",
        PANEL,
        says="Table column that contains the query ids.",
        flag="--qid-column",
        shown="qid",
    ),
]
Docid = Annotated[
    Any,
    Option(
        TEXT,
        None,
        "Table column that contains the document ids; with an array of features, the ids themselves.",
        PANEL,
        says="Table column that contains the document ids.",
        flag="--docid-column",
        shown="a column docno, docid or doc_id",
    ),
]
DocWeight = Annotated[
    Any,
    Option(
        TEXT,
        None,
        "Weights >= 0 of the training documents: an array (with arrays), a file with one weight per line of the "
        "training files, or a column of a table. Each weight (for example 1 / the propensity of the click) applies to "
        "every pair in which the document is the preferred one. Metrics ignore the weights.",
        "Models",
        says="File with one weight (>= 0) for each line of the training files, or the name of a table column. The "
        "weight (for example 1 / the propensity of the click) applies to every pair in which the document is the "
        "preferred one.",
    ),
]
Threads = Annotated[
    int | None,
    Option(
        COUNT_OR_NONE,
        None,
        "Number of threads; results do not depend on it.",
        flag="--threads",
        shown="all cores",
    ),
]


class RowOptions(TypedDict, total=False):
    """Reading options of jobs, besides the columns of labels and queries."""

    n_features: Annotated[
        int | None,
        Option(
            COUNT_OR_NONE,
            None,
            "Number of features in text files; needed only if the files may lack the last feature.",
            PANEL,
        ),
    ]
    missing: Annotated[
        "str | float | Mapping[Any, str | float] | None",
        Option(
            Parsed("data.missing:MissingPolicy.parse"),
            None,
            "Replacement for missing values (NULL, nan, inf and 1.797e308). error; zero; min or median (of the "
            "training values, stored in the model); query-min; a number; or one per feature, such as "
            "'11,12=zero;bm25=min;*=median'.",
            PANEL,
            command="str | None",
            shown="error; in tables, the median and a flag",
        ),
    ]
    index_base: Annotated[int, Option(Count(0, 1), 1, "Index of the first feature in text files, 0 or 1.", PANEL)]
    unjudged: Annotated[
        str,
        Option(
            Choice(("error", "drop", "zero")),
            "error",
            "Treatment of rows with label -1 (unjudged): error, drop or zero.",
            PANEL,
        ),
    ]
    feature_names: Annotated[
        "str | os.PathLike | Sequence[str] | None",
        Option(FILE, None, "File with one feature name per line.", PANEL),
    ]
    docid: Docid
    feature_columns: Annotated[
        "Sequence[str] | None",
        Option(
            TEXTS,
            None,
            "Table columns used as features, in order.",
            PANEL,
            says=f"Table columns used as features: {NAMES}, or a file with one name per line; may be repeated.",
            shown="every other column",
        ),
    ]
    ignore_columns: Annotated[
        "Sequence[str]",
        Option(
            TEXTS,
            (),
            "Table columns to ignore.",
            PANEL,
            says=f"Table columns to ignore: {NAMES}; may be repeated.",
            shown="none",
        ),
    ]
    categories: Annotated[
        "Sequence[str]",
        Option(
            TEXTS,
            (),
            "Table columns of whole numbers that are categories, in addition to columns of text.",
            PANEL,
            says=f"Table columns of whole numbers that are categories too, like columns of text: {NAMES}; may be "
            "repeated.",
            shown="none",
        ),
    ]
    qrels: Annotated[
        Any,
        Option(
            CheckedLater("Path | None"),
            None,
            "Judgments (TREC, BEIR, JSON or a table such as Quepid's) of the documents in search responses, which have "
            "no labels. Other documents count as 0; queries without any judgment are left out.",
            PANEL,
        ),
    ]
    sparse: Annotated[
        bool | None,
        Option(
            Or(None, Flag()),
            None,
            "Store the features of text files as a sparse or as a dense matrix.",
            PANEL,
            flag="--sparse/--dense",
            shown="whichever is smaller",
        ),
    ]
    dtype: Annotated[
        Any | None,
        Option(
            Or(None, Parsed("data.matrices:float_type")),
            None,
            "Data type of the features: float32 or float64.",
            PANEL,
            command="str | None",
            shown="as in the files",
        ),
    ]


class ReadOptions(RowOptions, total=False):
    """Options of `read` by name."""

    label: Label
    qid: Qid
    doc_weight: DocWeight
    n_threads: Threads


READING = options_of(ReadOptions)
