"""Two models compared: which changes are called real, the size of a change, and the differences on data."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sparserank as sr
from sparserank.bins import StepFunction
from sparserank.data.categories import Derived
from sparserank.errors import DataError, ModelFormatError, ParameterError
from sparserank.model import RankingModel
from sparserank.selection.diff import diff_of, side_of
from sparserank.shards.scaling import FeatureScaling
from sparserank.transforms import Transform
from tests.support.command_line import Cli, assert_refused

NAMES = ("a", "b", "c", "d")


def model(weights: Mapping[str, float], names: Sequence[str] = NAMES, **fields: Any) -> sr.RankingModel:
    n = len(names)
    coef = np.array([weights.get(name, 0.0) for name in names])
    return sr.RankingModel.from_arrays(coef, tuple(names), FeatureScaling("none", np.zeros(n), np.ones(n)), **fields)


def run_of(
    folder: Path,
    made: sr.RankingModel,
    shares: Mapping[str, float],
    *,
    half_samples: int = 20,
    protocol: str = "cv",
    trained: Sequence[str] | None = None,
) -> Path:
    """A run directory, as far as `diff` reads it."""
    folder.mkdir()
    made.save(folder / "model.json")
    features = [{"feature": name, "selection_frequency": share} for name, share in shares.items() if share]
    found = {"metrics": ["ndcg@10"], "protocol": protocol, "chosen": {"n_features": len(made.support)}}
    found["stability"] = {"half_samples": half_samples, "features": features} if half_samples else None
    (folder / "result.json").write_text(json.dumps(found))
    if trained is not None:
        pq.write_table(pa.table({"query": pa.array(trained).dictionary_encode()}), folder / "per_query.parquet")
    return folder


# -- which changes are real -------------------------------------------------------------------------------------------


def is_real(uses: Sequence[bool], other: Sequence[bool]) -> bool:
    """The oracle: counts of half-samples, in whole numbers. uses: of the run that uses the feature."""
    return 10 * sum(uses) >= 9 * len(uses) and 10 * sum(other) <= len(other)


@pytest.mark.parametrize("n", [10, 20, 30])
def test_a_feature_came_in_or_left_if_the_half_samples_of_both_runs_say_so(n: int, tmp_path: Path) -> None:
    rng, seen = np.random.default_rng(n), set()
    counts = [
        (n // 10, 9 * n // 10),
        *zip(rng.integers(0, 2 * n // 5, 12), rng.integers(7 * n // 10, n + 1, 12), strict=True),
    ]
    for i, pair in enumerate(counts):
        seldom, often = ([k < count for k in range(n)] for count in pair)
        low = run_of(tmp_path / f"low{i}", model({"a": 1.0}), {"a": 1.0, "b": sum(seldom) / n}, half_samples=n)
        high = run_of(tmp_path / f"high{i}", model({"b": 1.0}), {"b": sum(often) / n}, half_samples=n)
        real = is_real(often, seldom)
        seen.add(real)
        for old, new, change in ((low, high, "came in"), (high, low, "left")):
            (row,) = (r for r in sr.diff(old, new).features if r["feature"] == "b")
            assert (row["change"], row["real"]) == (change, real), pair
    assert seen == {True, False}


def test_a_feature_of_the_larger_model_has_no_verdict(tmp_path: Path, cli_here: Cli) -> None:
    """Half-samples of six features keep what those of three have no room for; what the smaller model uses, and the
    larger one leaves in spite of its room, can be judged."""
    small = run_of(tmp_path / "small", model({"a": 1.0, "b": 1.0}), {"a": 1.0, "b": 0.9, "c": 0.1})
    large = run_of(tmp_path / "large", model({"a": 1.0, "c": 1.0, "d": 1.0}), {"a": 1.0, "b": 0.1, "c": 1.0, "d": 0.9})
    for pair in ((small, large), (large, small)):
        found = sr.diff(*pair)
        assert {r["feature"]: r["real"] for r in found.features} == {"a": None, "b": True, "c": None, "d": None}
        assert any("repeat that selection with k=2" in sentence for sentence in found.sentences)
    shown = cli_here("diff", "small", "large")
    verdicts = {line.split()[0]: line for line in shown.out.splitlines() if line[:2] in ("a ", "b ", "c ", "d ")}
    assert [verdicts[name].endswith("cannot tell") for name in "abcd"] == [False, False, True, True]
    assert verdicts["b"].endswith("real")
    assert "repeat that selection with --k 2" in " ".join(shown.out.split())


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [(3, 3), (2, 5)])
def test_samples_of_one_population_have_no_real_change(sizes: tuple[int, int], tmp_path: Path) -> None:
    """The larger models of these pairs have features that nearly all of their half-samples keep, and few of those of
    the smaller ones."""
    n_pairs = 10
    weights = np.array([1.0, 0.8, 0.6, 0.45, 0.35, 0.25, 0.2, 0.1])
    tempting, real = 0, 0
    for seed in range(n_pairs):
        runs = []
        for place, k in enumerate(sizes):
            rng = np.random.default_rng([seed, place])
            qid = np.repeat(np.arange(60), 12)
            X = rng.standard_normal((len(qid), 8))
            y = np.digitize(X @ weights + rng.normal(0, 1.2, len(qid)), [1.0, 2.5])
            runs.append(tmp_path / f"{seed}-{place}")
            sr.select(
                sr.RankingDataset(X, y, qid),
                penalties="best_k",
                cv=2,
                half_samples=20,
                rival="none",
                feature_transform="none",
                k=k,
                margin=0,
                out=runs[-1],
            )
        rows = sr.diff(*runs).features
        real += any(r["real"] for r in rows)
        tempting += any(r["change"] == "came in" and r["new_share"] >= 0.9 and r["old_share"] <= 0.1 for r in rows)
    assert real <= n_pairs // 10
    assert (tempting > n_pairs // 10) == (sizes[0] < sizes[1])


def test_levels_that_came_and_went_are_named() -> None:
    def made(levels: Sequence[str]) -> sr.RankingModel:
        derived = {f"brand={level}": Derived("brand", level) for level in levels} | {"x is missing": Derived("x", None)}
        names = (*derived, "x")
        none = FeatureScaling("none", np.zeros(len(names)), np.ones(len(names)))
        return RankingModel.from_arrays(
            np.array([1.0, *[0.0] * (len(levels) - 1), 0.5, 1.0]), names, none, derived=derived
        )

    said = "Levels of 'brand': came 'omega', 'psi'; went 'zeta'."
    assert said in sr.diff(made(["acme", "zeta"]), made(["acme", "omega", "psi"])).sentences
    assert "Levels of 'brand': went 'zeta'." in sr.diff(made(["acme", "zeta"]), made(["acme"])).sentences
    assert not any("Levels" in s for s in sr.diff(made(["acme", "zeta"]), made(["zeta", "acme"])).sentences)


def test_a_feature_that_the_older_data_lack_needs_only_the_half_samples_of_the_new_run(tmp_path: Path) -> None:
    old = run_of(tmp_path / "old", model({"a": 1.0}, NAMES[:2]), {"a": 1.0})
    new = run_of(tmp_path / "new", model({"a": 1.0, "c": 1.0, "d": 1.0}), {"a": 1.0, "c": 0.9, "d": 0.6})
    rows = {row["feature"]: row for row in sr.diff(old, new).features}
    assert [rows[name]["old_share"] for name in "cd"] == [None, None]
    assert [rows[name]["real"] for name in "cd"] == [True, False]


def test_without_half_samples_of_both_models_no_change_is_called_real(tmp_path: Path) -> None:
    shares = {"a": 1.0, "b": 1.0}
    whole = run_of(tmp_path / "whole", model({"a": 1.0}), {"a": 1.0})
    other = model({"b": 1.0})
    few = run_of(tmp_path / "few", other, shares, half_samples=8)
    none = run_of(tmp_path / "none", other, shares, half_samples=0)
    damaged = run_of(tmp_path / "damaged", other, shares)
    (damaged / "result.json").write_text('{"metrics": 1')
    for shape in ("[]", '{"metrics": []}', '{"metrics": [], "protocol": 1, "stability": [1], "chosen": {}}'):
        odd = run_of(tmp_path / f"odd{len(shape)}", other, shares)
        (odd / "result.json").write_text(shape)
        assert side_of(odd).shares is None
    alone = run_of(tmp_path / "alone", other, shares)
    (alone / "result.json").unlink()
    for old, new, lacking in (
        *((whole, other, "new"), (other, whole, "old"), (other, other, "old and new")),
        *((whole, found, "new") for found in (few, none, damaged, alone, whole / "model.json")),
    ):
        found = sr.diff(old, new)
        assert {row["real"] for row in found.features} == {None}
        assert found.sentences[-1].startswith("No change is called real: ")
        assert found.sentences[-1].endswith(f"(lacking: {lacking}).")


def test_half_samples_of_another_size_decide_nothing(tmp_path: Path) -> None:
    data = sr.datasets.make_ranking(60, (6, 10), 6, n_informative=3, n_redundant=1, random_state=2).data
    options: dict[str, Any] = {"penalties": "l1", "n_alphas": 25, "cv": 2, "rival": "none", "feature_transform": "none"}
    result = sr.select(data, half_samples=10, k=3, out=tmp_path / "run", **options)
    assert result.stability is not None
    chosen = side_of(tmp_path / "run")
    assert chosen.shares == {row["feature"]: row["selection_frequency"] for row in result.facts.stability}
    assert chosen.trained == set(result.query_ids)
    assert chosen.metrics[0] == result.metric
    smaller = side_of(tmp_path / "run", 1)
    assert (len(smaller.model.support), smaller.shares) == (1, None)
    assert side_of(tmp_path / "run", 3).shares == chosen.shares
    found = sr.diff(tmp_path / "run", tmp_path / "run", k=1)
    assert [row["difference"] for row in found.features] == [0.0]


def test_damaged_tables_of_a_run_are_not_known(tmp_path: Path) -> None:
    run = run_of(tmp_path / "run", model({"a": 1.0}), {"a": 1.0}, trained=["q1"])
    whole, rng = (run / "per_query.parquet").read_bytes(), np.random.default_rng(0)
    known = side_of(run)
    assert known.trained == {"q1"}
    for _ in range(200):
        damaged = bytearray(whole)
        damaged[rng.integers(len(damaged))] = rng.integers(256)
        (run / "per_query.parquet").write_bytes(damaged)
        assert side_of(run).shares == known.shares
    (run / "per_query.parquet").unlink()
    (run / "per_query.parquet").symlink_to(tmp_path / "elsewhere")
    assert side_of(run).trained is None


# -- the size of a change ---------------------------------------------------------------------------------------------


def test_weights_are_shares_of_their_model_whatever_the_scale_of_its_scores() -> None:
    old, new = {"a": 3.0, "b": -1.0}, {"b": -2.0, "c": 2.0}
    rows = {row["feature"]: row for row in sr.diff(model(old), model(new)).features}
    assert [rows[n]["old"] for n in "abc"] == [0.75, -0.25, None]
    assert [rows[n]["new"] for n in "abc"] == [None, -0.5, 0.5]
    assert [rows[n]["difference"] for n in "abc"] == [-0.75, -0.25, 0.5]
    assert list(rows) == ["c", "a", "b"]  # came in, left, in both
    seven = model({name: 7.0 * weight for name, weight in old.items()})
    assert {row["difference"] for row in sr.diff(model(old), seven).features} == {0.0}
    assert sr.diff(model({}), model({})).features == []


def test_the_shape_is_half_the_range_of_the_difference_of_two_step_functions() -> None:
    rng = np.random.default_rng(3)

    def stepped(weight: float) -> sr.RankingModel:
        steps = StepFunction(np.sort(rng.uniform(-2.0, 2.0, 5)), rng.standard_normal(6))
        return model({"a": weight, "b": 1.0}, steps={0: steps})

    old, new = stepped(2.0), stepped(-0.5)
    x = np.linspace(-3.0, 3.0, 60_001)
    drawn = [m.coef[0] * m.features[0].steps(x) / np.abs(m.coef).sum() for m in (old, new)]
    expected = 0.5 * np.ptp(drawn[1] - drawn[0])
    row = next(r for r in sr.diff(old, new).features if r["feature"] == "a")
    assert row["shape"] == pytest.approx(expected, rel=1e-3)
    assert abs(row["difference"]) != pytest.approx(expected, rel=1e-3)  # it is not that of the weights
    assert next(r for r in sr.diff(old, old).features if r["feature"] == "a")["shape"] == 0.0


def test_steps_have_no_shape_in_common_with_a_line_or_a_transform() -> None:
    stepped = model({"a": 1.0}, steps={0: StepFunction(np.array([0.0, 1.0]), np.array([0.0, 1.0, 0.0]))})
    logged = model({"a": 1.0}, transform=Transform(("log", *["none"] * 3), np.ones(4)))
    for other in (model({"a": 1.0}), logged):
        assert [row["shape"] for row in sr.diff(stepped, other).features] == [None]
        assert [row["shape"] for row in sr.diff(other, stepped).features] == [None]
    assert [row["shape"] for row in sr.diff(stepped, stepped).features] == [0.0]


# -- on data ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def judged() -> sr.RankingDataset:
    """30 queries of 4 to 17 documents."""
    rng = np.random.default_rng(5)
    sizes = rng.integers(4, 18, 30)
    qid = np.repeat([f"q{i}" for i in range(30)], sizes)
    X = rng.standard_normal((sizes.sum(), 4))
    y = np.clip(np.round(X[:, 0] + 0.5 * X[:, 1] + rng.standard_normal(len(X))), 0, 3)
    return sr.RankingDataset(X, y, qid, feature_names=NAMES)


def lists(made: sr.RankingModel, data: sr.RankingDataset) -> dict[str, list[int]]:
    """{query: rows, best first}, by sorting each query; no two scores are equal."""
    scores = (np.asarray(data.X) @ made.coef).tolist()
    rows: dict[str, list[int]] = {}
    for i, q in enumerate(np.asarray(data.qid).tolist()):
        rows.setdefault(q, []).append(i)
    return {q: sorted(own, key=lambda i: -scores[i]) for q, own in rows.items()}


def ndcg(order: Sequence[int], grades: Sequence[float]) -> float:
    gains = [2.0 ** grades[i] - 1.0 for i in order]
    best = sum(g / math.log2(r + 2) for r, g in enumerate(sorted(gains, reverse=True)[:10]))
    return sum(g / math.log2(r + 2) for r, g in enumerate(gains[:10])) / best if best else 0.0


def test_overlap_and_most_changed_queries_are_those_of_sorted_lists(judged: sr.RankingDataset) -> None:
    made = model({"a": 1.0, "b": 0.2}), model({"a": 0.6, "c": 0.9})
    found = sr.diff(*made, judged)
    before, after = (lists(m, judged) for m in made)
    common = {q: len(set(before[q][:10]) & set(after[q][:10])) / 10 for q in before}
    long = [q for q in before if len(before[q]) > 10]
    assert 0 < len(long) < len(before)
    assert found.overlap == (pytest.approx(sum(common[q] for q in long) / len(long)), len(long))
    assert found.overlap[0] != pytest.approx(sum(common.values()) / len(common))  # short lists do not count
    grades = np.asarray(judged.relevance).tolist()
    change = {q: ndcg(after[q], grades) - ndcg(before[q], grades) for q in before}
    assert [row["query"] for row in found.queries] == sorted(change, key=lambda q: -abs(change[q]))[:10]
    for row in found.queries:
        assert row["old"] == pytest.approx(ndcg(before[row["query"]], grades))
        assert row["new"] == pytest.approx(ndcg(after[row["query"]], grades))
        assert row["difference"] == row["new"] - row["old"]
    assert found.comparison is not None
    row = found.comparison.rows()[1]
    assert (row["system"], row["metric"]) == ("new", "ndcg@10")
    assert row["difference"] == pytest.approx(np.mean(list(change.values())))
    said = (
        f"The two top 10s have {10 * found.overlap[0]:.2f} of 10 documents in common (mean of the {len(long)} queries"
    )
    assert any(sentence.startswith(said) for sentence in found.sentences)


def test_scattered_rows_and_equal_models_change_nothing(judged: sr.RankingDataset) -> None:
    order = np.random.default_rng(0).permutation(judged.n_docs)
    scattered = (np.asarray(judged.X)[order], np.asarray(judged.relevance)[order], np.asarray(judged.qid)[order])
    made = model({"a": 1.0, "b": 0.2}), model({"a": 0.6, "c": 0.9})
    data = sr.RankingDataset(*scattered, feature_names=NAMES)
    whole, again = sr.diff(*made, judged), sr.diff(*made, data)
    assert whole.overlap == again.overlap
    assert {r["query"]: r["difference"] for r in whole.queries} == pytest.approx(
        {r["query"]: r["difference"] for r in again.queries}
    )
    same = sr.diff(made[0], made[0], judged)
    assert (same.queries, same.overlap) == ([], (1.0, whole.overlap and whole.overlap[1]))
    short = judged.take_queries(np.flatnonzero(np.diff(judged.query_ptr) <= 10))
    overlap = sr.diff(*made, short).overlap
    assert overlap is not None
    assert math.isnan(overlap[0])
    assert overlap[1] == 0


def test_queries_of_training_are_counted_by_their_ids(judged: sr.RankingDataset, tmp_path: Path) -> None:
    old = run_of(tmp_path / "old", model({"a": 1.0}), {"a": 1.0}, trained=["q3", "q4", "q4", "x"])
    new = run_of(tmp_path / "new", model({"b": 1.0}), {"b": 1.0}, trained=["y"])
    held_out = run_of(tmp_path / "held-out", model({"b": 1.0}), {"b": 1.0}, trained=["q1"], protocol="holdout")
    said = "Of these 30 queries, the old model was trained on {} and the new one on {}, by their ids; "
    for first, second, counts in (
        (old, new, ("2", "0")),
        (old, held_out, ("2", "an unknown number")),
        (model({"a": 1.0}), new, ("an unknown number", "0")),
    ):
        assert sr.diff(first, second, judged).sentences[-1].startswith(said.format(*counts))


def test_text_may_have_a_feature_that_the_older_model_does_not_know(tmp_path: Path, cli_here: Cli) -> None:
    data = sr.datasets.make_ranking(20, (11, 14), 6, n_informative=3, n_redundant=1, random_state=2).data
    X = np.asarray(data.X)
    numbered = sr.RankingDataset(X, data.relevance, data.qid)
    narrow = sr.RankingDataset(X[:, :5], data.relevance, data.qid)
    sr.write_letor(numbered, tmp_path / "wide.txt")
    sr.SparseRanker(k=2, penalty="mcp").fit_dataset(narrow).save(tmp_path / "old.json")
    sr.SparseRanker(k=2, penalty="mcp").fit_dataset(numbered).save(tmp_path / "new.json")
    found = json.loads(cli_here("diff", "old.json", "new.json", "wide.txt", "--format", "json").done.out)
    expected = sr.evaluate(sr.load_model("old.json"), narrow, ["ndcg@10", "map"])
    assert {r["metric"]: r["mean"] for r in found["comparison"] if r["system"] == "old"} == pytest.approx(
        dict(expected)
    )


# -- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def week(tmp_path: Path, judged: sr.RankingDataset, cli_here: Cli) -> Cli:
    """Runs of two weeks and data, in the working directory of the command line."""
    names = {"a": 1.0, "b": 0.2}, {"a": 0.6, "c": -0.9}
    run_of(tmp_path / "old", model(names[0]), {"a": 1.0, "b": 0.95, "c": 0.1}, trained=["q1"])
    run_of(tmp_path / "new", model(names[1]), {"a": 1.0, "b": 0.45, "c": 0.9}, trained=["q1", "q2"])
    frame = {name: np.asarray(judged.X)[:, j] for j, name in enumerate(NAMES)}
    table = pa.table({**frame, "label": judged.relevance, "qid": np.asarray(judged.qid).astype(object)})
    pq.write_table(table, tmp_path / "test.parquet")
    return cli_here


def cells(text: str) -> dict[str, list[list[str]]]:
    """{title: rows} of the tables of a Markdown document, the heads first."""
    found: dict[str, list[list[str]]] = {}
    for block in re.split(r"(?m)^\*\*(?=.*\*\*$)", text)[1:]:
        title, _, rest = block.partition("**\n\n")
        rows = [
            [c.strip() for c in re.split(r"(?<!\\)\|", line)[1:-1]] for line in rest.splitlines() if line[:1] == "|"
        ]
        assert set(rows.pop(1)) == {"---"}
        found[title] = rows
    return found


def test_text_json_and_markdown_have_the_same_content(week: Cli, judged: sr.RankingDataset) -> None:
    text = week("diff", "old", "new", "test.parquet").done.out
    found = json.loads(week("diff", "old", "new", "test.parquet", "--format", "json").done.out)
    assert found == json.loads(json.dumps(sr.diff("old", "new", judged).to_json()))
    assert text.splitlines()[0] == found["sentences"][0]
    assert all(sentence in text for sentence in found["sentences"])
    assert {r["feature"]: r["real"] for r in found["features"]} == {"c": True, "b": False, "a": None}
    tables = cells(week("diff", "old", "new", "test.parquet", "--format", "markdown").done.out)
    head, *rows = tables["Features and their weights"]
    assert head == ["feature", "change", "old", "new", "difference", "halves, old", "halves, new", "verdict"]
    assert [row[-3:] for row in rows] == [["10%", "90%", "real"], ["95%", "45%", "noise"], ["100%", "100%", "-"]]
    ((_, *queries),) = (body for title, body in tables.items() if title == "Queries whose ndcg@10 changed most")
    for figures in (*(row[2:5] for row in rows), *(row[1:] for row in queries)):  # one follows from the others
        old, new, difference = (0.0 if figure == "-" else float(figure) for figure in figures)
        assert difference == pytest.approx(new - old, abs=2e-4)
    shown = [line.split() for line in text.splitlines()]
    for title, (_, *body) in tables.items():
        assert title in text
        assert all(" ".join(row).replace("\\", "").split() in shown for row in body)
    rows_of_csv = week("diff", "old", "new", "test.parquet", "--format", "csv").done.out.splitlines()
    assert len(rows_of_csv) == 1 + len(found["features"])


def test_names_are_data_in_markdown(tmp_path: Path, cli_here: Cli) -> None:
    name = "|a| <b> [c](d) *e* `f` \\ \x1b"
    model({name: 1.0}, [name, "x"]).save(tmp_path / "m.json")
    (table,) = cells(cli_here("diff", "m.json", "m.json", "--format", "markdown").done.out).values()
    assert len(table[1]) == len(table[0])
    assert re.sub(r"\\([^\w])", r"\1", table[1][0]) == name.replace("\x1b", "\\x1b")
    assert not re.findall(r"(?<!\\)[<|*\[`]", table[1][0])


def test_bad_input_is_refused_in_one_sentence(week: Cli, tmp_path: Path, judged: sr.RankingDataset) -> None:
    model({"a": 1.0}, parameters={"fusion": {}}).save(tmp_path / "fused.json")
    (tmp_path / "text.txt").write_text("hello\n")
    (tmp_path / "none.txt").write_text("")
    (tmp_path / "empty").mkdir()
    pq.write_table(pq.read_table(tmp_path / "test.parquet").drop_columns(["c"]), tmp_path / "narrow.parquet")
    for arguments, message in {
        ("old", "text.txt"): "text.txt: not a readable model file (",
        ("absent", "new"): "absent: not a readable model (No such file or directory); check the path.",
        ("empty", "new"): "model.json: not a readable model (No such file or directory); check the path.",
        ("fused.json", "new"): "the old model was made by 'sparserank fuse' and ranks runs",
        ("old", "fused.json"): "the new model was made by 'sparserank fuse' and ranks runs",
        ("old", "new", "narrow.parquet"): "narrow.parquet has no column 'c', which the model uses.",
        ("old", "new", "none.txt"): "none.txt: no data rows",
        ("old", "new", "absent.txt"): "absent.txt: no such file; check the path.",
        ("old", "new", "test.parquet", "--k", "1"): "models.json: not found",
    }.items():
        refused = week("diff", *arguments)
        assert_refused(refused, 1, message)
        assert len(refused.sentences) == 1
    assert_refused(week("diff", "old", "new", "--missing", "zero"), 2, "does not apply to a comparison without DATA")
    assert_refused(week("diff", "old"), 2, "Missing argument")
    with pytest.raises(ModelFormatError, match=r"check the path\.$"):
        sr.diff("absent", "new")
    with pytest.raises(DataError, match="compare two models of the same kind"):
        diff_of(side_of("old"), side_of("fused.json"), None)
    with pytest.raises(ParameterError, match="old must be a path or a RankingModel"):
        sr.diff(3, "new")  # type: ignore[arg-type]
    assert sr.diff("fused.json", "fused.json").features[0]["difference"] == 0.0


def test_a_category_whose_levels_changed_has_a_shape() -> None:
    names, none = ("brand=a", "brand=b", "x"), FeatureScaling("none", np.zeros(3), np.ones(3))
    derived = {"brand=a": Derived("brand", "a"), "brand=b": Derived("brand", "b")}
    old, new = (
        RankingModel.from_arrays(np.array(w), names, none, derived=derived)
        for w in ([1.0, -1.0, 2.0], [-1.0, 1.0, 2.0])
    )
    rows = {row["feature"]: row for row in sr.diff(old, new).features}
    assert rows["brand"]["difference"] == 0.0  # the range is the same
    assert rows["brand"]["shape"] == pytest.approx(0.5 * (0.5 + 0.5))  # of changes from +-1/4 to -+1/4
    assert rows["x"]["shape"] is None
