"""Choosing a model: paths over folds, non-inferiority, the main job."""
