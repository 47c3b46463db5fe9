"""The report: its statements on sizes, features left out, queries and figures are true, and names stay text."""

import itertools
import json
import re
import sys
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from html import escape
from html.parser import HTMLParser

import numpy as np
import pytest
import scipy.sparse as sp

import sparserank as sr
from sparserank.cli.app import main
from sparserank.crossval import substitutes as alike_module
from sparserank.crossval.current_model import InUse
from sparserank.crossval.substitutes import MIN_CORRELATION, redundant_features, within_query_correlations
from sparserank.data.categories import Derived
from sparserank.data.data_hash import data_hash
from sparserank.data.dataset import RankingDataset
from sparserank.data.transformed import fit_transform, transformed
from sparserank.datasets import make_curved_ranking
from sparserank.errors import DataWarning
from sparserank.evaluation import per_query_values
from sparserank.metrics import parse_metric
from sparserank.model.ranking_model import RankingModel
from sparserank.paths import PathPlan
from sparserank.report import size_picture
from sparserank.report.document import Picture, Section, Table
from sparserank.report.html import to_fragment, to_html
from sparserank.report.page import how_sure, lead, render_page
from sparserank.report.svg import PALETTE, inline, legend_below, new_axes, picture_text, to_svg
from sparserank.report.tables import column_table
from sparserank.selection import queries as queries_module
from sparserank.selection.claims import heading
from sparserank.selection.job import SelectionJob, SelectionProblem
from sparserank.selection.plan import make_plan
from sparserank.selection.queries import decisive_pair
from sparserank.selection.result import SelectionResult
from sparserank.shards.scaling import FeatureScaling
from sparserank.text import Caution, visible
from tests.support.models import rebuilt

QUICK = {"penalties": ["l1", "mcp"], "cv": 3, "n_alphas": 15, "feature_transform": "none", "guarantee": 0.02}
EVIL = "<img src=x onerror=alert(1)>\n\x1b[31m\u202e</script>"


def with_copies(data: RankingDataset, seed: int) -> RankingDataset:
    """The signals first, and two more features: the first one again with a little noise, the second one turned round;
    the third has a hostile name."""
    rng = np.random.default_rng(seed)
    names = sorted(data.feature_names or (), key=lambda name: not name.startswith("signal"))
    data = replace_features(data, data.X[:, [list(data.feature_names or ()).index(name) for name in names]], names)
    again = data.X[:, 0] + 0.1 * rng.standard_normal(data.n_docs) * data.X[:, 0].std()
    turned = -data.X[:, 1] + 0.1 * rng.standard_normal(data.n_docs) * data.X[:, 1].std()
    names = [*names, "again", "turned"]
    names[2] = EVIL
    docs = np.array([f"{EVIL}{i}" if i % 2 else f"d{i}" for i in range(data.n_docs)], dtype=object)
    return RankingDataset(np.column_stack([data.X, again, turned]), data.relevance, data.qid, docs, names)


def replace_features(data: RankingDataset, X: np.ndarray, names: Sequence[str] | None = None) -> RankingDataset:
    return RankingDataset(X, data.relevance, data.qid, data.docid, names or data.feature_names)


WORLD = sr.datasets.make_ranking(120, (8, 16), 10, n_informative=4, n_redundant=0, noise=0.6, random_state=3).data
ALL = with_copies(WORLD, 0)
TRAIN, TEST = ALL.take_queries(np.arange(80)), ALL.take_queries(np.arange(80, 120))


@pytest.fixture(autouse=True, scope="module")
def reports_without_pictures() -> None:
    """These tests read pictures."""


@pytest.fixture(scope="module")
def result() -> SelectionResult:
    return sr.select(TRAIN, None, TEST, **QUICK, half_samples=6)


@pytest.fixture(scope="module")
def page(result: SelectionResult, tmp_path_factory: pytest.TempPathFactory) -> str:
    return result.report(tmp_path_factory.mktemp("report") / "report.html").read_text(encoding="utf-8")


