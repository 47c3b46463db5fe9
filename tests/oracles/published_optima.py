"""The numbers of tests/paths/test_published_optima.py, from explicit pairs by scikit-learn's liblinear, each with what
proves it.

`python -m tests.oracles.published_optima FOLDER`, FOLDER with mq2008/S1.txt.gz ... and ohsumed/querylevelnorm/S1.txt.gz
... (SPARSERANK_DATA). Nothing from the package: files by the plain reader of this folder, every pair of different
grades of a query a row x_i - x_j.

Objective: (1 / n_pairs) sum over pairs of max(0, 1 - w.(x_i - x_j))^2 + alpha |w|_1, alpha a fraction of alpha_max, the
largest entry of the gradient at 0. liblinear's is |w|_1 + C sum of the same, so C = 1 / (alpha n_pairs); it needs two
classes, so every second pair is negated. Proof: phi(m) = max(0, 1 - m)^2 has phi*(u) = u + u^2 / 4 for u <= 0, so with
h = max(0, 1 - m) the dual at u = -2 s h is 2 s mean(h) - s^2 mean(h^2), for the s <= 1 that brings the gradient within
alpha. The optimum lies between that and the objective.
"""

import sys
from pathlib import Path

import numpy as np

from tests.oracles.letor_reader import Row, dense, read_file

SETS = {"mq2008_train": "mq2008/S{}.txt.gz", "ohsumed_train": "ohsumed/querylevelnorm/S{}.txt.gz"}
PARTS = (1, 2, 3)  # fold 1
FRACTIONS = (0.1, 0.01)
TOL = 1e-10
MAX_ITER = 1_000_000


def differences(rows: list[Row]) -> np.ndarray:
    """(n_pairs, n_features) x_i - x_j of all pairs of a query with label i > label j."""
    X = np.array(dense(rows, max(max(row.values) for row in rows)))
    of_query: dict[str, list[int]] = {}
    for n, row in enumerate(rows):
        of_query.setdefault(row.qid, []).append(n)
    pairs = [(i, j) for group in of_query.values() for i in group for j in group if rows[i].label > rows[j].label]
    upper, lower = np.array(pairs).T
    return X[upper] - X[lower]


def largest_gradient_at_zero(D: np.ndarray) -> float:
    """max over features of |mean of phi'(0) d|, phi'(0) = -2."""
    return float(np.abs(2.0 * D.mean(axis=0)).max())


def by_liblinear(D: np.ndarray, alpha: float) -> np.ndarray:
    from sklearn.svm import LinearSVC

    y = np.where(np.arange(len(D)) % 2, 1.0, -1.0)
    model = LinearSVC(
        penalty="l1",
        loss="squared_hinge",
        dual=False,
        fit_intercept=False,
        C=1.0 / (alpha * len(D)),
        tol=TOL,
        max_iter=MAX_ITER,
        random_state=0,
    )
    return np.asarray(model.fit(y[:, None] * D, y).coef_).ravel()


def bounds(D: np.ndarray, alpha: float, w: np.ndarray) -> tuple[float, float]:
    """(dual, objective) at w: the optimum lies between them."""
    h = np.maximum(0.0, 1.0 - D @ w)
    objective = float((h**2).mean() + alpha * np.abs(w).sum())
    gradient = float(np.abs(-2.0 * (h @ D) / len(D)).max())
    s = min(1.0, alpha / gradient)
    return float(2.0 * s * h.mean() - s**2 * (h**2).mean()), objective


def main(folder: Path) -> None:
    import scipy
    import sklearn

    print(f"scikit-learn {sklearn.__version__} (liblinear), numpy {np.__version__}, scipy {scipy.__version__}")
    for name, files in SETS.items():
        rows = [row for part in PARTS for row in read_file((folder / files.format(part)).read_bytes())]
        D = differences(rows)
        alpha_max = largest_gradient_at_zero(D)
        print(f"{name}: {len(D)} pairs, alpha_max {alpha_max:.12f}")
        for fraction in FRACTIONS:
            low, high = bounds(D, fraction * alpha_max, by_liblinear(D, fraction * alpha_max))
            print(f"  alpha {fraction} alpha_max: the optimum lies between {low:.12f} and {high:.12f}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("python -m tests.oracles.published_optima FOLDER")
    main(Path(sys.argv[1]))
