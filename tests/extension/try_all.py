"""Everything of this package at work, without anything else of the tests: what its author would run first."""

import numpy as np

import sparserank as sr
from sparserank.crossval.folded_paths import FoldedPaths
from sparserank.crossval.tasks import FINAL, PathTask
from sparserank.data.folds import query_folds
from sparserank.metrics import parse_metric
from sparserank.objective import PairwiseObjective
from sparserank.paths import PathPlan, fit_path_on
from sparserank.solvers import solve

from .boxed_l1 import BoxedL1
from .gradient_sizes import GradientSizes
from .group_penalty import PairLasso
from .logistic import PairwiseLogistic
from .modified_huber import ModifiedHuber
from .prox_gradient import ProxGradient
from .reciprocal_rank import BestReciprocalRank
from .shaped_rows import ShapedRows


def main() -> None:
    data = sr.datasets.make_ranking(12, (5, 9), 4, n_informative=2, n_redundant=0, random_state=1).data
    rng = np.random.default_rng(0)
    rows = ShapedRows(rng.integers(0, 2, size=data.X.shape).astype(np.uint8), rng.random(data.X.shape))
    shaped = PairwiseObjective(rows, data.relevance, data.query_ptr, loss=PairwiseLogistic())
    path = fit_path_on(shaped, PairLasso(), n_alphas=5, alpha_min_ratio=0.1)
    print("groups of shaped rows under a logistic loss:", path.statuses)
    plain = PairwiseObjective(data)
    bounded = PairwiseObjective(data, loss=ModifiedHuber())
    print(
        "l1 under a loss of bounded slope:",
        fit_path_on(bounded, sr.penalties.L1(), n_alphas=5, alpha_min_ratio=0.1).statuses,
    )
    print("boxed l1:", fit_path_on(plain, BoxedL1(), n_alphas=5, alpha_min_ratio=0.05).statuses)
    print("proximal gradient:", solve(ProxGradient(), plain, sr.penalties.L1(0.1)).status.value)
    fold = query_folds(data.n_queries, 3, 0)
    work = FoldedPaths(data, fold, PathPlan(), [BestReciprocalRank(), parse_metric("ndcg@10")])
    pieces = work([PathTask("path", GradientSizes(), fold=f) for f in (FINAL, 0, 1, 2)])
    print("sizes:", pieces[0].nnz.tolist(), pieces[1].values.shape)


if __name__ == "__main__":
    main()
