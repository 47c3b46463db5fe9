"""Losses by name and as objects, of another package too; the default strengths are the same everywhere."""

import copy
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sparserank as sr
from sparserank.errors import DataError, RunDirectoryError
from sparserank.losses import ModifiedHuber, SquaredHinge, loss_identity, loss_name, parse_loss
from sparserank.options.jobs import SELECT
from sparserank.options.paths import FIT_PATH
from sparserank.paths import PathPlan
from tests.extension.logistic import PairwiseLogistic

DATA = sr.datasets.make_ranking(30, (6, 9), 6, n_informative=3, n_redundant=1, noise=0.5, random_state=1).data
TABLE = np.tril(np.arange(1.0, 26.0).reshape(5, 5), -1)
WAYS: dict[str, Callable[[Any], np.ndarray]] = {
    "fit_path": lambda loss: sr.fit_path(DATA, loss=loss, n_alphas=5).losses,
    "select": lambda loss: selected(loss).paths["l1"].losses,
    "SparseRanker": lambda loss: np.array([sr.SparseRanker(loss=loss).fit(DATA.X, DATA.relevance, qid=DATA.qid).loss_]),
    "SparseRankerCV": lambda loss: (
        sr.SparseRankerCV(loss=loss, n_alphas=5).fit(DATA.X, DATA.relevance, qid=DATA.qid).path_.losses
    ),
    "PairwiseObjective": lambda loss: np.array(
        [sr.solvers.PairwiseObjective(DATA, loss=loss).value_and_gradient(np.ones(6))[0]]
    ),
}


def selected(loss: Any, **more: Any) -> sr.SelectionResult:
    return sr.select(
        DATA, loss=loss, penalties="l1", n_alphas=5, cv=3, feature_transform="none", half_samples=0, **more
    )


@pytest.mark.slow_but("[fit_path]")
@pytest.mark.parametrize("way", WAYS)
def test_a_loss_is_a_name_or_an_object(way: str) -> None:
    fit = WAYS[way]
    for name, loss in (("squared_hinge", SquaredHinge()), ("modified_huber", ModifiedHuber())):
        np.testing.assert_array_equal(fit(name), fit(loss))
    weighted, logistic, plain = fit(SquaredHinge(TABLE)), fit(PairwiseLogistic()), fit("squared_hinge")
    assert not np.array_equal(weighted[-1:], plain[-1:])
    assert not np.array_equal(logistic, plain)
    for bad in ("hinge", 3, None, SquaredHinge):
        with pytest.raises(
            DataError, match="loss must be one of squared_hinge, modified_huber, or a PairwiseLoss; got"
        ):
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
    assert loss_name(parse_loss("modified_huber")) == "modified_huber"


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
        given = {o.name: o.default for o in options}
        assert (given["n_alphas"], given["alpha_min_ratio"]) == (40, 0.01)
    for owner in (sr.SparseRankerCV, PathPlan):
        signature = inspect.signature(owner).parameters
        assert (signature["n_alphas"].default, signature["alpha_min_ratio"].default) == (40, 0.01)
    assert inspect.signature(sr.SparseRanker).parameters["n_alphas"].default == 40


def test_a_path_to_a_size_goes_on_to_weaker_strengths() -> None:
    m = sr.SparseRanker(penalty="l1", k=6, n_alphas=3).fit(DATA.X, DATA.relevance, qid=DATA.qid)
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
        sr.fit_path(DATA, "best_k(k_max=2)", **given)
