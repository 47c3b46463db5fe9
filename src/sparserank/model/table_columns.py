"""The columns of a table that models use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sparserank.data.dataset import numbered
from sparserank.data.read import is_path, paths_of
from sparserank.data.read_files import TABLES, kind_of
from sparserank.data.reading import Reading
from sparserank.data.tables.batches import is_frame, open_table
from sparserank.data.tables.frames import column_names
from sparserank.errors import DataError
from sparserank.model.ranking_model import RankingModel
from sparserank.number_checks import as_real
from sparserank.text import brief

# the parameter of a model that was trained with a search request; its value says how the scores of the clauses are read
REQUEST = "request"


def with_columns_of(reading: Reading, models: Sequence[RankingModel], source: Any) -> Reading:
    """Adapt a Reading to models: from a table, it reads only the columns that they use, unless the user named columns.

    Parameters
        source   a path, a list of paths, or anything else that `read` takes
    Raises
        DataError   a table has some of these columns, but not all
    """
    derived = {name: d for m in models for name, d in m.derived.items()}
    clauses = next((m.parameters[REQUEST] for m in models if REQUEST in m.parameters), None)
    reading = replace(reading, derived=derived, clauses=clauses)
    place: Any = "the frame"
    kind = "frame" if is_frame(source) else ""
    if is_path(source):
        place = paths_of(source)[0]
        kind = kind_of(place)
    if clauses is not None:
        pairs = [v for v in clauses.values() if v is not None] if isinstance(clauses, Mapping) else [()]
        if not all(isinstance(v, list | tuple) and len(v) in (2, 4) and min(map(as_real, v)) >= 0 for v in pairs):
            raise DataError("the model file is damaged: its request must have two numbers >= 0 per clause, or four.")
        if kind not in ("log", ""):
            raise DataError(f"the model was trained on search responses, and needs responses; got {kind}.")
    if reading.feature_columns is not None or kind not in (*TABLES, "frame") or not models:
        return reading
    available = set(map(str, column_names(source)) if kind == "frame" else open_table(place, kind).schema.names)
    available |= {name for name, d in derived.items() if d.source in available}
    # Features named f1, f2, ... may also be matched by position, which requires all of them.
    selected = [f for m in models for f in m.features]
    used: list[str] = []
    for m in models:
        used += m.feature_names if numbered(m.feature_names) else [f.name for f in m.features]
    if used and available.issuperset(used):
        return replace(reading, feature_columns=list(dict.fromkeys(used)))
    for f in selected:
        if f.name not in available and not available.isdisjoint(used):
            raise DataError(f"{place} has no column {brief(f.source)}, which the model uses.")
    return reading
