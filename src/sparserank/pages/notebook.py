"""What notebooks show of results, and pictures on axes of matplotlib: those that are given, or new ones of pyplot."""

from __future__ import annotations

import importlib.util
from typing import Any

from sparserank.errors import DataError
from sparserank.pages.selection_tables import feature_table, size_table
from sparserank.paths import PathResult
from sparserank.reporting.document import Section, Table
from sparserank.reporting.render import to_fragment
from sparserank.selection.result import SelectionResult


def selection_fragment(result: SelectionResult, selected: Table | None = None) -> str:
    """The choice, the sentences, what is selected (the features, unless there is a table of it), every size, the
    picture where matplotlib is installed."""
    pictures = []
    if importlib.util.find_spec("matplotlib"):
        from sparserank.pages.size_picture import size_picture

        pictures = [size_picture(result)]
    section = Section("", "", [selected or feature_table(result), size_table(result)], pictures)
    return to_fragment(result.headline, result.sentences, section, f"n{id(result):x}")


def plot_sizes(result: SelectionResult, axes: Any = None) -> Any:
    """The best model of at most each size and the chosen one, compared with all features or with the ranker in use."""
    axes = _axes(axes)
    from sparserank.pages.size_picture import draw_sizes, size_labels

    draw_sizes(result, axes)
    return _labelled(axes, *size_labels(result))


def plot_path(path: PathResult, axes: Any = None) -> Any:
    """Coefficients against the strength of the penalty."""
    axes = _axes(axes)
    from sparserank.pages.selection_figures import draw_path, path_labels

    draw_path(path, axes, path.feature_names)
    return _labelled(axes, *path_labels(path))


def _axes(axes: Any) -> Any:
    if axes is not None:
        return axes
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise DataError("figures need matplotlib; install it with: pip install 'sparserank[report]'") from error
    return plt.subplots(layout="constrained")[1]


def _labelled(axes: Any, across: str, up: str) -> Any:
    axes.set_xlabel(across)
    axes.set_ylabel(up)
    axes.legend(fontsize="small", frameon=False)
    return axes
