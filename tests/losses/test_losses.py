"""Every loss against explicit pairs: value, gradient, Hessian, line, pair norms, dual and gap, weighted or not."""

import numpy as np
import pytest
import scipy.sparse as sp

from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError
from sparserank.losses import LOSSES, PairwiseLoss, SquaredHinge
from sparserank.losses._sizes import WORK_ROWS
from sparserank.objective import PairwiseObjective
from sparserank.penalties import L1
from sparserank.solvers import ProxNewton, Status, Stop, solve
from sparserank.solvers.certificates import dual_scale, duality_gap, gap_safe_screen
from tests.extension.logistic import PairwiseLogistic
from tests.extension.modified_huber import ModifiedHuber
from tests.oracles import pairs as oracle
from tests.support.problems import iterate_at, long_real_problem, small_problem


def value_and_gradient(loss, scores, relevance, query_ptr, weights=None, doc_weight=None):
    """Weighted sum of the loss over pairs and its gradient (n_docs,) with respect to the scores."""
    lv = loss.levels(relevance, query_ptr)
    sweep, _ = loss.sweeps(lv)
    gradient = np.zeros(len(scores))
    work = np.empty((WORK_ROWS, max(int(np.diff(query_ptr).max(initial=0)), len(lv.table)) + 1))
    value = 0.0
    for q in np.flatnonzero(lv.n_levels > 1):
        lo, hi = query_ptr[q], query_ptr[q + 1]
        weight = 1.0 if weights is None else float(weights[q])
        order = np.arange(hi - lo, dtype=np.int32)
        block = gradient[lo:hi]
        of_docs = None if doc_weight is None else doc_weight[lo:hi]
        total, _ = sweep(scores[lo:hi], lv.levels[lo:hi], lv.n_levels[q], lv.table, of_docs, order, block, work)
        value += weight * total
        block *= weight
    return value, gradient


def hessian(loss, scores, relevance, query_ptr, weights=None, doc_weight=None):
    """Generalised Hessian (n_docs, n_docs) of that sum: block-diagonal by query."""
    lv = loss.levels(relevance, query_ptr)
    _, hessian_sweep = loss.sweeps(lv)
    identity, out = np.eye(len(scores)), np.zeros((len(scores), len(scores)))
    for q in np.flatnonzero(lv.n_levels > 1):
        lo, hi = query_ptr[q], query_ptr[q + 1]
        order = np.arange(hi - lo, dtype=np.int32)
        block = out[lo:hi]
        of_docs = None if doc_weight is None else doc_weight[lo:hi]
        columns = identity[lo:hi]
        hessian_sweep(scores[lo:hi], lv.levels[lo:hi], lv.n_levels[q], lv.table, of_docs, order, columns, block)
        block *= 1.0 if weights is None else float(weights[q])
    return out


TABLE = np.array([[0, 0, 0], [1, 0, 0], [3, 2, 0.0]])
INTEGERS, REALS, MANY = small_problem(1), small_problem(3, real=True), long_real_problem(4)
PIECEWISE: dict[str, type[PairwiseLoss]] = {**LOSSES, "modified_huber": ModifiedHuber}
KINDS: dict[str, type[PairwiseLoss]] = {**PIECEWISE, "logistic": PairwiseLogistic}
WEIGHTINGS = ("plain", "query weights", "document weights", "all weights")
SETTINGS = [(data, weighting) for data in (INTEGERS, REALS, MANY) for weighting in WEIGHTINGS]
SETTINGS += [(INTEGERS, "grade table"), (INTEGERS, "grade table, all weights")]


def doc_weights(n: int) -> np.ndarray:
    """Some 0, the others from 0.2 to 5, as inverse propensities are."""
    rng = np.random.default_rng(n)
    return np.where(rng.random(n) < 0.2, 0.0, rng.uniform(0.2, 5.0, n))


