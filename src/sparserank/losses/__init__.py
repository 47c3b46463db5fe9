"""Losses: functions of scores, one per file; they never see features or penalties."""

from sparserank.losses.squared_hinge import SquaredHinge

LOSSES = {"squared_hinge": SquaredHinge}

__all__ = ["LOSSES", "SquaredHinge"]
