"""The report of a fusion: the page of its selection, with the retrievers first."""

from __future__ import annotations

from sparserank.evaluation.statistics import as_percent
from sparserank.pages.selection_page import render_page
from sparserank.reporting.document import Section, Table, figure
from sparserank.selection.fusion import FusionResult, shown_weight


def render_fusion(result: FusionResult) -> str:
    """One HTML document; a feature is a retriever under a norm."""
    section = Section("Retrievers", _formula(result), [retriever_table(result)])
    return render_page(result.selection, result.headline, [section])


def retriever_table(result: FusionResult) -> Table:
    """Every retriever: its weight, its metric alone, what switching it off loses."""
    selection, facts = result.selection, result.facts
    rows = []
    for row in result.rows():
        lost = "" if row["loss"] is None else figure(row["loss"], signed=True)
        if lost and row["loss_low"] is not None:
            lost += f" [{figure(row['loss_low'], signed=True)}, {figure(row['loss_high'], signed=True)}]"
        rows.append(
            [
                row["retriever"],
                shown_weight(row["weight"], 3) if row["kept"] else "off",
                *([f"{row['cost']:g}"] if facts.costs else []),
                "" if row["alone"] is None else figure(row["alone"]),
                lost,
                *([f"{100 * row['judged']:.0f}%"] if facts.judged_share else []),
                str(row["queries"]),
            ]
        )
    judged = f"judged@{facts.judged_depth}"
    return Table(
        f"Retrievers ({selection.plan.metric.title}, {selection.n_queries} queries)",
        [
            "retriever",
            "weight",
            *(["cost"] if facts.costs else []),
            "alone",
            "loss if switched off",
            *([judged] if facts.judged_share else []),
            "queries",
        ],
        rows,
        note="The loss is measured out of fold with the other weights refitted; "
        f"{as_percent(selection.plan.confidence)} intervals of each retriever alone.",
    )


def _formula(result: FusionResult) -> str:
    formula = result.formula
    terms = " + ".join(f"{shown_weight(t.weight, 3)} {formula.norm}({t.retriever})" for t in formula.terms)
    rules = "" if formula.engine is None else f", by the rules of {formula.engine}"
    return f"score = {terms}. Lists are cut at rank {formula.depth} before they are normalised{rules}."
