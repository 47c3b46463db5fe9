"""The self-contained HTML report of a selection, with the choice first and then its evidence; and the notebook view."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

from markupsafe import Markup

from sparserank import __version__
from sparserank.crossval.choice import Candidate
from sparserank.model.ranking_model import RankingModel
from sparserank.report.document import Picture, Section, Table
from sparserank.report.explorer import explorer
from sparserank.report.figures import steps_picture, worth_of_features
from sparserank.report.html import to_fragment, to_html
from sparserank.report.size_picture import size_picture
from sparserank.report.tables import (
    column_table,
    comparison_table,
    family_table,
    feature_table,
    gain_table,
    group_table,
    origin_tables,
    penalty_table,
    query_tables,
    rival_table,
    size_table,
    stability_table,
    substitute_table,
    zeroed_table,
)
from sparserank.selection.claims import EXPECTED, FIRST, JUDGED, KEEP, QUALITY, STABILITY, Claim, heading, never_used
from sparserank.selection.lists import TreesSelection
from sparserank.selection.result_files import has_matplotlib
from sparserank.text import listed, signed

if TYPE_CHECKING:
    from sparserank.selection.result import ChoiceResult, ModelResult, SelectionResult

COSTS_ARE = (
    "The cost of a feature is the loss of the metric when the feature is left out and the other features are "
    "refitted, compared with a refit of all features. It is measured out of fold; a fold whose model does not use "
    "the feature counts as 0."
)
STEPS_ARE = (
    "Each picture shows the contribution of a feature to the score. The histogram below it shows the training values; "
    "values outside are counted at its ends. Only differences between documents of a query matter, so shifting steps "
    "up or down does not change the ranking."
)
CERTIFICATES = (
    "The table shows the status of the points of each path, within the tolerance. Optimal means the global optimum "
    "of a convex problem. Stationary means a stationary point of a nonconvex problem; a lower objective may exist. "
    "Worst kkt is the largest violation of the optimality conditions along the path, relative to the largest "
    "strength of the l1 path. Gap is the largest duality gap."
)
COMPARED_ON = {
    "test": "test queries",
    "out of fold": "queries, each scored by models not trained on it",
    "validation": "validation queries",
}


def render_page(
    result: ModelResult, place: str | None = None, shown: SelectionResult | None = None, selected: Section | None = None
) -> str:
    """One HTML document: no network, pictures inline; its script moves the size at the top.

    Parameters
        place      the directory of the run, for the commands; None: there is none
        shown      the selection to show, by default that of the result
        selected   the section about the selected features; by default a table of features
    """
    selection = shown or result.selected
    section = selected or Section("Selected features", COSTS_ARE, [feature_table(selection)])
    top = explorer(selection, commands_of_sizes(result, place))
    return _document(
        selection, result.claims, _sections(selection, section), never_used(selection.constant_features), top
    )


def page_of(result: ChoiceResult, place: str | None = None) -> str:
    """The page of a model, as `render_page`, or of a list of features for trees."""
    if not isinstance(result, TreesSelection):
        return render_page(cast("SelectionResult", result), place)
    sections = [
        Section("Features to keep", "", [gain_table(result)]),
        Section("Sizes", "", [size_table(result)], [size_picture(result)]),
    ]
    return _document(result, result.claims, [*sections, *_test(result)])


def _document(
    result: ChoiceResult,
    claims: Sequence[Claim],
    sections: Iterable[Section],
    closing: Sequence[str] = (),
    top: Markup | None = None,
) -> str:
    """One HTML document about a choice; the last section is about the origin of the data."""
    origin = [] if result.origin is None else [Section("Origin", "", origin_tables(result.origin, result.plan))]
    better = result.rivals.better
    return to_html(
        heading(result.choice, result.n_all, "" if better is None else better.name),
        " ".join(lead(claims)),
        [*sections, *origin],
        notes=result.notes,
        closing=[*closing, f"sparserank {__version__}"],
        top=top,
        sure=how_sure(claims),
    )


def lead(claims: Sequence[Claim]) -> list[str]:
    """The sentences under the heading: the quality of the chosen model, what to expect, and the claims that come
    first."""
    quality = [c.text for key in (QUALITY, EXPECTED) for c in claims if c.key == key]
    return [*quality, *(c.text for c in claims if c.rank == FIRST and c.key not in (KEEP, JUDGED))]


def how_sure(claims: Sequence[Claim]) -> Table:
    """The claims that have a figure, with its meaning."""
    rows = [[c.key, c.figure, c.meaning] for c in claims if c.figure]
    return Table("How sure", ["claim", "figure", "what it means"], rows, words=(2,), folded=True)


def _sections(result: SelectionResult, selected: Section) -> Iterator[Section]:
    """The selected features, and the evidence for them."""
    noun = result.noun
    redundant = result.redundant
    queries = result.queries
    levels = column_table(result.model)
    details = [*([levels] if levels.rows else []), zeroed_table(result)]
    yield replace(selected, tables=[*selected.tables, *details], pictures=_worth(result))
    if result.worth.substitutes:
        text = (
            f"Other models within the margin, or as good as the chosen one, with at most a quarter more {noun}s, use "
            f"the {noun} on the right in place of the one on the left."
        )
        yield Section("Exchanges", text, [substitute_table(result)])
    steps = _steps(result)
    if steps:
        yield Section("Steps", STEPS_ARE, [], steps)
    if result.worth.feature_groups:
        yield Section("Groups in use", "", [group_table(result)])
    yield Section("Sizes", _quality(result), [size_table(result)])
    if result.rivals.compared:
        yield Section("Compared", "", [rival_table(result)])
    if redundant.left:
        text = (
            f"These {noun}s are left out and correlate with a selected one (|r| >= {redundant.least:g}). The Pearson "
            f"correlation is computed from deviations from the means of {redundant.n_queries} queries, under the "
            "transform of the selected one."
        )
        yield Section(f"Redundant {noun}s", text, [family_table(result)])
    if result.stability is not None:
        text = next(c.text for c in result.claims if c.key.startswith(STABILITY))
        yield Section("Stability", text, [stability_table(result)])
    if queries.lost or queries.won:
        text = (
            f"Compared with the {queries.rival}, on {queries.wins + queries.losses + queries.ties} "
            f"{COMPARED_ON[queries.on]}: better on {queries.wins}, worse on {queries.losses}, equal on {queries.ties}."
        )
        yield Section("Queries lost and won", text, query_tables(result))
    yield from _test(result)
    yield Section("Penalties and certificates", CERTIFICATES, [penalty_table(result)])


def _test(result: ChoiceResult) -> Iterator[Section]:
    """The systems on the test queries, if there are any."""
    if result.test is not None:
        yield Section("Test", "", [comparison_table(result.test, result.plan.confidence)])


def _worth(result: SelectionResult) -> list[Picture]:
    """The cost of leaving out each feature; no picture if there is only one feature."""
    costs = {row["feature"]: row["cost"][result.metric] for row in result.facts.features if row["cost"] is not None}
    if len(costs) < 2:
        return []
    said = [f"{feature} {signed(cost['cost'])}" for feature, cost in costs.items()]
    caption = f"Loss of {result.metric} without each {result.noun}, with the others refitted"
    return [Picture("worth", caption, worth_of_features(result, costs), f"{listed(said)}.")]


def _steps(result: SelectionResult) -> list[Picture]:
    pictures: list[Picture] = []
    for row in result.facts.features:
        if row["steps"] is not None:
            first, *_, last = row["steps"]["values"]
            said = f"The feature adds {signed(first)} below its first step and {signed(last)} beyond the last."
            pictures.append(Picture(f"steps-{len(pictures)}", row["name"], steps_picture(row), said))
    return pictures


def _quality(result: SelectionResult) -> str:
    plan = result.plan
    rules = result.plan.metric.convention
    scored = "out of fold, over all training and" if plan.protocol == "cv" else "on the"
    stepped = any(row["steps"] is not None for row in result.facts.features)
    return (
        f"Quality is the mean {result.metric} {scored} validation queries ({result.n_queries} queries). Queries "
        f"without relevant documents count as in the “{rules.name}” convention ({rules.empty}); ties: {rules.ties}. "
        f"{result.noun.capitalize()}s are scaled by {plan.path_plan.scaling}{', except for steps' if stepped else ''}. "
        "The columns “enter” and “leave” compare each model with the next smaller size."
    )


def selection_fragment(result: ModelResult, selected: Table) -> str:
    """The view for a notebook cell: the choice, the sentences, the table `selected`, every size, and the picture if
    matplotlib is installed."""
    pictures = [size_picture(result.selected)] if has_matplotlib() else []
    section = Section("", "", [selected, size_table(result.selected)], pictures)
    return to_fragment(result.headline, result.sentences, section, f"n{id(result):x}")


def commands_of_sizes(result: ModelResult, place: str | None) -> list[str]:
    """The command that exports the model of each size, or, without a directory, an expression for it; '' if none."""
    selection, (chosen_one, others) = result.selected, result.EXPRESSIONS

    def command(c: Candidate, model: RankingModel) -> str:
        chosen = c is selection.chosen
        if not chosen and selection.model_of(c.n_features) is not model:
            return ""
        if place is None:
            return chosen_one if chosen else f"{others}.model_of({c.n_features})"
        return result.export_command(model, place if chosen else f"{place} --k {c.n_features}")

    return [command(c, model) for c, model in zip(selection.by_size, selection.models, strict=True)]
