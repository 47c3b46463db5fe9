"""The cross-validation engine: from data, folds and path makers to candidates, their values and their choice."""
