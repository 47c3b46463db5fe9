"""The certificate of a saved model, of every kind of candidate, is that of its own coefficients on explicit pairs."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparserank as sr
from sparserank.crossval.choice import Candidate
from sparserank.paths import PathPlan
from sparserank.paths.refits import RELAX
from sparserank.penalties import Penalty, parse_penalty
from sparserank.selection.job import Problem, SelectionJob
from sparserank.selection.plan import make_plan
from tests.oracles import certificates as oracle
from tests.support.penalty_kinds import SHAPE_PARAMETERS

TOL = 1e-6
pytestmark = pytest.mark.skipif(not oracle.WIDE, reason="extended precision has no wider range than float64 here")


def positive(seed: int = 3) -> sr.RankingDataset:
    data = sr.datasets.make_ranking(40, (8, 14), 8, n_informative=3, n_redundant=2, noise=0.5, random_state=seed).data
    return sr.RankingDataset(np.exp(np.asarray(data.X)), data.relevance, data.qid)


DATA = positive()


def job_of(penalties: list[Any], transform: str) -> SelectionJob:
    settings = PathPlan(n_alphas=12, tol=TOL)
    judged = {"metric": "ndcg@10", "report_metrics": (), "convention": "default"}
    plan = make_plan(penalties=penalties, **judged, path_plan=settings, cv=2, feature_transform=transform)
    return SelectionJob(plan, Problem(DATA), n_threads=1)


def saved_models(job: SelectionJob, folder: Path) -> list[tuple[Candidate, sr.RankingModel]]:
    """Every candidate of a job as the file that it would be chosen into, read again."""
    candidate_set = job.candidates()
    out = []
    for k, c in enumerate([*candidate_set.sparse, *candidate_set.dense]):
        job.model(candidate_set, c).save(folder / f"{k}.json")
        out.append((c, sr.load_model(folder / f"{k}.json")))
    return out


def columns_of(kind: str) -> np.ndarray:
    """(n_docs, n_features) float64: all features in one form, each divided by its standard deviation within queries."""
    X = np.asarray(DATA.X, dtype=np.float64)
    X = {"none": X, "log": np.sign(X) * np.log1p(np.abs(X)), "asinh": X}[kind].copy()
    for lo, hi in zip(DATA.query_ptr[:-1], DATA.query_ptr[1:], strict=True):
        X[lo:hi] -= X[lo:hi].mean(axis=0)
    return X / np.sqrt((X**2).mean(axis=0))


def columns_in_better_form() -> np.ndarray:
    """(n_docs, n_features) each feature as it is or as a log,
    whichever has the larger |gradient| at 0 over the root of its pair norm."""
    forms = np.stack([columns_of("none"), columns_of("log")])
    worth = []
    for columns in forms:
        problem = oracle.Problem(columns, DATA.relevance, DATA.qid)
        worth.append(np.abs(problem.gradient(np.zeros(columns.shape[1]))) / np.sqrt(problem.curvature()))
    better = np.argmax(np.array(worth, dtype=float), axis=0)
    return np.where(better == 1, forms[1], forms[0])


def true_violation(model: sr.RankingModel, penalty: Penalty, problem_features: str) -> tuple[float, float]:
    """(violation, largest |gradient| at 0) of the model's coefficients for a problem."""
    transform = model.parameters["transform"]
    columns = columns_in_better_form() if transform == "mixed" else columns_of(transform)
    w = np.array(model.coef)
    if problem_features == "of the model":
        columns, w = columns[:, w != 0], w[w != 0]
    problem = oracle.Problem(columns, DATA.relevance, DATA.qid)
    a, b = SHAPE_PARAMETERS[penalty.name](penalty)
    top = float(np.abs(problem.gradient(np.zeros(len(w)))).max())
    return float(oracle.violation(problem, w, penalty.name, penalty.alpha, a, b)), top


