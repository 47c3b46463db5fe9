"""Paths: every point is certified; nonconvex paths leave zero; tables, truncation, refit.
Solves that end short of their tolerance: every public entry warns, and results note it, of folds too.
"""

import warnings
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import sparserank as sr
from sparserank.crossval.convergence import unsolved, unsolved_paths
from sparserank.errors import ConvergenceWarning, DataError
from sparserank.losses import SquaredHinge
from tests.support.problems import small_problem

PROBLEM = sr.datasets.make_ranking(
    n_queries=25, docs_per_query=(5, 15), n_features=12, n_informative=3, n_redundant=3, noise=0.5
)
EVERY = ["l1", "elastic_net", "ridge", "log", "l0.5", "mcp", "scad"]


@pytest.mark.parametrize("penalty", EVERY)
def test_path_is_certified_at_every_point(penalty: str) -> None:
    path = sr.fit_path(PROBLEM.data, penalty, n_alphas=25, tol=1e-7)
    assert path.coefs.shape == (25, 12)
    assert (np.diff(path.alphas) < 0).all()
    assert (path.kkt_violations <= 1e-7 * path.l1_alpha_max).all()
    assert set(path.statuses) == {"optimal" if path.penalty.is_convex else "stationary"}
    assert np.isnan(path.gaps).all() != path.penalty.is_convex
    if penalty != "ridge":
        # At the start of an lp path, w = 0 and one distant point have the same value under the quadratic model;
        # rounding decides whether the distant one is tried. It is taken only where the objective is lower.
        assert path.nnz[0] == 0 or (penalty == "l0.5" and path.nnz[0] == 1 and path.objectives[0] < 1.0)
        assert path.nnz[-1] > path.nnz[5]


@pytest.mark.parametrize("penalty", ["log", "l0.5", "mcp", "scad"])
def test_nonconvex_path_is_no_worse_than_either_start(penalty: str) -> None:
    """From w = 0 (where lp stays for ever) and from the l1 solution of the same strength."""
    path = sr.fit_path(PROBLEM.data, penalty, n_alphas=20, scaling="none")
    objective = sr.solvers.PairwiseObjective(PROBLEM.data.X, PROBLEM.data.relevance, PROBLEM.data.query_ptr)
    stop = sr.solvers.Stop(1e-6, 500, path.l1_alpha_max)
    for i in (8, 14, 19):
        alpha = float(path.alphas[i])
        l1 = sr.solvers.solve(sr.solvers.ProxNewton(), objective, sr.penalties.L1(alpha), stop=stop)
        there = sr.solvers.solve(sr.solvers.ProxNewton(), objective, path.penalty.with_alpha(alpha), l1.w, stop=stop)
        assert path.objectives[i] <= there.value + 1e-5
        assert path.objectives[i] < 1.0  # the value at w = 0


def test_table_holds_every_scale_of_the_strength() -> None:
    path = sr.fit_path(PROBLEM.data, "l1", n_alphas=6)
    table = path.to_arrow().to_pydict()
    np.testing.assert_allclose(table["C_mean"], 1 / path.alphas)
    np.testing.assert_allclose(table["C_sum"], 1 / (path.alphas * path.n_pairs))
    np.testing.assert_allclose(table["r"], np.abs(path.scaled_coefs).sum(axis=1))
    assert table["features"][-1] == [path.feature_names[j] for j in path.support(5)]


def test_truncate_keeps_the_largest_coefficients() -> None:
    path = sr.fit_path(PROBLEM.data, "ridge", n_alphas=4)
    cut = path.truncate(3)
    assert (cut.nnz == 3).all()
    for before, after in zip(path.scaled_coefs, cut.scaled_coefs, strict=True):
        assert set(np.flatnonzero(after)) == set(np.argsort(-np.abs(before))[:3])
    with pytest.raises(DataError, match=r"^k must be an integer >= 1; got 0\.$"):
        path.truncate(0)


def test_refit_uses_the_support_alone_and_lowers_the_loss() -> None:
    path = sr.fit_path(PROBLEM.data, "l1", n_alphas=10)
    objective = sr.solvers.PairwiseObjective(PROBLEM.data.X, PROBLEM.data.relevance, PROBLEM.data.query_ptr)
    support = path.support(5)
    refit = sr.refit_on_support(objective, support)
    assert set(np.flatnonzero(refit.w)) == set(support)
    assert refit.loss < path.losses[5]


def test_limits_end_a_path_early() -> None:
    path = sr.fit_path(PROBLEM.data, "l1", n_alphas=40, k=3)
    assert path.nnz[-1] > 3
    assert (path.nnz[:-1] <= 3).all()
    assert len(sr.fit_path(PROBLEM.data, "l1", n_alphas=100, alpha_min_ratio=1e-3, early_stop=1e-2).alphas) < 100


def test_always_keep_features_are_in_every_model() -> None:
    path = sr.fit_path(PROBLEM.data, sr.penalties.L1(keep=(7,), drop=(0,)), n_alphas=8)
    assert path.coefs[:, 7].all()
    assert not path.coefs[:, 0].any()
    assert path.nnz[0] == 1
    for seed in range(12):
        data = sr.datasets.make_ranking(30, 15, 12, n_informative=3, n_redundant=2, noise=1.0, random_state=seed).data
        for penalty in (
            sr.penalties.L1(keep=(0, 3, 5)),
            sr.penalties.MCP(keep=(0, 3, 5)),
            sr.penalties.L1(keep=(1, 2), monotone=(1,) * 12),
        ):
            first = sr.fit_path(data, penalty, n_alphas=3, tol=1e-10).scaled_coefs[0]
            assert set(np.flatnonzero(first)) <= set(penalty.keep)  # nothing else enters at its own strength


