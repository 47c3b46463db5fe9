"""Ranking data: container, readers and writers, folds, synthetic problems."""
