"""Options of tree ensembles."""

from __future__ import annotations

from sparserank.options import Count, Number, Option

PANEL = "Trees"

N_TREES = Option(
    name="n_trees", kind=Count(), default=150, help="Number of trees in each LightGBM ensemble.", panel=PANEL
)
N_LEAVES = Option(name="n_leaves", kind=Count(2), default=7, help="Number of leaves of each tree.", panel=PANEL)
LEARNING_RATE = Option(
    name="learning_rate",
    kind=Number(above=0),
    default=0.05,
    help="Learning rate (the shrinkage of each tree).",
    panel=PANEL,
)
TREES = (N_TREES, N_LEAVES, LEARNING_RATE)
