"""Our models beside tree ensembles, size by size, on the same folds."""
