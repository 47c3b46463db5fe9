"""A penalty of groups, rows, a loss, a metric and a solver of another package, through the whole path;
losses by name and as objects; the default strengths are the same everywhere."""

import copy
import inspect
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparserank as sr
from sparserank.crossval.folded_paths import FoldedPaths
from sparserank.crossval.tasks import FINAL, PathTask
from sparserank.errors import DataError, ParameterError, RunDirectoryError
from sparserank.losses import SquaredHinge, loss_identity, loss_name, parse_loss
from sparserank.metrics import Metric, parse_metric
from sparserank.objective import PairwiseObjective, objectives_of
from sparserank.options.paths import FIT_PATH
from sparserank.options.selection import SELECT
from sparserank.paths import PathPlan, PenaltyPath, fit_path_on, following
from sparserank.penalties import L1, Penalty
from sparserank.shards import make_shards
from sparserank.solvers import Fista, ProxNewton, Reweighted, Status, Stop, solve
from sparserank.solvers.certificates import gap_safe_screen
from sparserank.solvers.lockstep import run_all
from sparserank.weighting import Weighting
from tests.extension.boxed_l1 import BOUND, BoxedL1
from tests.extension.gradient_sizes import GradientSizes
from tests.extension.group_penalty import PairLasso, norms
from tests.extension.logistic import PairwiseLogistic
from tests.extension.modified_huber import ModifiedHuber
from tests.extension.prox_gradient import ProxGradient
from tests.extension.reciprocal_rank import BestReciprocalRank
from tests.extension.shaped_rows import ShapedRows
from tests.oracles import pairs as oracle
from tests.support.problems import iterate_at, small_problem

RNG = np.random.default_rng(7)
DATA = sr.datasets.make_ranking(20, (5, 15), 5, n_informative=3, n_redundant=0, noise=0.5, random_state=1).data
SHAPED = ShapedRows(RNG.integers(0, 2, size=DATA.X.shape).astype(np.uint8), RNG.random(DATA.X.shape).astype(np.float32))
COLUMNS = SHAPED.ramps(np.arange(DATA.n_docs))  # the oracle: every column written out
LISTED = oracle.pairs_of(DATA.relevance, DATA.query_ptr)


def shaped() -> PairwiseObjective:
    return PairwiseObjective(SHAPED, DATA.relevance, DATA.query_ptr, n_threads=1)


def loss_of_pairs(w: np.ndarray) -> tuple[float, np.ndarray]:
    scores = COLUMNS @ w
    value = sum(v * oracle.squared_hinge(scores[i] - scores[j])[0] for i, j, v in LISTED)
    return value, COLUMNS.T @ oracle.score_gradient(scores, LISTED)


