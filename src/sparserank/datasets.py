"""Problems of which the truth is known."""

from sparserank.data.synthetic import SyntheticRanking, make_curved_ranking, make_ranking

__all__ = ["SyntheticRanking", "make_curved_ranking", "make_ranking"]
