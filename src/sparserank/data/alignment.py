"""Align the features of one data set with another's: by name where both have names, otherwise by position."""

from __future__ import annotations

from collections.abc import Sequence

from sparserank.data.dataset import RankingDataset, numbered, numbered_from_1
from sparserank.errors import DataError
from sparserank.options import option
from sparserank.quoting import brief


def aligned(data: RankingDataset, like: RankingDataset, place: str) -> RankingDataset:
    """Return `data` with the features of `like`, in the order of `like`; other features are left out.

    Raises
        DataError   a feature is missing by name; without names, the number of features differs; stored features are in
                    a different order
    """
    held, wanted = tuple(data.feature_names or ()), tuple(like.feature_names or ())
    if held == wanted:
        return data
    nameless = numbered(held, data.index_base), numbered(wanted, like.index_base)
    if all(nameless) and data.index_base == 1 and like.index_base == 0:
        raise DataError(numbered_from_1(f"the features of {place}", "the training data"))
    columns = columns_by_name(held, wanted, place, nameless)
    if columns is None:
        return data.rename_features(wanted)
    if data.is_stored:
        raise DataError(
            f"{place} has the features of the training data in a different order, or has additional features; convert "
            f"it with the same {option('feature_columns')}."
        )
    return data.take_features(columns)


def columns_by_name(
    held: Sequence[str], wanted: Sequence[str], place: str, nameless: tuple[bool, bool]
) -> list[int] | None:
    """Index of each wanted feature; None: match by position, as one side has only numbered names and counts agree.

    nameless   whether the held and the wanted names are only numbers

    Raises
        DataError   as `aligned`
    """
    at = {name: j for j, name in enumerate(held)}
    if not all(nameless) and at.keys() >= set(wanted):
        return [at[name] for name in wanted]
    if all(nameless) or (any(nameless) and at.keys().isdisjoint(wanted)):
        if len(held) != len(wanted):
            raise DataError(f"{place} has {len(held)} features; the training data have {len(wanted)}.")
        return None
    missing = next(name for name in wanted if name not in at)
    raise DataError(f"{place} has no feature {brief(missing)}, which the training data have.")
