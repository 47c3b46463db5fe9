"""Runs of retrievers, cut at one depth, with their scores and ranks as features of a data set."""