def test_a_shaped_shard_is_its_columns() -> None:
    objective, explicit = shaped(), PairwiseObjective(COLUMNS, DATA.relevance, DATA.query_ptr)
    assert objective.shards.column_blocks == tuple((2 * j, 2 * j + 1) for j in range(5))
    for _ in range(5):
        w, v = RNG.standard_normal(10), RNG.standard_normal(10)
        for found, expected in zip(objective.value_and_gradient(w), loss_of_pairs(w), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        some = np.array([1, 2, 7])
        np.testing.assert_allclose(objective.hessian(w, some), explicit.hessian(w, some), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(objective.hessian_matvec(w, v), explicit.hessian_matvec(w, v), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(objective.along(w, v)(0.2), explicit.along(w, v)(0.2), rtol=1e-9)
    np.testing.assert_allclose(objective.pair_norms, explicit.pair_norms, rtol=1e-9)


def optimum(alpha: float) -> float:
    """The least value by proximal gradient on explicit pairs: the slow, obvious way."""
    better, worse, v = (np.array(each) for each in zip(*LISTED, strict=True))
    gaps = COLUMNS[better] - COLUMNS[worse]
    L = 2.0 * float(v @ (gaps**2).sum(axis=1))

    def gradient(w: np.ndarray) -> np.ndarray:
        return -2.0 * gaps.T @ (v * np.maximum(1.0 - gaps @ w, 0.0))

    some = np.linspace(-1.0, 1.0, 10)
    np.testing.assert_allclose(gradient(some), loss_of_pairs(some)[1], rtol=1e-12)
    w = z = np.zeros(10)
    t = 1.0
    for _ in range(3000):
        step = z - gradient(z) / L
        size = np.hypot(step[0::2], step[1::2])
        kept = np.maximum(1.0 - (alpha / L) / np.where(size > 0, size, 1.0), 0.0)
        following_w = step * np.repeat(kept, 2)
        grown = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * t * t))
        w, z, t = following_w, following_w + (t - 1.0) / grown * (following_w - w), grown
    return loss_of_pairs(w)[0] + alpha * float(np.hypot(w[0::2], w[1::2]).sum())


def test_groups_go_through_the_whole_path_on_shaped_rows() -> None:
    shards = make_shards(SHAPED, DATA.relevance, DATA.query_ptr, sr.losses.SquaredHinge())
    weights = np.ones((3, DATA.n_queries))
    weights[1, ::3], weights[2, 1::3] = 0.0, 0.0
    options = {"n_alphas": 8, "alpha_min_ratio": 0.03, "tol": 1e-8}
    paths = run_all([following(o, PairLasso(), PathPlan(**options)) for o in objectives_of(Weighting(shards, weights))])
    for path in paths:
        assert set(path.statuses) == {"optimal"}
        assert path.gaps.max() < 1e-7
        assert not path.scaled_coefs[0].any()
        in_or_out = path.scaled_coefs.reshape(8, 5, 2) != 0
        np.testing.assert_array_equal(in_or_out[:, :, 0], in_or_out[:, :, 1])
        assert 0 < in_or_out[:, :, 0].sum(axis=1).max() <= 5
    for i in (2, 5, 7):
        assert paths[0].objectives[i] == pytest.approx(optimum(float(paths[0].alphas[i])), abs=1e-8)


def test_screening_of_groups_is_safe() -> None:
    objective = shaped()
    top = PairLasso().alpha_max(objective.gradient_at_zero)
    discarded_any = False
    for share in (0.9, 0.5, 0.2):
        penalty = PairLasso(share * top)
        best = solve(ProxNewton(), objective, penalty, stop=Stop(1e-10, 300, top))
        for shrunk in (1.0, 0.95, 0.5):
            out = gap_safe_screen(objective, penalty, iterate_at(objective, penalty, shrunk * best.w))
            assert not best.w[out].any()
            discarded_any |= bool(out.any())
    assert discarded_any


def test_the_certificate_of_groups_rejects_a_dual_of_single_columns() -> None:
    """The wrong variant: |g_j| <= alpha for every column allows dual points that no group penalty does."""
    objective = shaped()
    top = PairLasso().alpha_max(objective.gradient_at_zero)
    penalty = PairLasso(0.3 * top)
    best = solve(ProxNewton(), objective, penalty, stop=Stop(1e-10, 300, top))
    here = iterate_at(objective, penalty, 0.7 * best.w)
    dual = objective.dual(here.w, here.at)
    wrong = L1(penalty.alpha).conjugate(here.w, here.gradient)
    right = penalty.conjugate(here.w, here.gradient)
    assert wrong.limit > right.limit
    claimed = here.value + dual.value(min(wrong.limit, 1.0))
    assert claimed < here.value + dual.value(min(right.limit, 1.0))


@pytest.mark.parametrize("penalty", [L1(0.02), PairLasso(0.02)])
def test_a_solver_of_ones_own_ends_where_ours_does(penalty: Penalty) -> None:
    objective = shaped()
    stop = Stop(1e-7, 100_000, float(np.abs(objective.gradient_at_zero).max()))
    found = [solve(s, objective, penalty, stop=stop) for s in (ProxGradient(), ProxNewton(), Fista())]
    assert {s.status for s in found} == {Status.OPTIMAL}
    for s in found:
        assert s.value == pytest.approx(found[1].value, abs=1e-9)


def test_a_solver_that_lacks_a_capability_says_so() -> None:
    with pytest.raises(DataError, match="Reweighted needs a penalty that is a sum over features; pair_lasso is not"):
        solve(Reweighted(), shaped(), PairLasso(0.1))
    concave = type("Concave", (PairLasso,), {"is_convex": False})(0.1)
    with pytest.raises(DataError, match="ProxNewton needs a penalty that is convex or a sum over features"):
        solve(ProxNewton(), shaped(), concave)


def test_a_loss_of_ones_own_goes_through_the_path() -> None:
    data = small_problem(3)
    path = sr.fit_path(data, loss=PairwiseLogistic(), n_alphas=6, alpha_min_ratio=0.05, scaling="none")
    assert set(path.statuses) == {"optimal"}
    assert path.losses[0] == pytest.approx(np.log(2.0))


def test_a_metric_of_ones_own_is_measured_with_the_others() -> None:
    metrics: list[Metric] = [BestReciprocalRank(), parse_metric("ndcg@10")]
    fold = np.arange(DATA.n_queries) % 2
    work = FoldedPaths(DATA, fold, PathPlan(n_alphas=4), metrics)
    pieces = work([PathTask("path", PenaltyPath(L1()), fold=f) for f in (0, 1)])
    unseen = DATA.take_queries(fold == 1)
    scores = unseen.X @ pieces[1].in_units(pieces[1].sparse_coefs).toarray()[3]
    for q, (lo, hi) in enumerate(zip(unseen.query_ptr[:-1], unseen.query_ptr[1:], strict=True)):
        y = unseen.relevance[lo:hi]
        order = sorted(range(hi - lo), key=lambda i: (-scores[lo + i], y[i]))
        rank = 1 + [y[i] for i in order].index(y.max())
        assert pieces[1].values[0, 3, q] == pytest.approx(y.max() / rank)


def test_norms_of_pairs() -> None:
    assert norms(np.array([3.0, 4.0, 0.0, 1.0])).tolist() == [5.0, 5.0, 1.0, 1.0]


def test_a_penalty_of_ones_own_needs_no_kernel() -> None:
    objective = PairwiseObjective(DATA)
    path = fit_path_on(objective, BoxedL1(), n_alphas=8, alpha_min_ratio=0.01, tol=1e-8)
    assert set(path.statuses) == {"optimal"}
    assert path.gaps.max() < 1e-6
    unbounded = fit_path_on(objective, L1(), alphas=path.alphas, tol=1e-8)
    assert np.abs(unbounded.scaled_coefs[-1]).max() > BOUND  # or the box would not be there
    assert np.abs(path.scaled_coefs).max() == BOUND
    inside = np.abs(unbounded.scaled_coefs).max(axis=1) < BOUND
    np.testing.assert_allclose(path.scaled_coefs[inside], unbounded.scaled_coefs[inside], atol=1e-6)
    free = np.where(np.abs(path.scaled_coefs[-1]) < BOUND)[0]
    g = PairwiseObjective(DATA).value_and_gradient(path.scaled_coefs[-1])[1]
    monotone = np.sign(path.scaled_coefs[-1])
    np.testing.assert_allclose((g + path.alphas[-1] * monotone)[free][monotone[free] != 0], 0.0, atol=1e-6)


def test_rules_that_a_penalty_of_ones_own_does_not_declare_are_refused_wherever_it_is_used() -> None:
    names = DATA.names
    quick = {"n_alphas": 8, "half_samples": 0, "rival": "none", "feature_transform": "none", "cv": 2, "n_threads": 1}
    for rule, value in (("monotone", {names[0]: "-"}), ("keep", [names[0]])):
        refused = f"{rule} is not supported by boxed_l1, which supports drop"
        for call in (
            lambda rules: sr.select(DATA, penalties=[BoxedL1(), "l1"], **rules, **quick),
            lambda rules: sr.SparseRanker(penalty=BoxedL1(), **rules).fit_dataset(DATA),
            lambda rules: BoxedL1(**rules),
        ):
            with pytest.raises(ParameterError, match=refused):
                call({rule: value})
    without = sr.select(DATA, penalties=[BoxedL1()], drop=[names[0]], **quick)
    assert names[0] not in without.model.columns


def test_a_path_maker_of_ones_own_is_followed_in_lockstep_and_counts_its_points() -> None:
    fold = np.arange(DATA.n_queries) % 3
    work = FoldedPaths(DATA, fold, PathPlan(), [parse_metric("ndcg@10")])
    told: list[int] = []
    task = PathTask("path", GradientSizes(), tell=told.append)
    folds = (FINAL, 0, 1, 2)
    pieces = work([replace(task, fold=f) for f in folds])
    assert told == 3 * len(folds) * [3]
    for f, piece in zip(folds, pieces, strict=True):
        assert np.diff(piece.sparse_coefs.indptr).tolist() == [1, 2, 3]
        (alone,) = work([replace(task, fold=f)])
        np.testing.assert_array_equal(alone.sparse_coefs.toarray(), piece.sparse_coefs.toarray())


def test_a_path_maker_of_ones_own_goes_through_select_its_folds_its_rules_and_a_resumed_run(tmp_path: Path) -> None:
    options = {"cv": 3, "n_alphas": 8, "half_samples": 4, "feature_transform": "none", "out": tmp_path / "run"}
    names = DATA.feature_names or ()
    found = sr.select(DATA, penalties=[GradientSizes(), "l1"], drop=[names[0]], k=2, **options)
    own = [c for c in found.choice.candidates if c.penalty == "gradient_sizes"]
    assert [c.n_features for c in own] == [1, 2, 3]
    assert found.paths["gradient_sizes"].penalty == GradientSizes(drop=(0,))
    assert not found.paths["gradient_sizes"].sparse_coefs[:, [0]].nnz
    again = sr.select(DATA, penalties=[GradientSizes(), "l1"], drop=[names[0]], k=2, **options)
    for a, b in zip(found.choice.candidates, again.choice.candidates, strict=True):
        np.testing.assert_array_equal(a.values, b.values)
    for rule, value in {"keep": [names[1]], "monotone": {names[1]: "+"}}.items():
        with pytest.raises(ParameterError, match=f"{rule}.* is not supported by gradient_sizes"):
            sr.select(DATA, penalties=[GradientSizes()], **{rule: value})
    quick = {"n_alphas": 3, "cv": 2, "half_samples": 0}
    logs = sr.select(DATA, penalties=[GradientSizes()], feature_transform="log", **quick)
    assert {c.penalty.split(" on ")[0] for c in logs.choice.candidates} == {"gradient_sizes", "ridge"}
    with pytest.raises(DataError, match="gradient_sizes works only with `select` and `fit_path`"):
        sr.SparseRanker(penalty=GradientSizes(), k=2).fit_dataset(DATA)


@pytest.mark.slow
def test_the_extension_works_as_a_package_of_its_own(tmp_path: Path) -> None:
    shutil.copytree(
        Path(__file__).parent / "extension", tmp_path / "theirs", ignore=shutil.ignore_patterns("__pycache__")
    )
    command = [sys.executable, "-W", "error::sparserank.errors.ConvergenceWarning", "-m", "theirs.try_all"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert (
        "groups of shaped rows under a logistic loss: ('optimal', 'optimal', 'optimal', 'optimal', 'optimal')"
        in done.stdout
    )
    assert "sizes: [1, 2, 3] (2, 3, 4)" in done.stdout


MADE = sr.datasets.make_ranking(30, (6, 9), 6, n_informative=3, n_redundant=1, noise=0.5, random_state=1).data
TABLE = np.tril(np.arange(1.0, 26.0).reshape(5, 5), -1)
WAYS: dict[str, Callable[[Any], np.ndarray]] = {
    "fit_path": lambda loss: sr.fit_path(MADE, loss=loss, n_alphas=5).losses,
    "select": lambda loss: selected(loss).paths["l1"].losses,
    "SparseRanker": lambda loss: np.array([sr.SparseRanker(loss=loss).fit(MADE.X, MADE.relevance, qid=MADE.qid).loss_]),
    "SparseRankerCV": lambda loss: (
        sr.SparseRankerCV(loss=loss, n_alphas=5).fit(MADE.X, MADE.relevance, qid=MADE.qid).path_.losses
    ),
    "PairwiseObjective": lambda loss: np.array(
        [sr.solvers.PairwiseObjective(MADE, loss=loss).value_and_gradient(np.ones(6))[0]]
    ),
}


def selected(loss: Any, **more: Any) -> sr.SelectionResult:
    return sr.select(
        MADE, loss=loss, penalties="l1", n_alphas=5, cv=3, feature_transform="none", half_samples=0, **more
    )


@pytest.mark.slow_but("[fit_path]")
@pytest.mark.parametrize("way", WAYS)
def test_a_loss_is_a_name_or_an_object(way: str) -> None:
    fit = WAYS[way]
    np.testing.assert_array_equal(fit("squared_hinge"), fit(SquaredHinge()))
    weighted, logistic, plain = fit(SquaredHinge(TABLE)), fit(PairwiseLogistic()), fit("squared_hinge")
    assert not np.array_equal(weighted[-1:], plain[-1:])
    assert not np.array_equal(logistic, plain)
    for bad in ("hinge", 3, None, SquaredHinge):
        with pytest.raises(DataError, match="loss must be squared_hinge, or a PairwiseLoss; got"):
            fit(bad)


def test_a_run_of_a_loss_of_ones_own_names_it_and_goes_on(tmp_path: Path) -> None:
    first = selected(PairwiseLogistic(), out=tmp_path / "run")
    again = selected(PairwiseLogistic(), out=tmp_path / "run")
    assert first.to_json()["loss"] == "PairwiseLogistic()"
    assert first.model.parameters["loss"] == "PairwiseLogistic()"
    np.testing.assert_array_equal(first.model.coef, again.model.coef)
    with pytest.raises(RunDirectoryError, match="other data or options"):
        selected(SquaredHinge(TABLE), out=tmp_path / "run")


def test_names_of_losses_differ_by_their_tables_and_are_the_same_everywhere() -> None:
    large = np.tril(np.ones((200, 200)), -1)
    other = large.copy()
    other[150, 3] = 2.0
    names = [loss_name(x) for x in (SquaredHinge(), ModifiedHuber(), SquaredHinge(large), SquaredHinge(other))]
    assert names[:2] == ["squared_hinge", "modified_huber"]
    assert len(set(names)) == 4  # repr of an array leaves out its middle
    assert all(" at 0x" not in name for name in names)
    assert loss_name(parse_loss("squared_hinge")) == "squared_hinge"


@dataclass(frozen=True)
class Steeper(PairwiseLogistic):
    """A loss whose parameter is no field: its class is a dataclass all the same."""

    def __init__(self, beta: Any) -> None:
        super().__init__()
        object.__setattr__(self, "beta", beta)


class Lookalike:
    class PairwiseLogistic(PairwiseLogistic):
        """Another class of the same name."""


def test_losses_that_differ_have_identities_that_differ() -> None:
    losses = [SquaredHinge(), ModifiedHuber(), PairwiseLogistic(), Lookalike.PairwiseLogistic(), SquaredHinge(TABLE)]
    losses += [Steeper(1.0), Steeper(2.0), Steeper((TABLE,)), Steeper((2 * TABLE,)), SquaredHinge(2 * TABLE)]
    identities = [loss_identity(loss) for loss in losses]
    assert len(set(identities)) == len(losses)
    assert identities == [loss_identity(copy.deepcopy(loss)) for loss in losses]
    unknown = Steeper(lambda m: m)  # cannot be pickled: like no other, not even itself
    assert loss_identity(unknown) != loss_identity(unknown)
    assert loss_name(unknown) == "Steeper(beta='<function>')"
    assert len({loss_name(loss) for loss in losses}) < len(losses)  # the wrong variant, names


def test_there_is_one_default_grid() -> None:
    for options in (FIT_PATH, SELECT):
        given = {o.name: o.default for o in options.values()}
        assert (given["n_alphas"], given["alpha_min_ratio"]) == (40, 0.01)
    for owner in (sr.SparseRankerCV, PathPlan):
        signature = inspect.signature(owner).parameters
        assert (signature["n_alphas"].default, signature["alpha_min_ratio"].default) == (40, 0.01)
    assert inspect.signature(sr.SparseRanker).parameters["n_alphas"].default == 40


def test_a_path_to_a_size_goes_on_to_weaker_strengths() -> None:
    m = sr.SparseRanker(penalty="l1", k=6, n_alphas=3).fit(MADE.X, MADE.relevance, qid=MADE.qid)
    assert len(m.support_) == 6
    assert m.alpha_ < 0.01 * m.alpha_max_


def test_a_size_that_the_grid_jumps_over_is_searched_for() -> None:
    """The wrong variant takes what lies on the grid: of three strengths none has so many features."""
    data = sr.datasets.make_ranking(40, (8, 12), 12, n_informative=5, n_redundant=3, noise=0.5, random_state=2).data
    on_grid = sr.fit_path(data, "l1", n_alphas=4)
    for k in (2, 3, 4):
        found = sr.SparseRanker(penalty="l1", k=k, n_alphas=4).fit(data.X, data.relevance, qid=data.qid)
        assert len(found.support_) == k
    assert not {2, 3, 4} <= set(on_grid.nnz.tolist())


@pytest.mark.parametrize("given", [{"alphas": np.array([0.1])}, {"early_stop": 0.5}])
def test_strengths_mean_nothing_to_best_k(given: dict[str, Any]) -> None:
    with pytest.raises(DataError, match=f"{next(iter(given))} has no meaning with best_k"):
        sr.fit_path(MADE, "best_k(k_max=2)", **given)
