"""What short runs spend most of their time on, left out where a test looks at something else."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from sparserank.crossval import fitting, tree_rivals
from sparserank.evaluation import loss_bounds, rival_intervals
from sparserank.report import page, size_picture
from sparserank.selection import fusion_plan, menu, plan, select
from sparserank.selection.plan import SelectionPlan
from sparserank.workdir import work
from sparserank.workdir.processes import run_pieces

TRIES_CURVES = menu.tries_curves
DRAWN_ON_PAGES = ("coefficient_path", "kept_by_halves", "worth_of_features", "curve_picture")
FIGURES = {(page, name): getattr(page, name) for name in DRAWN_ON_PAGES}
FIGURES |= {(size_picture, "quality_against_size"): size_picture.quality_against_size}


@contextmanager
def no_processes() -> Iterator[None]:
    """Pieces of work go to threads: a worker process imports everything anew."""

    def in_threads(task: Any, arguments: Any, n_workers: int, *, processes: bool) -> Any:
        return run_pieces(task, arguments, n_workers, processes=False)

    with pytest.MonkeyPatch.context() as patch:
        for module in (work, fitting):
            patch.setattr(module, "run_pieces", in_threads)
        yield


@contextmanager
def no_syncs() -> Iterator[None]:
    """Files are not forced to the disk, on which a run waits longer than on anything else: no test loses power."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", os.fstat)
        yield


@contextmanager
def few_draws() -> Iterator[None]:
    """Bounds and intervals use the minimum number of draws, whatever their error."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (loss_bounds, rival_intervals):
            patch.setattr(module, "MAX_ROUNDS", loss_bounds.MIN_ROUNDS)
        yield


@contextmanager
def no_rivals() -> Iterator[None]:
    """Trees are compared only where they are asked for, as where LightGBM is not installed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree_rivals, "is_installed", lambda: False)
        yield


@contextmanager
def no_curves() -> Iterator[None]:
    """Curves are tried only where they are asked for, as on large data."""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(menu, "tries_curves", lambda plan, data, client: False)
        yield


@contextmanager
def curves() -> Iterator[None]:
    """Inside `no_curves`: they are tried as users have them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(menu, "tries_curves", TRIES_CURVES)
        yield


@contextmanager
def short_selections() -> Iterator[None]:
    """Selections with default settings have 12 strengths a path and 4 half-samples."""

    def shortened(**given: Any) -> SelectionPlan:
        whole = plan.make_plan(**given)
        path_plan = replace(whole.path_plan, n_alphas=min(whole.path_plan.n_alphas, 12))
        return replace(whole, path_plan=path_plan, half_samples=min(whole.half_samples, 4))

    with pytest.MonkeyPatch.context() as patch:
        for module in (select, fusion_plan):
            patch.setattr(module, "make_plan", shortened)
        yield


@contextmanager
def no_pictures() -> Iterator[None]:
    """Reports have empty pictures. Those of a selection are not even laid out."""
    empty = "<svg></svg>"
    with _drawn_by(lambda self, out, **options: out.write(empty), dict.fromkeys(FIGURES, lambda *given: empty)):
        yield


@contextmanager
def pictures() -> Iterator[None]:
    """Inside `no_pictures`: reports have pictures all the same."""
    with _drawn_by(_draw(), FIGURES):
        yield


@contextmanager
def _drawn_by(draw: Any, figures: dict[tuple[Any, str], Any]) -> Iterator[None]:
    from matplotlib.figure import Figure

    _draw()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", draw)
        for (module, name), figure in figures.items():
            patch.setattr(module, name, figure)
        yield


@cache
def _draw() -> Any:
    """What matplotlib draws with; asked for first before anything else stands in its place."""
    from matplotlib.figure import Figure

    return Figure.savefig
