"""`fuse`: what is kept, what it is compared with, which judgments count."""

import json
import pickle
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import sparserank as sr
from sparserank.crossval import folded_paths
from sparserank.data.fusion.judged_runs import default_depth
from sparserank.data.runs import Run, run_lines
from sparserank.errors import DataError, ParameterError, RunDirectoryError
from sparserank.export.fusion import export_fusion
from sparserank.metrics import CONVENTIONS, parse_metric
from sparserank.model.fusion import FusionFormula, FusionTerm
from sparserank.paths import PathResult
from sparserank.selection.fusion_plan import shown_weight
from tests.support.command_line import Cli
from tests.support.made_runs import QUALITY, QUICK, Judged, Runs, cut, flat, judgments, made, nested, qrels_of


@pytest.fixture(scope="module")
def fused() -> tuple[Runs, Judged, sr.FusionResult]:
    runs, qrels = made()
    return runs, qrels, sr.fuse(runs, qrels, **QUICK, norm="minmax", depth=20)


def test_the_good_retrievers_are_kept(fused: tuple[Runs, Judged, sr.FusionResult]) -> None:
    _, _, result = fused
    assert {"strong", "other"} <= set(result.retrievers)
    assert "noise" in result.dropped
    assert sum(result.weights.values()) == pytest.approx(1.0, abs=1e-12)
    assert all(w > 0 for w in result.weights.values())
    assert result.facts.depth == 20
    rows = {row["retriever"]: row for row in result.rows()}
    assert rows["strong"]["loss"] > 0
    assert rows["noise"]["loss"] is None
    assert rows["strong"]["alone"] > rows["weak"]["alone"] > rows["noise"]["alone"]
    rivals = [r.name for r in result.selection.rivals.compared]
    assert rivals == ["RRF", "equal weights, zscore", *(f"{name} alone" for name in QUALITY)]
    assert result.selection.dense.formula == "CombSUM"  # under the only norm: what all are measured against
    assert "Keep" in repr(result)


def test_a_pickled_fusion_is_the_same(fused: tuple[Runs, Judged, sr.FusionResult]) -> None:
    """Wherever formulas are rivals, too."""
    _, _, result = fused
    again = pickle.loads(pickle.dumps(result))
    assert str(again) == str(result)
    assert again.weights == result.weights
    assert again.render_page() == result.render_page()


def test_rivals_have_the_values_of_evaluate(fused: tuple[Runs, Judged, sr.FusionResult]) -> None:
    """On the same lists and all judgments; the wrong variant has its ideal from the returned documents alone."""
    runs, qrels, result = fused
    alone = {row["retriever"]: row["alone"] for row in result.rows()}
    for name, run in runs.items():
        expected = sr.evaluate(cut(run, 20), judgments(qrels), "ndcg@10", convention="default")["ndcg@10"]
        assert alone[name] == pytest.approx(expected, abs=1e-12)
    returned = {key for run in runs.values() for key in cut(run, 20)}
    known = {key: grade for key, grade in flat(qrels).items() if key in returned}
    assert len(known) < len(flat(qrels))
    wrong = sr.evaluate(cut(runs["strong"], 20), judgments(known), "ndcg@10", convention="default")["ndcg@10"]
    assert abs(alone["strong"] - wrong) > 1e-3


def test_the_formula_is_what_was_evaluated() -> None:
    """Its fused run has the values of the final model on test queries; a formula of other weights has not."""
    runs, qrels = made()
    held = qrels_of(qrels, range(30, 60))
    result = sr.fuse(runs, qrels_of(qrels, range(30)), test_qrels=held, **QUICK, depth=20)
    test = result.selection.test
    assert test is not None
    for weights, same in ((None, True), ({"weak": 0.9, "strong": 0.1}, False)):
        formula = result.formula
        if weights is not None:
            formula = replace(formula, terms=tuple(FusionTerm(name, w) for name, w in weights.items()))
        run = formula.apply(runs)
        found = sr.evaluate(run, judgments(held), "ndcg@10", convention="default").per_query["ndcg@10"]
        assert np.allclose(test.values[test.baseline]["ndcg@10"], found, atol=1e-12) == same


