"""parse(repr(x)) == x for losses, penalties, metrics and conventions; quotes of any value are short."""

from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from reproduction.protocol.plan import DatasetPlan, ExperimentPlan

from sparserank.errors import DataError
from sparserank.losses import LOSSES, loss_name, parse_loss
from sparserank.metrics import CONVENTIONS, METRICS, Convention, Metric, parse_metric
from sparserank.penalties import PENALTIES, Ridge, parse_penalty
from sparserank.solvers import Fista, ProxNewton, Reweighted
from sparserank.solvers.newton_cg import NewtonCG
from sparserank.text import LONGEST, brief

TABLE = np.tril(np.arange(1.0, 17.0).reshape(4, 4) / 7.0, -1)
FREE_OR_BARRED: list[Any] = [(1.0, np.inf), [1.0, 1.0], np.array([np.inf, 1.0]), {"bm25": np.inf}]
FREE_OR_BARRED += [{np.str_("bm25"): 1.0}, {"it's \"\n\x00\udcff": np.inf}]
ONES = np.tril(np.ones((3, 3), dtype=int), -1)
# Values of every parameter that losses and penalties have, as users may give them: one that is missing here fails.
VALUES: dict[str, list[Any]] = {
    "grade_pair_weights": [TABLE, TABLE.tolist(), TABLE.astype(np.float32), ONES, np.zeros((1, 1)), 1e-300 * TABLE],
    "alpha": [0.1, 0.0, 1 / 3, 5e-324, 1.7e308, 3, np.float32(0.1), np.int64(2)],
    "weights": [*FREE_OR_BARRED, (2.0, 1 / 3, 0.0), {"bm25": 0.1}],
    "monotone": [(0, 1, -1), np.array([1.0, -1.0]), {"bm25": "+", "age": "-"}, {np.str_("age"): -1}],
    "keep": [(0, 3), {2}, np.array([1]), ("bm25", 1), np.array(["bm25"]), [np.str_("bm25")]],
    "drop": [(0, 3), {2}, np.array([1]), ("bm25", 1), np.array(["bm25"]), [np.str_("bm25")]],
    "feature_groups": [(0, 0, 1), np.array([1, 0]), {"bm25": "text", "age": 3}, {"bm25": np.str_("text")}],
    "p": [0.3, 1 / 3, np.float32(0.9)],
    "eps": [1e-9, 0.1, 7],
    "gamma": [2.0, 1 / 3, np.float64(9.0)],
    "gamma_scale": ["mean", "sum", np.str_("mean")],
    "a": [2.5, np.float32(3.1)],
    "threshold_scale": [0.3, 3],
    "l1_ratio": [1 / 3, 1.0, 1],
    "k_max": [1, 7, np.int64(9)],
    "ridge": [1e-9, 0.3],
}
RIDGE_REFUSES = {("weights", 6), ("weights", 7), *(("keep", i) for i in range(6))}  # it has no prices
# Conventions of a caller's own: another value of every field, and names that no metric's name could hold.
OWN = {"gain": "linear", "discount": "letor", "ties": "docid", "empty": "one", "short_lists": "length"}
OWN |= {"mean_ndcg": False, "most_hits": "cutoff", "zero_scores": "left_out", "longest": 7, "relevant_from": 2.5}
OWN |= {"of_clauses": True}
OWN_NAMES = ("My Rules", " mine ", "mine-", "a:b", "", "-", "default", "default-", "letor4", "xgboost-", "ndcg@10")


def members(cls: Any) -> Iterator[Any]:
    """With nothing but defaults, with each value of each of the parameters, and with the first of all of them."""
    yield cls()
    names = [f.name for f in fields(cls)]
    assert VALUES.keys() >= set(names), f"add values of the parameters of {cls.__name__} to VALUES"
    names = [n for n in names if n != "feature_groups" or n in cls.respects]  # others refuse groups
    for name in names:
        for i, value in enumerate(VALUES[name]):
            if not (cls is Ridge and (name, i) in RIDGE_REFUSES):
                yield cls(**{name: value})
    yield cls(**{name: VALUES[name][0] for name in names if not (cls is Ridge and (name, 0) in RIDGE_REFUSES)})


def metrics_of(convention: Convention) -> Iterator[Metric]:
    """Every metric that the convention has, with and without a cutoff where it takes one."""
    for cls in METRICS.values():
        if cls.name == "mean_ndcg" and not convention.mean_ndcg:
            continue
        if cls.needs_cutoff is None:
            yield cls(None, convention)
        if cls.takes_cutoff:
            yield from (cls(cutoff, convention) for cutoff in (1, 10, 2**63 - 1))


@pytest.mark.parametrize("cls", [*LOSSES.values(), *PENALTIES.values()])
def test_a_loss_or_penalty_is_what_its_repr_parses_to(cls):
    parse = parse_loss if cls in LOSSES.values() else parse_penalty
    for named in members(cls):
        assert parse(repr(named)) == named
        assert hash(parse(repr(named))) == hash(named)
        assert parse(named) is named
        assert parse is parse_penalty or repr(named) == loss_name(named)


@pytest.mark.parametrize(
    "solver", [ProxNewton(), Fista("published", 3), NewtonCG(), Reweighted(lambda: Fista())], ids=repr
)
def test_a_solver_is_what_its_repr_makes(solver: object) -> None:
    again = eval(repr(solver), {c.__name__: c for c in (ProxNewton, Fista, NewtonCG, Reweighted)})
    assert type(again) is type(solver)
    assert repr(again) == repr(solver)