class Outline(HTMLParser):
    """Tags with their attributes, and the texts inside some of them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts.append((self._open[-1], data))

    def of(self, tag: str) -> list[str]:
        return [text for own, text in self.texts if own == tag]


# -- the sentence -----------------------------------------------------------------------------------------------------


def test_the_headline_states_what_is_kept_and_never_less_than_is_lost(result: SelectionResult) -> None:
    assert result.best is not result.chosen
    found = re.fullmatch(
        r"Keep (\d+) of (\d+) features; estimated loss ([\d.]+)%, at most ([\d.]+)%",
        result.headline,
    )
    assert found is not None
    kept, of, estimate, bound = found.groups()
    assert (int(kept), int(of)) == (len(result.model.support), 12)
    loss, exact = (100 * f(result.chosen) / result.best.mean for f in (result.choice.loss, result.choice.bound))
    assert float(estimate) == pytest.approx(loss, abs=0.05)
    assert exact <= float(bound) <= exact + 0.1


def test_few_queries_bound_nothing_and_the_headline_states_it() -> None:
    few = sr.select(TRAIN.take_queries(np.arange(4)), cv=2, penalties=["l1"], n_alphas=5, half_samples=0)
    assert "too few to bound the loss" in few.headline
    assert "inf" not in few.headline


# -- what enters and leaves -------------------------------------------------------------------------------------------


def sets_by_moves(rows: list[dict]) -> list[set[str]]:
    """The sets of features that a reader of the table arrives at."""
    present: set[str] = set()
    out = []
    for row in rows:
        assert present >= set(row["leave"])
        assert present.isdisjoint(row["enter"])
        present = (present - set(row["leave"])) | set(row["enter"])
        out.append(present)
    return out


def test_what_enters_and_leaves_leads_to_the_features_of_each_size(result: SelectionResult) -> None:
    rows = result.to_json()["sizes"]
    names = result.model.feature_names
    sets = sets_by_moves(rows)
    assert [len(s) for s in sets] == [row["n_features"] for row in rows]
    checked = 0
    for own, candidate in zip(sets, result.by_size, strict=True):
        if candidate.relax == 0:  # a point of the path itself
            assert own == {names[j] for j in result.paths[candidate.penalty].support(candidate.index)}
            checked += 1
    assert checked > 0
    chosen = next(own for own, row in zip(sets, rows, strict=True) if row["chosen"])
    assert chosen == {names[j] for j in result.model.support}
    assert result.sizes().to_dict("records") == [{k: v for k, v in r.items() if k != "ablation"} for r in rows]
    shifted = [{**row, "enter": later["enter"]} for row, later in itertools.pairwise(rows)]
    with pytest.raises(AssertionError):
        assert [len(s) for s in sets_by_moves(shifted)] == [row["n_features"] for row in rows[:-1]]


# -- features left out ------------------------------------------------------------------------------------------------


def by_hand(X: np.ndarray, query_ptr: np.ndarray) -> np.ndarray:
    """Correlations of deviations from the query's mean."""
    centred = np.concatenate([X[lo:hi] - X[lo:hi].mean(axis=0) for lo, hi in itertools.pairwise(query_ptr)])
    return np.corrcoef(centred.T)


@pytest.mark.parametrize("stored_as", ["dense", "sparse"])
@pytest.mark.parametrize("block", [1, 1 << 19])
def test_correlations_are_those_of_numpy_within_queries(stored_as, block, monkeypatch):
    monkeypatch.setattr(alike_module, "BLOCK_VALUES", block)
    levels = 5.0 * np.random.default_rng(1).standard_normal(ALL.n_queries)  # of queries: no difference within them
    X = np.array(ALL.X) + np.repeat(levels, np.diff(ALL.query_ptr))[:, None] * (ALL.X != 0)
    features = np.array([0, 4])

    def found() -> np.ndarray:
        data = RankingDataset(sp.csr_matrix(X) if stored_as == "sparse" else X, ALL.relevance, ALL.qid)
        return within_query_correlations(data, np.arange(data.n_queries), lambda d: d, features)

    expected = by_hand(X, ALL.query_ptr)[features]
    np.testing.assert_allclose(found(), expected, atol=1e-9)
    assert np.abs(found() - np.corrcoef(X.T)[features]).max() > 0.3  # over all rows it would be another statement
    X[:, 4], X[:, 6] = 3.0, 1e200 * X[:, 6]  # constant, or too large for products
    assert np.isfinite(found()).all()
    assert (found()[1] == 0).all()
    assert (found()[:, 4] == 0).all()