def test_documents_that_are_not_returned_count_in_every_metric() -> None:
    convention = replace(CONVENTIONS["default"], zero_scores="left_out")
    scores, relevance, ptr = np.array([0.5, 0.0, 0.2, 0.0]), np.array([0.0, 1.0, 1.0, 2.0]), np.array([0, 4])
    gain = (1.0 / np.log2(3)) / (3.0 + 1.0 / np.log2(3) + 1.0 / np.log2(4))
    expected = {"map": 0.5 / 3, "recall@10": 1 / 3, "p@10": 0.1, "mrr": 0.5, "ndcg@10": gain}
    values = {name: float(parse_metric(name, convention)(scores, relevance, ptr)[0]) for name in expected}
    assert values == pytest.approx(expected, abs=1e-15)
    negative = np.array([0.5, 0.0, -0.2, 0.0])  # of free signs: below 0 is still ranked before what is left out
    assert parse_metric("map", convention)(negative, relevance, ptr)[0] == pytest.approx(0.5 / 3)
    assert repr(parse_metric("recall@5", replace(convention, relevant_from=2))) == "recall(rel=2)@5"
    from_two = parse_metric("recall(rel=2)@10", convention)
    assert from_two(scores, relevance, ptr)[0] == 0.0
    with pytest.raises(DataError, match="ndcg uses grades"):
        parse_metric("ndcg(rel=2)@10")
    with pytest.raises(DataError, match="recall needs a cutoff"):
        parse_metric("recall")


def test_queries_that_nobody_answers_count_zero() -> None:
    runs, qrels = made(n_queries=30)
    more = {**qrels, **{f"lost{i}": {"x": 1.0} for i in range(30)}}
    alone = sr.fuse(runs, qrels, **QUICK, norm="rrf", k=1)
    half = sr.fuse(runs, more, **QUICK, norm="rrf", k=1)
    assert half.selection.n_queries == 60
    best = [max(r.mean for r in result.selection.rivals.compared) for result in (alone, half)]
    assert best[1] == pytest.approx(best[0] / 2, abs=1e-12)
    for candidate in half.selection.choice.candidates:
        lost = [q.startswith("lost") for q in half.selection.query_ids]
        assert (candidate.values[lost] == 0).all()
    assert any("no document was returned for some of the 60 queries" in note for note in half.selection.notes)


def test_unjudged_documents_can_be_skipped() -> None:
    runs, qrels = made()
    zero, skip = (sr.fuse(runs, qrels, **QUICK, norm="rrf", unjudged=word, depth=20) for word in ("zero", "skip"))
    judged, weak = flat(qrels), nested(cut(runs["weak"], 20))
    condensed = {q: {d: s for d, s in own.items() if (q, d) in judged} for q, own in weak.items()}
    expected = sr.evaluate(cut(condensed, 20), judgments(judged), "ndcg@10", convention="default")["ndcg@10"]
    alone = {r.name: r.mean for r in skip.selection.rivals.compared}
    assert alone["weak alone"] == pytest.approx(expected, abs=1e-12)
    assert {r.name: r.mean for r in zero.selection.rivals.compared}["weak alone"] < expected
    shares = zero.facts.judged_share
    top = {q: sorted(own, key=lambda d: (-own[d], d))[:10] for q, own in runs["weak"].items()}
    counted = [np.mean([(q, d) in judged for d in own]) for q, own in top.items()]
    assert shares["weak"] == pytest.approx(np.mean(counted), abs=1e-12)
    gap = zero.facts.judged_gap(zero.retrievers)
    assert gap is not None
    assert any("are judged" in note for note in zero.selection.notes)
    assert skip.facts.judged_gap(skip.retrievers) is None


def test_retrievers_within_the_budget_are_kept() -> None:
    runs, qrels = made()
    costs = {"strong": 50.0, "other": 20.0, "weak": 5.0, "noise": 1.0}
    cheap = sr.fuse(runs, qrels, **QUICK, norm="rrf", costs=costs, budget=30)
    assert cheap.cost is not None
    assert cheap.cost <= 30
    assert cheap.full_cost == 76
    assert "strong" in cheap.dropped
    slowest = sr.fuse(runs, qrels, **QUICK, norm="rrf", costs=costs, cost_rule="max", budget=20)
    assert slowest.cost is not None
    assert slowest.cost <= 20
    assert slowest.full_cost == 50
    assert set(slowest.retrievers) >= {"other"}


def test_every_spelling_of_a_metric_leaves_out_what_was_not_returned() -> None:
    """By a prefix, as an object, or as a metric to report; the wrong variant counts all documents as ranked."""
    runs, qrels = made(n_queries=30)
    values = [
        sr.fuse(runs, qrels, **QUICK, norm="rrf", depth=10, metric=metric, k=1).selection.rivals.compared[0].mean
        for metric in ("recall@100", "letor4:recall@100", sr.parse_metric("recall@100"))
    ]
    assert values[0] == pytest.approx(values[1], abs=1e-12)
    assert values[0] == pytest.approx(values[2], abs=1e-12)
    assert values[0] < 0.9  # ten of 80 documents, among which a third are relevant
    two = sr.fuse(runs, qrels, **QUICK, norm="rrf", metric="ndcg@10", report_metrics="trec:map", relevant_from=2)
    assert [repr(m) for m in two.selection.plan.metrics] == ["ndcg@10", "trec:map(rel=2)"]


