"""The ranking model and its file."""

from sparserank.model.ranking_model import RankingModel
from sparserank.model.size_models import load_model

__all__ = ["RankingModel", "load_model"]