@pytest.mark.slow_but("none")
@pytest.mark.parametrize("transform", ["none", "log", "auto"])
def test_every_saved_certificate_is_that_of_the_saved_coefficients(transform: str, tmp_path: Path) -> None:
    job = job_of(["l1", "elastic_net", "log", "mcp", "scad", "best_k(k_max=3)"], transform)
    seen = set()
    for c, model in saved_models(job, tmp_path):
        claim, name = model.metadata, c.penalty.split("(")[0].split(" ")[0]
        seen.add((name, c.relax))
        if c.relax == RELAX[0]:
            assert claim["status"] == "not certified"
            assert claim["problem"] is claim["problem_features"] is claim["kkt_violation"] is claim["gap"] is None
            continue
        penalty = parse_penalty(claim["problem"])
        assert (penalty.name == "ridge") == (c.relax == 1.0 or name in ("ridge", "best_k"))
        assert claim["problem_features"] == ("all" if penalty.name == name else "of the model")
        true, top = true_violation(model, penalty, claim["problem_features"])
        assert claim["status"] in ("optimal", "stationary")
        assert claim["kkt_violation"] <= TOL * top
        # Both are differences of numbers of the size of the gradient; scales and logarithms are recomputed here, to
        # 1e-14.
        assert true == pytest.approx(claim["kkt_violation"], abs=1e-10 * max(1.0, top))
    assert {("elastic_net", 0.5), ("elastic_net", 1.0), ("l1", 0.0), ("mcp", 0.0), ("log", 1.0)} <= seen
    assert {("ridge", 0.0), ("best_k", 0.0)} <= seen


def test_the_certificate_of_the_path_is_not_that_of_its_refits(tmp_path: Path) -> None:
    """The wrong variant: a refit under the penalty and strength of the point that it comes from."""
    job = job_of(["l1"], "none")
    candidate_set = job.candidates()
    relaxed = [c for c in candidate_set.sparse if c.relax > 0]
    assert len(relaxed) >= 8
    for c in relaxed:
        model = job.model(candidate_set, c)
        true, top = true_violation(model, candidate_set.path("l1").penalty.with_alpha(candidate_set.alpha(c)), "all")
        assert true > 100 * TOL * top


@pytest.mark.slow
def test_certificates_of_curves_name_their_own_problem(tmp_path: Path) -> None:
    found = sr.select(DATA, penalties="l1", cv=3, n_alphas=8, n_knots=4, feature_transform="curves", half_samples=0)
    candidate_set = SelectionJob(found.plan, Problem(DATA), n_threads=1).candidates()
    on_curves = [c for c in candidate_set.sparse if "curves" in c.penalty]
    assert {c.relax for c in on_curves} == {0.0, 0.5, 1.0}
    for c in on_curves:
        claim = candidate_set.certificate(c)
        assert claim.problem is None if c.relax == 0.5 else str(claim.problem).endswith("on the coefficients of curves")
    fitted = sr.SparseRanker(feature_transform="curves", n_knots=4).fit(DATA.X, DATA.relevance, qid=DATA.qid)
    assert str(fitted.certificate_.problem).endswith("on the coefficients of curves")


def test_the_result_and_the_model_file_have_one_certificate(tmp_path: Path) -> None:
    for k in (4, 6):
        few = {"penalties": "l1", "cv": 3, "n_alphas": 12, "feature_transform": "none", "half_samples": 0}
        found = sr.select(DATA, **few, k=k, out=tmp_path / str(k))
        certificate = found.to_json()["chosen"]["certificate"]
        metadata = sr.load_model(tmp_path / str(k) / "model.json").metadata
        assert {name: metadata[name] for name in certificate} == certificate


def test_a_gap_with_kept_features_names_its_box() -> None:
    free, held = (sr.fit_path(DATA, sr.penalties.L1(1.0, keep=keep), n_alphas=4) for keep in ((), (0,)))
    assert free.certificate().gap_condition is None
    assert held.certificate().gap is not None
    assert "10 max(1, |w_j|)" in str(held.certificate().gap_condition)
    assert sr.fit_path(DATA, sr.penalties.MCP(1.0, keep=(0,)), n_alphas=4).certificate().gap_condition is None
    fitted = sr.SparseRanker(penalty=sr.penalties.L1(1.0, keep=(0,))).fit(DATA.X, DATA.relevance, qid=DATA.qid)
    assert "always-kept" in str(fitted.certificate_.gap_condition)
