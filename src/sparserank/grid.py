"""The default strengths of a path, for everybody who follows one:
N_ALPHAS, log-spaced from where it starts down to ALPHA_MIN_RATIO of that."""

N_ALPHAS = 40
ALPHA_MIN_RATIO = 1e-2
