"""Drift: how the values of new documents differ from those of training, which a model has on record."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from sparserank.data.missing import KEEP, is_missing
from sparserank.data.read import as_datasets
from sparserank.data.reading import Reading
from sparserank.metrics.conventions import CONVENTIONS
from sparserank.metrics.ordering import rank_lists
from sparserank.model.ranking_model import OF_MODEL, RankingModel
from sparserank.model.table_columns import with_columns_of
from sparserank.model.training_record import (
    QUANTILES,
    RISES,
    of_whole_columns,
    quantiles_of,
    records_of,
    samples_of,
    tables_of,
)
from sparserank.options.arguments import check_arguments

# with new queries like those of training, at most this share of comparisons finds drift in any column
FALSE_ALARMS = 0.05
TOP = 10  # number of ranks whose documents are compared


def drift(model: RankingModel, data: Any, *, qid: str | None = None) -> list[dict[str, Any]]:
    """Compare the values of the columns that a model uses in new documents with those of training.

    This is what `sparserank inspect MODEL DATA` shows. With queries like those of training, any column drifts in at
    most 5 of 100 comparisons.

    Parameters
    ----------
    model : RankingModel
        A model that `select` or `fit` saved, which has a record of its training values.
    data : RankingDataset or other source of `read`
        New documents; labels are not needed.
    qid : str, optional
        Column of query ids of a table, as in `read`.

    Returns
    -------
    list of dict
        One row per column of the table, the largest weight first, with what both the documents and the record have:
        the shares `missing` and `outside` of the values of training (of a category: of levels without a feature),
        `low`, `median`, `high` (quantiles 5, 50 and 95% of a number), each also as `training_...`; `distance`, the
        largest difference of the shares of values up to a quantile of training, or up to a level; `..._limit`, above
        which each of these is drift; `changed`, the share of the queries whose top 10 has other documents if the column
        is held at one value; `drift`, a list of what is above its limit.

    Raises
    ------
    DataError
        The model has no record of its training values; or the data cannot be read or scored.

    Examples
    --------
    >>> import numpy as np
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(40, 12, 6, n_informative=2, n_redundant=1).data
    >>> model = sr.select(data, k=2, penalties="l1", rival="none", half_samples=0).model
    >>> [row["drift"] for row in sr.drift(model, data)]
    [[], []]
    >>> sr.drift(model, (np.asarray(data.X) + 100, data.relevance, data.qid))[0]["drift"]
    ['outside', 'distance']
    """
    check_arguments(drift, locals())
    records = records_of(model)
    model = model.with_missing(OF_MODEL)
    whole = of_whole_columns(model)
    reading = Reading(
        missing=KEEP,
        labelled=False,
        grouped=True,
        unjudged="zero",
        n_features=model.n_features,
        index_base=model.index_base,
    )
    reading = with_columns_of(reading, [whole], data)
    data = as_datasets({"data": data}, qid=qid, reading=reading)["data"]
    filled = whole.selected_values(data)
    unfilled_model = replace(whole, features=tuple(f._replace(missing=None) for f in whole.features))
    unfilled = unfilled_model.selected_values(data.unfilled())
    parts = model.contributions(data)
    scores = parts.sum(axis=1)
    lists = data.relevance, data.query_ptr, CONVENTIONS["default"]
    top = rank_lists(scores, *lists).first(TOP)
    chance = FALSE_ALARMS / (len(RISES) * max(len(records), 1))
    tables = tables_of(whole, [*filled.T]), tables_of(whole, [*np.where(is_missing(unfilled), np.nan, unfilled).T])
    rows = []
    for name in model.weights:
        before = records[name]
        x = tables[before["missing"] is not None][name]
        new = samples_of(x, before["points"], data.sizes)
        finite = x[np.isfinite(x)]
        # If a column had the same value everywhere, it would add the same to all documents of a query.
        without = scores - parts[:, np.isin(model.support, model.columns[name])].sum(axis=1)
        moved = np.logical_or.reduceat(top != rank_lists(without, *lists).first(TOP), data.query_ptr[:-1])
        row: dict[str, Any] = {"feature": name, "changed": float(moved.mean())}
        if model.sources[name][0].derived is None and len(finite):
            row |= quantiles_of(finite) | {f"training_{q}": before[q] for q in QUANTILES}
            # also if the record lacks the share in training
            row["missing"] = float(np.isnan(tables[True][name]).mean())
        for rule, rise in RISES.items():
            if before[rule] and before[rule].n and new[rule].n:
                row[rule], start, noise = before[rule].rise(new[rule], chance, apart=rule == "distance")
                row |= {f"training_{rule}": start, f"{rule}_limit": min(start + max(rise, noise), 1.0)}
        rows.append({**row, "drift": [rule for rule in RISES if row.get(rule, 0.0) > row.get(f"{rule}_limit", 1.0)]})
    return rows
