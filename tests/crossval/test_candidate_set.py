"""Candidates: matched by size in every fold, refits among them; everything again by explicit folds on copies.
Which paths are fitted beside those asked for, in what order, and which by processes.
A column that no model may use does not change a model, whatever its values.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sparserank as sr
from sparserank.crossval import fitting
from sparserank.crossval.feature_transforms import RAW
from sparserank.crossval.folded_paths import FOLD_TOL, FoldedPaths
from sparserank.crossval.tasks import FINAL, PathTask, with_starts_and_refits
from sparserank.data.dataset import RankingDataset
from sparserank.data.folds import query_folds
from sparserank.metrics import parse_metric
from sparserank.paths import BestK, PathPlan, PenaltyPath, fit_path_on, refit_on_support
from sparserank.paths.fit import parse_maker
from sparserank.penalties import L1, MCP, SCAD, Ridge, parse_penalty
from sparserank.selection.job import SelectionJob, SelectionProblem
from sparserank.shards.scaling import fit_scaling
from sparserank.solvers import PairwiseObjective
from sparserank.solvers.loop import solve
from sparserank.solvers.prox_newton import ProxNewton

DATA = sr.datasets.make_ranking(60, (8, 20), 12, n_informative=4, noise=0.5, random_state=7).data
OPTIONS: dict[str, Any] = {"n_alphas": 10, "alpha_min_ratio": 0.02}


@pytest.fixture(scope="module")
def result() -> sr.SelectionResult:
    return sr.select(DATA, penalties=["l1", "mcp"], cv=3, random_state=1, half_samples=0, **OPTIONS)


@pytest.fixture(scope="module")
def of_l1() -> sr.SelectionResult:
    return sr.select(DATA, penalties=["l1"], cv=3, random_state=1, half_samples=0, **OPTIONS)


def fold_path(penalty: str, used: np.ndarray) -> tuple[sr.solvers.PairwiseObjective, Any, np.ndarray]:
    """A copy of the fold's training queries, its path, what its features are divided by."""
    train = DATA.take_queries(used)
    scale = fit_scaling(train).scale
    objective = sr.solvers.PairwiseObjective(train, scale=scale)
    return objective, fit_path_on(objective, parse_penalty(penalty), tol=FOLD_TOL, **OPTIONS), scale


@pytest.mark.parametrize("relax", [0.0, 0.5, 1.0])
def test_values_are_those_of_explicit_folds(of_l1: sr.SelectionResult, relax: float) -> None:
    fold = query_folds(DATA.n_queries, 3, 1)
    candidates = [c for c in of_l1.choice.candidates if c.penalty == "l1" and c.relax == relax]
    assert len(candidates) >= 4
    for f in range(3):
        objective, path, scale = fold_path("l1", fold != f)
        unseen = DATA.take_queries(fold == f)
        for c in candidates:
            within = [i for i in range(len(path.alphas)) if path.nnz[i] <= c.k]
            point = min(within, key=lambda i: path.losses[i])
            w = path.scaled_coefs[point]
            if relax and path.nnz[point]:
                w = (1 - relax) * w + relax * refit_on_support(objective, path.support(point)).w
            expected = sr.evaluate(np.asarray(unseen.X @ (w / scale)), unseen, ["ndcg@10"]).per_query["ndcg@10"]
            np.testing.assert_allclose(c.values[fold == f], expected, atol=0.02)
            assert np.mean(np.abs(c.values[fold == f] - expected) > 1e-9) < 0.1  # fold paths are solved to 1e-4


def test_matching_by_index_would_give_other_models(result: sr.SelectionResult) -> None:
    """The wrong variant: the point of the same number in every fold, which need not have so few features."""
    fold = query_folds(DATA.n_queries, 3, 1)
    larger = 0
    for f in range(3):
        _, path, _ = fold_path("l1", fold != f)
        larger += sum(path.nnz[c.index] > c.k for c in result.choice.candidates if c.penalty == "l1" and c.relax == 0)
    assert larger > 0


def test_every_size_is_there_once_per_penalty_and_refit(result: sr.SelectionResult) -> None:
    for label in ("l1", "mcp"):
        nnz = result.paths[label].nnz
        sizes = [c.n_features for c in result.choice.candidates if c.penalty == label and c.relax == 0]
        assert sizes == sorted(set(sizes))
        assert set(sizes) <= set(nnz.tolist()) - {0}
        for relax in (0.5, 1.0):  # MCP starts from l1, whose models are then not refitted
            refits = [c.n_features for c in result.choice.candidates if c.penalty == label and c.relax == relax]
            assert refits == (sizes if label == "mcp" else [])


