"""Losses: functions of scores, one per file; they never see features or penalties."""

from typing import Any

from sparserank.losses.by_name import FORMER, LOSSES, loss_identity, loss_name, parse_loss
from sparserank.losses.pairwise import PairwiseLoss
from sparserank.losses.squared_hinge import SquaredHinge
from sparserank.options.option import REMOVED

__all__ = ["LOSSES", "PairwiseLoss", "SquaredHinge", "loss_identity", "loss_name", "parse_loss"]


def __getattr__(name: str) -> Any:
    if name in FORMER:
        raise AttributeError(f"{name} {REMOVED}.")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
