"""What is known of the retrievers of a fusion beside its selection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparserank.data.fusion.fusion_table import FusionTable
from sparserank.data.fusion.judged_runs import JudgedRuns
from sparserank.export.fusion import FUSION_ENGINES
from sparserank.options import option
from sparserank.quoting import brief
from sparserank.selection.fusion import FusionFacts, FusionResult
from sparserank.selection.plan import SelectionPlan

JUDGED_AT = 10  # where the metric has no cutoff
MAX_NAMED = 3


def facts(
    judged: JudgedRuns, plan: SelectionPlan, costs: Mapping[str, float], chosen: Mapping[str, Any]
) -> FusionFacts:
    """Depth, costs and judged shares of the retrievers."""
    at = plan.metric.cutoff or JUDGED_AT
    return FusionFacts(
        retrievers=judged.names,
        depth=judged.depth,
        engine=chosen["engine"],
        costs=dict(costs),
        cost_rule=chosen["cost_rule"],
        unjudged=chosen["unjudged"],
        judged_depth=at,
        judged_share={} if judged.is_table else judged.judged_at(at),
        n_lists={run.name: len(run.query) for run in judged.lists},
    )


def notes_of_runs(judged: JudgedRuns, tests: JudgedRuns | None, table: FusionTable) -> list[str]:
    """What users should know of their runs, whatever is chosen; tests: on the test queries."""
    out = []
    if table.learned_to is not None:
        out.append(
            f"weights were learned from {table.learned.n_docs:,} of {table.judged.n_docs:,} documents: the relevant "
            f"ones, and those within rank {table.learned_to} of some retriever. All documents are judged."
        )
    usual = judged.usual_depths.items()
    if short := [f"{brief(name)} (median {median:g})" for name, median in usual if median < judged.depth]:
        out.append(f"shorter than the depth of {judged.depth}, and used as they are: {', '.join(short)}.")
    out += _lacking(judged, "queries") + ([] if tests is None else _lacking(tests, "test queries"))
    other = sum(run.n_other for run in judged.lists)
    if other:
        out.append(f"{other:,} entries of queries without judgments were left out.")
    contrary = [f"{brief(run.name)} ({run.n_contrary} lists)" for run in judged.lists if run.n_contrary]
    if contrary:
        out.append(f"ranks contradict scores in {_first(contrary)}; lists are ordered by score.")
    return out


def _lacking(judged: JudgedRuns, queries: str) -> list[str]:
    """Notes on retrievers that returned nothing for some queries, or no judged document."""
    n, out = len(judged.query_ids), []
    without = [f"{brief(run.name)} for {n - len(run.query)}" for run in judged.lists if len(run.query) < n]
    if without:
        out.append(f"no document was returned for some of the {n} {queries}: {_first(without)}.")
    shares = {} if judged.is_table else judged.judged_at(judged.depth)
    unjudged = [brief(run.name) for run in judged.lists if len(run.query) and not shares.get(run.name, 1.0)]
    if unjudged:
        out.append(
            f"no document that {_first(unjudged)} returned for the {n} {queries} is judged; do the document ids agree "
            "with those of the judgments?"
        )
    return out


def notes_of_judged(result: FusionResult) -> list[str]:
    """A note if the retrievers that are kept are judged more often than the others, or less; those of the engine."""
    engine = result.facts.engine
    own = [] if engine is None else FUSION_ENGINES[engine].notes(result.formula)
    if result.judged_gap is None:
        return own
    kept, dropped = result.judged_gap
    return [
        *own,
        f"{100 * kept:.0f}% of the first {result.facts.judged_depth} documents of the kept retrievers are judged, "
        f"and {100 * dropped:.0f}% of those of the others: unjudged documents count as not relevant, which favours "
        f"the better judged ones. Compare with {option('unjudged', 'skip')}.",
    ]


def _first(listed: list[str]) -> str:
    return ", ".join(listed[:MAX_NAMED]) + (", ..." if len(listed) > MAX_NAMED else "")
