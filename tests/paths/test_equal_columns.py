"""Columns that are equal, up to what changes no ranking, count as one feature; weights below rounding count as none."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import sparserank as sr
from sparserank.data.categories import Derived
from sparserank.errors import DataWarning
from sparserank.paths.equal_columns import equal_columns
from sparserank.paths.result import significant
from sparserank.penalties import L1, Ridge
from sparserank.solvers import PairwiseObjective
from sparserank.transforms import STEPS

N_QUERIES, N_DOCS = 60, 10
RNG = np.random.default_rng(3)
QID = np.repeat(np.arange(N_QUERIES), N_DOCS)
BASE = RNG.standard_normal((len(QID), 4))
SHIFTS = RNG.standard_normal(N_QUERIES)[QID]
Y = np.digitize(BASE @ [1.0, 0.6, 0.0, 0.3] + 0.5 * RNG.standard_normal(len(QID)), [0.5, 1.5])
COPIES = {  # the column that each equals
    "a copy": ("a", BASE[:, 0]),
    "a affine": ("a", 2.0 * BASE[:, 0] + 7.0),
    "b down": ("b", 1.0 - 3.0 * BASE[:, 1]),
}
FRAME = pd.DataFrame(BASE, columns=list("abcd")).assign(**{name: values for name, (_, values) in COPIES.items()})
NAMES = list(FRAME)


def data_of(frame: pd.DataFrame, **more: object) -> sr.RankingDataset:
    return sr.RankingDataset(frame.to_numpy(), Y, QID, feature_names=list(frame), **more)


def left_out(data: sr.RankingDataset, rules: object = L1(), **more: object) -> set[str]:
    return {(data.feature_names or ())[j] for j in equal_columns(data, rules, **more)[0]}


def test_copies_are_found_up_to_what_the_learner_sees() -> None:
    data = data_of(FRAME.assign(still=SHIFTS, shifted=0.1 * BASE[:, 2] + SHIFTS, near=BASE[:, 3] + 1e-6 * BASE[:, 2]))
    assert left_out(data) == {*COPIES, "shifted"}
    assert left_out(data, per_query=False) == {*COPIES}  # a shift of each query is seen by steps and curves
    sparse = sr.RankingDataset(sp.csr_matrix(data.X), Y, QID, feature_names=data.feature_names)
    assert left_out(sparse) == {*COPIES, "shifted"}
    single = sr.RankingDataset(data.X.astype(np.float32), Y, QID, feature_names=data.feature_names)
    assert left_out(single) >= {*COPIES}
    assert left_out(data_of(FRAME[list("abcd")])) == set()


def test_the_kept_then_the_cheapest_then_the_known_then_the_first_stands() -> None:
    data = data_of(FRAME)
    others = {"b down"}
    assert left_out(data, L1(keep=(5,))) == {"a", "a copy", *others}
    costs = [3.0, 1.0, 1.0, 1.0, 2.0, 3.0, 1.0]
    assert left_out(data, L1(weights=costs)) == {"a", "a affine", *others}
    assert left_out(data, L1(weights=costs, keep=(5,))) == {"a", "a copy", *others}
    assert left_out(data, last=("a", "a affine")) == {"a", "a affine", *others}
    assert left_out(data, L1(drop=(0,))) == {"a affine", *others}
    signs = [1, 0, 0, 0, 0, 1, 0]
    assert left_out(data, L1(monotone=signs)) == {"a affine", *others}  # under other sign rules, it is another feature
    both_up = [0, 1, 0, 0, 0, 0, 1]
    assert "b down" not in left_out(data, L1(monotone=both_up))  # one goes up where the other goes down
    assert "b down" in left_out(data, L1(monotone=[0, 1, 0, 0, 0, 0, -1]))
    assert left_out(data, Ridge()) == set()  # which selects nothing
    assert equal_columns(data, L1())[1] == (
        "columns that are equal, up to a factor and a shift in each query, count as one: 'a copy' ('a' stands for it), "
        "'a affine' ('a' stands for it), 'b down' ('b' stands for it)."
    )


def test_columns_of_a_table_are_equal_if_all_that_is_made_from_them_is() -> None:
    flag = (RNG.random(len(QID)) < 0.2).astype(float)
    made = FRAME[list("abcd")].assign(
        **{"a is missing": flag, "b is missing": flag, "x=u": flag, "x=v": 1.0 - flag, "y=1": 1.0 - flag, "y=2": flag}
    )
    derived = {f"{name} is missing": Derived(name, None) for name in "ab"}
    derived |= {f"{name}={level}": Derived(name, level) for name, level in ("xu", "xv", "y1", "y2")}
    data = data_of(made)
    data.__dict__["derived"] = derived
    assert left_out(data) == {"y=1", "y=2"}  # but not b, whose flag alone equals that of a


@pytest.mark.parametrize("penalty", ["l1", "mcp", "scad", "log", "lp", "best_k", "steps"])
def test_no_size_counts_a_copy(penalty: str) -> None:
    path = sr.fit_path(data_of(FRAME), penalty, n_alphas=12)
    assert path.nnz.max() <= 4
    alone = sr.fit_path(data_of(FRAME[list("abcd")]), penalty, n_alphas=12)
    if penalty != STEPS:  # whose random queries are the same, but whose ladder has other sizes
        np.testing.assert_allclose(path.coefs[:, :4], alone.coefs, atol=1e-6)


@pytest.mark.parametrize("penalty", ["mcp", "best_k", "steps"])
def test_rankers_and_selections_of_a_size_have_as_many_features(penalty: str) -> None:
    said = "'a copy' .'a' stands for it."
    with pytest.warns(DataWarning, match=said):
        ranker = sr.SparseRanker(penalty=penalty, k=3).fit(FRAME, Y, qid=QID)
    assert [NAMES[j] for j in ranker.support_] == ["a", "b", "d"]
    options = {"half_samples": 0, "rival": "none", "feature_transform": "none", "cv": 3}
    for k in (1, 3):
        found = sr.select(data_of(FRAME), penalties=penalty, k=k, **options)
        assert list(found.model.columns) == ["a", "b", "d"][:k] or k == 1
        assert len(found.model.support) == k
        assert any("'a copy' ('a' stands for it)" in note for note in found.notes)
    kept = sr.select(data_of(FRAME), penalties=penalty, k=2, keep=["a affine"], **options)
    assert set(kept.model.columns) == {"a affine", "b"}


def test_every_transform_has_its_own_copies() -> None:
    frame = FRAME.assign(shifted=BASE[:, 0] + SHIFTS)
    found = sr.select(data_of(frame), penalties=["mcp", STEPS], half_samples=0, rival="none", cv=3)
    paths = {label: path.support(len(path.alphas) - 1) for label, path in found.paths.items()}
    assert NAMES.index("a copy") not in {j for support in paths.values() for j in support.tolist()}
    assert len(NAMES) not in paths["mcp"]


def test_a_weight_below_the_rounding_of_the_score_is_none() -> None:
    objective = PairwiseObjective(data_of(FRAME[list("abcd")]))
    coefs = sp.csr_array(np.array([[0.1, 8e-18, 0.0, -0.2], [0.1, 1e-12, 0.0, 0.0], [8e-18, 0.0, 0.0, 0.0]]))
    assert np.diff(significant(coefs, objective).indptr).tolist() == [2, 2, 1]
