"""Losses: functions of scores, one per file; they never see features or penalties."""

from sparserank.losses.modified_huber import ModifiedHuber
from sparserank.losses.pairwise import PairwiseLoss
from sparserank.losses.squared_hinge import SquaredHinge

LOSSES: dict[str, type[PairwiseLoss]] = {"squared_hinge": SquaredHinge, "modified_huber": ModifiedHuber}

__all__ = ["LOSSES", "ModifiedHuber", "PairwiseLoss", "SquaredHinge"]
