"""The LETOR protocol: five folds, grids, choice on validation, test metrics."""
