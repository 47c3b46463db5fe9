"""The rules and transforms of rankers: the same models as with a penalty object, or on features transformed by hand."""

import numpy as np
import pandas as pd
import pytest

import sparserank as sr
from sparserank.errors import DataError, ParameterError
from sparserank.penalties import L1, MCP
from sparserank.selection.fit import fit_model

MADE = sr.datasets.make_ranking(60, (6, 12), 8, n_informative=4, n_redundant=2, random_state=3).data
NAMES = list("abcdefgh")
DATA = sr.RankingDataset(MADE.X, MADE.relevance, MADE.qid, feature_names=NAMES)
FRAME = pd.DataFrame(DATA.X, columns=NAMES)
RANKERS = [sr.SparseRanker(alpha_ratio=0.05), sr.SparseRankerCV(n_alphas=8, alpha_min_ratio=0.1, cv=3)]
each_ranker = pytest.mark.parametrize("ranker", RANKERS, ids=lambda r: type(r).__name__)
COSTS = [1.0, 2.0, 0.5, 1.0, 3.0, 1.0, 1.0, 2.0]
GROUPS, WEIGHTS = {"a": "g", "b": "g", "c": "other"}, (2.0, 2.0, *[1.0] * 6)
RULES = {
    "costs": ({"costs": COSTS}, {"weights": COSTS}),
    "monotone": ({"monotone": {"d": "+", "c": "+"}}, {"monotone": (0, 0, 1, 1, 0, 0, 0, 0)}),
    "keep, drop": ({"keep": ["h"], "drop": ["a", "b"]}, {"keep": (7,), "drop": (0, 1)}),
    "groups": ({"feature_groups": GROUPS, "costs": {"g": 2.0}}, {"weights": WEIGHTS, "feature_groups": (0, *range(7))}),
}


def fitted(ranker, **changed):
    return type(ranker)(**ranker.get_params(deep=False) | changed).fit_dataset(DATA)


@each_ranker
@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("penalty", [L1, MCP])
@pytest.mark.filterwarnings("ignore::sparserank.errors.ConvergenceWarning")
def test_rules_are_those_of_a_penalty_object(ranker, kind: str, penalty) -> None:
    options, of_penalty = RULES[kind]
    found, plain = fitted(ranker, penalty=penalty(), **options), fitted(ranker, penalty=penalty())
    np.testing.assert_array_equal(found.coef_, fitted(ranker, penalty=penalty(**of_penalty)).coef_)
    assert (found.coef_ != plain.coef_).any()  # the wrong variant: rules that nobody reads


@each_ranker
def test_rules_of_arrays_name_features_by_number(ranker) -> None:
    by_number = type(ranker)(**ranker.get_params(deep=False) | {"drop": ["f1"], "keep": ["f8"]})
    found = by_number.fit(MADE.X, MADE.relevance, qid=MADE.qid)
    np.testing.assert_array_equal(found.coef_, fitted(ranker, drop=["a"], keep=["h"]).coef_)


@each_ranker
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"drop": ["z"]}, "drop names 'z', which is not a feature"),
        ({"monotone": {"a": "up"}}, "monotone must give '\\+' or '-' for 'a'"),
        ({"keep": ["a"], "drop": ["a"]}, "drop names 'a', which is to be kept"),
        ({"costs": [1.0, 2.0]}, "costs must contain 8 values, one per feature; got 2"),
        ({"costs": [1.0] * 8, "penalty": L1(weights=COSTS)}, "costs cannot be combined with the weights of penalty"),
        ({"penalty": "l0.5", "feature_groups": {"a": "g"}}, "feature_groups are supported by the penalties"),
        ({"penalty": "l0.5", "feature_transform": "curves"}, "feature_transform cannot be curves with"),
        ({"feature_transform": "log", "scaling": "query-min-max"}, "feature_transform must be none with scaling"),
    ],
)
def test_wrong_rules_are_parameters_that_are_named(ranker, options: dict, message: str) -> None:
    with pytest.raises(ParameterError, match=f"^{type(ranker).__name__}: {message}"):
        fitted(ranker, **options)


@pytest.mark.parametrize("transform", ["log", "asinh", "curves", "curves(log)"])
def test_a_transform_under_cross_validation_is_that_of_one_fit(transform: str) -> None:
    cv = fitted(RANKERS[1], feature_transform=transform)
    alone = fitted(RANKERS[0], feature_transform=transform, alpha=cv.alpha_, alpha_ratio=1.0, tol=1e-9)
    np.testing.assert_allclose(cv.scaled_coef_, alone.scaled_coef_, atol=2e-4)  # both within tol of one optimum
    np.testing.assert_allclose(cv.predict(FRAME), cv.to_model().predict(FRAME), rtol=1e-9, atol=1e-12)
    with pytest.raises(AttributeError, match="fits curves" if "curves" in transform else "weights transformed"):
        _ = cv.coef_
    if transform == "log":
        by_hand = np.sign(DATA.X) * np.log1p(np.abs(DATA.X))
        logs = sr.SparseRankerCV(n_alphas=8, alpha_min_ratio=0.1, cv=3).fit(by_hand, DATA.relevance, qid=DATA.qid)
        np.testing.assert_allclose(cv.scaled_coef_, logs.scaled_coef_, atol=2e-4)
        assert abs(cv.values_ - logs.values_).mean() < 0.01  # a last bit of a logarithm may swap two documents


@each_ranker
def test_scalings_that_are_not_linear(ranker) -> None:
    logs = fitted(ranker, scaling="log-standard")
    by_hand = fitted(ranker, scaling="standard", feature_transform="log")
    np.testing.assert_allclose(logs.scaled_coef_, by_hand.scaled_coef_, atol=2e-4)
    difference = logs.predict(FRAME) - by_hand.predict(FRAME)
    np.testing.assert_allclose(difference, difference[0], atol=0.01)  # 8 scaled values, below 6 in size
    within = fitted(ranker, scaling="query-min-max")
    scores = within.predict(FRAME, qid=DATA.qid)
    np.testing.assert_allclose(scores, within.to_model().predict(FRAME, qid=DATA.qid), rtol=1e-12)
    scaled = sr.fit_scaling(DATA, "query-min-max").apply(DATA)
    np.testing.assert_allclose(scores, scaled.X @ within.scaled_coef_, rtol=1e-9, atol=1e-12)
    with pytest.raises(AttributeError, match="scales by query-min-max, so there is no coef_"):
        _ = within.coef_
    with pytest.raises(DataError, match="qid"):
        within.predict(FRAME)


def test_fit_is_a_sparse_ranker() -> None:
    options = {"penalty": "mcp", "k": 3, "drop": ["b"], "feature_transform": "log", "costs": COSTS}
    model, ranker = fit_model(DATA, **options).model, sr.SparseRanker(**options).fit_dataset(DATA)
    np.testing.assert_array_equal(model.coef, ranker.to_model().coef)
    np.testing.assert_array_equal(model.predict(FRAME), ranker.to_model().predict(FRAME))
    with pytest.raises(ParameterError, match=r"^drop names 'z', which is not a feature"):
        fit_model(DATA, drop=["z"])