def test_an_engine_that_trims_is_judged_on_what_it_returns() -> None:
    runs, qrels = made(n_queries=40)
    test = qrels_of(qrels, range(20, 40))
    options: dict[str, Any] = {**QUICK, "norm": "rrf", "depth": 10, "metric": "recall@100"}
    result = sr.fuse(runs, qrels_of(qrels, range(20)), test_qrels=test, engine="elasticsearch", **options)
    fused = nested(result.formula.apply(runs))
    found = result.selection.test
    assert found is not None
    value = found.values[found.baseline]["recall@100"].mean()
    assert max(map(len, fused.values())) == 10
    first = sr.evaluate(cut(fused, 10), judgments(test), "recall@100", convention="default")["recall@100"]
    untrimmed = nested(replace(result.formula, engine=None).apply(runs))
    whole = sr.evaluate(cut(untrimmed, 100), judgments(test), "recall@100", convention="default")["recall@100"]
    assert value == pytest.approx(first, abs=1e-12)
    assert len(result.retrievers) == 1 or whole > first


def test_opensearch_returns_no_document_with_the_score_0() -> None:
    """As its hybrid query does: the same result as without these documents, which other engines have."""
    runs, qrels = made(n_queries=30)
    shifted = {
        name: {q: {d: max(s - np.median(list(own.values())), 0.0) for d, s in own.items()} for q, own in of.items()}
        for name, of in runs.items()
    }
    without = {
        name: {q: {d: s for d, s in own.items() if s > 0} for q, own in of.items()} for name, of in shifted.items()
    }
    assert without != shifted
    same = {}
    for engine in ("opensearch", None):
        results = [sr.fuse(given, qrels, **QUICK, depth=20, norm="rrf", engine=engine) for given in (shifted, without)]
        values = [r.selection.choice.chosen.values for r in results]
        same[engine] = results[0].weights == results[1].weights and np.array_equal(*values)
        same[engine] &= dict(results[0].formula.apply(shifted)) == dict(results[1].formula.apply(without))
    assert same == {"opensearch": True, None: False}


def test_free_signs_are_allowed_where_no_engine_forbids_them() -> None:
    runs, qrels = made()
    result = sr.fuse(runs, qrels, **QUICK, norm="minmax", sign="free")
    assert sum(abs(w) for w in result.weights.values()) == pytest.approx(1.0)
    with pytest.raises(ParameterError, match="sign cannot be free: Elasticsearch takes only weights >= 0"):
        sr.fuse(runs, qrels, **QUICK, engine="elasticsearch", sign="free")


@pytest.mark.slow
def test_an_engine_limits_the_number_of_retrievers() -> None:
    """The rule decides among the formulas that the engine can run."""
    runs, qrels = made(qualities={f"r{i}": 1.0 for i in range(7)})
    result = sr.fuse(runs, qrels, **QUICK, engine="opensearch", norm="minmax")
    assert len(result.retrievers) <= 5
    assert max(c.n_features for c in result.selection.choice.candidates) > 5
    one, others = made(qualities={"strong": 2.5, **{f"w{i}": 0.1 for i in range(5)}})
    free, limited = (sr.fuse(one, others, **QUICK, engine=e, norm="minmax") for e in (None, "opensearch"))
    assert len(limited.retrievers) == len(free.retrievers) < 5
    bound = sr.fuse(runs, qrels, **QUICK, engine="opensearch", norm="minmax", guarantee=0.3)
    assert len(bound.retrievers) <= 5
    with pytest.raises(ParameterError, match="norm cannot be zscore: OpenSearch computes minmax, l2"):
        sr.fuse(runs, qrels, **QUICK, engine="opensearch", norm="zscore")


@pytest.mark.parametrize("engine", ["elasticsearch", "opensearch"])
def test_engines_get_no_norm_that_they_compute_otherwise(engine: str) -> None:
    """Their minmax of scores below 0 is another formula, on test queries too; without such scores it is tried."""
    runs, qrels = made(n_queries=20, qualities={"strong": 1.2, "other": 1.1})
    lower = {q: {d: s - 99 for d, s in own.items()} for q, own in runs["other"].items()}
    below = {"strong": runs["strong"], "below": lower}
    later = {q: runs["other"][q] if q != "q19" else own for q, own in below["below"].items()}
    held = {"test_qrels": qrels_of(qrels, range(15, 20))}
    for given, more in ((below, {}), ({"strong": runs["strong"], "below": later}, held)):
        judged = qrels_of(qrels, range(15)) if more else qrels
        result = sr.fuse(given, judged, **QUICK, **more, engine=engine)
        assert result.formula.norm.name == "rrf"
        assert next(t.negative for t in result.formula.terms if t.retriever == "below")
        assert any("the norm minmax was not tried: 'below' has scores below 0" in n for n in result.selection.notes)
        for norm in ("minmax", "l2"):
            message = f"norm cannot be {norm}: 'below' has scores below 0, where .* rrf"
            with pytest.raises(ParameterError, match=message):
                sr.fuse(given, judged, **QUICK, **more, engine=engine, norm=norm)
    assert not any("not tried" in n for n in sr.fuse(runs, qrels, **QUICK, engine=engine).selection.notes)
    free = sr.fuse(below, qrels, **QUICK, norm="minmax").formula
    with pytest.raises(DataError, match=r"does not compute minmax .*'below' has scores below 0"):
        export_fusion(free, engine)
    assert export_fusion(free, "python")


