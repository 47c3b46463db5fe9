"""The certificate of a fit is true on hostile data too, and so is that of a saved model of every kind of candidate:
objective, KKT violation and gap on explicit pairs, in extended precision.

A fit may refuse the data in a sentence, or report that it did not converge; it may not claim what is not so.
"""

import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparserank as sr
from sparserank.crossval.choice import Candidate
from sparserank.errors import ConvergenceWarning, DataError
from sparserank.losses import PairwiseLoss, SquaredHinge, loss_name
from sparserank.paths import PathPlan
from sparserank.paths.refits import RELAX
from sparserank.penalties import Penalty, parse_penalty
from sparserank.selection.job import SelectionJob, SelectionProblem
from sparserank.selection.plan import make_plan
from tests.extension.modified_huber import ModifiedHuber
from tests.oracles import certificates as oracle
from tests.support.penalty_kinds import SHAPE_PARAMETERS

TOL = 1e-6
SQUARED_HINGE = SquaredHinge()
PENALTIES = ("l1", "elastic_net", "ridge", "log", "l0.5", "smoothed_lp", "mcp", "scad")
SCALES = (1e-300, 1e-200, 1e-165, 1e-120, 1e-90, 1e-42, 1e-20, 1e20, 1e90, 1e120, 1e155, 1e200, 1e300)
OFFSETS = (1e3, 1e6, 1e9, 1e12)

Case = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]


def base(n_queries: int = 5, m: int = 7, d: int = 4, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    qid = np.repeat(np.arange(n_queries), m)
    X = rng.standard_normal((len(qid), d))
    y = np.clip(np.round(X[:, 0] - 0.5 * X[:, 1] + 0.7 * rng.standard_normal(len(qid))), -1, 1)
    return X, y, qid


def cases() -> dict[str, Case]:
    X, y, qid = base()
    out: dict[str, Case] = {"plain": (X, y, qid, None)}
    for s in SCALES:
        out[f"all columns x {s:g}"] = (X * s, y, qid, None)
        one = X.copy()
        one[:, 0] *= s
        out[f"one column x {s:g}"] = (one, y, qid, None)
        label = np.column_stack([y * s, X[:, 1:]])
        out[f"the label x {s:g} as a feature"] = (label, y, qid, None)
    for s in OFFSETS:
        out[f"offset {s:g}"] = (X + s, y, qid, None)
        out[f"offset {s:g} by query"] = (X + s * (1 + qid[:, None]), y, qid, None)
    out["a column twice"] = (np.column_stack([X, X[:, 0], -X[:, 0]]), y, qid, None)
    out["documents twice"] = (np.vstack([X, X]), np.concatenate([y, y]), np.concatenate([qid, qid]), None)
    out["few values"] = (np.round(X), y, qid, None)
    out["constant columns"] = (np.column_stack([X, np.full(len(y), 7.0), qid]), y, qid, None)
    noise = np.where(np.arange(len(y)) % 2, 0.3, 0.1 + 0.2)
    out["a column of rounding"] = (np.column_stack([X, noise, 1e9 * noise]), y, qid, None)
    out["one query"] = (X, y, np.zeros(len(y), dtype=int), None)
    rng = np.random.default_rng(5)
    long = rng.standard_normal((300, 3))
    out["1,000 grades"] = (long, rng.permutation(1000)[:300] + 300.0 * long[:, 0], np.repeat([0, 1, 2], 100), None)
    out["separable"] = (np.column_stack([y, X[:, 1:]]), y, qid, None)
    out["separable by far"] = (np.column_stack([1e3 * y, X[:, 1:]]), y, qid, None)
    out["relevance 1e300"] = (X, y * 1e300, qid, None)
    for s in (1e-308, 1e-200, 1e-50, 1e50, 1e200, 1e308):
        out[f"query weights x {s:g}"] = (X, y, qid, s * np.linspace(0.2, 1.0, 5))
    out["query weights 1e-12 to 1"] = (X, y, qid, np.logspace(-12, 0, 5))
    return out


CASES = cases()


def may_be_refused(name: str, dtype: type) -> bool:
    """Sizes whose squares leave the range of numbers, of float32 itself, or offsets in which the feature drowns."""
    if "offset" in name:
        return float(name.split()[1]) >= 1e9
    size = re.search(r" x (\S+)", name)
    low, high = (1e-38, 1e38) if dtype is np.float32 else (1e-100, 1e100)
    return size is not None and not low < float(size[1]) < high


def claims_of(name: str, penalty: str, dtype: type, loss: PairwiseLoss = SQUARED_HINGE) -> str:
    """Fit, check every claim; returns the status of the fit, or 'refused'."""
    X, y, qid, weight = CASES[name]
    with np.errstate(over="ignore"):
        X = X.astype(dtype)
    if not np.isfinite(X).all():
        return "refused"  # beyond float32: never reaches a fit
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "SparseRanker: columns that are equal")
        try:
            m = sr.SparseRanker(penalty=penalty, loss=loss, alpha_ratio=0.1, scaling="none", tol=TOL, max_iter=100)
            m.set_params(n_threads=1).fit(X, y, qid=qid, query_weight=weight)
        except DataError as refusal:
            return "refused" if "feature" in str(refusal) or "query_weight" in str(refusal) else str(refusal)
    assert np.isfinite(m.coef_).all()
    kind = m.penalty_.name
    problem = oracle.Problem(X, y, qid, weight, loss=loss_name(loss))
    w = m.scaled_coef_  # float64, whatever the data
    a, b = SHAPE_PARAMETERS[kind](m.penalty_)
    penalty_value = oracle.value_and_slope(kind, np.abs(w), m.alpha_, a, b)[0].sum()
    objective = problem.loss(w) + penalty_value
    assert abs(m.objective_ - objective) <= allowed(problem, w, objective), name
    if m.status_ in ("optimal", "stationary"):
        assert_solved(problem, w, kind, m.alpha_, a, b, m.alpha_max_)
    if m.duality_gap_ is not None:
        assert_bound(problem, w, m.alpha_, m.duality_gap_, float(objective), kind, a)
    return str(m.status_)


