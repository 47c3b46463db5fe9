"""Declarations of the commands, from which `make options` writes `commands.py`: arguments, options, what runs them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sparserank.cli.convert import SHARD_MB
from sparserank.cli.explain import MOST
from sparserank.data import options as of_data
from sparserank.jobs import options as of_jobs
from sparserank.jobs.fusion_options import FUSE
from sparserank.options import Flag, Given, Option
from sparserank.selection import options as of_selection

TRAINING = "Training files: LETOR text (plain or gzip), Parquet, CSV or Arrow tables, or a folder of Parquet files."
MODEL = "Model file of select or fit."


@dataclass(frozen=True)
class Argument:
    """A positional argument of a command; command: the type that it reads."""

    name: str
    command: str
    help: str


@dataclass(frozen=True)
class Command:
    """One command: it calls `run` of the module `cli.NAME` with the values from the command line, by option name.

    required   options that the user must set
    """

    name: str
    arguments: Sequence[Argument]
    options: Sequence[Option]
    required: Sequence[str] = ()


def own(name: str, command: str, help: str, *, flag: str | None = None, shown: str = "", panel: str = "") -> Option:
    """An option that only the command line has."""
    return Option(name=name, kind=Given("", command), help=help, flag=flag, shown=shown, panel=panel)


def without(options: Sequence[Option], *names: str) -> tuple[Option, ...]:
    return tuple(o for o in options if o.name not in names)


OUT = replace(of_jobs.OUT, help="Directory for results. If the command is killed, run it again to resume.")
OF_MODEL = replace(
    of_data.MISSING,
    help="Replacement for NULL, nan, inf and 1.797e308: model (the training median stored in the model), zero, "
    "query-min, a number, or one replacement per feature ('11,12=zero;bm25=3').",
    shown="as in training, otherwise an error",
)
COLUMNS = of_data.COLUMNS
WITH_MODELS = (OF_MODEL, of_data.INDEX_BASE, replace(of_data.UNJUDGED, default="zero"), *COLUMNS)
SELECT = Command(
    "select",
    [Argument("train", "list[Path]", TRAINING)],
    [
        OUT,
        own("valid", "list[Path] | None", "Validation file; may be repeated."),
        own("test", "list[Path] | None", "Test file, used only for the comparison; may be repeated."),
        *without(of_jobs.SELECT, "out", "sparse", "dtype"),
    ],
    required=["out"],
)
FIT = Command(
    "fit",
    [Argument("train", "list[Path]", TRAINING)],
    [
        replace(OUT, help="Model file to write (JSON)."),
        *without(of_jobs.FIT, "sparse", "dtype"),
    ],
    required=["out"],
)
CONVERT = Command(
    "convert",
    [Argument("files", "list[Path]", "Input files, all of the same kind, followed by the store (or file) to write.")],
    [
        replace(
            of_data.DTYPE,
            shown="float32; for a store, its dtype",
        ),
        of_data.SPARSE,
        replace(own("shard_mb", "int", "Megabytes of features per shard."), kind=SHARD_MB, default=128),
        own(
            "doc_weight",
            "str | None",
            "Table column with the document weights.",
            panel=of_data.PANEL,
        ),
        *of_data.ROWS,
        *COLUMNS,
        own(
            "like",
            "Path | None",
            "Store of the training data; its feature order and missing-value replacements are used.",
        ),
        replace(of_jobs.RESTART, help="Discard the existing contents of OUT."),
        of_data.N_THREADS,
    ],
)
PREDICT = Command(
    "predict",
    [
        Argument("model", "Path", MODEL),
        Argument("data", "list[Path]", "Files to score: LETOR text or tables."),
    ],
    [
        replace(
            of_selection.K,
            help="For a run directory: use its model with K features or, if there is none, the best smaller model.",
            panel="",
        ),
        own("out", "Path | None", "File for the scores; standard output by default."),
        own("run", "Path | None", "Write a TREC run (qid Q0 docno rank score tag) instead of scores."),
        own("qrels", "Path | None", "Also write the judgments as TREC qrels (qid 0 docno rel)."),
        *WITH_MODELS,
    ],
)
EVALUATE = Command(
    "evaluate",
    [Argument("data", "list[Path] | None", "LETOR files or tables with judgments.")],
    [
        own(
            "system",
            "list[Path]",
            "Model (ours or LightGBM's), run (TREC, JSON, Parquet or CSV) or scores; repeatable.",
        ),
        own(
            "qrels",
            "Path | None",
            "Judgments (TREC or BEIR), used instead of judged documents; every system must then be a run or a model of "
            "fuse.",
        ),
        own(
            "runs",
            "list[Path] | None",
            "With {qrels}: run of a retriever that a model of fuse uses, named after its file or by NAME=FILE; may be "
            "repeated.",
        ),
        own("metric", "list[str] | None", "Metric; may be repeated.", shown="ndcg@10, map"),
        replace(
            of_selection.CONVENTION,
            kind=Given("", "str | None"),
            default=None,
            panel="",
            shown="default; trec with {qrels}",
        ),
        of_data.N_FEATURES,
        OF_MODEL,
        of_data.INDEX_BASE,
        of_data.UNJUDGED,
        *COLUMNS,
    ],
    required=["system"],
)
INSPECT = Command(
    "inspect",
    [Argument("files", "list[Path]", "Data files (read as one data set), a store, or one model file.")],
    [
        *of_data.ROWS,
        *COLUMNS,
        replace(own("verify", "bool", "Read the whole store and compare every checksum."), kind=Flag(), default=False),
    ],
)
EXPLAIN = Command(
    "explain",
    [Argument("model", "Path", MODEL), Argument("data", "list[Path]", "Files that contain the query.")],
    [
        own("query", "str", "Id of the query."),
        own(
            "pair",
            "list[str] | None",
            "Document id. The option may be repeated once, to see why the first document is ranked above the second.",
        ),
        replace(own("most", "int", "Number of documents to show, best first."), kind=MOST, default=10),
        *WITH_MODELS,
    ],
    required=["query"],
)
FUSE_COMMAND = Command(
    "fuse",
    [
        Argument(
            "runs",
            "list[Path]",
            "Runs, one of each retriever: TREC runs (plain or gzip), JSON, Parquet or CSV files. A retriever is named "
            "after its file, or by NAME=FILE.",
        )
    ],
    [
        own("qrels", "Path | None", "Judgments in TREC format (qid 0 docno rel).", panel=""),
        OUT,
        *without(FUSE, "out"),
    ],
    required=["out"],
)
COMMANDS = (SELECT, FUSE_COMMAND, FIT, CONVERT, PREDICT, EVALUATE, INSPECT, EXPLAIN)
