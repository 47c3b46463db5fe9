"""Ranking data: container, readers and writers, folds, scaling, synthetic problems."""
