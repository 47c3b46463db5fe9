"""Losses: functions of scores, one per file; they never see features or penalties."""

from sparserank.losses.by_name import LOSSES, loss_identity, loss_name, parse_loss
from sparserank.losses.pairwise import PairwiseLoss
from sparserank.losses.squared_hinge import SquaredHinge

__all__ = ["LOSSES", "PairwiseLoss", "SquaredHinge", "loss_identity", "loss_name", "parse_loss"]