def test_the_saved_model_is_the_chosen_candidate() -> None:
    for k in (2, 4):
        found = sr.select(DATA, penalties=["mcp"], cv=2, k=k, half_samples=0, **OPTIONS)
        c, path = found.chosen, found.paths["mcp"]
        objective = sr.solvers.PairwiseObjective(DATA, scale=found.paths["mcp"].scaling.scale)
        candidates = [i for i in range(len(path.alphas)) if path.nnz[i] <= c.k]
        point = min(candidates, key=lambda i: path.losses[i])
        refit = refit_on_support(objective, path.support(point)).w
        expected = (1 - c.relax) * path.scaled_coef(point) + c.relax * refit
        np.testing.assert_allclose(found.model.coef, expected, atol=1e-5)
        assert found.model.parameters["relax"] == c.relax
        assert len(found.model.support) == c.n_features <= k


def test_costs_of_a_weight_of_0_are_those_of_explicit_fold_models() -> None:
    found = sr.select(DATA, penalties=["l1"], cv=3, random_state=1, relaxed=False, k=3, half_samples=0, **OPTIONS)
    fold = query_folds(DATA.n_queries, 3, 1)
    costs = {name: np.zeros(DATA.n_queries) for name in found.table()["feature"]}
    for f in range(3):
        _, path, scale = fold_path("l1", fold != f)
        w = path.scaled_coefs[
            min((i for i in range(10) if 0 < path.nnz[i] <= found.chosen.k), key=lambda i: path.losses[i])
        ]
        unseen = DATA.take_queries(fold == f)

        def values(coef: np.ndarray, unseen: sr.RankingDataset = unseen, scale: np.ndarray = scale) -> np.ndarray:
            scores = np.asarray(unseen.X @ (coef / scale))
            return np.asarray(sr.evaluate(scores, unseen, ["ndcg@10"]).per_query["ndcg@10"])

        for name, cost in costs.items():
            without = np.where(np.array(DATA.feature_names) == name, 0.0, w)
            cost[fold == f] = values(w) - values(without)
    for row in found.worth.features:
        assert row["zeroed"]["ndcg@10"]["cost"] == pytest.approx(costs[row["feature"]].mean(), abs=2e-3)