def allowed(problem: oracle.Problem, w: np.ndarray, objective: float) -> float:
    """How far off an objective may be: 1e-8 for sums over at most 45,000 pairs, in units of 1 as the loss at 0,
    and what scores lose before."""
    return 1e-8 * (1.0 + abs(float(objective))) + float(problem.loss_rounding(w))


def assert_solved(
    problem: oracle.Problem, w: np.ndarray, kind: str, alpha: float, a: float, b: float, alpha_max: float
) -> None:
    """The violation is within the tolerance, but for what a gradient in float64 may be off."""
    nothing = np.zeros(len(w))
    top = float(np.abs(problem.gradient(nothing)).max())
    assert abs(alpha_max - top) <= 1e-8 * top + float(problem.gradient_rounding(nothing))
    true = float(oracle.violation(problem, w, kind, alpha, a, b))
    drowned = float(np.max(problem.size / np.maximum(np.abs(problem.D).max(axis=0), 1e-300))) >= 1e8
    assert (
        float(problem.gradient_rounding(w)) <= (10.0 if drowned else 0.05) * TOL * top
    )  # else the next line would assert little
    assert true <= (1.0 + 1e-6) * TOL * alpha_max + float(problem.gradient_rounding(w)), (
        f"{true / top:.1e} of alpha_max"
    )


def assert_bound(
    problem: oracle.Problem, w: np.ndarray, alpha: float, gap: float, objective: float, kind: str, a: float
) -> None:
    """objective - gap is below the objective at every point tried, and is what the dual gives on explicit pairs."""
    bound, lost = objective - gap, float(problem.loss_rounding(w))
    rng = np.random.default_rng(1)
    size = np.abs(w).max(initial=0.0) or 1.0
    for v in [0 * w, 0.5 * w, 1.1 * w, *(w + size * s * rng.standard_normal(len(w)) for s in (1e-6, 1e-3, 0.1, 1.0))]:
        value = problem.loss(v) + oracle.value_and_slope(kind, np.abs(v), alpha, a, 0)[0].sum()
        assert float(value) >= bound - 1e-9 * (1 + abs(objective)) - lost
    l1 = {"l1": alpha, "elastic_net": alpha * a, "ridge": 0.0}[kind]
    alpha2 = {"l1": 0.0, "elastic_net": alpha * (1 - a), "ridge": alpha}[kind]
    theta = problem.multipliers(w)
    best = max(float(problem.dual(s * theta, l1, alpha2)) for s in np.linspace(0, 1.2, 1201))
    if kind == "l1":
        pull = np.abs(theta @ problem.D)
        limit = float(np.min(l1 / pull[pull > 0], initial=1.0))
        best = max(best, float(problem.dual(min(limit, 1.0) * theta, l1)))
    assert gap <= objective - best + 1e-6 * (1 + abs(objective)) + lost


