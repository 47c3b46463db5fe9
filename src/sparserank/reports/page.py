"""The self-contained HTML report of a selection."""

from __future__ import annotations

from importlib.resources import files
from typing import Any

import jinja2
from markupsafe import Markup

from sparserank import __version__
from sparserank.reports.figures import coefficient_path, quality_against_size
from sparserank.selection.result import SelectionResult
from sparserank.statistics import as_percent
from sparserank.text import visible


def _shown(value: Any) -> Any:
    """Names on the page as they are everywhere: what would act, instead of being seen, as an escape."""
    return visible(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def render_page(result: SelectionResult) -> str:
    """One HTML document: no script, no network, pictures inline."""
    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, finalize=_shown
    )
    environment.filters["figure"] = lambda value, digits=4: (
        "-" if value is None or value != value else f"{value:.{digits}f}"
    )
    environment.filters["signed"] = lambda value, digits=4: (
        "-" if value is None or value != value else f"{value:+.{digits}f}"
    )
    template = environment.from_string(files("sparserank.reports").joinpath("page.html.j2").read_text(encoding="utf-8"))
    plan = result.plan
    sizes = [
        {
            "candidate": c,
            "loss": result.best.mean - c.mean,
            "is_chosen": c is result.chosen.candidate,
        }
        for c in result.by_size
    ]
    return template.render(
        result=result,
        plan=plan,
        metric=repr(plan.metric),
        metrics=[repr(m) for m in plan.metrics],
        where="out of fold, over all training and validation queries"
        if plan.protocol == "cv"
        else "on the validation queries",
        quality_figure=quality_against_size(result),
        path_figure=coefficient_path(result),
        sizes=sizes,
        penalties=[
            {
                "label": label,
                "verdict": result.by_penalty.get(label),
                "own": result.by_own.get(label),
                "certificate": path.certificate(),
            }
            for label, path in result.paths.items()
        ],
        test_rows=result.test.rows(plan.confidence) if result.test else [],
        confidence=as_percent(plan.confidence),
        version=__version__,
    )
