"""Features of one data set as another has them: by name where both have names, else by position."""

from __future__ import annotations

from collections.abc import Sequence

from sparserank.data.dataset import RankingDataset, numbered
from sparserank.errors import DataError
from sparserank.options import option
from sparserank.quoting import brief


def aligned(data: RankingDataset, like: RankingDataset, place: str) -> RankingDataset:
    """`data` with the features of `like`, in their order; features beside them are left out.

    Raises
        DataError   a feature is missing, by name; without names, another number of features; stored features in another
                    order
    """
    held, wanted = tuple(data.feature_names or ()), tuple(like.feature_names or ())
    if held == wanted:
        return data
    columns = columns_by_name(held, wanted, place)
    if columns is None:
        return data.rename_features(wanted)
    if data.is_stored:
        raise DataError(
            f"{place} has the features of the training data in another order, or more; convert it with the same "
            f"{option('feature_columns')}."
        )
    return data.take_features(columns)


def columns_by_name(held: Sequence[str], wanted: Sequence[str], place: str) -> list[int] | None:
    """Where each wanted feature is; None: by position, since one side has no names but numbers, and as many features.

    Raises
        DataError   as `aligned`
    """
    at = {name: j for j, name in enumerate(held)}
    nameless = (numbered(held), numbered(wanted))
    if not all(nameless) and at.keys() >= set(wanted):
        return [at[name] for name in wanted]
    if all(nameless) or (any(nameless) and at.keys().isdisjoint(wanted)):
        if len(held) != len(wanted):
            raise DataError(f"{place} has {len(held)} features; the training data have {len(wanted)}.")
        return None
    missing = next(name for name in wanted if name not in at)
    raise DataError(f"{place} has no feature {brief(missing)}, which the training data have.")
