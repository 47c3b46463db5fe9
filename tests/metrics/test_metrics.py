"""Metrics against explicit loops, the LETOR scripts' reference values and a published table; paired statistics."""

import csv
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sparserank import RankingDataset, compare_systems, concatenate, evaluate, parse_metric, read
from sparserank.errors import DataError
from sparserank.evaluation import Comparison
from sparserank.evaluation.statistics import holm, mean_interval, paired_comparison
from sparserank.metrics import CONVENTIONS, METRICS, Convention
from sparserank.metrics.conventions import VALUES
from sparserank.model.ranking_model import RankingModel
from sparserank.shards.scaling import FeatureScaling
from tests.oracles import metrics as oracle

CUTOFFS = (None, 1, 2, 3, 10, 20)
NAMES = [
    name if cutoff is None else f"{name}@{cutoff}"
    for name, metric in METRICS.items()
    for cutoff in CUTOFFS
    if (cutoff is None or metric.takes_cutoff) and (cutoff is not None or metric.needs_cutoff is None)
]
CASES = [(c, n) for c in CONVENTIONS for n in NAMES if not (c == "letor3" and n == "mean_ndcg")]


def random_lists(seed: int, *, grades: int = 5) -> RankingDataset:
    """Lists of 1 to 25 documents with many ties, some without any relevant document; column 0 holds the scores."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 26, size=40)
    query = np.repeat(np.arange(40), sizes)
    relevance = rng.integers(0, grades, size=len(query)) * (query % 5 != 0)
    scores = rng.integers(-3, 4, size=len(query)) / 7.0
    ids = np.array([f"{k:05d}" for k in rng.permutation(len(query))], dtype=object)
    return RankingDataset(scores[:, None], relevance, query, ids)


def oracle_values(data: RankingDataset, name: str, rules: oracle.Rules) -> np.ndarray:
    base, _, cutoff = name.partition("@")
    out = []
    for q in range(data.n_queries):
        rows = slice(data.query_ptr[q], data.query_ptr[q + 1])
        scores, relevance = data.X[rows, 0].tolist(), data.relevance[rows].tolist()
        if base == "pairwise_error":
            out.append(oracle.pairwise_error(scores, relevance))
            continue
        labels = oracle.ranked(scores, relevance, data.docid[rows].tolist(), rules)  # type: ignore[index]
        out.append(oracle.BY_NAME[base](labels, int(cutoff) if cutoff else None, rules))
    return np.array(out)


def values_of(data: RankingDataset, name: str, convention: str | Convention = "default") -> np.ndarray:
    (values,) = evaluate(data.to_input_order(data.X[:, 0]), data, name, convention=convention).per_query.values()
    return values


@pytest.mark.parametrize(("convention", "name"), CASES)
def test_every_metric_of_every_convention_equals_the_oracle(convention: str, name: str) -> None:
    """Tie rules and values between 0 and 1 with it: the oracle has them."""
    data = random_lists(1)
    expected = oracle_values(data, name, oracle.RULES[convention])
    assert np.ptp(expected) > 0
    assert 0.0 <= expected.min() <= expected.max() <= 1.0 + 1e-14
    np.testing.assert_allclose(values_of(data, name, convention), expected, rtol=0, atol=1e-14)


WRONG = {
    "ties the other way": ("default", {"tie_key": lambda rel, row, docid: -rel}),
    "ties in reverse file order": ("letor4", {"tie_key": lambda rel, row, docid: -row}),
    "smallest id first": ("trec", {"tie_key": lambda rel, row, docid: docid}),
    "the usual discount": ("letor4", {"discount": oracle.log2_discount}),
    "LETOR's discount": ("default", {"discount": oracle.letor_discount}),
    "natural gain": ("default", {"gain": oracle.linear}),
    "0 for empty queries": ("xgboost", {"empty_ndcg": 0.0}),
    "whole list beyond its end": ("letor3", {"beyond_the_list": "full"}),
}


def of_lightgbm(metric: str, cutoffs: tuple[int, ...], data: RankingDataset, q: int) -> list[float]:
    """LightGBM's own values of one query: scores come in as initial ones,
    one tree of a constant column adds nothing."""
    import lightgbm

    rows = slice(data.query_ptr[q], data.query_ptr[q + 1])
    n = rows.stop - rows.start
    options = {"init_score": data.X[rows, 0], "params": {"verbosity": -1, "feature_pre_filter": False}}
    given = lightgbm.Dataset(np.zeros((n, 1)), data.relevance[rows], group=[n], **options)
    recorded: dict[str, Any] = {}
    parameters = {"objective": "lambdarank", "metric": metric, "eval_at": list(cutoffs), "min_data_in_leaf": 1}
    parameters |= {"verbosity": -1, "num_threads": 1}
    lightgbm.train(parameters, given, 1, valid_sets=[given], callbacks=[lightgbm.record_evaluation(recorded)])
    return [float(recorded["training"][f"{metric}@{k}"][-1]) for k in cutoffs]


@pytest.mark.parametrize("name", ["ndcg", "map"])
def test_lightgbm_has_the_values_of_its_convention(name: str) -> None:
    data = random_lists(4)
    rejected, cutoffs = False, (1, 3, 10, 30)
    values = np.array([of_lightgbm(name, cutoffs, data, q) for q in range(data.n_queries)])
    for k, theirs in zip(cutoffs, values.T, strict=True):
        found = values_of(data, f"{name}@{k}", "lightgbm")
        np.testing.assert_allclose(found, theirs, rtol=0, atol=1e-12)
        rejected |= bool(np.abs(values_of(data, f"{name}@{k}", "letor4") - theirs).max() > 0.1)
    assert rejected


def test_a_trailing_minus_is_of_xgboost_alone() -> None:
    metric = parse_metric("xgboost:ndcg@10-")
    assert metric == parse_metric("ndcg@10-", "xgboost") != parse_metric("xgboost:ndcg@10")
    with pytest.raises(DataError, match="the trailing minus is XGBoost's"):
        parse_metric("ndcg@10-")


@pytest.mark.parametrize("variant", WRONG)
def test_a_metric_under_another_rule_is_rejected(variant: str) -> None:
    convention, change = WRONG[variant]
    data = random_lists(1)
    wrong = oracle_values(data, "ndcg@10", replace(oracle.RULES[convention], **change))  # type: ignore[arg-type]
    assert np.abs(values_of(data, "ndcg@10", convention) - wrong).max() > 1e-3


def test_without_document_ids_trec_ties_keep_file_order() -> None:
    data = random_lists(4)
    assert data.qid is not None
    anonymous = RankingDataset(data.X, data.relevance, data.qid)
    expected = oracle_values(data, "ndcg@5", replace(oracle.RULES["trec"], tie_key=oracle.file_order))
    np.testing.assert_allclose(values_of(anonymous, "ndcg@5", "trec"), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("field", VALUES)
def test_a_convention_refuses_rules_that_do_not_exist(field: str) -> None:
    for value in VALUES[field]:
        assert getattr(Convention("mine", **{field: value}), field) == value
    with pytest.raises(DataError, match=f"Convention: {field} must be one of .*; got 'skip'"):
        Convention("mine", **{field: "skip"})


REFUSED: list[tuple[Any, Any, str]] = [  # (name, convention, words of the message)
    *((name, "default", "unknown metric '") for name in ("", "ndgc@10", "ndcg@", "ndcg10", ":ndcg", "ndcg@10@5")),
    *((name, "default", "takes no cutoff") for name in ("mean_ndcg@5", "pairwise_error@3")),
    ("p", "default", "needs a cutoff"),
    ("letor3:mean_ndcg", "default", "letor3 has no mean_ndcg"),
    ("letor9:ndcg", "default", "unknown metric convention 'letor9'"),
    *((f"ndcg@{k}", "default", "cutoff must be") for k in (0, -3, 2**63, "-" + "9" * 5000)),
    ("p@" + "1" * 5000, "default", "cutoff must be a 64-bit integer >= 1"),
    ("p@" + "0" * 5000, "default", "cutoff must be"),
    ("x" * 10_000, "default", "unknown metric 'xxx"),
    ("x" * 10_000 + ":ndcg", "default", "unknown metric convention 'xxx"),
    ("letor4:" + "x" * 10_000, "default", "unknown metric"),
    ("\x1b[2J\n" * 10, "default", r"unknown metric '\\x1b"),
    *((name, "default", "unknown metric") for name in ("ndcg@x", "ndcg@\u0661", 5, None, ["ndcg@10"], True)),
    *(("ndcg@10", own, "unknown metric convention") for own in (5, None, ["letor4"], {"name": "letor4"}, "x" * 10_000)),
]


@pytest.mark.parametrize(("name", "convention", "words"), REFUSED, ids=lambda v: str(v)[:20])
def test_a_metric_or_convention_that_there_is_not_is_refused_in_a_few_words(name, convention, words):
    with pytest.raises(DataError, match=words) as error:
        parse_metric(name, convention)
    assert len(str(error.value)) < 250
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", METRICS)
def test_a_cutoff_that_is_no_position_is_refused_in_a_few_words(name: str) -> None:
    for cutoff in (10**6000, 2**63, 0, -(10**6000), True, 2.0, "10", np.nan):
        with pytest.raises(DataError, match="cutoff") as error:
            METRICS[name](cutoff)  # type: ignore[arg-type]
        assert len(str(error.value)) < 250


SPELLINGS = {
    "nDCG@10": "ndcg@10",
    "ndcg_cut_10": "trec:ndcg@10",
    "ndcg_cut.10": "trec:ndcg@10",
    "letor4:ndcg_cut_10": "letor4:ndcg@10",
    "P_10": "trec:p@10",
    "P(rel=2)@5": "p(rel=2)@5",
    "precision@5": "p@5",
    "recall_100": "trec:recall@100",
    "R@100": "recall@100",
    "map_cut_100": "trec:map@100",
    "AP": "map",
    "AP(rel=2)@100": "map(rel=2)@100",
    "recip_rank": "trec:mrr",
    "RR@10": "mrr@10",
}


@pytest.mark.parametrize("name", SPELLINGS)
def test_spellings_of_trec_eval_and_ir_measures_are_understood(name: str) -> None:
    """The names of trec_eval have its definition, unless another one is asked for; case does not count."""
    assert repr(parse_metric(name)) == SPELLINGS[name]
    assert repr(parse_metric(name.upper())) == SPELLINGS[name]
    assert parse_metric(name, "xgboost") == parse_metric(SPELLINGS[name].removeprefix("trec:"), "xgboost")


def test_the_largest_cutoff_is_no_cutoff() -> None:
    data = random_lists(8)
    for name in ("ndcg", "map", "mrr", "err"):
        np.testing.assert_array_equal(values_of(data, f"{name}@{2**63 - 1}"), values_of(data, name))
    assert values_of(data, f"p@{2**63 - 1}").max() < 1e-15


# -- LETOR scripts: formats.md section 5 -------------------------------------------------------------------------------

LABELS = np.array([1.0, 0.0, 2.0, 0.0, 1.0, 1.0])
POSITIONS = np.array([5.0, 4.0, 3.0, 2.0, 1.0, 0.0])
TWO_QUERIES = RankingDataset(POSITIONS[:, None], LABELS, np.array([1, 1, 1, 1, 1, 2]))
FIRST_QUERY = TWO_QUERIES.take_queries(np.array([0]))

PER_SCRIPT = {
    "letor3": {"map": 0.877778, "p": [1, 0.25, 0.333333, 0.25, 0.3], "beyond": 0.0},
    "letor4": {"map": 0.877778, "p": [1, 0.5, 0.5, 0.375, 0.4], "beyond": 0.333333},
}
OTHER_DEFINITIONS = {
    "default": {"ndcg@1": 0.333333, "ndcg@3": 0.605191, "ndcg@5": 0.698839},
    "trec": {"ndcg@1": 0.5, "ndcg@3": 0.638788, "ndcg@5": 0.762346},
}


@pytest.mark.parametrize("script", PER_SCRIPT)
def test_letor_scripts_reference_values(script: str) -> None:
    one = [values_of(FIRST_QUERY, f"ndcg@{n}", script)[0] for n in range(1, 6)]
    np.testing.assert_allclose(one, [0.333333, 0.25, 0.624667, 0.624667, 0.717667], rtol=0, atol=5e-7)
    assert values_of(FIRST_QUERY, "map", script)[0] == pytest.approx(0.755556, abs=5e-7)
    expected = PER_SCRIPT[script]
    names = ["map", *(f"ndcg@{n}" for n in range(1, 11))]
    average_precision, *ndcg = evaluate(POSITIONS, TWO_QUERIES, names, convention=script).values()
    assert average_precision == pytest.approx(expected["map"], abs=5e-7)
    np.testing.assert_allclose(ndcg, [0.666667, 0.125, 0.312334, 0.312334, 0.358834, 0, 0, 0, 0, 0], rtol=0, atol=5e-7)
    precision = [values_of(TWO_QUERIES, f"p@{n}", script).mean() for n in range(1, 6)]
    np.testing.assert_allclose(precision, expected["p"], rtol=0, atol=5e-7)
    beyond = values_of(TWO_QUERIES, "p@6", script)  # 3 of 6 for the padded list, missing in 3.0
    np.testing.assert_allclose(beyond, [0.5, 1 / 6] if script == "letor4" else [0.0, 0.0], rtol=0, atol=1e-15)


def test_letor4_mean_ndcg_reference_values() -> None:
    values = values_of(TWO_QUERIES, "mean_ndcg", "letor4")
    assert values[0] == pytest.approx(0.510067, abs=5e-7)
    assert values.mean() == pytest.approx(0.7550, abs=5e-5)


def test_letor_dcg_and_ideal_reference_values() -> None:
    """DCG 1, 1, 2.892789, ..., ideal 3, 4, 4.630930, ...: the oracle itself is checked by the printed numbers."""
    rules = oracle.RULES["letor4"]
    labels = LABELS[:5].tolist()
    dcg = [oracle.dcg(labels, n, rules) for n in range(1, 6)]
    ideal = [oracle.dcg(sorted(labels, reverse=True), n, rules) for n in range(1, 6)]
    np.testing.assert_allclose(dcg, [1, 1, 2.892789, 2.892789, 3.323466], rtol=0, atol=5e-7)
    np.testing.assert_allclose(ideal, [3, 4, 4.630930, 4.630930, 4.630930], rtol=0, atol=5e-7)


@pytest.mark.parametrize("convention", OTHER_DEFINITIONS)
def test_other_definitions_of_the_same_list(convention: str) -> None:
    for name, expected in OTHER_DEFINITIONS[convention].items():
        assert values_of(FIRST_QUERY, name, convention)[0] == pytest.approx(expected, abs=5e-7)


def test_labels_outside_the_letor_tables_gain_nothing() -> None:
    data = RankingDataset(np.array([[3.0], [2.0], [1.0]]), np.array([7.0, -1.0, 1.0]), np.zeros(3, dtype=int))
    assert values_of(data, "ndcg", "letor4")[0] == pytest.approx(1 / np.log2(3), abs=1e-15)
    assert values_of(data, "map", "letor4")[0] == pytest.approx(1 / 3, abs=1e-15)


@pytest.mark.parametrize("name", ["ndcg@2", "mean_ndcg", "err"])
def test_a_grade_too_large_for_its_gain_is_refused_or_counted_but_never_left_out(name: str) -> None:
    data = RankingDataset(np.arange(3.0)[:, None], np.array([5000.0, 0.0, 1.0]), np.zeros(3, dtype=int))
    with suppress(DataError):
        assert np.isfinite(values_of(data, name)).all()


@pytest.mark.filterwarnings("ignore:all scores are equal")  # some features are 0 in most queries
@pytest.mark.parametrize("script", ["letor3", "letor4"])
def test_single_feature_rankings_of_ohsumed_equal_all_published_figures(script: str, data_folder: Path) -> None:
    folder = data_folder / "ohsumed-letor2"
    data = concatenate([read(folder / f"S{i}.txt.gz") for i in range(1, 6)])
    compared = 0
    for table, rename in (("ndcg", "ndcg@"), ("precision", "p@")):
        with open(folder / f"baselines/single-features-{table}.csv", newline="") as lines:
            for row in csv.DictReader(lines):
                feature = int(float(row.pop("Feature No"))) - 1
                names = ["map" if key == "MAP" else rename + key.partition("@")[2] for key in row]
                ours = list(evaluate(data.X[:, feature], data, names, convention=script).values())
                expected = [float(v) for v in row.values()]
                np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-6)
                compared += len(expected)
    assert compared == 525
    assert abs(evaluate(data.X[:, 0], data, "ndcg@1")["ndcg@1"] - 0.349056603773585) > 1e-3  # ties matter


# -- statistics over queries -------------------------------------------------------------------------------------------


def test_paired_comparison_equals_scipy(rng: np.random.Generator) -> None:
    a = rng.random(60)
    b = a + 0.1 * rng.standard_normal(60) + 0.02
    a[[3, 7]], b[[7, 9]] = np.nan, np.nan  # skipped queries
    both = np.isfinite(a) & np.isfinite(b)
    reference = stats.ttest_rel(a[both], b[both])
    ours = paired_comparison(a, b)
    interval = reference.confidence_interval(0.95)
    assert ours.difference == pytest.approx((a - b)[both].mean(), abs=1e-15)
    assert ours.p_value == pytest.approx(reference.pvalue, rel=1e-12)
    assert (ours.difference_low, ours.difference_high) == pytest.approx((interval.low, interval.high), rel=1e-12)
    assert ours.p_value != pytest.approx(stats.ttest_ind(a[both], b[both]).pvalue, rel=1e-3)


def test_equal_constant_and_single_values_have_a_p_value_or_none() -> None:
    same = np.array([0.1, 0.2, 0.3])
    assert paired_comparison(same, same).p_value == 1.0
    assert paired_comparison(np.ones(3), np.zeros(3)).p_value == 0.0
    assert np.isnan(paired_comparison(np.ones(1), np.zeros(1)).p_value)
    assert all(np.isnan(v) for v in mean_interval(np.array([np.nan])))


def test_holm_by_hand() -> None:
    """0.005 * 4, 0.01 * 3, 0.03 * 2, then 0.04 * 1 raised to the 0.06 before it; NaN is no hypothesis."""
    np.testing.assert_allclose(holm(np.array([0.01, 0.04, np.nan, 0.03, 0.005])), [0.03, 0.06, np.nan, 0.06, 0.02])
    np.testing.assert_allclose(holm(np.array([0.5, 0.7])), [1.0, 1.0])
    assert len(holm(np.array([]))) == 0


def test_evaluate_compares_systems_with_the_baseline() -> None:
    data = random_lists(6)
    rng = np.random.default_rng(1)
    noise = rng.standard_normal(data.n_docs)
    systems = {"a": data.X[:, 0], "b": data.relevance + noise, "c": data.relevance + 2 * noise}
    comparison = compare_systems(systems, data, ["ndcg@5", "trec:map"], baseline="b")
    assert isinstance(comparison, Comparison)
    rows = {(r["metric"], r["system"]): r for r in comparison.rows()}
    assert list(rows) == [(m, s) for m in ("ndcg@5", "trec:map") for s in "abc"]
    for metric in ("ndcg@5", "trec:map"):
        values = {s: evaluate(systems[s], data, metric).per_query[metric] for s in systems}
        p = {s: stats.ttest_rel(values[s], values["b"]).pvalue for s in "ac"}
        first, second = sorted("ac", key=lambda s: p[s])
        adjusted = {first: min(2 * p[first], 1.0)}
        adjusted[second] = max(adjusted[first], p[second])
        assert "difference" not in rows[metric, "b"]
        for s in "ac":
            row = rows[metric, s]
            assert row["mean"] == pytest.approx(values[s].mean(), rel=1e-12)
            assert row["difference"] == pytest.approx((values[s] - values["b"]).mean(), abs=1e-15)
            assert row["difference_low"] < row["difference"] < row["difference_high"]
            assert (row["p_value"], row["p_holm"]) == pytest.approx((p[s], adjusted[s]), rel=1e-9)


def test_evaluate_refuses_what_it_cannot_use() -> None:
    data = random_lists(7)
    scores = data.X[:, 0].copy()
    for bad in (scores[:-1], np.where(np.arange(len(scores)) == 3, np.nan, scores), np.stack([scores, scores])):
        with pytest.raises(DataError, match="scores"):
            evaluate(bad, data)
    with pytest.raises(DataError, match="at least one system"):
        compare_systems({}, data)
    with pytest.raises(DataError, match="'x' is not among the systems: a"):
        compare_systems({"a": scores}, data, baseline="x")


def test_evaluate_takes_a_model_that_scales_within_queries() -> None:
    data = random_lists(9)
    scaling = FeatureScaling("query-min-max", np.zeros(1), np.ones(1))
    model = RankingModel.from_arrays(np.ones(1), ("f1",), scaling)
    assert evaluate(model, data) == evaluate(model.score_dataset(data), data)


def test_large_relevance_is_fine_where_no_gain_is_used() -> None:
    a = RankingDataset(np.zeros((2, 1)), [0.0, 1000.0])
    assert evaluate(np.array([0.0, 1.0]), a, ["map"])["map"] == 1.0
    with pytest.raises(DataError, match="too large for a gain"):
        evaluate(np.array([0.0, 1.0]), a, ["ndcg@10"])