def weights_of(data: RankingDataset, weighting: str) -> tuple[np.ndarray | None, np.ndarray | None, np.ndarray | None]:
    """(query weights, document weights, grade table)."""
    queries = np.linspace(0.5, 2.0, data.n_queries) if "query" in weighting or "all" in weighting else None
    docs = doc_weights(data.n_docs) if "document" in weighting or "all" in weighting else None
    return queries, docs, TABLE if "table" in weighting else None


def score_cases(data: RankingDataset) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    n = data.n_docs
    noise = rng.standard_normal(n)
    return {
        "random": noise,
        "spread": 3.0 * noise,
        "decimal ties at margins 1 and -1": rng.integers(-15, 15, n) / 10.0,
        "integers, margins exactly 1 and -1": rng.integers(-2, 3, n).astype(float),
        "all equal": np.zeros(n),
        "equal at a huge offset": np.full(n, 1e6),
        "random at a huge offset": 1e6 + noise,
        "separated by 1e6": 1e6 * data.relevance,
        "inverted by 1e3": -1e3 * data.relevance,
        "inverted by 1e6": -1e6 * data.relevance + noise,
        "clusters 1e6 apart": 1e6 * rng.integers(0, 2, n) + noise,
    }


@pytest.mark.slow_but("squared_hinge")
@pytest.mark.parametrize("name", PIECEWISE)
@pytest.mark.parametrize(("data", "weighting"), SETTINGS)
def test_value_gradient_and_hessian_equal_explicit_pairs(data: RankingDataset, weighting: str, name: str) -> None:
    queries, docs, table = weights_of(data, weighting)
    loss, phi = PIECEWISE[name](table), oracle.PHI[name]
    pairs = oracle.pairs_of(data.relevance, data.query_ptr, queries, table, doc_weight=docs)
    totals = loss.n_pairs(data.relevance, data.query_ptr, docs)
    total = float(totals @ (np.ones(data.n_queries) if queries is None else queries))
    for case, scores in score_cases(data).items():
        value, gradient = value_and_gradient(loss, scores, data.relevance, data.query_ptr, queries, docs)
        # The squared hinge's sums are around one origin per list: a spread of 1e6 costs digits. The modified Huber's
        # are not.
        noise = 1e-9 if "1e6" in case and name == "squared_hinge" else 1e-13
        assert value / total == pytest.approx(oracle.loss(scores, pairs, phi), rel=1e-12, abs=noise), case
        expected = oracle.score_gradient(scores, pairs, phi)
        np.testing.assert_allclose(gradient / total, expected, rtol=1e-11, atol=noise, err_msg=case)
        W = hessian(loss, scores, data.relevance, data.query_ptr, queries, docs) / total
        np.testing.assert_allclose(W, oracle.score_hessian(scores, pairs, phi), atol=1e-13, err_msg=case)


def test_predicates_that_count_the_kinks_otherwise_are_rejected() -> None:
    """Margins of exactly 1 are flat, margins of exactly -1 still curved; the lower document's weight does not count."""
    data = INTEGERS
    scores = score_cases(data)["integers, margins exactly 1 and -1"]
    pairs = oracle.pairs_of(data.relevance, data.query_ptr)
    margins = [scores[i] - scores[j] for i, j, _ in pairs]
    assert 1.0 in margins
    assert -1.0 in margins
    for loss, right, wrong in (
        (SquaredHinge(), oracle.squared_hinge, oracle.squared_hinge_active_at_one),
        (ModifiedHuber(), oracle.modified_huber, oracle.modified_huber_linear_at_minus_one),
    ):
        W = hessian(loss, scores, data.relevance, data.query_ptr) / len(pairs)
        np.testing.assert_allclose(W, oracle.score_hessian(scores, pairs, right), atol=1e-13)
        assert np.abs(W - oracle.score_hessian(scores, pairs, wrong)).max() > 1e-3


CONTAINERS = [(*s, "dense") for s in SETTINGS]
CONTAINERS += [(data, "all weights", container) for data in (INTEGERS, MANY) for container in ("csr", "float32")]