@pytest.mark.parametrize("name", CONVENTIONS)
def test_a_metric_is_what_its_repr_parses_to_whatever_convention_holds(name: str) -> None:
    convention = CONVENTIONS[name]
    metrics = list(metrics_of(convention))
    assert {m.name for m in metrics} | {"mean_ndcg"} == set(METRICS)
    for metric in metrics:
        assert parse_metric(repr(metric)) == metric
        assert parse_metric(repr(metric), name) == metric
        assert parse_metric(repr(metric), convention) == metric
        assert parse_metric(repr(metric).upper(), convention) == metric
        assert parse_metric(f" {metric!r}\n", convention) == metric
        for other in CONVENTIONS.values():
            if name != "default":  # the only one that is not written
                assert parse_metric(repr(metric), other) == metric


@pytest.mark.parametrize("named", OWN_NAMES)
def test_a_metric_under_a_convention_of_ones_own_is_what_its_repr_parses_to(named: str) -> None:
    assert set(OWN) == {f.name for f in fields(Convention)} - {"name"}
    for given in ({}, *({k: v} for k, v in OWN.items()), OWN):
        convention = Convention(named, **given)
        for metric in metrics_of(convention):
            assert parse_metric(repr(metric), convention) == metric
            assert parse_metric(repr(metric), convention).convention == convention
            plain = metric.name != "mean_ndcg"
            bare = repr(replace(metric, convention=CONVENTIONS["default"])) if plain else "mean_ndcg"
            assert parse_metric(bare, convention) == metric
            if named not in ("default", "letor4", "xgboost-"):
                assert parse_metric(f"letor4:{bare}", convention).convention == CONVENTIONS["letor4"]  # a prefix wins


def test_members_that_differ_have_names_that_differ() -> None:
    """A repr that leaves a parameter out is rejected: it would be that of the default."""
    for by_name in (LOSSES, PENALTIES):
        found = [member for cls in by_name.values() for member in members(cls)]
        assert len({repr(x) for x in found}) == len(set(found))
        assert len(set(found)) > 3 * len(by_name)
    every = [m for c in CONVENTIONS.values() for m in metrics_of(c)]
    assert len({repr(m) for m in every}) == len(every)


TABLES_REFUSED = ("None", "()", "[[-1.0]]", "[[1.0, 2.0]]", "'x'", "[[inf]]", "[[1e400]]", "{[]: 1}", "[" * 100_000)
OTHER_SPELLINGS = ("", "()", "(smoothness=2.0)", "([[1.0]])", "(**{})")


def test_a_loss_has_one_spelling() -> None:
    """What would be another name of a loss with a short one is none, and neither is what its class does not take."""
    for name, cls in LOSSES.items():
        for other in (*OTHER_SPELLINGS, *(f"(grade_pair_weights={table})" for table in TABLES_REFUSED)):
            with pytest.raises(DataError, match="loss must be squared_hinge, or a PairwiseLoss") as caught:
                parse_loss(cls.__name__ + other)
            assert len(str(caught.value)) < 250
        with pytest.raises(DataError, match="loss must be squared_hinge"):
            parse_loss(f"{name}(grade_pair_weights=[[1.0]])")


@pytest.mark.parametrize(
    "table",
    [np.ones(3), np.ones((2, 3)), [[1.0, np.nan]] * 2, [[-1.0]], "x", 3, [], np.empty((0, 0)), [[1.0], [2.0, 3.0]]],
    ids=str,
)
def test_what_is_no_table_of_weights_is_refused_at_once(table: Any) -> None:
    for cls in LOSSES.values():
        with pytest.raises(DataError, match="grade_pair_weights must be a square table of finite weights >= 0; got"):
            cls(table)


def test_a_table_of_a_loss_does_not_change_with_the_array_that_it_came_from() -> None:
    for cls in LOSSES.values():
        given = TABLE.copy()
        loss = cls(given)
        given[1, 0] = 99.0
        assert loss == cls(TABLE) != cls(given)


def test_a_plan_of_experiments_reads_what_it_spells() -> None:
    """Metrics of every convention in a plan of every other."""
    for convention in CONVENTIONS:
        every = [m for c in CONVENTIONS.values() for m in metrics_of(c)]
        names = tuple(f"default:{m!r}" if m.convention.name == "default" else repr(m) for m in every)
        options = {"choose_by": ("map",), "watch": (), "metrics": names, "convention": convention}
        plan = ExperimentPlan((DatasetPlan("a", "."),), **options)
        assert plan.all_metrics == list(dict.fromkeys([parse_metric("map", convention), *every]))


# -- values that messages quote ----------------------------------------------------------------------------------------


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError


def test_small_values_are_quoted_as_they_are() -> None:
    for value in ("map", 3, -1.5, None, True, [1, "a"], ("x",), {"a": 1}, 2**63):
        assert brief(value) == repr(value)
    assert brief(np.float64(1.5)) == "1.5"
    assert brief(np.int64(3)) == "3"


def test_any_value_is_quoted_on_one_short_line() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    cyclic: dict[str, Any] = {}
    cyclic["x"] = cyclic
    values = ("x" * 10**6, "a\nb\x1b[2J\u2028", "\ud800", 10**6000, -(10**6000), [10**6000], deep, cyclic)
    values += ({"a": ["y" * 10**6] * 50}, Broken(), [Broken()], np.zeros(10**5), b"\xff" * 1000)
    values += (set(range(1000)), float("nan"), object())
    for value in values:
        text = brief(value)
        assert 0 < len(text) <= LONGEST
        assert text.isprintable()
