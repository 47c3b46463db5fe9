"""The ranking model and its file."""

from sparserank.model.loading import load_model
from sparserank.model.ranking_model import RankingModel

__all__ = ["RankingModel", "load_model"]