def test_scores_that_single_precision_cannot_tell_apart_are_measured() -> None:
    runs, qrels = made(n_queries=20, qualities={"strong": 1.2, "other": 1.1})
    runs["other"] = {q: {d: 1.7e12 + round(1e4 * s) for d, s in own.items()} for q, own in runs["other"].items()}
    result = sr.fuse(runs, qrels, **QUICK, engine="elasticsearch")
    shares = {t.retriever: t.merged for t in result.formula.terms}
    equal, n = 0, 0
    for own in runs["other"].values():
        first = sorted(set(own.values()))
        n += len(first) - 1
        equal += sum(np.float32(a) == np.float32(b) for a, b in pairwise(first))
    assert shares == {"strong": 0.0, "other": equal / n}
    assert equal > n / 2
    assert any("Elasticsearch scores in single precision" in note for note in result.selection.notes)


def test_what_a_solver_leaves_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Weights of 3e-13 next to 0.5 count nowhere: not in sizes, the formula, the table, or how often one was kept."""
    runs, qrels = made(n_queries=20)
    given = {**QUICK, "norm": "rrf", "half_samples": 2}
    plain, solve = sr.fuse(runs, qrels, **given), folded_paths.run_all

    def with_traces(steps: Any) -> list[PathResult]:
        out = []
        for path in solve(steps):
            if {"not certified"} == set(path.statuses):  # named formulas, which no solver makes
                out.append(path)
                continue
            coefs = path.sparse_coefs.toarray()
            used = np.array([name.endswith(":rrf") for name in path.feature_names])
            coefs[(coefs == 0) & used & (coefs != 0).any(axis=1, keepdims=True)] = 3e-13
            out.append(replace(path, sparse_coefs=sp.csr_array(coefs)))
        return out

    monkeypatch.setattr(folded_paths, "run_all", with_traces)
    traced = sr.fuse(runs, qrels, **given)
    assert traced.rows() == plain.rows()
    sizes = [c.n_features for c in traced.selection.by_size]
    assert sizes == [c.n_features for c in plain.selection.by_size]
    assert sizes[0] == 1
    assert traced.selection.stability is not None
    assert plain.selection.stability is not None
    np.testing.assert_array_equal(traced.selection.stability.kept, plain.selection.stability.kept)


def test_kept_weights_are_never_shown_as_zero() -> None:
    shown = [shown_weight(w, 3) for w in (0.5, 0.0006, 0.0004, -2e-5, 3e-13)]
    assert shown == ["0.500", "0.001", "4e-04", "-2e-05", "3e-13"]


@pytest.mark.parametrize("tested", [False, True])
def test_runs_without_a_judged_document_are_named(tested: bool) -> None:
    runs, qrels = made(n_queries=20, qualities={"strong": 1.2, "other": 1.1})
    runs["else"] = {q: {f"x{d}": s for d, s in own.items()} for q, own in runs["other"].items()}
    held = {"test_qrels": qrels_of(qrels, range(15, 20))} if tested else {}
    notes = sr.fuse(runs, qrels_of(qrels, range(15)), **QUICK, **held, norm="rrf").selection.notes
    assert [n for n in notes if "that 'else' returned for" in n] == [
        f"no document that 'else' returned for the {n} is judged; do the document ids agree with those of the "
        "judgments?"
        for n in ("15 queries", "5 test queries")[: 1 + len(held)]
    ]


def test_a_run_directory_is_resumed_and_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs, qrels = made(n_queries=30)
    out = tmp_path / "run"
    result = sr.fuse(runs, qrels, **QUICK, norm="rrf", out=out)
    with monkeypatch.context() as patch:
        patch.setattr("sparserank.crossval.folded_paths.FoldedPaths.__call__", None)  # nothing is computed again
        again = sr.fuse(runs, qrels, **QUICK, norm="rrf", out=out)
    assert again.weights == result.weights
    for other in ({"depth": 5}, {"unjudged": "skip"}, {"sign": "free"}, {"relevant_from": 2}, {"metric": "map"}):
        with pytest.raises(RunDirectoryError, match="contains a run with other data or options"):
            sr.fuse(runs, qrels, **{**QUICK, "norm": "rrf", **other}, out=out)
    formula = sr.FusionFormula.load(out)
    assert {t.retriever: t.weight for t in formula.terms} == pytest.approx(result.weights, abs=1e-12)
    content = json.loads((out / "result.json").read_text())
    assert [row["retriever"] for row in content["fusion"]["retrievers"]] == [*result.retrievers, *result.dropped]
    assert "Retrievers" in (out / "report.html").read_text()
    assert len(sr.FusionFormula.load(out, k=1).retrievers) == 1
    with pytest.raises(DataError, match="the formula needs a run called"):
        formula.apply({"unknown": runs["strong"]})
    empty = formula.apply({**{name: {} for name in result.retrievers}, result.retrievers[0]: {"new": {"d1": 2.0}}})
    assert list(empty) == [("new", "d1")]  # the others returned nothing for this query
    assert formula.apply({name: {} for name in result.retrievers}) == {}
    other = sr.datasets.make_ranking(9, 5, 4, n_informative=2, n_redundant=0).data
    sr.SparseRanker().fit_dataset(other).save(tmp_path / "m.json")
    with pytest.raises(DataError, match="this model was not made by 'sparserank fuse'; it has no retrievers"):
        sr.FusionFormula.load(tmp_path / "m.json")
    with pytest.raises(DataError, match="judgments alone contain no features"):
        sr.compare_systems({"a": [1.0, 2.0]}, judgments(qrels))


def test_a_norm_under_which_nothing_helps_is_left_out() -> None:
    """Ranks of 1 alone are all equal under minmax of ranks; that a document was returned is information."""
    runs: Runs = {name: {f"q{q}": {f"d{(q + i) % 4}": 1.0 for i in range(2)} for q in range(12)} for name in "ab"}
    qrels = {f"q{q}": {f"d{q % 4}": 1.0, f"d{(q + 3) % 4}": 0.0} for q in range(12)}
    runs["b"] = {q: {d: 5.0 - i for i, d in enumerate(own)} for q, own in runs["b"].items()}
    result = sr.fuse(runs, qrels, **QUICK, norm=["returned", "rrf"])
    assert any("the norm returned was not tried" in note for note in result.selection.notes)


MEDIANS = [([1000, 1000, 10], 10, 100), ([1000, 1000, 10, 5], 10, 100), ([1000, 1000, 1000], 200, 200)]
MEDIANS += [([120, 130, 1000], 200, 200), ([250, 130, 1000], None, 100), ([15, 13, 1], 10, 13)]
MEDIANS += [([15, 13, 1, 1], 10, 10), ([3, 2], 10, 10), ([3, 2], None, 2), ([26.5, 25, 120], 10, 26)]


# two of three of 120, 130 and 1000 are shorter than the cutoff: the median of 130 is below it
@pytest.mark.parametrize(("medians", "cutoff", "expected"), MEDIANS)
def test_lists_are_cut_where_most_retrievers_end(medians: list[float], cutoff: int | None, expected: int) -> None:
    assert default_depth(medians, cutoff) == expected


@pytest.mark.parametrize("n_short", [1, 3])
def test_short_runs_cut_no_others(n_short: int) -> None:
    """With runs of one document per query, even if they are most of the runs, the others keep their lists."""
    runs, qrels = made(n_queries=20, qualities={"strong": 1.2, "other": 1.1})
    short = {f"one {i}": {q: dict(list(own.items())[:1]) for q, own in runs["strong"].items()} for i in range(n_short)}
    result = sr.fuse({**runs, **short}, qrels, **QUICK, norm="rrf")
    usual = {name: np.median([len(own) for own in run.values()]) for name, run in runs.items()}
    assert result.facts.depth == (int(min(usual.values())) if n_short == 1 else 10)
    alone = {row["retriever"]: row["alone"] for row in result.rows()}
    for name, run in runs.items():  # of whole lists: they are cut at the metric's cutoff or beyond
        expected = sr.evaluate(Run(flat(run)), judgments(qrels), "ndcg@10", convention="default")["ndcg@10"]
        assert alone[name] == pytest.approx(expected, abs=1e-12)
    (note,) = (n for n in result.selection.notes if "used as they are" in n)
    assert f"the depth of {result.facts.depth}" in note
    assert all(f"'{name}' (median 1)" in note for name in short)
    assert ("'strong'" in note) == (usual["strong"] < result.facts.depth)
    files = export_fusion(replace(result.formula, engine="elasticsearch"), "elasticsearch")
    window = json.loads(str(files["retriever.json"]))
    assert window["retriever"]["rrf"]["rank_window_size"] == result.facts.depth


def test_a_named_formula_that_is_chosen_is_shown_saved_and_exported(tmp_path: Path) -> None:
    """Retrievers of one quality and few topics: learned weights do not earn their place."""
    rng = np.random.default_rng(3)
    qrels = {f"q{q}": {f"d{d}": int(d < 3) for d in range(10)} for q in range(14)}
    runs: Runs = {}
    for name in "abc":
        runs[name] = {q: {d: own[d] + 0.8 * rng.normal() for d in own} for q, own in qrels.items()}
    result = sr.fuse(runs, qrels, **QUICK, out=tmp_path / "fused")
    chosen, choice = result.selection.chosen, result.selection.choice
    assert (chosen.formula, chosen.n_features, chosen is choice.named) == ("RRF", 3, True)
    assert result.weights == pytest.approx(dict.fromkeys(runs, 1 / 3))
    lines = str(result).splitlines()
    assert lines[0] == "Keep RRF of all 3 retrievers; these 14 queries cannot tell it from others."
    assert lines[2].startswith("14 queries, each scored by weights not learned from it")
    assert "chosen: RRF of all" in str(result)
    assert "RRF of all 3 retrievers: " in " ".join(lines)
    values = sr.evaluate(result.formula.apply(runs), judgments(qrels), "ndcg@10", convention="default")["ndcg@10"]
    assert values == pytest.approx(chosen.mean, abs=1e-12)
    assert "fused by RRF" in (tmp_path / "fused" / "report.html").read_text()
    saved = json.loads((tmp_path / "fused" / "result.json").read_text())
    assert saved["chosen"]["parameters"]["formula"] == "RRF"
    assert saved["dense"]["mean"] == saved["chosen"]["mean"]
    assert "rrf" in str(result.export("elasticsearch"))
    for k in (1, 2, 3):
        assert len(FusionFormula.load(tmp_path / "fused", k=k).terms) <= k
    alone = max(row["alone"] for row in result.rows())
    (single,) = [c for c in result.selection.by_size if c.n_features == 1]
    assert single.mean == pytest.approx(alone, abs=1e-12)  # a formula of one retriever is that retriever


# -- what the screen says first ----------------------------------------------------------------------------------------


def of_equal_quality(n_queries: int = 14, names: str = "abc", noise: float = 0.8) -> tuple[Runs, Judged]:
    """Retrievers with independent errors, of which all together are the best."""
    rng = np.random.default_rng(3)
    qrels = {f"q{q}": {f"d{d}": int(d < 3) for d in range(10)} for q in range(n_queries)}
    runs: Runs = {}
    for name in names:
        runs[name] = {q: {d: own[d] + noise * rng.normal() for d in own} for q, own in qrels.items()}
    return runs, qrels


@pytest.mark.parametrize("costs", [None, {"a": 1.0, "b": 2.0, "c": 4.0}])
def test_the_second_line_names_fewer_retrievers_that_are_not_shown_to_be_worse(costs: dict[str, float] | None) -> None:
    """With its interval and the option that chooses it. The wrong variant names sets that are shown to be worse."""
    result = sr.fuse(*of_equal_quality(), **QUICK, costs=costs)
    selection, choice = result.selection, result.selection.choice
    assert selection.chosen is choice.named
    mean = choice.named.mean
    compared = list(zip(selection.by_size, selection.all_features.sizes, strict=True))
    open_ = [(c, d) for c, d in compared if c.n_features < 3 and d.high >= 0]
    within = [(c, d) for c, d in open_ if d.difference >= -0.01 * mean]
    c, d = within[0] if within else max(open_, key=lambda row: row[1].difference)
    between = re.search(r"([-+\d.]+)% \(([-+\d.]+) to ([-+\d.]+)%\) against RRF of all", result.fewer)
    assert between is not None
    shown = [float(v) / 100 * mean for v in between.groups()]
    assert shown == pytest.approx([d.difference, d.low, d.high], abs=0.0011 * mean)
    asked = f"k={c.n_features}" if costs is None else f"budget={c.cost}"
    assert result.fewer.startswith(f"{c.n_features} of 3 retrievers: ")
    assert result.fewer.endswith(f"; {asked}")
    lines = str(result).splitlines()
    assert " ".join(lines[1:]).replace("  ", " ").startswith(f"{result.fewer}.")
    assert result.to_json()["fusion"]["fewer"] == result.fewer
    assert result.fewer.partition("; ")[0].replace(": ", " ") in result.headline
    limit: dict[str, Any] = {"k": c.n_features} if costs is None else {"budget": c.cost}
    again = sr.fuse(*of_equal_quality(), **QUICK, costs=costs, **limit)
    assert again.selection.chosen.values.tolist() == c.values.tolist()
    assert again.fewer == ""


def test_no_fewer_retrievers_are_named_where_they_are_shown_to_be_worse() -> None:
    result = sr.fuse(*of_equal_quality(200, "ab", 1.0), **QUICK)
    sizes = result.selection.all_features.sizes
    assert result.selection.chosen.n_features == 2
    assert all(d.high < 0 for d in sizes[:-1])
    assert result.fewer == ""


def test_the_first_line_says_where_the_queries_cannot_tell() -> None:
    """Whatever the promise: also where the choice leads by much, and not where the lead is shown."""
    runs, qrels = made(n_queries=12)
    result = sr.fuse(runs, qrels, **QUICK)
    against = result.selection.against_all
    assert result.selection.chosen is not result.selection.choice.named
    assert against.difference > 0.02 * against.mean
    assert against.low < 0 < against.high
    said = "these 12 queries cannot tell it from RRF of all"
    first = str(result).splitlines()[0]
    assert first.startswith(f"Keep {len(result.retrievers)} of 4 retrievers: ")
    assert first.endswith(f"; {said}.")
    assert said in result.headline
    assert result.to_json()["fusion"]["doubt"] == said
    many = sr.fuse(*made(n_queries=120), **QUICK)
    assert many.selection.against_all.low > 0
    assert many.doubt == ""
    assert "cannot tell it" not in f"{many}{many.headline}"


def test_the_lead_to_expect_is_that_of_the_corrected_mean() -> None:
    """Against RRF of all, from the printed figures; the wrong variant is the lead of the optimistic mean."""
    runs, qrels = made(n_queries=12)
    result = sr.fuse(runs, qrels, **QUICK)
    selection = result.selection
    rrf = selection.choice.named.mean
    text = " ".join(str(result).splitlines())
    figures = r"Expected on new queries: ([\d.]+) \(95%: [\d.]+ to [\d.]+; "
    found = re.search(figures + r"([-+\d.]+)% against RRF of all; these 12 ", text)
    assert found is not None
    expected, lead = map(float, found.groups())
    assert expected == pytest.approx(selection.choice.corrected_chosen, abs=5e-5)
    assert lead == pytest.approx(100 * (expected - rrf) / rrf, abs=0.06)
    assert abs(lead - 100 * (selection.chosen.mean - rrf) / rrf) > 0.2
    assert selection.to_json()["corrected"]["leads"] == {"RRF of all": pytest.approx(lead / 100, abs=6e-4)}
    kept = sr.fuse(*of_equal_quality(), **QUICK)  # what is chosen has no lead over itself
    assert kept.selection.leads == {}
    why = r"no interval: all but \d values are equal"
    assert re.search(
        rf"Expected on new queries: [\d.]+ \({why}\)",
        " ".join(" ".join(str(kept).splitlines()).split()),
    )


def test_no_row_is_a_formula_that_the_engine_cannot_run() -> None:
    """OpenSearch fuses five queries: no sum of six retrievers is compared, and the best of them is the reference."""
    runs, qrels = made(n_queries=20, qualities={f"r{i}": 1.0 - 0.1 * i for i in range(6)})
    held = qrels_of(qrels, range(15, 20))
    given = {**QUICK, "test_qrels": held}
    result = sr.fuse(runs, qrels_of(qrels, range(15)), **given, engine="opensearch")
    selection = result.selection
    names = [selection.against_all.name, *(r.name for r in selection.rivals.compared), *selection.test.values]
    assert not any(name.startswith(("RRF", "CombSUM", "equal weights")) for name in names)
    assert all(r.n_features <= 5 for r in (selection.against_all, *selection.rivals.compared))
    alone = {row["retriever"]: row["alone"] for row in result.rows()}
    best = max(alone, key=alone.__getitem__)
    assert (selection.against_all.name, selection.against_all.mean) == (f"{best} alone", alone[best])
    assert f"against {best} alone" in str(result)
    five = {name: run for name, run in runs.items() if name != "r5"}
    assert sr.fuse(five, qrels, **QUICK, engine="opensearch").selection.against_all.name == "RRF of all"


# -- one ranking, one value --------------------------------------------------------------------------------------------


def with_equal_scores(runs: Runs, form: str, folder: Path) -> dict[str, Any]:
    """The runs with scores of few values, in this form; ranks are those of the finer scores."""
    out: dict[str, Any] = {}
    for name, run in runs.items():
        rows = []
        for q, own in run.items():
            ordered = sorted(own, key=lambda d: -own[d])
            rows += [(q, d, rank, float(round(own[d]))) for rank, d in enumerate(ordered, start=1)]
        lines = {
            "ranks.run": [f"{q} Q0 {d} {rank} {s!r} tag" for q, d, rank, s in rows],
            "no-ranks.run": [f"{q} Q0 {d} 0 {s!r} tag" for q, d, _, s in rows],
            "ranks.csv": ["qid,docno,rank,score", *(f"{q},{d},{rank},{s!r}" for q, d, rank, s in rows)],
            "no-ranks.csv": ["qid,docno,score", *(f"{q},{d},{s!r}" for q, d, _, s in rows)],
        }
        if form == "mapping":
            out[name] = nested({(q, d): s for q, d, _, s in rows})
            continue
        out[name] = folder / f"{name}.{form}"
        out[name].write_text("".join(f"{line}\n" for line in lines[form]))
    return out


@pytest.mark.parametrize("form", ["ranks.run", "no-ranks.run", "ranks.csv", "no-ranks.csv", "mapping"])
def test_one_ranking_has_one_value_everywhere(form: str, tmp_path: Path, cli: Cli) -> None:
    """A retriever alone is its list in its own order: in `fuse`, on test queries, in JSON, where another one is
    switched off, as a fused run and in `evaluate`. The wrong variant of lists with ranks has its equal scores in the
    least favourable order."""
    finer, qrels = made(n_queries=40, qualities={"strong": 1.2, "other": 0.9})
    runs, inside, outside = with_equal_scores(finer, form, tmp_path), range(30), range(30, 40)
    given = {**QUICK, "test_qrels": qrels_of(qrels, outside)}
    result = sr.fuse(runs, qrels_of(qrels, inside), **given, k=2)
    one = sr.fuse(runs, qrels_of(qrels, inside), **given, k=1)

    def value(run: Any, queries: range) -> float:
        return sr.evaluate(run, judgments(qrels_of(qrels, queries)), "ndcg@10", convention="default")["ndcg@10"]

    alone = {name: value(run, inside) for name, run in runs.items()}
    best = max(alone, key=alone.__getitem__)
    assert {row["retriever"]: row["alone"] for row in result.rows()} == pytest.approx(alone, abs=1e-12)
    assert {r.name: r.mean for r in result.selection.rivals.compared if r.n_features == 1} == pytest.approx(
        {f"{name} alone": mean for name, mean in alone.items()}, abs=1e-12
    )
    assert result.selection.by_size[0].mean == pytest.approx(alone[best], abs=1e-12)
    assert one.selection.chosen.mean == pytest.approx(alone[best], abs=1e-12)
    saved = one.to_json()
    assert saved["chosen"]["mean"] == saved["sizes"][0]["mean"] == pytest.approx(alone[best], abs=1e-12)
    losses = {row["retriever"]: row["loss"] for row in result.rows() if row["kept"]}
    for name, other in (("strong", "other"), ("other", "strong")):
        assert losses[name] == pytest.approx(result.selection.chosen.mean - alone[other], abs=1e-12)
    test = one.selection.test
    assert test is not None
    assert not any(name.startswith("best single feature") for name in test.values)  # the same ranking once more
    for name in (test.baseline, f"{best} alone"):
        assert test.values[name]["ndcg@10"].mean() == pytest.approx(value(runs[best], outside), abs=1e-12)
    written = tmp_path / "fused.run"
    written.write_text("".join(run_lines(one.formula.apply(runs))))
    assert value(written, outside) == pytest.approx(value(runs[best], outside), abs=1e-12)
    if form == "ranks.run":
        worst = value(sr.read_run(runs[best]) | {}, inside)  # a mapping has no ranks
        assert worst < alone[best] - 0.01
        (tmp_path / "q").write_text("".join(f"{q} 0 {d} {g}\n" for (q, d), g in flat(qrels_of(qrels, inside)).items()))
        words = ("--qrels", tmp_path / "q", "--system", runs[best], "--convention", "default", "--format", "json")
        rows = json.loads(cli("evaluate", *words).out)
        assert next(r["mean"] for r in rows if r["metric"] == "ndcg@10") == pytest.approx(alone[best], abs=1e-12)


def test_conventions_of_tools_keep_their_order_of_equal_scores(tmp_path: Path) -> None:
    """trec_eval reads no ranks."""
    (tmp_path / "a.run").write_text("q Q0 a 1 2.0 t\nq Q0 b 2 2.0 t\n")
    qrels = judgments({"q": {"a": 1}})
    found = sr.evaluate(tmp_path / "a.run", qrels, ["trec:mrr", "mrr"], convention="default")
    assert found == {"trec:mrr": 0.5, "mrr": 1.0}
    (tmp_path / "b.run").write_text("q Q0 a x 2.0 t\nq Q0 b y 2.0 t\n")  # no ranks
    assert sr.evaluate(tmp_path / "b.run", qrels, "mrr", convention="default") == {"mrr": 0.5}
