"""What notebooks show of results."""

from __future__ import annotations

import importlib.util

from sparserank.pages.selection_tables import feature_table, size_table
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
