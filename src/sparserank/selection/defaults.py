"""Defaults of the main job, for Python and the command line alike; imports nothing, so that `--help` is instant."""

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
N_ALPHAS = 40
ALPHA_MIN_RATIO = 1e-2
TOL = 1e-6
PAIR_WEIGHTS = "pair"
LOSS = "squared_hinge"
N_TREES, N_LEAVES = 150, 7  # of LightGBM, in comparisons and as a judge
