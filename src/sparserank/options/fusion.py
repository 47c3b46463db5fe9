"""Options of `fuse`."""

from typing import TYPE_CHECKING, Annotated, TypedDict

from sparserank.options import Choice, Flag, Number, Option, Or, Parsed, options_of
from sparserank.options import paths as of_paths
from sparserank.options import reading as of_data
from sparserank.options import selection as of_selection
from sparserank.options.kinds import COUNT_OR_NONE, FILE

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping, Sequence
    from typing import Any

    from sparserank.paths.makers import SizedMaker
    from sparserank.penalties import Penalty

ENGINES = ("elasticsearch", "opensearch", "vespa", "qdrant", "ranx", "pyterrier", "python", "sql")
PANEL = "Runs"
JUDGED = "Judgments"
CHOICE = of_selection.CHOICE


class FuseOptions(of_selection.Stable, total=False):
    """Options of `fuse` by name."""

    norm: Annotated[
        "str | Sequence[str]",
        Option(
            Parsed("data.fusion.norms:check_norm", several=True),
            ("auto",),
            "Norms of the lists; the best one is chosen out of fold: minmax, l2, zscore (of scores), rrf or rrf(k=10) "
            "(1 / (k + rank)), logrank, or returned. auto tries minmax, zscore and rrf; for ranks, rrf, rrf(k=10) and "
            "logrank; with {engine}, those that the engine computes.",
            PANEL,
        ),
    ]
    depth: Annotated[
        int | None,
        Option(
            COUNT_OR_NONE,
            None,
            "Rank at which every list is cut before it is normalised, in training and in use.",
            PANEL,
            shown="100, or the metric's cutoff if that is larger; where most retrievers return fewer documents, the "
            "median of their median depths, at least the cutoff; of a table, its largest rank or longest list",
        ),
    ]
    rank_columns: Annotated[
        bool,
        Option(
            Flag(),
            False,
            "Read a table of judged documents instead of runs. Each column is a retriever and contains its ranks, "
            "missing (NULL) for documents that it did not return.",
            PANEL,
        ),
    ]
    score_columns: Annotated[bool, Option(Flag(), False, "Like {rank_columns}, for a table of scores.", PANEL)]
    unjudged: Annotated[
        str,
        Option(
            Choice(("zero", "skip")),
            "zero",
            "Returned documents without a judgment: zero (not relevant) or skip (left out of the fused lists before "
            "they are evaluated).",
            JUDGED,
        ),
    ]
    relevant_from: Annotated[
        float,
        Option(
            Number(above=0),
            1.0,
            "Lowest grade of a relevant document in metrics without gains, such as recall@100 and map.",
            JUDGED,
        ),
    ]
    test_qrels: Annotated[
        "str | os.PathLike | Mapping[Any, Any] | None",
        Option(
            FILE,
            None,
            "Judgments of other queries of the same runs, used only for the comparison.",
            JUDGED,
        ),
    ]
    judge: of_selection.Judge
    judge_grades: of_selection.JudgeGrades
    penalties: Annotated[
        "str | Penalty | SizedMaker | Sequence[str | Penalty | SizedMaker]",
        Option(
            of_selection.MAKERS,
            (*of_selection.LINEAR, "best_k"),
            of_selection.SELECT["penalties"].help,
            of_selection.MODEL,
            flag="--penalty",
        ),
    ]
    sign: Annotated[
        str,
        Option(
            Choice(("positive", "free")),
            "positive",
            "Signs of the weights: positive (which nearly every engine requires) or free.",
            of_paths.PANEL,
        ),
    ]
    costs: Annotated[
        "str | os.PathLike | Mapping[str, float] | None",
        Option(
            FILE,
            None,
            "Cost > 0 of each retriever, such as milliseconds: {retriever: cost}, or a file of lines 'retriever cost'.",
            CHOICE,
            says="File of lines 'retriever cost': the cost > 0 of each retriever, such as milliseconds.",
        ),
    ]
    cost_rule: Annotated[
        str,
        Option(
            Choice(("sum", "max")),
            "sum",
            "How costs combine: sum (money, work), or max (latency of retrievers that run in parallel).",
            CHOICE,
        ),
    ]
    label: of_data.Label
    qid: of_data.Qid
    docid: of_data.Docid


class EngineOfFusion(TypedDict, total=False):
    """The option `engine`, which the signature of `fuse` writes out."""

    engine: Annotated[
        str | None,
        Option(
            Or(None, Choice(ENGINES)),
            None,
            f"Engine that will fuse: only formulas that it can compute are tried, by its rules. One of "
            f"{', '.join(ENGINES)}.",
            CHOICE,
        ),
    ]


class AllFuseOptions(FuseOptions, of_selection.Written, EngineOfFusion, total=False):
    """All options of `fuse`."""


FUSE = options_of(AllFuseOptions)