def test_a_feature_is_compared_in_the_form_in_which_the_model_takes_it() -> None:
    X = np.exp(np.array(ALL.X))
    data = RankingDataset(X, ALL.relevance, ALL.qid)
    features, every = np.array([0]), np.arange(data.n_queries)
    forms = {kind: fit_transform(data, kind) for kind in ("none", "log")}
    raw, log = (
        within_query_correlations(data, every, partial(transformed, transform=form), features)
        for form in forms.values()
    )
    np.testing.assert_allclose(raw[0], by_hand(X, data.query_ptr)[0], atol=1e-9)
    np.testing.assert_allclose(log[0], by_hand(np.log1p(X), data.query_ptr)[0], atol=1e-9)
    assert np.abs(raw - log).max() > 0.01


def test_what_was_left_out_is_listed_beside_the_feature_that_it_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    names, kept, asked = tuple(ALL.feature_names or ()), np.arange(4), {0: 10, 1: 7, 3: 11}
    R = by_hand(ALL.X, ALL.query_ptr)
    copies = [("again", names[0]), ("turned", names[1])]
    expected = sorted(copies, key=lambda r: -abs(R[names.index(r[1]), names.index(r[0])]))
    for most in (alike_module.MAX_PRODUCTS, 12):  # all kept features at once, or in pieces
        monkeypatch.setattr(alike_module, "MAX_PRODUCTS", most)
        found, beside = redundant_features(ALL, kept, lambda d: d, asked)
        assert [(r.feature, r.selected) for r in found.left] == expected
        for r in found.left:
            assert r.correlation == pytest.approx(R[names.index(r.selected), names.index(r.feature)])
        assert {r.feature: np.sign(r.correlation) for r in found.left} == {"again": 1.0, "turned": -1.0}
        assert beside == pytest.approx({0: R[0, 10], 1: R[1, 7], 3: R[3, 11]})
    assert redundant_features(ALL, np.array([4]), lambda d: d, {})[0].left == ()
    monkeypatch.setattr(alike_module, "MAX_DOCUMENTS", ALL.n_docs // 3)  # of more documents, some queries are enough
    found, _ = redundant_features(ALL, np.array([0]), lambda d: d, {})
    assert found.n_queries == pytest.approx(ALL.n_queries / 4, abs=1)
    assert [r.feature for r in found.left] == ["again"]


def test_the_page_names_redundant_features(result: SelectionResult, page: str) -> None:
    same = [r for r in result.redundant.left if abs(r.correlation) >= MIN_CORRELATION]
    assert same
    text = " ".join(t for _, t in Outline(page).texts)
    for r in same[:3]:
        assert f"{visible(r.feature)} ({r.correlation:+.2f})" in text
    kept = {result.model.feature_names[j] for j in result.model.support}
    assert all(r.selected in kept and r.feature not in kept for r in result.redundant.left)


# -- queries ----------------------------------------------------------------------------------------------------------


def test_queries_lost_and_won_are_those_of_the_metric(result: SelectionResult) -> None:
    found, metric = result.queries, parse_metric("ndcg@10")
    assert found.on == "test"
    assert result.test is not None
    systems = list(result.test.values.values())
    difference = systems[0]["ndcg@10"] - systems[1]["ndcg@10"]
    assert (found.wins, found.losses) == ((difference > 1e-12).sum(), (difference < -1e-12).sum())
    assert found.wins + found.losses + found.ties == TEST.n_queries
    order = np.argsort(difference, kind="stable")
    assert [q.query for q in found.lost] == [str(TEST.query_ids[q]) for q in order[: len(found.lost)]]
    assert [q.query for q in found.won] == [str(TEST.query_ids[q]) for q in order[::-1][: len(found.won)]]
    assert found.lost
    assert found.won
    (values,) = per_query_values(result.model.score_dataset(TEST), TEST, [metric])
    for q in (*found.lost, *found.won):
        at = [str(i) for i in TEST.query_ids].index(q.query)
        assert q.chosen == pytest.approx(values[at])
        assert q.difference == pytest.approx(difference[at])


def test_explanations_are_exact_and_those_of_explain(result: SelectionResult) -> None:
    seen = 0
    for q in (*result.queries.lost, *result.queries.won):
        pair = q.pair
        assert pair is not None
        assert pair.better.grade > pair.worse.grade
        lost = q.difference < 0
        assert (pair.better.chosen > pair.worse.chosen) is lost
        assert (pair.better.rival < pair.worse.rival) is lost
        assert pair.chosen == pytest.approx(sum(r.chosen or 0.0 for r in pair.features))
        assert pair.rival == pytest.approx(sum(r.rival or 0.0 for r in pair.features) + pair.others[1])
        explained = sr.explain_query(result.model, TEST, q.query)
        rows = explained.pair(pair.better.document, pair.worse.document)
        own = {r.feature: (r.better, r.worse, r.chosen) for r in pair.features if r.chosen is not None}
        assert own == {r["feature"]: (r["above"], r["below"], pytest.approx(r["difference"])) for r in rows}
        seen += lost
    assert 0 < seen < 10


def test_the_decisive_pair_is_the_one_whose_exchange_gains_most() -> None:
    """Against all pairs of documents that the two rankings order differently."""
    rng, metric = np.random.default_rng(5), parse_metric("ndcg@10")
    own = RankingDataset(rng.standard_normal((9, 2)), rng.integers(0, 3, 9), np.zeros(9, dtype=int), None, ["a", "b"])
    one = RankingModel.from_arrays(np.array([1.0, 0.0]), ("a", "b"), FeatureScaling("none", np.zeros(2), np.ones(2)))
    other = rebuilt(one, coef=np.array([0.0, 1.0]))
    scores = own.X[:, 0], own.X[:, 1]
    for lost in (True, False):
        wrong, right = scores if lost else scores[::-1]
        best, most = None, 0.0
        for b in range(9):
            for w in range(9):
                if own.relevance[b] > own.relevance[w] and wrong[b] < wrong[w] and right[b] > right[w]:
                    swapped = wrong.copy()
                    swapped[[b, w]] = wrong[[w, b]]
                    before, after = (metric(s, own.relevance, own.query_ptr)[0] for s in (wrong, swapped))
                    if after - before > most:
                        best, most = (b, w), after - before
        found = decisive_pair(own, metric, one, InUse("other", (), other), lost=lost)
        assert best is not None
        assert found is not None
        assert (found.better.document, found.worse.document) == tuple(f"d{i + 1}" for i in best)
        assert found.chosen == pytest.approx(own.X[best[0], 0] - own.X[best[1], 0])
        assert found.rival == pytest.approx(own.X[best[0], 1] - own.X[best[1], 1])
    assert decisive_pair(own, metric, one, InUse("itself", (), one), lost=True) is None


def test_a_query_that_is_too_large_is_not_explained(monkeypatch: pytest.MonkeyPatch, result: SelectionResult) -> None:
    values, metric = result.queries, parse_metric("ndcg@10")
    monkeypatch.setattr(queries_module, "MAX_VALUES", 10)
    dense = InUse("dense", (), sr.papers.RankSVM().fit_dataset(TRAIN).to_model())
    both = [per_query_values(m.score_dataset(TEST), TEST, [metric])[0] for m in (result.model, dense.model)]
    found = queries_module.compare_queries(TEST, metric, (both[0], both[1]), lambda q: (result.model, dense), "test")
    assert values.lost[0].pair is not None
    assert found.lost
    assert all(q.pair is None for q in (*found.lost, *found.won))


@pytest.mark.slow_but("auto")
@pytest.mark.parametrize("kind", ["none", "auto", "steps"])
def test_models_of_folds_have_the_values_that_candidates_are_judged_by(kind: str) -> None:
    X = np.exp(np.array(TRAIN.X))
    curved = make_curved_ranking(30, n_features=8, n_curved=3, random_state=2).data
    data = curved if kind == "steps" else replace_features(TRAIN, X)
    given = {
        "penalties": "steps" if kind == "steps" else "mcp",
        "metric": "ndcg@10",
        "report_metrics": (),
        "convention": "default",
        "cv": 2,
    }
    settings = PathPlan(n_alphas=8)
    plan = make_plan(**given, path_plan=settings, half_samples=0, feature_transform="none" if kind == "steps" else kind)  # type: ignore[arg-type]
    job = SelectionJob(plan, SelectionProblem(data), n_threads=1)
    candidate_set = job.candidates()
    sparse, dense = candidate_set.sparse, candidate_set.dense
    some = [*sparse[:: max(len(sparse) // 6, 1)], dense[0], dense[-1]]
    assert kind != "auto" or len({c.penalty for c in some}) > 2
    for c in some:
        for f in job.cv.folds:
            own = data.take_queries(np.flatnonzero(job.cv.fold == f))
            (values,) = per_query_values(candidate_set.model(c, job.names, f).score_dataset(own), own, [plan.metric])
            np.testing.assert_allclose(values, c.values[job.cv.fold == f], atol=1e-9)
        assert candidate_set.model(c, job.names).n_features == data.n_features


def test_without_test_data_queries_are_explained_by_models_that_have_not_seen_them() -> None:
    result = sr.select(TRAIN, **QUICK, half_samples=0)
    assert result.queries.on == "out of fold"
    order = np.argsort(result.chosen.values - result.dense.values, kind="stable")
    assert next(q.query for q in result.queries.lost) == str(TRAIN.query_ids[order[0]])
    q = result.queries.lost[0]
    assert (q.chosen, q.rival) == (result.chosen.values[order[0]], result.dense.values[order[0]])
    assert q.pair is not None
    assert q.pair.better.chosen > q.pair.worse.chosen
    assert q.pair.better.rival < q.pair.worse.rival
    in_use = sr.select(TRAIN, current=str(TRAIN.feature_names[0]), half_samples=0, **QUICK)  # type: ignore[index]
    assert in_use.queries.rival.startswith("model in use (score")
    pairs = [q.pair for q in (*in_use.queries.lost, *in_use.queries.won) if q.pair]
    assert pairs
    assert all(p.rival is None for p in pairs)
    json.dumps(in_use.to_json(), allow_nan=False)


# -- figures ----------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:feature 'f1' alone orders")
@pytest.mark.parametrize("metric", ["ndcg@10", "map"])
def test_axes_end_where_the_metric_does(metric: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A perfect ranking: it loses nothing, and no axis goes beyond."""
    rng = np.random.default_rng(0)
    relevance = rng.integers(0, 2, 300)
    X = np.column_stack([relevance + 0.1 * rng.random(300), rng.random(300)])
    perfect = RankingDataset(X, relevance, np.repeat(np.arange(30), 10))
    few = {"penalties": ["l1"], "cv": 2, "n_alphas": 5, "half_samples": 0, "feature_transform": "none"}
    result = sr.select(perfect, metric=metric, convention="xgboost", **few)
    assert result.chosen.mean == pytest.approx(1.0)
    drawn = []
    monkeypatch.setattr(size_picture, "to_svg", lambda figure, title: drawn.append(figure) or "")
    size_picture.quality_against_size(result)
    low, high = drawn[0].axes[0].get_ylim()
    assert -100.0 <= low < high == 0.0


def test_pictures_are_images_with_title_and_description(page: str) -> None:
    pictures = re.findall(r"<svg xmlns.*?</svg>", page, flags=re.DOTALL)
    assert len(pictures) == 2  # sizes, and losses without each feature
    identifiers: list[str] = []
    for text in pictures:
        svg = ET.fromstring(text)
        assert svg.get("role") == "img"
        own = {e.get("id"): e for e in svg.iter() if e.get("id")}
        title, described = own[svg.get("aria-labelledby")], own[svg.get("aria-describedby")]
        assert len(title.text or "") > 10
        assert len(described.text or "") > 20
        assert "stroke: var(--ink, #" in text
        for used in re.findall(r'(?:href="#|url\(#)([^")]+)', text):
            assert used in own
        identifiers += [str(i) for i in own]
    assert len(set(identifiers)) == len(identifiers)


def test_what_a_picture_writes_is_left_alone() -> None:
    """A name made of what is rewritten: identifiers, references, colours."""
    name = 'id="x" style="#1d4ed8" url(#a) href="#b" #1c2330'
    figure, axes = new_axes("x", "y")
    axes.plot([0, 1], [0, 1], label=picture_text(name), color="#1d4ed8")
    legend_below(figure)
    svg = inline(Picture("p", f"caption {EVIL}", to_svg(figure, "t"), EVIL), "own-")
    texts = list(ET.fromstring(svg).itertext())
    assert name in texts
    assert "var(--s0, #1d4ed8)" in svg
    assert "<img" not in svg
    assert "\x1b" not in svg
    assert "\u202e" not in svg


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_texts_and_lines_stand_out_in_both_palettes(dark: bool) -> None:
    of = {name: pair[dark] for name, pair in PALETTE.items()}
    for text in ("ink", "soft", "link"):
        assert contrast(of[text], of["paper"]) >= 4.5  # WCAG 2.2, 1.4.3
    assert contrast(of["ink"], of["tint"]) >= 4.5
    for line in ("accent", *(n for n in of if re.fullmatch(r"s\d", n))):
        assert contrast(of[line], of["paper"]) >= 3.0  # 1.4.11
    assert contrast(of["faint"], of["paper"]) < 3.0  # what stays behind


# -- the page ---------------------------------------------------------------------------------------------------------


def test_the_sentence_comes_first_then_the_features_then_the_rest(result: SelectionResult, page: str) -> None:
    found = Outline(page)
    title = heading(result.choice, result.n_all)
    assert found.of("h1") == [title]
    assert found.of("title")[0] == title
    first, *_, last = found.of("h2")
    assert (first, last) == ("Selected features", "Origin")
    chips = page[page.index('class="chips"') : page.index("How sure")]
    for d in result.worth.features:
        assert chips.count("<li>") == len(result.worth.features)
        assert d["feature"] == EVIL or d["feature"] in chips
    assert page.index("<h1>") < page.index('class="lead"') < page.index('class="chips"') < page.index("<h2")
    assert escape(" ".join(lead(result.claims))) in page
    for claim, figure, meaning in how_sure(result.claims).rows:
        assert {visible(text) for text in (claim, figure, meaning) if text} <= {text for _, text in found.texts}


def test_the_page_asks_for_nothing_and_runs_its_own_script_alone(page: str) -> None:
    found = Outline(page)
    scripts = [a for t, a in found.tags if t == "script"]
    assert [a.get("type") for a in scripts] == ["application/json", None]  # the data, then what moves the size
    tags = {t for t, a in found.tags if a.get("href") != "data:,"}
    assert tags.isdisjoint(("iframe", "img", "link", "object", "base", "form"))
    asking = ("src", "href", "xlink:href", "srcset", "data")
    links = [v for _, a in found.tags for k, v in a.items() if k in asking and v]
    assert {v for v in links if not v.startswith("#")} == {"data:,"}
    assert not [k for _, a in found.tags for k in a if k.startswith("on")]
    assert "@import" not in page
    assert re.findall(r"url\((?!#)", page) == []


@pytest.mark.filterwarnings("ignore")
def test_the_box_is_for_warnings(result: SelectionResult) -> None:
    """What is said beforehand on the screen as a warning is in a box of the page; what only informs is not."""
    page = render_page(replace(result, notes=["it informs.", Caution("it warns.")]))
    assert page.count('class="note"') == page.count('<p class="note">it warns.</p>') == 1
    assert page.count('<p class="soft">it informs.</p>') == 1
    leak = np.column_stack([WORLD.X, WORLD.relevance, np.ones(WORLD.n_docs)])
    data = RankingDataset(leak, WORLD.relevance, WORLD.qid, None, [*(WORLD.feature_names or ()), "leak", "same"])
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", DataWarning)
        quick = {"penalties": "l1", "half_samples": 0, "rival": "none", "n_alphas": 8, "cv": 2}
        told = sr.select(data, keep=["same"], engine="ranklib", **quick).notes
    warned = {str(w.message) for w in found if w.category is DataWarning}
    assert {note for note in told if isinstance(note, Caution)} == warned != set()
    assert any(note.startswith("for ranklib: ") for note in set(told) - warned)


def test_hostile_names_are_text_everywhere(result: SelectionResult, page: str) -> None:
    assert EVIL in {d["feature"] for d in result.worth.features}
    assert "<img" not in page
    assert re.search("[\x00-\x08\x0b-\x1f\x7f\x9b\u202e]", page) is None
    assert r"&lt;img src=x onerror=alert(1)&gt;\n\x1b[31m\u202e&lt;/script&gt;" in page
    assert json.loads(json.dumps(result.to_json()))["features"]


def test_templates_escape_every_text() -> None:
    evil = "<img src=x onerror=alert(1)>\"'&{{ 7 * 7 }}"
    table = Table(evil, [evil, evil], [[evil, evil]], note=evil, words=(1,))
    page = to_html(evil, evil, [Section(evil, evil, [table])], [evil], [evil], sure=table)
    cell = to_fragment(evil, [evil], Section("", "", [table]), "n")
    for text, least in ((page, 14), (cell, 8)):
        assert "<img" not in text
        assert text.count("&lt;img src=x onerror=alert(1)&gt;&#34;&#39;&amp;{{ 7 * 7 }}") >= least
    assert "<img" not in to_html("t", "i", [], top=evil)  # type: ignore[arg-type]  # HTML is what templates made


def test_tables_have_headers_and_boxes_of_their_own(page: str) -> None:
    found = Outline(page)
    n = sum(tag == "table" for tag, _ in found.tags)
    boxes = [a for tag, a in found.tags if tag == "div" and a.get("class") == "scroll"]
    assert len(boxes) == n > 10
    assert all(a["tabindex"] == "0" and a["role"] == "region" and a["aria-label"] for a in boxes)
    assert all(a.get("scope") in ("col", "row") for tag, a in found.tags if tag == "th")
    levels = [int(tag[1]) for tag, _ in found.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert all(b <= a + 1 for a, b in itertools.pairwise(levels))


def test_result_json_holds_what_the_page_shows(result: SelectionResult) -> None:
    content = result.to_json()
    json.dumps(content, allow_nan=False)
    assert content["headline"] == result.headline
    assert content["redundant"]["least"] == MIN_CORRELATION
    assert [r["feature"] for r in content["redundant"]["left"]] == [r.feature for r in result.redundant.left]
    assert content["queries"]["lost"][0]["pair"]["features"][0]["feature"] in result.model.feature_names
    assert content["queries"]["lost"][0]["difference"] == result.queries.lost[0].difference
    assert result.stability is not None
    shares = {r["feature"]: r["selection_frequency"] for r in content["stability"]["features"]}
    assert sum(shares.values()) == pytest.approx(result.stability.frequency.sum())


# -- origin -----------------------------------------------------------------------------------------------------------


def test_the_origin_names_data_command_date_and_versions(tmp_path, monkeypatch, result):
    assert result.origin is not None
    assert result.origin.command is None  # a call in Python
    assert [(p.part, p.files, p.documents, p.queries, p.hash) for p in result.origin.data] == [
        ("train", (), TRAIN.n_docs, 80, data_hash(TRAIN)),
        ("test", (), TEST.n_docs, 40, data_hash(TEST)),
    ]
    sr.write_letor(WORLD, tmp_path / "a b.txt")
    few = "--penalty l1 --folds 2 --n-alphas 5"
    argv = ["sparserank", "select", str(tmp_path / "a b.txt"), "--out", str(tmp_path / "run"), *few.split()]
    monkeypatch.setattr(sys, "argv", argv)
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    origin = json.loads((tmp_path / "run/result.json").read_text())["origin"]
    assert origin["command"] == " ".join(a if " " not in a else f"'{a}'" for a in argv)
    assert origin["data"][0]["files"] == [str(tmp_path / "a b.txt")]
    assert origin["versions"]["sparserank"] == sr.__version__
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", origin["date"])
    page = (tmp_path / "run/report.html").read_text()
    for text in ("sparserank select", "a b.txt", origin["date"][:10], origin["data"][0]["hash"]):
        assert text in page


def test_other_peoples_command_lines_are_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    from sparserank.selection.origin import command_line

    monkeypatch.setattr(sys, "argv", ["/usr/bin/train.py", "--token", "secret"])
    assert command_line() is None
    monkeypatch.setattr(sys, "argv", [""])
    assert command_line() is None
    monkeypatch.setattr(sys, "argv", ["/opt/lib/sparserank/__main__.py", "select", "a b"])
    assert command_line() == "sparserank select 'a b'"


def test_levels_are_named_whole() -> None:
    levels = {"brand=brand new": "brand new", "brand=brand=x": "brand=x", "brand is missing": ""}
    derived = {name: Derived("brand", level) for name, level in levels.items()}
    unit = FeatureScaling("none", np.zeros(3), np.ones(3))
    model = RankingModel.from_arrays(np.array([3.0, 2.0, 1.0]), tuple(levels), unit, derived=derived)
    rows = column_table(model).rows
    assert rows == [
        ["brand", "brand new", "+3.0000"],
        ["brand", "brand=x", "+2.0000"],
        ["brand", "missing", "+1.0000"],
    ]
