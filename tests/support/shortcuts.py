"""What short runs spend most of their time on, left out where a test looks at something else."""

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from sparserank.crossval import fitting, tree_rivals
from sparserank.crossval import trees as tree_settings
from sparserank.crossval.trees import TreeSettings
from sparserank.evaluation import loss_bounds, rival_intervals
from sparserank.report import page, size_picture
from sparserank.selection import fusion_plan, plan, select
from sparserank.selection.plan import SelectionPlan
from sparserank.workdir import work
from sparserank.workdir.processes import run_pieces

DRAWN_ON_PAGES = ("worth_of_features", "steps_picture")
FIGURES = {(page, name): getattr(page, name) for name in DRAWN_ON_PAGES}
FIGURES |= {(size_picture, "quality_against_size"): size_picture.quality_against_size}


Change = AbstractContextManager[None]


@contextmanager
def changed(*changes: tuple[Any, str, Any]) -> Iterator[None]:
    """Modules in which names have other values."""
    with pytest.MonkeyPatch.context() as patch:
        for module, name, value in changes:
            patch.setattr(module, name, value)
        yield


def no_processes() -> Change:
    """Pieces of work go to threads: a worker process imports everything anew."""

    def in_threads(task: Any, arguments: Any, n_workers: int, *, processes: bool) -> Any:
        return run_pieces(task, arguments, n_workers, processes=False)

    return changed(*((module, "run_pieces", in_threads) for module in (work, fitting)))


def no_syncs() -> Change:
    """Files are not forced to the disk, on which a run waits longer than on anything else: no test loses power."""
    return changed((os, "fsync", os.fstat))


def few_draws() -> Change:
    """Bounds and intervals use the minimum number of draws, whatever their error."""
    return changed(*((module, "MAX_ROUNDS", loss_bounds.MIN_ROUNDS) for module in (loss_bounds, rival_intervals)))


def no_rivals() -> Change:
    """Trees are compared only where they are asked for, as where LightGBM is not installed."""
    return changed((tree_rivals, "is_installed", lambda: False))


def trees(settings: TreeSettings) -> Change:
    """Trees are compared, with these settings by default."""
    return changed((tree_rivals, "is_installed", lambda: True), (tree_settings, "LIGHTGBM_SETTINGS", settings))


def short_selections() -> Change:
    """Selections with default settings have 12 strengths a path and 4 half-samples."""

    def shortened(**given: Any) -> SelectionPlan:
        whole = plan.make_plan(**given)
        path_plan = replace(whole.path_plan, n_alphas=min(whole.path_plan.n_alphas, 12))
        return replace(whole, path_plan=path_plan, half_samples=min(whole.half_samples, 4))

    return changed(*((module, "make_plan", shortened) for module in (select, fusion_plan)))


def no_pictures() -> Change:
    """Reports have empty pictures. Those of a selection are not even laid out."""
    empty = "<svg></svg>"
    return _drawn_by(lambda self, out, **options: out.write(empty), dict.fromkeys(FIGURES, lambda *given: empty))


def pictures() -> Change:
    """Inside `no_pictures`: reports have pictures all the same."""
    return _drawn_by(_draw(), FIGURES)


def _drawn_by(draw: Any, figures: dict[tuple[Any, str], Any]) -> Change:
    from matplotlib.figure import Figure

    _draw()
    return changed((Figure, "savefig", draw), *((*place, figure) for place, figure in figures.items()))


@cache
def _draw() -> Any:
    """What matplotlib draws with; asked for first before anything else stands in its place."""
    from matplotlib.figure import Figure

    return Figure.savefig