@pytest.mark.slow_but("squared_hinge")
@pytest.mark.parametrize("pair_weights", ["pair", "query"])
@pytest.mark.parametrize(
    ("data", "weighting", "container", "name"),
    # many grades are the Fenwick tree's case; a loss that goes through all pairs has none, and is compiled for seconds
    [(*c, name) for c in CONTAINERS for name in KINDS if name != "logistic" or c[0] is not MANY],
)
def test_objective_equals_explicit_pairs(data, weighting, container, name, pair_weights):
    queries, docs, table = weights_of(data, weighting)
    if container == "float32":
        data = data.replace_features(data.X.astype(np.float32).astype(np.float64))
    X = {"dense": data.X, "csr": sp.csr_matrix(data.X), "float32": data.X.astype(np.float32)}[container]
    weights = {"query_weight": queries, "doc_weight": docs, "pair_weights": pair_weights}
    objective = PairwiseObjective(X, data.relevance, data.query_ptr, loss=KINDS[name](table), **weights, n_threads=1)
    phi = oracle.PHI[name]
    pairs = oracle.pairs_of(data.relevance, data.query_ptr, queries, table, pair_weights == "query", docs)
    assert objective.n_pairs == sum(docs is None or docs[i] > 0 for i, _, _ in pairs)
    K = oracle.pair_matrix(data.X, pairs)
    np.testing.assert_allclose(objective.pair_norms, (K**2).sum(axis=0), rtol=1e-10)
    v = np.linspace(1.0, -1.0, data.n_features)
    assert objective.pair_square(v) == pytest.approx(float(((K @ v) ** 2).sum()), rel=1e-11)
    columns = np.array([0, 2, 3])
    rng = np.random.default_rng(0)
    for size in (0.0, 0.5, 3.0):
        w = size * rng.standard_normal(data.n_features)
        scores = data.X @ w
        value, gradient = objective.value_and_gradient(w)
        expected = data.X.T @ oracle.score_gradient(scores, pairs, phi)
        assert value == pytest.approx(oracle.loss(scores, pairs, phi), rel=1e-11)
        np.testing.assert_allclose(gradient, expected, rtol=1e-9, atol=1e-12)
        H = data.X.T @ oracle.score_hessian(scores, pairs, phi) @ data.X
        np.testing.assert_allclose(objective.hessian(w, columns), H[np.ix_(columns, columns)], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(objective.hessian_matvec(w, v), H @ v, rtol=1e-9, atol=1e-12)
        moved = scores + 0.3 * (data.X @ v)
        at = objective.along(w, v)
        objective.value_and_gradient(v)  # a pass elsewhere leaves the line where it was
        along, slope, bend = at(0.3)
        assert along == pytest.approx(oracle.loss(moved, pairs, phi), rel=1e-11)
        assert slope == pytest.approx(float(data.X @ v @ oracle.score_gradient(moved, pairs, phi)), rel=1e-9, abs=1e-12)
        t = data.X @ v
        assert bend == pytest.approx(float(t @ oracle.score_hessian(moved, pairs, phi) @ t), rel=1e-9, abs=1e-12)
        here = objective.evaluate(w)
        passes = objective.n_evaluations
        for s in (0.0, 0.37, 1.0):
            exact = oracle.conjugate_sum(scores, pairs, phi, oracle.CONJUGATE[name], s)
            assert objective.dual_sums(w, s) == pytest.approx(exact, rel=1e-10, abs=1e-13)
            assert objective.dual(w, here).value(s) == pytest.approx(exact, rel=1e-10, abs=1e-13)
        assert objective.n_evaluations == passes
        assert_gap_is_that_of_explicit_pairs(objective, name, w, scores, pairs)


def assert_gap_is_that_of_explicit_pairs(
    objective: PairwiseObjective, name: str, w: np.ndarray, scores: np.ndarray, pairs: list
) -> None:
    """The claimed dual value is the dual's at the claimed scale, which is feasible,
    and no other feasible scale is far better."""
    phi, conjugate = oracle.PHI[name], oracle.CONJUGATE[name]
    value, gradient = objective.value_and_gradient(w)
    alpha = 0.5 * float(np.abs(objective.gradient_at_zero).max())
    limit = alpha / max(float(np.abs(gradient).max()), 1e-300)
    steepest = max(-phi(scores[i] - scores[j])[1] for i, j, _ in pairs)
    reach = {"squared_hinge": np.inf, "modified_huber": 4.0, "logistic": 1.0}[name] / max(steepest, 1e-300)
    here = iterate_at(objective, L1(alpha), w)
    s, dual = dual_scale(objective, L1(alpha), here)
    assert 0 <= s <= min(limit, reach) * (1 + 1e-12)
    assert dual == pytest.approx(-oracle.conjugate_sum(scores, pairs, phi, conjugate, s), rel=1e-9, abs=1e-12)
    gap = duality_gap(objective, L1(alpha), here)
    assert gap == pytest.approx(value + alpha * np.abs(w).sum() - dual, rel=1e-9, abs=1e-12)
    if name != "logistic":
        scales = np.linspace(0, min(limit, reach, 1), 21)
        assert dual >= max(-oracle.conjugate_sum(scores, pairs, phi, conjugate, t) for t in scales) - 1e-12


def test_the_dual_of_the_squared_hinge_is_rejected_for_the_modified_huber() -> None:
    """The wrong variant: where pairs are far out of order it claims a smaller gap than there is."""
    objective = PairwiseObjective(INTEGERS.X, INTEGERS.relevance, INTEGERS.query_ptr, loss=ModifiedHuber())
    penalty = L1(0.5 * float(np.abs(objective.gradient_at_zero).max()))
    w = 3.0 * np.random.default_rng(0).standard_normal(INTEGERS.n_features)
    value, gradient = objective.value_and_gradient(w)
    wrong = SquaredHinge().dual(value, float(w @ gradient), lambda: value, lambda s: 0.0)
    s = wrong.best_scale(penalty.alpha / float(np.abs(gradient).max()), 0.0, None)
    claimed = value + penalty.value(w) + wrong.value(s)
    assert claimed < duality_gap(objective, penalty, iterate_at(objective, penalty, w)) - 1e-3


# -- solved ---------------------------------------------------------------------------------------------------------


def ranking(seed: int = 0, n_queries: int = 25, m: int = 12, d: int = 8) -> RankingDataset:
    """Three features decide; documents with opposite features leave pairs far out of order."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_queries * m, d))
    y = np.round(np.clip(X[:, 0] - X[:, 1] + 0.5 * X[:, 2] + 0.1 * rng.standard_normal(len(X)), -2, 2))
    X[rng.random(len(X)) < 0.04] *= -2.0
    return RankingDataset(X, y, np.repeat(np.arange(n_queries), m))


def solved(name: str, data: RankingDataset, docs: np.ndarray | None = None) -> PairwiseObjective:
    return PairwiseObjective(data.X, data.relevance, data.query_ptr, loss=KINDS[name](), doc_weight=docs, n_threads=1)


@pytest.mark.slow_but("squared_hinge")
@pytest.mark.parametrize("name", KINDS)
def test_screening_discards_only_what_is_zero_at_the_optimum(name: str) -> None:
    objective = solved(name, ranking(3))
    top = float(np.abs(objective.gradient_at_zero).max())
    discarded_any = False
    for share in (0.6, 0.3, 0.1):
        for weights in (None, tuple(np.linspace(0.3, 2.0, 8)), tuple(np.linspace(2.0, 0.3, 8))):
            penalty = L1(share * top, weights=weights)
            best = solve(ProxNewton(), objective, penalty, stop=Stop(1e-11, 500, top))
            assert best.status is Status.OPTIMAL
            for size in (1.0, 0.99, 0.8, 0.0, 3.0):  # near and far from the optimum
                w = size * best.w
                discarded = gap_safe_screen(objective, penalty, iterate_at(objective, penalty, w))
                assert not best.w[discarded].any()
                discarded_any |= bool(discarded.any())
    assert discarded_any


def test_certificates_of_the_squared_hinge_need_no_scores() -> None:
    objective = solved("squared_hinge", ranking())
    w = np.full(8, 0.1)
    here = iterate_at(objective, L1(0.1), w)
    objective.value_and_gradient(np.zeros(8))
    passes = objective.n_evaluations
    duality_gap(objective, L1(0.1), here)
    gap_safe_screen(objective, L1(0.1), here)
    assert objective.n_evaluations == passes


# -- weights of documents, kernels ----------------------------------------------------------------------------------


def test_document_weights_are_refused_or_taken_by_name() -> None:
    data = INTEGERS
    for bad in (np.ones(3), np.full(data.n_docs, -1.0), np.full(data.n_docs, np.nan), np.full(data.n_docs, np.inf)):
        expected = f"doc_weight must contain {data.n_docs} finite weights >= 0, one per document"
        with pytest.raises(DataError, match=expected):
            PairwiseObjective(data.X, data.relevance, data.query_ptr, doc_weight=bad)
    with pytest.raises(DataError, match="no preferred pair"):
        PairwiseObjective(data.X, data.relevance, data.query_ptr, doc_weight=(data.relevance == 0).astype(float))
    with pytest.raises(DataError, match="doc_weight: the weights of all pairs sum to"):
        PairwiseObjective(data.X, data.relevance, data.query_ptr, doc_weight=np.full(data.n_docs, 1e200))
    for size in (1e308, 5e-324):
        extreme = {"doc_weight": np.full(data.n_docs, size), "pair_weights": "query"}
        with pytest.raises(DataError, match="multiply the weights by a constant"):
            PairwiseObjective(data.X, data.relevance, data.query_ptr, **extreme)


def test_a_document_of_weight_zero_is_never_preferred_and_a_query_without_weight_does_not_count() -> None:
    data = INTEGERS
    docs = np.ones(data.n_docs)
    docs[data.query_ptr[0] : data.query_ptr[1]] = 0.0
    objective = PairwiseObjective(data.X, data.relevance, data.query_ptr, doc_weight=docs, pair_weights="query")
    weight = np.r_[0.0, np.ones(data.n_queries - 1)]
    alone = PairwiseObjective(data.X, data.relevance, data.query_ptr, pair_weights="query", query_weight=weight)
    w = np.linspace(-1, 1, data.n_features)
    assert objective.value_and_gradient(w)[0] == pytest.approx(alone.value_and_gradient(w)[0], rel=1e-13)
    assert objective.query_scale[0] == 0.0
    assert objective.n_pairs == alone.n_pairs
    assert objective.total_weight == alone.total_weight


def test_separated_list_has_exactly_zero_loss_and_gradient() -> None:
    data = small_problem(5)
    value, gradient = value_and_gradient(SquaredHinge(), 1e6 * data.relevance + 0.3, data.relevance, data.query_ptr)
    assert value == 0.0
    assert not gradient.any()


def test_one_and_two_threads_give_identical_results(mq2008_train, monkeypatch):
    import sparserank.execution as blocks

    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 17)  # many blocks, so that threads have something to share
    w = np.random.default_rng(0).standard_normal(46)
    results = []
    for n_threads in (1, 2):
        objective = PairwiseObjective(mq2008_train, n_threads=n_threads)
        assert len(objective.shards.shards[0]._blocks) > 10
        value, gradient = objective.value_and_gradient(w)
        results.append((value, gradient, objective.hessian(w, np.arange(46)), objective.pair_norms))
    for one, two in zip(*results, strict=True):
        assert np.array_equal(one, two)


def test_constant_features_have_no_gradient_at_all() -> None:
    data = small_problem(9)
    X = np.column_stack([data.X, 1e6 + np.asarray(data.qid) / 3.0])  # constant within queries, and large
    objective = PairwiseObjective(X, data.relevance, data.query_ptr)
    assert not objective.varying[-1]
    assert objective.gradient_at_zero[-1] == 0.0


def test_an_objective_takes_a_data_set_and_checks_what_it_is_given() -> None:
    data = small_problem(1)
    whole, parts = PairwiseObjective(data), PairwiseObjective(data.X, data.relevance, data.query_ptr)
    w = np.linspace(-1, 1, data.n_features)
    assert whole.value_and_gradient(w)[0] == parts.value_and_gradient(w)[0]
    weighted = RankingDataset(data.X, data.relevance, data.qid, doc_weight=np.linspace(0.5, 2.0, data.n_docs))
    assert PairwiseObjective(weighted).value_and_gradient(w)[0] != whole.value_and_gradient(w)[0]
    X, y, ptr = data.X, data.relevance, data.query_ptr
    ptrs = (ptr[:-1], ptr[::-1], None, np.concatenate([[0, 5, 3], ptr[-1:]]))
    for wrong in (
        *((X, y, p) for p in ptrs),
        (X, y[1:], ptr),
        (X, None, ptr),
        (X.astype(int), y, ptr),
        (X[:, 0], y, ptr),
    ):
        with pytest.raises(DataError, match=r"X must be|relevance must|query_ptr must"):
            PairwiseObjective(*wrong)
    with pytest.raises(DataError, match="one coefficient per feature"):
        whole.value_and_gradient(w[1:])
    with pytest.raises(DataError, match="w must be finite"):
        whole.value_and_gradient(np.r_[np.nan, w[1:]])
    with pytest.raises(DataError, match="w must be finite"):
        whole.hessian(np.full(len(w), np.nan), [0, 1])
    with pytest.raises(DataError, match="the loss at w is"):
        whole.value_and_gradient(1e200 + w)
    for wrong in (["a"] * len(w), w + 1j):
        with pytest.raises(DataError, match="w must contain real numbers"):
            whole.value_and_gradient(wrong)
    for columns in ([len(w)], [-1], [[0]], [0.5], ["a"]):
        with pytest.raises(DataError, match="columns must be whole numbers"):
            whole.hessian(w, columns)
    with pytest.raises(DataError, match="n_docs must be"):
        whole.hessian(w, [0], 0)
    with pytest.raises(DataError, match="relevance must be finite"):
        PairwiseObjective(data.X, np.where(data.relevance > 0, np.nan, 0.0), data.query_ptr)


@pytest.mark.slow_but("True-levels_of0")  # the others compile for seconds once more
@pytest.mark.parametrize("levels_of", [INTEGERS, MANY])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_python_bodies_equal_the_compiled_sweeps(levels_of: RankingDataset, weighted: bool, name: str) -> None:
    hi, loss = int(levels_of.query_ptr[1]), LOSSES[name]()
    lv = loss.levels(levels_of.relevance, levels_of.query_ptr)
    sweep, hessian_sweep = loss.sweeps(lv)
    scores = 2.0 * np.random.default_rng(1).standard_normal(hi)
    docs = doc_weights(hi) if weighted else None
    results = []
    for run, bend in ((sweep, hessian_sweep), (sweep.py_func, hessian_sweep.py_func)):
        gradient, out, order = np.zeros(hi), np.zeros((hi, 2)), np.arange(hi, dtype=np.int32)
        head = (scores, lv.levels[:hi], lv.n_levels[0], lv.table, docs, order)
        sums = run(*head, gradient, np.empty((WORK_ROWS, hi + 1)))
        bend(*head, np.column_stack([scores, scores**2]), out)
        results.append((*sums, gradient, out))
    for compiled, plain in zip(*results, strict=True):
        np.testing.assert_allclose(compiled, plain, rtol=1e-12, atol=1e-13)


@pytest.mark.slow_but("squared_hinge")
@pytest.mark.parametrize("name", LOSSES)
def test_an_empty_query_is_no_list_with_a_grade_table_either(name: str) -> None:
    table = np.tril(np.ones((3, 3)), -1)
    scores, relevance = np.array([1.0, 0.5, 0.0]), np.array([0.0, 1.0, 2.0])
    results = []
    for loss in (LOSSES[name](table), LOSSES[name]()):
        for ptr in (np.array([0, 0, 3, 3]), np.array([0, 3])):
            value, gradient = value_and_gradient(loss, scores, relevance, ptr)
            results.append((value, *gradient, *hessian(loss, scores, relevance, ptr).ravel()))
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_allclose(results[0], results[2], rtol=1e-14)
