"""Declarations of the commands: arguments and options. They import nothing that takes time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sparserank.options import CheckedLater, Count, Flag, Option, Or
from sparserank.options import reading as of_data
from sparserank.options.fusion import FUSE
from sparserank.options.reading import READING
from sparserank.options.selection import ENGINES, TREES
from sparserank.options.selection import FIT as OF_FIT
from sparserank.options.selection import SELECT as OF_SELECT

TRAINING = "Training files: LETOR text (plain or gzip), Parquet, CSV or Arrow tables, or a folder of Parquet files."
MODEL = "Model file of select or fit."


@dataclass(frozen=True)
class Argument:
    """A positional argument of a command; command: the type of its values."""

    name: str
    command: str
    help: str


@dataclass(frozen=True)
class Command:
    """One command: `run` of the module `cli.NAME` is called with the values from the command line, by option name.

    required   options that the user must set
    """

    name: str
    arguments: Sequence[Argument]
    options: Sequence[Option]
    required: Sequence[str] = ()


def cli_option(name: str, command: str, help: str, **fields: Any) -> Option:
    """An option that only the command line has."""
    return Option(CheckedLater(command), fields.pop("default", None), help, name=name, **fields)


def switch(name: str, help: str, *, flag: str | None = None, panel: str = "") -> Option:
    """A flag that only the command line has."""
    return Option(Flag(), False, help, panel, flag=flag, name=name)


def without(options: Mapping[str, Option], *names: str) -> tuple[Option, ...]:
    return tuple(option for name, option in options.items() if name not in names)


OUT = replace(OF_SELECT["out"], help="Directory for results. If the command is killed, run it again to resume.")
OF_MODEL = replace(
    READING["missing"],
    help="Replacement for NULL, nan, inf and 1.797e308: model (the training median stored in the model), zero, "
    "query-min, a number, or one replacement per feature ('11,12=zero;bm25=3').",
    shown="as in training, otherwise an error",
)
ROWS = tuple(READING[name] for name in ("n_features", "missing", "index_base", "unjudged", "feature_names"))
COLUMNS = tuple(READING[name] for name in ("label", "qid", "docid", "feature_columns", "ignore_columns"))
OF_SIZE = replace(OF_SELECT["k"], help="Of a run: its model with K features or, if none, the best smaller.", panel="")
WITH_JUDGED = (OF_MODEL, READING["index_base"], READING["unjudged"], *COLUMNS)
WITH_MODELS = (OF_MODEL, READING["index_base"], replace(READING["unjudged"], default="zero"), *COLUMNS)
SELECT = Command(
    "select",
    [Argument("train", "list[Path]", TRAINING)],
    [
        OUT,
        cli_option("valid", "list[Path] | None", "Validation file; may be repeated."),
        cli_option("test", "list[Path] | None", "Test file, used only for the comparison; may be repeated."),
        *without(OF_SELECT, "out", "sparse", "dtype"),
    ],
    required=["out"],
)
FIT = Command(
    "fit",
    [Argument("train", "list[Path]", TRAINING)],
    [
        replace(OUT, help="Model file to write (JSON)."),
        *without(OF_FIT, "sparse", "dtype"),
    ],
    required=["out"],
)
CONVERT = Command(
    "convert",
    [Argument("files", "list[Path]", "Input files, all of the same kind, followed by the store (or file) to write.")],
    [
        replace(
            READING["dtype"],
            shown="float32; for a store, its dtype",
        ),
        READING["sparse"],
        READING["qrels"],
        Option(Count(1, 1 << 20), 128, "Megabytes of features per shard.", name="shard_mb"),
        cli_option(
            "doc_weight",
            "str | None",
            "Table column with the document weights.",
            panel=of_data.PANEL,
        ),
        *ROWS,
        *COLUMNS,
        cli_option(
            "like",
            "Path | None",
            "Store of the training data; its feature order and missing-value replacements are used.",
        ),
        replace(OF_SELECT["restart"], help="Discard the existing contents of OUT."),
        READING["n_threads"],
    ],
)
PREDICT = Command(
    "predict",
    [
        Argument("model", "Path", MODEL),
        Argument("data", "list[Path]", "Files to score: LETOR text or tables."),
    ],
    [
        OF_SIZE,
        cli_option(
            "out",
            "Path | None",
            "File for the scores; standard output by default. A .csv or .parquet file also contains the ids.",
        ),
        cli_option("run", "Path | None", "Write a TREC run (qid Q0 docno rank score tag) instead of scores."),
        cli_option("qrels", "Path | None", "Also write the judgments as TREC qrels (qid 0 docno rel)."),
        *WITH_MODELS,
    ],
)
EVALUATE = Command(
    "evaluate",
    [Argument("data", "list[Path] | None", "LETOR files or tables with judgments.")],
    [
        cli_option(
            "system",
            "list[Path]",
            "Model, run (TREC, JSON, Parquet or CSV) or scores; may be repeated.",
        ),
        cli_option(
            "qrels",
            "Path | None",
            "Judgments (TREC, BEIR, JSON or CSV), used instead of judged documents; every system must then be a run or "
            "a model of fuse.",
        ),
        cli_option(
            "runs",
            "list[Path] | None",
            "With {qrels}: run of a retriever that a model of fuse uses, named after its file or by NAME=FILE; may be "
            "repeated.",
        ),
        cli_option(
            "judges",
            "list[Path] | None",
            "With {qrels}, which are then grades of people for a few queries: judgments of a judge, such as a language "
            "model, for many. Says how many human queries they are worth, and their bias; may be repeated.",
            flag="--judge",
        ),
        cli_option(
            "judge_grades",
            "str | None",
            "With {judges}: what its grades mean on the scale of people, such as 0=0,1=0,2=1,3=1.",
        ),
        cli_option(
            "strata",
            "Path | None",
            "With {judges}: file with lines 'query stratum', if people graded another share of each stratum.",
        ),
        Option(
            Or(None, Count(1)),
            None,
            "With {qrels}: list this many documents that people should judge next, by how far a grade can move a "
            "difference; with {judges}, also as many queries, drawn at random within strata.",
            name="judge_next",
        ),
        replace(OF_SELECT["random_state"], help="With {judge_next}: seed of the draw of the queries.", panel=""),
        cli_option(
            "strata_out",
            "Path | None",
            "With {judge_next} and {judges}: file for the strata of the queries. When people have judged those that "
            "were drawn, {strata} needs it.",
        ),
        cli_option("metric", "list[str] | None", "Metric; may be repeated.", shown="ndcg@10, map"),
        replace(
            OF_SELECT["convention"],
            kind=CheckedLater("str | None"),
            default=None,
            panel="",
            shown="default; trec with {qrels}",
        ),
        cli_option(
            "fail_if_worse",
            "str | None",
            "Exit with code 3 if a system loses more of the first metric against the first system than this: a share "
            "such as 1%, or a number.",
        ),
        switch("fail_if_shown", "With {fail_if_worse}: only if the lower 95% bound of the loss is above it."),
        switch("judge_only", "With {fail_if_worse} and {judges}: decide by the grades of the judge alone."),
        cli_option("junit", "Path | None", "With {fail_if_worse}: also write a JUnit report to this file."),
        cli_option("out", "Path | None", "Also write the values of the first system, for {baseline}."),
        cli_option(
            "baseline",
            "Path | None",
            "Values of an earlier system (written by {out}, with the same judgments), the first of the comparison.",
        ),
        READING["n_features"],
        *WITH_JUDGED,
    ],
    required=["system"],
)
INSPECT = Command(
    "inspect",
    [
        Argument(
            "files", "list[Path]", "Data files (read as one data set), a store, a model file, or a model and new data."
        )
    ],
    [
        *ROWS,
        *COLUMNS,
        READING["categories"],
        READING["qrels"],
        switch("verify", "Read the whole store and compare every checksum."),
        switch("fail_if_drift", "With a model and new data: exit with code 3 if a column has drifted."),
    ],
)
EXPLAIN = Command(
    "explain",
    [Argument("model", "Path", MODEL), Argument("data", "list[Path] | None", "Files that contain the query.")],
    [
        cli_option("query", "str | None", "Id of the query."),
        switch("plain", "Explain the model instead of a query: one sentence per feature."),
        cli_option(
            "pair",
            "list[str] | None",
            "Document id. The option may be repeated once, to see why the first document is ranked above the second.",
        ),
        Option(Count(), 10, "Number of documents to show, best first.", name="most"),
        *WITH_MODELS,
    ],
)
DIFF = Command(
    "diff",
    [
        Argument("old", "Path", "The earlier model: the directory of a selection, or a model file."),
        Argument("new", "Path", "The later model, likewise."),
        Argument("data", "list[Path] | None", "Judged documents: LETOR text or tables."),
    ],
    [OF_SIZE, *WITH_JUDGED],
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
        cli_option("qrels", "Path | None", "Judgments (TREC, BEIR, JSON, or a table such as Quepid's).", panel=""),
        OUT,
        *without(FUSE, "out"),
    ],
    required=["out"],
)
EXPORT = Command(
    "export",
    [Argument("model", "Path", "Model file of select or fit, or the directory of a selection.")],
    [
        cli_option(
            "to",
            "str",
            f"{', '.join(ENGINES[:-1])} or {ENGINES[-1]}; for models of steps, also "
            f"{' and '.join(TREES)}; for fused retrievers, also ranx.",
        ),
        cli_option(
            "out",
            "Path | None",
            "New or empty folder. For a format with a single file, the path of that file (model.onnx, score.sql, ...). "
            "Existing files are never replaced.",
            shown="standard output, if the export is a single text",
        ),
        OF_SIZE,
        cli_option(
            "name", "str", "Name of the model in the engine, and of its feature store or set.", default="sparserank"
        ),
        cli_option("features", "Path | None", "JSON file that defines each feature of the model in the engine."),
        switch("normalizers", "Write the scaling as the engine's normalisers instead of folding it into the weights."),
        cli_option(
            "offset",
            "str",
            "Constant added to every score, for engines that reject negative scores or clamp them to 0. It is a "
            "number, or auto, which raises the scores of all training documents above 0. Rankings do not change.",
            default="0",
        ),
        switch(
            "sigmoid",
            "Pass scores through 1 / (1 + e^-x). The results are positive, but scores far from 0 become equal.",
        ),
        switch(
            "filled",
            "Use this if the features of the engine return the model's replacements for missing values instead of 0.",
        ),
        cli_option(
            "missing",
            "str | None",
            "model: replace missing values by the training medians stored in the model.",
            shown="as in training, otherwise no score",
        ),
        cli_option(
            "query",
            "Path | None",
            "elasticsearch-query, opensearch-query, solr-query: the request that gets the boosts.",
        ),
        switch(
            "wide",
            "onnx: a single input X with all features of the training data, instead of one input per selected feature.",
        ),
    ],
    required=["to"],
)
DEMO = Command(
    "demo",
    [],
    [
        cli_option("out", "Path", "Directory for data and results.", default="demo-run"),
        replace(OF_SELECT["random_state"], help="Random seed for generating the problem.", panel=""),
        READING["n_threads"],
    ],
)
COMMANDS = (SELECT, FUSE_COMMAND, FIT, PREDICT, EVALUATE, DIFF, INSPECT, EXPLAIN, EXPORT, CONVERT, DEMO)
OUTPUT = (  # options of every command
    cli_option(
        "format",
        "str",
        "Format of standard output: text, markdown or, for programs, json or csv.",
        panel="Output",
        default="text",
    ),
    switch(
        "quiet",
        "Print only results, warnings and errors: no progress, no notes.",
        flag="--quiet,-q",
        panel="Output",
    ),
    switch(
        "verbose",
        "Print each finished piece of work, the versions, and tracebacks of errors.",
        flag="--verbose,-v",
        panel="Output",
    ),
)
FLAGS = {o.name: o.spelled.partition("/")[0] for c in COMMANDS for o in c.options if o.flag}