@pytest.mark.slow_but("float64-mcp")
@pytest.mark.skipif(not oracle.WIDE, reason="extended precision has no wider range than float64 on this machine")
@pytest.mark.parametrize("penalty", PENALTIES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_claims_hold_on_hostile_data(penalty: str, dtype: type) -> None:
    status_of = {name: claims_of(name, penalty, dtype) for name in CASES}
    refused = {name for name, status in status_of.items() if status == "refused"}
    assert refused <= {name for name in CASES if may_be_refused(name, dtype)}
    honest = [name for name, status in status_of.items() if status in ("optimal", "stationary")]
    assert len(honest) > 0.8 * (len(CASES) - len(refused)), status_of
    assert set(status_of.values()) <= {"optimal", "stationary", "stalled", "iteration limit", "refused"}
    assert status_of["plain"] in ("optimal", "stationary")
    if dtype is np.float64:
        assert status_of["all columns x 1e-200"] == status_of["one column x 1e+200"] == "refused"
        assert status_of["all columns x 1e-20"] == status_of["plain"]


@pytest.mark.slow
@pytest.mark.skipif(not oracle.WIDE, reason="extended precision has no wider range than float64 on this machine")
def test_claims_of_the_modified_huber_hold_on_hostile_data() -> None:
    status_of = {name: claims_of(name, "l1", np.float64, ModifiedHuber()) for name in CASES}
    assert sum(status == "optimal" for status in status_of.values()) > 0.4 * len(CASES), status_of
    assert set(status_of.values()) <= {"optimal", "stalled", "iteration limit", "refused"}
    assert status_of["plain"] == status_of["all columns x 1e-20"] == "optimal"


@pytest.mark.skipif(not oracle.WIDE, reason="extended precision has no wider range than float64 on this machine")
def test_the_check_sees_a_model_that_is_not_optimal() -> None:
    """The wrong variant: w = 0 called optimal, as where squares underflow."""
    X, y, qid, _ = CASES["all columns x 1e-200"]
    problem = oracle.Problem(X, y, qid)
    top = float(np.abs(problem.gradient(np.zeros(4))).max())
    assert float(oracle.violation(problem, np.zeros(4), "l1", 0.1 * top, 0, 0)) == pytest.approx(0.9 * top)


@pytest.mark.skipif(not oracle.WIDE, reason="extended precision has no wider range than float64 on this machine")
@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
def test_the_bound_on_rounding_covers_every_order_of_summation_and_little_more(offset: float) -> None:
    X, y, qid = base(d=8)
    X += offset
    problem, rng = oracle.Problem(X, y, qid, loss="modified_huber"), np.random.default_rng(3)
    w = rng.standard_normal(8)
    value, gradient = problem.loss(w), problem.gradient(w)
    worst = np.zeros(2)
    for _ in range(200):
        order, rows = rng.permutation(8), rng.permutation(len(X))
        scores = np.zeros(len(X))
        for j in order:
            scores += X[:, j] * w[j]
        margins = scores.astype(oracle.LONG)[problem.pairs[0]] - scores[problem.pairs[1]]
        slopes = problem.slopes(margins)
        of_document = np.zeros(len(X))
        np.add.at(of_document, problem.pairs[0], slopes.astype(float))
        np.subtract.at(of_document, problem.pairs[1], slopes.astype(float))
        summed = np.zeros(8)
        for i in rows:
            summed += X[i] * of_document[i]
        worst = np.maximum(worst, [abs(problem.loss_of(margins) - value), np.abs(summed - gradient).max()])
    bounds = np.array([problem.loss_rounding(w), problem.gradient_rounding(w)], dtype=float)
    assert (worst <= bounds).all()
    assert (bounds <= 1000 * worst).all()  # an error a thousand times that of rounding would be seen


@pytest.mark.parametrize("scaling", ["within-query-std", "standard", "min-max"])
@pytest.mark.parametrize("scale", [1e-280, 1e-200, 1e-120, 1.0, 1e120, 1e200, 1e280])
def test_scaling_takes_any_size_that_has_a_reciprocal(scaling: str, scale: float) -> None:
    X, y, qid = base()
    plain, moved = (sr.RankingDataset(X * s, y, qid) for s in (1.0, scale))
    expected = sr.fit_scaling(plain, scaling).apply(plain).X
    np.testing.assert_allclose(sr.fit_scaling(moved, scaling).apply(moved).X, expected, rtol=1e-12, atol=1e-12)


# -- saved models -----------------------------------------------------------------------------------------------------


def positive(seed: int = 3) -> sr.RankingDataset:
    data = sr.datasets.make_ranking(40, (8, 14), 8, n_informative=3, n_redundant=2, noise=0.5, random_state=seed).data
    return sr.RankingDataset(np.exp(np.asarray(data.X)), data.relevance, data.qid)


MADE = positive()


def job_of(penalties: list[Any], transform: str) -> SelectionJob:
    settings = PathPlan(n_alphas=12, tol=TOL)
    judged = {"metric": "ndcg@10", "report_metrics": (), "convention": "default"}
    plan = make_plan(penalties=penalties, **judged, path_plan=settings, cv=2, feature_transform=transform)
    return SelectionJob(plan, SelectionProblem(MADE), n_threads=1)


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
    X = np.asarray(MADE.X, dtype=np.float64)
    X = {"none": X, "log": np.sign(X) * np.log1p(np.abs(X)), "asinh": X}[kind].copy()
    for lo, hi in zip(MADE.query_ptr[:-1], MADE.query_ptr[1:], strict=True):
        X[lo:hi] -= X[lo:hi].mean(axis=0)
    return X / np.sqrt((X**2).mean(axis=0))


def true_violation(model: sr.RankingModel, penalty: Penalty, problem_features: str) -> tuple[float, float]:
    """(violation, largest |gradient| at 0) of the model's coefficients for a problem."""
    transform = model.parameters["transform"]
    columns = columns_of(transform)
    w = np.array(model.coef)
    if problem_features == "of the model":
        columns, w = columns[:, w != 0], w[w != 0]
    problem = oracle.Problem(columns, MADE.relevance, MADE.qid)
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


def test_the_certificate_of_the_path_is_not_that_of_its_refits() -> None:
    """The wrong variant: a refit under the penalty and strength of the point that it comes from."""
    job = job_of(["l1"], "none")
    candidate_set = job.candidates()
    relaxed = [c for c in candidate_set.sparse if c.relax > 0]
    assert len(relaxed) >= 8
    for c in relaxed:
        model = job.model(candidate_set, c)
        true, top = true_violation(model, candidate_set.path("l1").penalty.with_alpha(candidate_set.alpha(c)), "all")
        assert true > 100 * TOL * top


def test_the_result_and_the_model_file_have_one_certificate(tmp_path: Path) -> None:
    for k in (4, 6):
        few = {"penalties": "l1", "cv": 3, "n_alphas": 12, "feature_transform": "none", "half_samples": 0}
        found = sr.select(MADE, **few, k=k, out=tmp_path / str(k))
        certificate = found.to_json()["chosen"]["certificate"]
        metadata = sr.load_model(tmp_path / str(k) / "model.json").metadata
        assert {name: metadata[name] for name in certificate} == certificate


def test_a_gap_with_kept_features_names_its_box() -> None:
    free, held = (sr.fit_path(MADE, sr.penalties.L1(1.0, keep=keep), n_alphas=4) for keep in ((), (0,)))
    assert free.certificate().gap_condition is None
    assert held.certificate().gap is not None
    assert "10 max(1, |w_j|)" in str(held.certificate().gap_condition)
    assert sr.fit_path(MADE, sr.penalties.MCP(1.0, keep=(0,)), n_alphas=4).certificate().gap_condition is None
    fitted = sr.SparseRanker(penalty=sr.penalties.L1(1.0, keep=(0,))).fit(MADE.X, MADE.relevance, qid=MADE.qid)
    assert "always-kept" in str(fitted.certificate_.gap_condition)
