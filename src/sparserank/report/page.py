"""The self-contained HTML report of a selection: the choice first, then what it rests on; and what notebooks show."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import replace

from sparserank import __version__
from sparserank.crossval.choice import Candidate
from sparserank.export import export_command
from sparserank.model.ranking_model import RankingModel
from sparserank.report.claims import heading, how_sure, lead
from sparserank.report.document import Picture, Section, Table
from sparserank.report.explorer import explorer
from sparserank.report.figures import coefficient_path, curve_picture, kept_by_halves, worth_of_features
from sparserank.report.html import to_fragment, to_html
from sparserank.report.size_picture import size_picture
from sparserank.report.tables import (
    family_table,
    feature_table,
    group_table,
    origin_tables,
    penalty_table,
    query_tables,
    rival_table,
    shaped_name,
    size_table,
    stability_table,
    substitute_table,
    test_table,
    zeroed_table,
)
from sparserank.selection.result import SelectionResult
from sparserank.selection.statements import stability_sentence
from sparserank.text import figure, listed

CURVES_ARE = (
    "Each curve shows the contribution of a feature to the score. It is linear between its knots and flat outside "
    "them. The histogram below a curve shows the training values; values outside the knots are counted at its ends. "
    "Only differences between documents of a query matter, so shifting a curve up or down does not change the "
    "ranking."
)


def render_page(
    result: SelectionResult, selected: Section | None = None, commands: Sequence[str] = (), place: str | None = None
) -> str:
    """One HTML document: no network, pictures inline; its script moves the size at the top.

    Parameters
        selected   the section of what is selected, in place of a table of features
        commands   what gives or exports the model of each size; by default those of a selection
        place      the directory of the run, for these; None: there is none
    """
    chosen = selected or Section("Selected features", COSTS_ARE, [feature_table(result)])
    sections = [
        replace(chosen, tables=[*chosen.tables, zeroed_table(result)], pictures=_worth(result)),
        *_substitutes(result),
        *_curves(result),
        *([Section("Groups in use", "", [group_table(result)])] if result.worth.feature_groups else []),
        Section("Sizes", _quality(result), [size_table(result)], _path_picture(result)),
        *([Section("Compared", "", [rival_table(result)])] if result.rivals.compared else []),
        *_left_out(result),
        *_stability(result),
        *_queries(result),
        *([] if result.test is None else [Section("Test", "", [test_table(result)])]),
        Section("Penalties and certificates", CERTIFICATES, [penalty_table(result)]),
        *([Section("Origin", "", origin_tables(result))] if result.origin is not None else []),
    ]
    closing = [f"sparserank {__version__}"]
    if result.constant_features:
        closing.insert(
            0,
            "Features that are never used, because they are constant within every query: "
            f"{', '.join(result.constant_features)}.",
        )
    better = result.rivals.better
    return to_html(
        heading(result.choice, result.n_all, result.noun, "" if better is None else better.name),
        lead(result),
        sections,
        notes=result.notes,
        closing=closing,
        top=explorer(result, commands or commands_of_sizes(result, place)),
        sure=how_sure(result),
    )


def selection_fragment(result: SelectionResult, selected: Table | None = None) -> str:
    """For a cell of a notebook: the choice, the sentences, what is selected (the features, unless there is a table of
    it), every size, the picture where matplotlib is installed."""
    pictures = [size_picture(result)] if importlib.util.find_spec("matplotlib") else []
    section = Section("", "", [selected or feature_table(result), size_table(result)], pictures)
    return to_fragment(result.headline, result.sentences, section, f"n{id(result):x}")


def commands_of_sizes(
    result: SelectionResult,
    place: str | None,
    export: Callable[[RankingModel, str], str] | None = None,
    chosen_one: str = "result.model",
    others: str = "result",
) -> list[str]:
    """What exports the model of each size, or without a directory what gives it; '' where nothing does.

    export      (model, run) -> the command; by default that for the engine of the plan
    chosen_one  the expression for the chosen model; others: for the selection that contains the others
    """

    def command(c: Candidate, model: RankingModel) -> str:
        chosen = c is result.chosen
        if not chosen and result.model_of(c.n_features) is not model:
            return ""
        if place is None:
            return chosen_one if chosen else f"{others}.model_of({c.n_features})"
        run = place if chosen else f"{place} --k {c.n_features}"
        return export_command(model, run, result.plan.engine or "sql") if export is None else export(model, run)

    return [command(c, model) for c, model in zip(result.by_size, result.models, strict=True)]


COSTS_ARE = (
    "The cost of a feature is the loss of the metric when the feature is left out and the other features are "
    "refitted, compared with a refit of all features. It is measured out of fold; a fold whose model does not use "
    "the feature counts as 0."
)
CERTIFICATES = (
    "The table shows the status of the points of each path, within the tolerance. Optimal means the global optimum "
    "of a convex problem. Stationary means a stationary point of a nonconvex problem; a lower objective may exist. "
    "Worst kkt is the largest violation of the optimality conditions along the path, relative to the largest "
    "strength of the l1 path. Gap is the largest duality gap."
)


def _worth(result: SelectionResult) -> list[Picture]:
    """What leaving out each feature costs; none where one feature is all, and leaving it out leaves nothing."""
    costs = {d["feature"]: d["cost"][result.metric] for d in result.worth.features if d["cost"] is not None}
    if len(costs) < 2:
        return []
    said = [f"{feature} {figure(cost['cost'], signed=True)}" for feature, cost in costs.items()]
    caption = f"Loss of {result.metric} without each {result.noun}, with the others refitted"
    return [Picture("worth", caption, worth_of_features(result, costs), f"{listed(said)}.")]


def _quality(result: SelectionResult) -> str:
    plan = result.plan
    rules = plan.metric.convention
    scored = (
        "out of fold, over all training and validation queries"
        if plan.protocol == "cv"
        else "on the validation queries"
    )
    return (
        f"Quality is the mean {result.metric} {scored} ({result.n_queries} queries). Queries without relevant "
        f"documents count as in the “{rules.name}” convention ({rules.empty}); ties: {rules.ties}. "
        f"{result.noun.capitalize()}s are scaled by {plan.settings.scaling}"
        + (", except for curves." if any(d["curve"] is not None for d in result.worth.features) else ".")
        + " The columns “enter” and “leave” compare each model with the next smaller size."
    )


def _curves(result: SelectionResult) -> list[Section]:
    curved = [d for d in result.worth.features if d["curve"] is not None]
    pictures = []
    for i, d in enumerate(curved):
        values = d["curve"]["values"]
        said = (
            f"The feature adds {figure(values[0], signed=True)} at the first knot and "
            f"{figure(values[-1], signed=True)} at the last."
        )
        inside = shaped_name(d).partition("(")[2].removesuffix(")")
        pictures.append(Picture(f"curve-{i}", shaped_name(d), curve_picture(d, inside), said))
    return [Section("Curves", CURVES_ARE, [], pictures)] if curved else []


def _path_picture(result: SelectionResult) -> list[Picture]:
    """Of the path of the chosen model; a named formula has none."""
    if result.chosen.formula:
        return []
    weights = [f"{shaped_name(d)} {figure(d['coef'], signed=True)}" for d in result.worth.features]
    picture = Picture(
        "path",
        f"Weights along the path of {result.chosen.penalty}, from the strongest penalty to the weakest",
        coefficient_path(result),
        f"The chosen model's weights: {listed(weights)}.",
    )
    return [picture]


def _substitutes(result: SelectionResult) -> list[Section]:
    if not result.worth.substitutes:
        return []
    text = (
        f"{result.worth.near.n_models} different sets of at most {result.worth.near.most} {result.noun}s give models "
        f"within the margin, or as good as the chosen one. The table lists what such models use in place of a selected "
        f"{result.noun}."
    )
    return [Section("Exchanges", text, [substitute_table(result)])]


def _left_out(result: SelectionResult) -> list[Section]:
    found = result.redundant
    if not found.left:
        return []
    text = (
        f"These {result.noun}s are left out and correlate with a selected one (|r| >= {found.least:g}). The Pearson "
        f"correlation is computed from deviations from the means of {found.n_queries} queries, under the transform of "
        "the selected one."
    )
    return [Section(f"Redundant {result.noun}s", text, [family_table(result)])]


def _stability(result: SelectionResult) -> list[Section]:
    if result.stability is None:
        return []
    names = result.model.feature_names
    shares = [f"{names[j]} {result.stability.frequency[j]:.0%}" for j in result.stability.often()]
    picture = Picture(
        "halves",
        f"Selection frequency of each {result.noun} in half-samples of the queries",
        kept_by_halves(result),
        f"{listed(shares)}.",
    )
    return [
        Section(
            "Stability",
            stability_sentence(result.stability, result.noun),
            [stability_table(result)],
            [picture],
        )
    ]


def _queries(result: SelectionResult) -> list[Section]:
    found = result.queries
    if not (found.lost or found.won):
        return []
    on = {
        "test": "test queries",
        "out of fold": "queries, each scored by models not trained on it",
        "validation": "validation queries",
    }
    text = (
        f"Compared with the {found.rival}, on {found.wins + found.losses + found.ties} {on[found.on]}: better on "
        f"{found.wins}, worse on {found.losses}, equal on {found.ties}."
    )
    return [Section("Queries lost and won", text, query_tables(result))]
