"""Options of `fuse`, in the order of the documentation."""

from __future__ import annotations

from dataclasses import replace

from sparserank.options import Choice, Count, Flag, Given, Number, Option, Or, Parsed
from sparserank.options import paths as of_paths
from sparserank.options import reading as of_data
from sparserank.options import selection as of_selection
from sparserank.options.jobs import RUN

ENGINES = ("elasticsearch", "opensearch", "vespa", "qdrant", "ranx", "pyterrier", "python", "sql")
PANEL, JUDGED, CHOICE = "Runs", "Judgments", of_selection.CHOICE


NORM = Option(
    name="norm",
    kind=Parsed("data.fusion.norms:check_norm", "str | Sequence[str]", several=True),
    default=("auto",),
    help="Norms of the lists; the best one is chosen out of fold: minmax, l2, zscore (of scores), rrf or rrf(k=10) "
    "(1 / (k + rank)), logrank, or returned. auto tries minmax, zscore and rrf; for ranks, rrf, rrf(k=10) and logrank; "
    "with {engine}, those that the engine computes.",
    panel=PANEL,
)
DEPTH = Option(
    name="depth",
    kind=Or(None, Count()),
    help="Rank at which every list is cut before it is normalised, in training and in use.",
    panel=PANEL,
    shown="100, or the metric's cutoff if that is larger; where most retrievers return fewer documents, the median of "
    "their median depths, at least the cutoff; of a table, its largest rank or longest list",
)
RANK_COLUMNS = Option(
    name="rank_columns",
    kind=Flag(),
    default=False,
    help="Read a table of judged documents instead of runs. Each column is a retriever and contains its ranks, missing "
    "(NULL) for documents that it did not return.",
    panel=PANEL,
)
SCORE_COLUMNS = replace(
    RANK_COLUMNS,
    name="score_columns",
    help="Like {rank_columns}, for a table of scores.",
)
UNJUDGED = Option(
    name="unjudged",
    kind=Choice(("zero", "skip")),
    default="zero",
    help="Returned documents without a judgment: zero (not relevant) or skip (left out of the fused lists before they "
    "are evaluated).",
    panel=JUDGED,
)
RELEVANT_FROM = Option(
    name="relevant_from",
    kind=Number(above=0),
    default=1.0,
    help="Lowest grade of a relevant document in metrics without gains, such as recall@100 and map.",
    panel=JUDGED,
)
TEST_QRELS = Option(
    name="test_qrels",
    kind=Given("str | os.PathLike | Mapping[Any, Any] | None", "Path | None"),
    help="Judgments of other queries of the same runs, used only for the comparison.",
    panel=JUDGED,
)
PENALTIES = replace(of_selection.PENALTIES, kind=of_selection.NAMED, default=(*of_selection.LINEAR, "best_k"), shown="")
SIGN = Option(
    name="sign",
    kind=Choice(("positive", "free")),
    default="positive",
    help="Signs of the weights: positive (which nearly every engine requires) or free.",
    panel=of_paths.PANEL,
)
K = replace(of_selection.K, help="Choose the best model with at most K retrievers.")
COSTS = Option(
    name="costs",
    kind=Given("str | os.PathLike | Mapping[str, float] | None", "Path | None"),
    help="Cost > 0 of each retriever, such as milliseconds: {retriever: cost}, or a file of lines 'retriever cost'.",
    says="File of lines 'retriever cost': the cost > 0 of each retriever, such as milliseconds.",
    panel=CHOICE,
)
COST_RULE = Option(
    name="cost_rule",
    kind=Choice(("sum", "max")),
    default="sum",
    help="How costs combine: sum (money, work), or max (latency of retrievers that run in parallel).",
    panel=CHOICE,
)
ENGINE = Option(
    name="engine",
    kind=Or(None, Choice(ENGINES)),
    help="Engine that will fuse: only formulas that it can compute are tried, by its rules. One of "
    f"{', '.join(ENGINES)}.",
    panel=CHOICE,
)
FUSE = (
    NORM,
    DEPTH,
    RANK_COLUMNS,
    SCORE_COLUMNS,
    UNJUDGED,
    RELEVANT_FROM,
    TEST_QRELS,
    PENALTIES,
    SIGN,
    of_selection.REFITS,
    *(K if o is of_selection.K else o for o in of_selection.CHOOSING),
    COSTS,
    COST_RULE,
    ENGINE,
    of_selection.HALF_SAMPLES,
    of_data.LABEL,
    of_data.QID,
    of_data.DOCID,
    *RUN,
)
