"""Numbers that everybody shares: the default strengths of a path, N_ALPHAS, log-spaced from where it starts down to
ALPHA_MIN_RATIO of that; and the magnitudes that floating point can handle."""

N_ALPHAS = 40
ALPHA_MIN_RATIO = 1e-2
SMALLEST, LARGEST = 1e-100, 1e100  # squares of these, summed and multiplied, stay far from the ends of float64
