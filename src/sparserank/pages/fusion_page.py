"""The report of a fusion: the page of its selection, in which a feature is a retriever."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from sparserank.crossval.near_equal import NearEqual
from sparserank.evaluation.statistics import as_percent
from sparserank.export.fusion import fusion_command
from sparserank.model.fusion import formula_of
from sparserank.model.ranking_model import RankingModel
from sparserank.pages.selection_page import commands_of_sizes, render_page
from sparserank.reporting.document import Section, Table, figure
from sparserank.selection.fusion import FusionResult, shown_weight
from sparserank.selection.queries import Added, QueryDifference
from sparserank.selection.result import SelectionResult
from sparserank.shards.scaling import FeatureScaling


def render_fusion(result: FusionResult, place: str | None = None) -> str:
    """One HTML document.

    Parameters
        place   the directory of the run, for commands; None: there is none
    """

    def export(model: RankingModel, at: str) -> str:
        return fusion_command(formula_of(model), at)

    commands = commands_of_sizes(result.selection, place, export, "result.formula", "result.selection")
    section = Section("Retrievers", _formula(result), [retriever_table(result)])
    return render_page(of_retrievers(result), section, commands)


def of_retrievers(result: FusionResult) -> SelectionResult:
    """The selection with retrievers in place of their columns, of which each has one for every norm."""
    found, names = result.selection, result.facts.retrievers
    n_norms = found.model.n_features // len(names)

    def named(feature: str) -> str:
        return feature.rpartition(":")[0]

    def model(m: RankingModel) -> RankingModel:
        scaling = FeatureScaling("none", np.zeros(len(names)), np.ones(len(names)))
        weights = m.coef.reshape(len(names), n_norms).sum(axis=1)  # a formula has one norm
        return RankingModel(weights, names, scaling, m.parameters, m.metadata)

    def rows(of: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [{**row, "feature": named(row["feature"])} for row in of]

    chosen, worth, stability = model(found.model), found.worth, found.stability
    if stability is not None:
        kept = np.asarray(stability.kept.reshape(len(stability.kept), len(names), n_norms).any(axis=2))
        stability = replace(stability, kept=kept, chosen=chosen.support, n_varying=len(names))
    sets = [tuple(sorted({int(j) // n_norms for j in worth.near.features[used]})) for used in worth.near.used]
    near = NearEqual.of(worth.near.most, list(dict.fromkeys(sets)))
    exchanges = [replace(s, feature=named(s.feature), other=named(s.other)) for s in worth.substitutes]
    left = [replace(r, feature=named(r.feature), selected=named(r.selected)) for r in found.redundant.left]
    apart = {r.feature: r for r in reversed(left) if r.feature not in result.weights}
    return replace(
        found,
        model=chosen,
        models=[model(m) for m in found.models],
        size_costs=[of and {named(feature): cost for feature, cost in of.items()} for of in found.size_costs],
        worth=replace(
            worth,
            features=[{**row, "share": near.share(names.index(row["feature"]))} for row in rows(worth.features)],
            near=near,
            substitutes=tuple(s for s in exchanges if s.feature != s.other),
        ),
        stability=stability,
        redundant=replace(found.redundant, left=tuple(apart.values())),
        queries=replace(
            found.queries,
            lost=tuple(_of_retrievers(q, named) for q in found.queries.lost),
            won=tuple(_of_retrievers(q, named) for q in found.queries.won),
        ),
        paths={label: replace(p, feature_names=tuple(map(named, p.feature_names))) for label, p in found.paths.items()},
        constant_features=tuple(
            name for name in names if sum(named(feature) == name for feature in found.constant_features) == n_norms
        ),
    )


def _of_retrievers(q: QueryDifference, named: Callable[[str], str]) -> QueryDifference:
    """A query whose pair of documents is explained by retrievers; the two rankers may use one under different norms,
    of which the value under that of the chosen formula is shown."""
    if q.pair is None:
        return q
    merged: dict[str, Added] = {}
    for row in q.pair.features:
        first = merged.get(named(row.feature))
        if first is None:
            merged[named(row.feature)] = replace(row, feature=named(row.feature))
        else:
            rivals = [r.rival for r in (first, row) if r.rival is not None]
            merged[first.feature] = replace(first, rival=sum(rivals) if rivals else None)
    return replace(q, pair=replace(q.pair, features=tuple(merged.values())))


def retriever_table(result: FusionResult) -> Table:
    """Every retriever: its weight, its metric alone, what switching it off loses."""
    selection, facts = result.selection, result.facts
    rows = []
    for row in sorted(result.rows(), key=lambda row: (not row["kept"], -(row["loss"] or 0.0))):
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
    terms = " + ".join(f"{shown_weight(t.weight, 3)} {t.retriever}" for t in formula.terms)
    rules = "" if formula.engine is None else f", by the rules of {formula.engine}"
    return f"score = {terms}. Each list is cut at rank {formula.depth} and normalised by {formula.norm}{rules}."
