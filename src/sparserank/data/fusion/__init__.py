"""Runs of retrievers, cut at one depth, with their scores and ranks as features of a data set; norms of scores, and
reciprocal rank fusion, in `norms.py`."""
