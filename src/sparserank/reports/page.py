"""The self-contained HTML report of a selection."""

from __future__ import annotations

from sparserank import __version__
from sparserank.reports.document import Picture, Section
from sparserank.reports.figures import coefficient_path, curve_picture, quality_against_size
from sparserank.reports.render import to_html
from sparserank.reports.selection import feature_table, group_table, penalty_table, shaped_name, size_table, test_table
from sparserank.selection.result import SelectionResult

CURVES_ARE = (
    "What each feature adds to the score, drawn through its knots and flat outside them; beneath, the training values (those outside the knots at "
    "the ends). Only differences between documents of a query matter, so a curve may be moved up or down."
)


def render_page(result: SelectionResult) -> str:
    """One HTML document: no script, no network, pictures inline."""
    plan, chosen = result.plan, result.chosen
    rules = plan.metric.convention
    scored = (
        "out of fold, over all training and validation queries"
        if plan.protocol == "cv"
        else "on the validation queries"
    )
    quality = (
        f"Quality is mean {result.metric} {scored} ({result.n_queries} queries); queries without relevant documents count as in "
        f"the “{rules.name}” convention ({rules.empty}), ties: {rules.ties}. Features scaled by {plan.settings.scaling}"
        + (", but for curves." if any(d["curve"] is not None for d in result.drops) else ".")
    )
    sections = [
        Section(
            "Quality against number of features", quality, [size_table(result)],
            [Picture("quality", "", quality_against_size(result))],
        ),
        Section("Selected features", "", [feature_table(result)]),
        *([Section("Groups in use", "", [group_table(result)])] if result.group_drops else []),
        Section(f"Coefficient path ({chosen.penalty})", "", [], [Picture("path", "", coefficient_path(result))]),
    ]  # fmt: skip
    bent = [d for d in result.drops if d["curve"] is not None]
    if bent:
        pictures = [
            Picture(f"curve-{i}", shaped_name(d), curve_picture(d, shaped_name(d).partition("(")[2].removesuffix(")")))
            for i, d in enumerate(bent)
        ]
        sections.insert(2, Section("Curves", CURVES_ARE, [], pictures))
    if result.test is not None:
        sections.append(Section("Test queries", "", [test_table(result)]))
    sections.append(Section("Penalties and certificates", "", [penalty_table(result)]))
    closing = [f"sparserank {__version__}"]
    if result.constant_features:
        closing.insert(0, f"Constant within every query, never used: {', '.join(result.constant_features)}.")
    title = f"{chosen.n_features} of {result.model.n_features} features selected"
    return to_html(title, result.sentence, sections, notes=result.notes, closing=closing)