def test_progress_is_reported() -> None:
    seen: list[tuple[int, int]] = []
    sr.fit_path(PROBLEM.data, "l1", n_alphas=4, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize("bad", [{"n_alphas": 0}, {"alpha_min_ratio": 1.5}, {"alphas": np.array([0.0])}])
def test_bad_grids_are_refused(bad: dict) -> None:
    with pytest.raises(DataError):
        sr.fit_path(PROBLEM.data, "l1", **bad)


@pytest.mark.parametrize("penalty", ["mcp", "scad"])
def test_where_a_path_starts_does_not_depend_on_the_unit(penalty: str) -> None:
    plain = sr.fit_path(PROBLEM.data, penalty, n_alphas=3, scaling="none")
    for unit in (1e-60, 1e-35, 1e40):
        data = sr.RankingDataset(PROBLEM.data.X * unit, PROBLEM.data.relevance, PROBLEM.data.qid)
        path = sr.fit_path(data, penalty, n_alphas=3, scaling="none")
        np.testing.assert_allclose(path.alphas / unit, plain.alphas, rtol=1e-7)
        assert path.nnz.tolist() == plain.nnz.tolist()


def test_small_pair_weights_do_not_round_the_scales_to_nothing() -> None:
    a = small_problem(1)
    light = sr.fit_path(a, loss=SquaredHinge(0.001 * np.tril(np.ones((3, 3)), -1)), n_alphas=3)
    plain = sr.fit_path(a, n_alphas=3)
    assert light.n_pairs == plain.n_pairs
    assert light.total_weight == pytest.approx(0.001 * plain.n_pairs)
    assert np.isfinite(light.to_table()["C_sum"]).all()


DATA = sr.datasets.make_ranking(40, (8, 14), 8, n_informative=3, n_redundant=2, noise=0.5, random_state=2).data
ARRAYS = {"X": np.asarray(DATA.X), "y": DATA.relevance}
IMPOSSIBLE = 1e-17  # below what float64 can show of a gradient


def quick(**options: Any) -> sr.SelectionResult:
    given = {"feature_transform": "none", "cv": 3, "n_alphas": 6, "report_metrics": (), "half_samples": 0, **options}
    return sr.select(DATA, **given)


ENTRIES: dict[str, Callable[[], Any]] = {
    "select": lambda: quick(tol=IMPOSSIBLE),
    "select, refits alone": lambda: quick(tol=IMPOSSIBLE, penalties="l1"),
    "fit_path": lambda: sr.fit_path(DATA, tol=IMPOSSIBLE, n_alphas=6),
    "SparseRanker": lambda: sr.SparseRanker(tol=IMPOSSIBLE).fit(**ARRAYS, qid=DATA.qid),
    "SparseRanker of a size": lambda: sr.SparseRanker(k=2, tol=IMPOSSIBLE).fit(**ARRAYS, qid=DATA.qid),
    "SparseRankerCV": lambda: sr.SparseRankerCV(tol=IMPOSSIBLE, n_alphas=6).fit(**ARRAYS, qid=DATA.qid),
    "RankSVM": lambda: sr.papers.RankSVM(tol=IMPOSSIBLE).fit(**ARRAYS, qid=DATA.qid),
}


@pytest.mark.parametrize("entry", ENTRIES)
def test_every_entry_warns_with_a_remedy(entry: str) -> None:
    with pytest.warns(ConvergenceWarning, match=r"raise (max_iter or )?tol"):
        ENTRIES[entry]()


@pytest.mark.parametrize("entry", ENTRIES)
def test_no_entry_warns_without_a_cause(entry: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The wrong variant, a warning at all events."""
    monkeypatch.setitem(globals(), "IMPOSSIBLE", 1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        ENTRIES[entry]()


def test_a_result_notes_how_many_of_which_solves() -> None:
    with pytest.warns(ConvergenceWarning):
        found = quick(tol=IMPOSSIBLE, half_samples=0)
    short = [p.statuses.count("stalled") + p.statuses.count("iteration limit") for p in found.paths.values()]
    (note,) = [n for n in found.to_json()["notes"] if "did not reach their tolerance" in n]
    n_final = int(note.split("(")[1].split(" ")[0])
    assert n_final >= sum(short) > 0  # refits come on top
    assert "without a fold" in note


def test_unsolved_points_of_folds_are_counted() -> None:
    def arrays(*statuses: str) -> Any:
        return SimpleNamespace(statuses=statuses)  # all that is asked of a path

    fine = {("l1", -1): arrays("optimal", "optimal"), ("l1", 0): arrays("stationary", "not certified")}
    assert unsolved_paths(fine, 1e-6) is None
    note = unsolved_paths({**fine, ("l1", 1): arrays("optimal", "iteration limit")}, 1e-6)
    assert note is not None
    assert note.startswith(
        "1 of 5 solves (0 of 2 on all queries, 1 of 3 without a fold) did not reach their tolerance, a KKT "
        "violation of 1e-06 (0.0001 where only quality is estimated) times alpha_max (1 iteration limit)"
    )
    assert "raise tol, or max_iter" in note
    assert unsolved(["stalled"], "on half-samples", "0.0001").startswith("1 of 1 solves on half-samples")  # type: ignore[union-attr]


def test_unsolved_points_of_half_samples_are_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparserank.crossval.stability.FOLD_TOL", IMPOSSIBLE)
    with pytest.warns(ConvergenceWarning, match="on half-samples"):
        found = quick(penalties="l1", relaxed=False, half_samples=2)
    assert any("on half-samples" in n for n in found.notes)