def test_refits_keep_signs() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((2, 900))
    c = a + b + 0.3 * rng.standard_normal(900)
    score = 1.5 * a + 1.5 * b - 0.4 * c + 0.3 * rng.standard_normal(900)
    data = sr.RankingDataset(np.column_stack([a, b, c]), np.digitize(score, [-1, 1]), np.arange(900) // 15)
    options: dict[str, Any] = {"n_alphas": 10, "alpha_min_ratio": 0.03, "cv": 3, "half_samples": 0}
    for transform in ("none", "log"):
        free = sr.select(data, penalties=["l1"], feature_transform=transform, k=3, **options)
        held = sr.select(
            data, penalties=[sr.penalties.L1(monotone=(1, 1, 1))], feature_transform=transform, k=3, **options
        )
        assert (held.model.coef >= 0).all()
        assert len(free.choice.candidates) > 3
    candidate_set = SelectionJob(held.plan, SelectionProblem(data)).candidates()
    sparse = candidate_set.sparse
    assert any(c.relax > 0 for c in sparse)
    for c in sparse:
        for f in (-1, 0, 1, 2):
            assert (candidate_set.coefficients(c, f).toarray() >= 0).all()


def test_a_fold_without_a_model_that_small_leaves_the_size_out() -> None:
    """The wrong variant counts the empty model of that fold,
    which under ties by file order is the order of the labels."""
    rng = np.random.default_rng(0)
    y = np.sort(rng.integers(0, 3, 300).reshape(30, 10), axis=1)[:, ::-1].ravel()
    X = 0.05 * y[:, None] + rng.standard_normal((300, 30))
    data = sr.RankingDataset(X, y, np.repeat(np.arange(30), 10))
    path = {"penalties": ["l1"], "n_alphas": 8, "alpha_min_ratio": 0.3, "feature_transform": "none"}
    found = sr.select(data, **path, convention="letor4", half_samples=0, random_state=0)
    job = SelectionJob(found.plan, SelectionProblem(data))
    candidate_set = job.candidates()
    sparse = candidate_set.sparse
    assert len(sparse) < 3 * len({int(k) for k in found.paths["l1"].nnz if k > 0})  # some sizes are left out
    for c in sparse:
        for f in (-1, *job.cv.folds):
            assert candidate_set.coefficients(c, f).nnz > 0
            assert c.relax > 0 or candidate_set.coefficients(c, f).nnz <= c.k


MADE = sr.datasets.make_ranking(40, 8, 6, n_informative=3, n_redundant=1).data
LARGE = 1000.0 * np.random.default_rng(0).normal(size=(MADE.n_docs, 1)) + 300.0 * MADE.relevance[:, None]
X, WIDER = np.asarray(MADE.X), np.hstack([MADE.X, LARGE])
OTHER = X.shape[1]  # the number of the additional column


def fitted(columns: np.ndarray, penalty: Any, **options: Any) -> sr.SparseRanker:
    return sr.SparseRanker(penalty=penalty, n_threads=1, **options).fit(columns, MADE.relevance, qid=MADE.qid)


@pytest.mark.slow_but("[l1-none]", "[mcp-log]", "[best_k-none]")
@pytest.mark.parametrize("transform", ["none", "log"])
@pytest.mark.parametrize("name", ["l1", "mcp", "scad", "log", "best_k"])
def test_a_ranker_is_the_same_with_a_dropped_column(name: str, transform: str) -> None:
    options = {"k": 3, "scaling": "none", "feature_transform": transform}
    without = fitted(X, name, **options)
    with_it = fitted(WIDER, replace(parse_maker(name), drop=(OTHER,)), **options)
    assert with_it.scaled_coef_[OTHER] == 0
    np.testing.assert_allclose(with_it.scaled_coef_[:OTHER], without.scaled_coef_, rtol=1e-9)
    assert with_it.alpha_max_ == pytest.approx(without.alpha_max_, rel=1e-12)


@pytest.mark.parametrize("rule", [{"drop": (OTHER,)}, {"weights": (1.0,) * OTHER + (np.inf,)}])
@pytest.mark.parametrize("penalty", [sr.penalties.MCP, sr.penalties.SCAD, sr.penalties.Ridge])
def test_gamma_strengths_and_tolerance_are_those_of_the_usable_features(penalty: Any, rule: dict[str, Any]) -> None:
    paths = [
        sr.fit_path(sr.RankingDataset(columns, MADE.relevance, MADE.qid), penalty(**of), n_alphas=4, scaling="none")
        for columns, of in ((X, {}), (WIDER, rule))
    ]
    for what in ("alphas", "losses", "kkt_violations"):
        np.testing.assert_allclose(getattr(paths[1], what), getattr(paths[0], what), rtol=1e-9, atol=1e-13)
    assert paths[1].l1_alpha_max == pytest.approx(paths[0].l1_alpha_max, rel=1e-12)
    shapes = [path.penalty.shape() for path in paths]
    assert shapes[1] == pytest.approx(shapes[0], rel=1e-12)


def test_a_solve_has_the_tolerance_of_the_usable_features() -> None:
    wider = PairwiseObjective(sr.RankingDataset(WIDER, MADE.relevance, MADE.qid))
    narrow = PairwiseObjective(sr.RankingDataset(X, MADE.relevance, MADE.qid))
    found = solve(ProxNewton(), wider, sr.penalties.MCP(0.02, drop=(OTHER,)))
    np.testing.assert_allclose(found.w[:OTHER], solve(ProxNewton(), narrow, sr.penalties.MCP(0.02)).w, rtol=1e-9)


def test_a_selection_is_the_same_with_a_dropped_column() -> None:
    quick: dict[str, Any] = {"penalties": ["mcp"], "scaling": "none", "feature_transform": ["none"], "rival": "none"}
    quick |= {"half_samples": 0, "n_threads": 1, "cv": 2, "n_alphas": 8}
    found = []
    for columns, drop in ((X, []), (WIDER, [f"f{OTHER + 1}"])):
        data = sr.RankingDataset(columns, MADE.relevance, MADE.qid)
        choice = sr.select(data, drop=drop, **quick).choice
        found.append([(c.label, c.n_features, c.mean) for c in choice.candidates])
    assert found[1] == [(label, n, pytest.approx(mean, rel=1e-12)) for label, n, mean in found[0]]
    assert {label for label, *_ in found[0]} >= {"mcp relaxed (0.5)", "mcp relaxed (1)", "ridge"}


L1_PATH, MCP_PATH, RIDGE = PenaltyPath(L1()), PenaltyPath(MCP()), PenaltyPath(Ridge())


def planned(tasks, **options):
    return [(t.label, t.start, t.scored) for t in with_starts_and_refits(tasks, **options)]


def test_a_concave_penalty_starts_from_the_l1_path_of_the_same_rules():
    tasks = [PathTask("mcp", MCP_PATH), PathTask("l1", L1_PATH), PathTask("ridge", RIDGE)]
    assert planned(tasks) == [("l1", None, True), ("ridge", None, True), ("mcp", "l1", True)]
    assert planned(tasks[:1]) == [("start of mcp (l1)", None, False), ("mcp", "start of mcp (l1)", True)]
    others = [PathTask("mcp b", PenaltyPath(MCP(drop=(0,)))), PathTask("scad", PenaltyPath(SCAD()))]
    found = planned([tasks[0], *others, PathTask("best_k", BestK())])
    own = [("best_k", None, True), ("start of mcp (l1)", None, False), ("start of mcp b (l1)", None, False)]
    assert found[:3] == own
    starts = {"mcp": "start of mcp (l1)", "mcp b": "start of mcp b (l1)", "scad": "start of mcp (l1)"}
    assert found[3:] == [(label, start, True) for label, start in starts.items()]
    stronger = PathTask("l1", PenaltyPath(L1(7.0)))  # a path has strengths of its own
    assert planned([tasks[0], stronger])[-1] == ("mcp", "l1", True)


def test_starts_under_different_rules_have_different_names():
    """Stored paths are found by their names, so a limit that leaves out other features needs another name."""
    within = [PathTask(f"mcp within {k} features", PenaltyPath(MCP(drop=(k,)))) for k in (2, 3)]
    starts = [{t[1] for t in planned([PathTask("mcp", MCP_PATH), own]) if t[1]} for own in within]
    assert starts[0] & starts[1] == {"start of mcp (l1)"}


def test_refits_follow_the_paths_that_shrink_under_each_transform():
    on_other = PathTask("l1 on other", L1_PATH, replace(RAW, name="other"))
    tasks = [PathTask("l1", L1_PATH), PathTask("b", BestK()), on_other]
    found = planned(tasks, relaxed=True)
    assert [label for label, _, _ in found] == ["l1", "b", "l1 relaxed", "l1 on other", "l1 on other relaxed"]
    with pytest.raises(ValueError, match="must differ"):
        planned([tasks[0], tasks[0]])


def test_an_l1_path_from_which_a_concave_penalty_starts_is_not_refitted():
    tasks = [PathTask("l1", L1_PATH), PathTask("mcp", MCP_PATH), PathTask("l1 b", PenaltyPath(L1(drop=(0,))))]
    found = [label for label, _, _ in planned(tasks, relaxed=True)]
    assert found == ["l1", "l1 b", "mcp", "mcp relaxed", "l1 b relaxed"]
    assert "l1 relaxed" in [label for label, _, _ in planned([tasks[0], PathTask("k", BestK())], relaxed=True)]


def test_large_judged_documents_are_not_sent_to_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (
        sr.datasets.make_ranking(10, (n, n), 6, n_informative=3, n_redundant=1, random_state=0).data for n in (5, 50)
    )
    monkeypatch.setattr(fitting, "MIN_PROCESS_WORK", 0)
    monkeypatch.setattr(fitting, "MAX_PROCESS_BYTES", few.X.nbytes + many.X.nbytes - 1)

    def in_processes(judged: RankingDataset | None) -> bool:
        work = FoldedPaths(few, np.arange(10) % 2, PathPlan(), [parse_metric("ndcg@10")], judged=judged)
        return fitting.FittedPaths({RAW: work}, [], [FINAL], n_workers=2)._use_processes(2)

    assert in_processes(None)
    assert in_processes(few)
    assert not in_processes(many)


def test_many_short_solves_are_worth_processes() -> None:
    """Python itself takes most of the time of a solve on few documents."""
    few = sr.datasets.make_ranking(10, (5, 5), 6, n_informative=3, n_redundant=1, random_state=0).data
    work = FoldedPaths(few, np.arange(10) % 2, PathPlan(n_alphas=40), [parse_metric("ndcg@10")])
    paths = fitting.FittedPaths({RAW: work}, [], [FINAL], n_workers=2)
    assert not paths._use_processes(10)
    assert paths._use_processes(200)
