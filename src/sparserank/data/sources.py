"""From whatever people hold - files, arrays, data frames - to ranking data."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sparserank.data.dataset import RankingDataset
from sparserank.data.letor import UNJUDGED, read_letor
from sparserank.data.text_lines import read_numbers
from sparserank.errors import DataError, ParameterError, TooManyFeaturesError
from sparserank.quoting import brief

LABEL, QID = "label", "qid"
FORMS = "a path or paths, a RankingDataset, a data frame, a triple (X, y, qid), or (the first) X with label= and qid="


def as_datasets(
    sources: Mapping[str, Any],
    *,
    label: Any = None,
    qid: Any = None,
    doc_weight: Any = None,
    reading: Mapping[str, Any] | None = None,
) -> dict[str, RankingDataset | None]:
    """Data sets by name; None stays None. The first one decides how many features there are, and their order.

    Parameters
        sources   {name: a path or paths of ranking text, a RankingDataset, a pandas or polars frame, or (X, y, qid)}; the first may
                  also be an array X, with `label` and `qid` the values of its rows
        label, qid   names of a frame's columns (default 'label' and 'qid'); all its other columns are features
        doc_weight   name of a frame's column, where a frame has it; else the weights of the first source's rows, as an array or as a
                  file with one per line
        reading   options of `read_letor`, for files
    Raises
        DataError   a source of another kind, an unknown column, features that differ between the sources
    """
    out: dict[str, RankingDataset | None] = {}
    first: RankingDataset | None = None
    for name, source in sources.items():
        if source is None:
            out[name] = None
            continue
        if _is_path(source):
            out[name] = _read(name, source, first, dict(reading or {}))
        elif isinstance(source, RankingDataset):
            out[name] = source
        elif hasattr(source, "columns") and hasattr(source, "__getitem__"):
            out[name] = _from_frame(name, source, label, qid, doc_weight, first)
        elif isinstance(source, tuple) and len(source) == 3:
            data = RankingDataset(*source)
            same = first is not None and data.n_features == first.n_features
            out[name] = RankingDataset(*source, None, first.feature_names) if first is not None and same else data
        elif first is None and label is not None:
            out[name] = RankingDataset(source, label, qid)
        else:
            raise DataError(f"{name} must be {FORMS}; got {brief(type(source).__name__)}.")
        present = out[name]
        assert present is not None
        unjudged = int((present.relevance == UNJUDGED).sum())
        if unjudged and not _is_path(source) and not isinstance(source, RankingDataset):
            raise DataError(
                f"{name} holds {unjudged} labels of -1, which mean unjudged; drop these rows, or label them 0."
            )
        if first is None:
            if doc_weight is not None and not hasattr(source, "columns"):
                present = out[name] = _with_weights(present, doc_weight)
            first = present
        elif present.n_features != first.n_features:
            raise DataError(f"{name} has {present.n_features} features; {next(iter(sources))} has {first.n_features}.")
    return out


def _is_path(source: Any) -> bool:
    if isinstance(source, str | os.PathLike):
        return True
    return isinstance(source, list) and len(source) > 0 and all(isinstance(s, str | os.PathLike) for s in source)


def _read(name: str, paths: Any, first: RankingDataset | None, reading: dict[str, Any]) -> RankingDataset:
    if first is None:
        return read_letor(paths, **reading)
    try:
        return read_letor(paths, **{**reading, "n_features": first.n_features})
    except TooManyFeaturesError as error:
        raise DataError(f"{error} Here: --n-features {error.width}.") from error


def _with_weights(data: RankingDataset, doc_weight: Any) -> RankingDataset:
    if isinstance(doc_weight, str | os.PathLike):
        doc_weight = read_numbers(doc_weight, "weight", "a number >= 0", lambda v: v >= 0)
    if np.shape(doc_weight) != (data.n_docs,):
        raise ParameterError(
            "doc_weight",
            f"must hold one weight per row of the training data ({data.n_docs}); got {np.size(doc_weight)}.",
        )
    return replace(data, doc_weight=np.asarray(doc_weight)[data.row_index])


def _from_frame(
    name: str, frame: Any, label: Any, qid: Any, doc_weight: Any, first: RankingDataset | None
) -> RankingDataset:
    label, qid = _column(name, frame, label, "label", LABEL), _column(name, frame, qid, "qid", QID)
    weight = doc_weight if isinstance(doc_weight, str) and doc_weight in list(frame.columns) else None
    if first is None and doc_weight is not None and weight is None:
        raise ParameterError("doc_weight", f"must name a column of the data frame; got {brief(doc_weight)}.")
    features = [c for c in frame.columns if c not in (label, qid, weight)]
    if first is not None:
        known = {str(c): c for c in features}
        wanted: Sequence[str] = first.feature_names or ()
        missing = [w for w in wanted if w not in known]
        if missing or len(known) > len(wanted):
            odd = f"lacks {brief(missing[0])}" if missing else f"has {brief(min(set(known) - set(wanted)))} beside them"
            raise DataError(f"{name} must have the same feature columns as the training data; it {odd}.")
        features = [known[w] for w in wanted]
    columns = []
    for c in features:
        values = np.asarray(frame[c].to_numpy())
        if values.dtype.kind not in "biuf":
            raise DataError(
                f"{name}: column {brief(c)} is not numeric ({values.dtype}); drop it, or turn it into numbers."
            )
        columns.append(values)
    if not columns:
        raise DataError(f"{name} has no feature column beside {brief(label)} and {brief(qid)}.")
    dtype = np.float32 if all(c.dtype == np.float32 for c in columns) else np.float64
    X = np.empty((len(columns[0]), len(columns)), dtype=dtype)
    for j, values in enumerate(columns):
        X[:, j] = values
    weights = None if weight is None else frame[weight].to_numpy()
    return RankingDataset(
        X, frame[label].to_numpy(), frame[qid].to_numpy(), None, [str(c) for c in features], doc_weight=weights
    )


def _column(name: str, frame: Any, given: Any, parameter: str, usual: str) -> Any:
    wanted = usual if given is None else given
    if not isinstance(wanted, str):
        raise ParameterError(parameter, "must name a column of the data frame.")
    if wanted not in list(frame.columns):
        shown = ", ".join(map(str, list(frame.columns)[:8])) + (" ..." if len(frame.columns) > 8 else "")
        raise DataError(f"{name} has no column {brief(wanted)}; it has {brief(shown)}. Name it with {parameter}=.")
    return wanted
