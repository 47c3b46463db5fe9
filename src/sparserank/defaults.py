"""Defaults of the main job, for Python and the command line alike;
imports next to nothing, so that `--help` is instant."""

from sparserank.grid import ALPHA_MIN_RATIO, N_ALPHAS

__all__ = ["ALPHA_MIN_RATIO", "N_ALPHAS"]

PENALTIES = ("l1", "log", "mcp")
METRIC = "ndcg@10"
ALSO = ("map", "ndcg@5")
CONVENTION = "default"
SCALING = "within-query-std"
PROTOCOL = "cv"
N_FOLDS = 5
SEED = 0
MARGIN = "auto"
REFITS = True
TRANSFORM = "auto"
SHAPES = "linear"
N_KNOTS = 10
HALF_SAMPLES = 20
CONFIDENCE = 0.95
TOL = 1e-6
PAIR_WEIGHTS = "pair"
LOSS = "squared_hinge"
N_TREES, N_LEAVES = 150, 7  # of LightGBM, in comparisons and as a judge
