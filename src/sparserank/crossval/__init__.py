"""The engine of the product: data, folds, path makers in; candidates with out-of-fold values and their choice out."""
