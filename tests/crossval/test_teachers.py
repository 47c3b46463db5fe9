"""Trees of LightGBM as teachers of distilled weights, together with boosted steps; shared with the rival."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pytest

import sparserank as sr
from sparserank.crossval import fitting, stability, tree_rivals, trees
from sparserank.crossval.cross_validation import CrossValidation
from sparserank.crossval.feature_transforms import feature_transforms
from sparserank.crossval.tasks import FINAL, PathTask
from sparserank.crossval.teachers import Teacher, TeachingTrees
from sparserank.crossval.tree_rivals import TreeRivals
from sparserank.crossval.trees import TreeSettings
from sparserank.errors import RunDirectoryError
from sparserank.metrics import parse_metric
from sparserank.paths import PathPlan, PathResult, PenaltyPath
from sparserank.penalties import L1, MCP
from sparserank.shards.measuring import standardised
from sparserank.workdir.pieces import WorkStore
from tests.conftest import during
from tests.crossval.test_distilled import scores_of_teacher
from tests.oracles.grades import grades_of as grades_of_loops
from tests.oracles.standardised import standardised as standardised_by_loops
from tests.support import shortcuts

FEW = TreeSettings(15, (("num_leaves", 4), ("learning_rate", 0.2), ("bagging_fraction", 0.7), ("bagging_freq", 1)))
PLAN = PathPlan(n_alphas=6, tol=1e-4)
FOLDS = (FINAL, 0, 1)
REFUSED = lightgbm.basic.LightGBMError("Check failed: no luck at /src/x.cpp, line 3")
QUICK: dict[str, Any] = {"penalties": "mcp", "feature_transform": "distilled", "half_samples": 0, "cv": 2}
QUICK |= {"n_alphas": 5}


small_ensembles = during(partial(shortcuts.trees, FEW), autouse=True, scope="module")


@pytest.fixture(scope="module")
def data() -> sr.RankingDataset:
    return sr.datasets.make_ranking(60, 20, 8, n_informative=3, random_state=2).data


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """The parameters of each ensemble that is trained."""
    found: list[dict[str, Any]] = []
    train = lightgbm.train

    def counted(parameters: dict[str, Any], *given: Any, **more: Any) -> Any:
        found.append(parameters)
        return train(parameters, *given, **more)

    monkeypatch.setattr(lightgbm, "train", counted)
    return found


def fold_of(data: sr.RankingDataset) -> np.ndarray:
    return np.arange(data.n_queries) % 2


def teaching(data: sr.RankingDataset, rules: Any = None, given: Any = "auto") -> TeachingTrees:
    rules = L1() if rules is None else rules
    return TeachingTrees(tree_rivals.tree_rivals(given, data), rules, data, fold_of(data), 0, None, 2, 300.0)


def fitted(data: sr.RankingDataset, own: TeachingTrees) -> tuple[Teacher, dict[int, PathResult]]:
    """The teacher, and the MCP path without each fold of two and on all queries."""
    (transform,) = feature_transforms(data, ["distilled"], trees=own)
    cv = CrossValidation(data, fold_of(data), [transform], PLAN, [parse_metric("ndcg@10")])
    tasks = [PathTask("mcp", PenaltyPath(MCP()), transform, fold=f) for f in FOLDS]
    paths = dict(zip(FOLDS, cv.works[transform](tasks), strict=True))
    assert transform.teacher is not None
    return transform.teacher, paths


def note_of(result: Any) -> str:
    """The note on the teacher."""
    (note,) = [note for note in result.notes if "distilled" in note]
    return note


def without(data: sr.RankingDataset, fold: int) -> np.ndarray:
    return (fold_of(data) != fold) | (fold == FINAL)


@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e12])
def test_scores_are_standardised_within_the_query_as_by_loops(scale: float) -> None:
    rng = np.random.default_rng(0)
    ptr = np.concatenate([[0], np.cumsum([3, 1, 7, 5, 4])])
    scores = scale * (rng.integers(0, 4, ptr[-1]) / 7 + np.repeat([0, 5, -3, 100, 0], np.diff(ptr)))
    scores[4:11] = scale * 0.1  # all equal, with a mean that rounding may move
    found = standardised(scores, ptr)
    # The mean of up to 7 values near 100 is off by a few units of 1e-14, which the deviation (about 0.1) divides.
    assert np.allclose(found, standardised_by_loops(scores, ptr), rtol=0, atol=1e-11)
    assert not found[4:11].any()
    assert not np.allclose(found, standardised_by_loops(scores, ptr[[0, -1]]), atol=0.1)  # all queries as one


def test_grades_are_those_of_the_sum_of_steps_and_trees(data: sr.RankingDataset) -> None:
    own = teaching(data)
    teacher, _ = fitted(data, own)
    alone, _ = fitted(data, TeachingTrees(TreeRivals(), L1(), data, fold_of(data), 0, None, 2, 300.0))
    for fold in FOLDS:
        used = without(data, fold)
        seen = np.flatnonzero(np.repeat(used, data.sizes))
        held = lightgbm.Dataset(
            data.X, data.relevance, group=data.sizes, params={"data_random_seed": 0, "verbosity": -1}
        ).construct()
        fixed = {"seed": max(fold, 0), "num_threads": 1, "deterministic": True, "force_row_wise": True}
        parameters = {**FEW.parameters, **fixed, "data_random_seed": 0, "verbosity": -1}
        part = held if fold == FINAL else held.subset(seen.tolist())
        of_trees = lightgbm.train(parameters, part, FEW.n_trees).predict(data.X)
        steps = scores_of_teacher(data, used)
        both = standardised_by_loops(steps, data.query_ptr) + standardised_by_loops(of_trees, data.query_ptr)
        found = teacher.grades[used.tobytes()]
        assert (found == grades_of_loops(np.round(both, 9), data.query_ptr)).mean() > 0.999  # but for ties
        for other in (grades_of_loops(of_trees, data.query_ptr), alone.grades[used.tobytes()]):
            assert (found == other).mean() < 0.95


def test_trees_weigh_queries(data: sr.RankingDataset) -> None:
    weight = np.random.default_rng(0).uniform(0.5, 2.0, data.n_queries)
    rivals = tree_rivals.tree_rivals("auto", data)
    (found,) = TeachingTrees(rivals, L1(), data, fold_of(data), 0, weight, 1, 300.0).scores(without(data, FINAL)[None])
    fixed = {"seed": 0, "data_random_seed": 0, "num_threads": 1, "deterministic": True, "force_row_wise": True}
    held = lightgbm.Dataset(data.X, data.relevance, group=data.sizes, weight=np.repeat(weight, data.sizes))
    expected = lightgbm.train({**FEW.parameters, **fixed, "verbosity": -1}, held, FEW.n_trees).predict(data.X)
    assert np.array_equal(found, expected)


def test_labels_of_a_left_out_fold_change_nothing(data: sr.RankingDataset) -> None:
    left_out = np.repeat(fold_of(data) == 0, data.sizes)
    changed = replace(data, relevance=np.where(left_out, 1 - np.minimum(data.relevance, 1), data.relevance))
    before, after = (fitted(d, teaching(d)) for d in (data, changed))
    same = [without(data, f).tobytes() for f in FOLDS]
    differ = [not np.array_equal(before[0].grades[key], after[0].grades[key]) for key in same]
    assert differ == [True, False, True]
    assert np.array_equal(before[1][0].scaled_coefs, after[1][0].scaled_coefs)
    assert not np.array_equal(before[1][1].scaled_coefs, after[1][1].scaled_coefs)


def test_steps_alone_teach_halves_even_those_that_are_folds(data, trained, monkeypatch) -> None:
    masks = np.array([without(data, f) for f in (0, 1)])
    monkeypatch.setattr(stability, "complementary_halves", lambda *_: masks)
    noisy = sr.datasets.make_ranking(60, 40, 8, n_informative=3, random_state=2, noise=2.0).data
    (transform,), (alone,) = (feature_transforms(noisy, ["distilled"], trees=own) for own in (teaching(noisy), None))
    cv = CrossValidation(noisy, fold_of(noisy), [transform, alone], PLAN, [parse_metric("ndcg@10")])
    candidate_set = cv.fit([PathTask("mcp", PenaltyPath(MCP()), transform)])

    def kept() -> list[np.ndarray]:
        every = np.ones(noisy.n_queries, dtype=bool)
        return [stability.on_halves(cv, candidate_set, c, every, 1, 0)["kept"] for c in candidate_set.sparse]

    found = kept()
    cv.works[transform] = cv.works[alone]
    assert np.array_equal(found, kept())
    assert len(trained) == 3


def test_the_rival_is_trained_once_for_both_unless_rules_differ(data, trained, tmp_path: Path) -> None:
    file = tmp_path / "rival.txt"
    file.write_text("objective = lambdarank\nnum_iterations = 10\nnum_leaves = 3\nverbosity = -1\n")
    name = data.feature_names[0]
    for options, n in (
        ({}, 3),
        ({"rival": file}, 3),
        ({"rival": "none"}, 0),
        ({"monotone": {name: "+"}}, 5),
        ({"drop": [name]}, 3),  # of which the rival knows
        ({"rival": file, "drop": [name]}, 3),
    ):
        del trained[:]
        result = sr.select(data, **QUICK, **options)
        # Without each of two folds, and on all queries for the teacher alone.
        assert len(trained) == n, options
        assert (result.teacher["trees"] is None) == (n == 0)
        if n:
            assert {int(p["num_leaves"]) for p in trained} == {3 if "rival" in options else 4}
            assert len(result.rivals.compared) == 1
    alone = sr.select(data, **{**QUICK, "feature_transform": "none"})
    both = sr.select(data, **QUICK)
    assert alone.rivals.compared[0].mean == both.rivals.compared[0].mean


def test_trees_respect_dropped_features_and_signs(data: sr.RankingDataset) -> None:
    strongest = int(np.argmax(np.abs(np.corrcoef(data.X.T, data.relevance)[-1, :-1])))

    def steps_along(own: TeachingTrees) -> np.ndarray:
        """How scores change as the strongest feature grows."""
        moved = np.tile(data.X[:50], (9, 1))
        moved[:, strongest] = np.repeat(np.linspace(*np.quantile(data.X[:, strongest], [0, 1]), 9), 50)
        return np.diff(own.tree_data.fit().scores(moved).reshape(9, 50), axis=0)

    for sign in (1, -1):
        signs = tuple(sign * int(j == strongest) for j in range(8))
        dropped = (strongest + 1) % 8
        own = teaching(data, L1(drop=(dropped,), monotone=signs))
        assert own.rival.columns.tolist() == [j for j in range(8) if j != dropped]
        assert not own.are_shared
        assert (sign * steps_along(own) >= 0).all()
    free = steps_along(teaching(data))
    assert (free > 0).any()  # which a sign of -1 forbids


def test_a_column_of_which_a_feature_is_dropped_or_signed_does_not_teach() -> None:
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    n = 60 * 10
    table = pandas.DataFrame(
        {"qid": np.repeat(np.arange(60), 10), "a": rng.standard_normal(n), "kind": rng.choice(["x", "y", "z"], n)}
    )
    table["label"] = (table["a"] + (table["kind"] == "x") > 0.5).astype(int)
    held = sr.read(table, categories=["kind"])
    at = next(j for j, name in enumerate(held.names) if name != "a")
    assert [len(teaching(held, rules).rival.columns) for rules in (L1(), L1(drop=(at,)))] == [2, 1]
    signs = tuple(int(j == at) for j in range(held.n_features))
    assert len(teaching(held, L1(monotone=signs)).rival.columns) == 1


def test_a_column_of_which_there_is_no_feature_does_not_teach(data, tmp_path: Path) -> None:
    more = data.X[:, :1].astype(object)
    beside = replace(data, feature_names=data.names, kept_columns={"more": True}, table=more)
    held = lightgbm.Dataset(data.X, data.relevance, group=data.sizes, feature_name=[*data.names[:-1], "more"])
    lightgbm.train({**FEW.parameters, "verbosity": -1}, held, 5).save_model(tmp_path / "rival.txt")
    own = teaching(beside, given=tmp_path / "rival.txt")
    assert [own.rival.table.names[j] for j in own.rival.columns] == list(data.names[:-1])
    assert not own.are_shared


def test_signs_of_the_file_count_too_and_a_category_with_a_sign_does_not_teach(data, tmp_path: Path) -> None:
    file = tmp_path / "rival.txt"
    file.write_text("monotone_constraints = 1,-1,-1,0,0,0,0,0\ncategorical_feature = name:f4\nnum_leaves = 3\n")
    named = replace(data, feature_names=[f"f{j + 1}" for j in range(8)])
    own = teaching(named, L1(monotone=(0, 0, 1, 1, 1, 0, 0, 0)), file)
    assert own.rival.columns.tolist() == [0, 1, 2, 4, 5, 6, 7]
    assert dict(own.tree_data.settings.others)["monotone_constraints"] == "1,-1,1,1,0,0,0"
    own.tree_data.fit()  # LightGBM ends the process over a category with a sign
    assert teaching(named, L1(), file).are_shared


def test_an_interrupt_does_not_wait_for_the_teacher(data, monkeypatch) -> None:
    monkeypatch.setattr(trees, "LIGHTGBM_SETTINGS", TreeSettings(50_000, (("num_leaves", 4),)))
    fit, ended = trees.TreeData.fit, threading.Event()

    def fails_without_a_fold(self: Any, seen: Any, seed: int, in_time: Any = lambda: True) -> Any:
        if not seen.all():
            time.sleep(0.5)  # others have begun
            raise KeyboardInterrupt
        try:
            return fit(self, seen, seed, in_time)
        finally:
            ended.set()

    monkeypatch.setattr(trees.TreeData, "fit", fails_without_a_fold)
    with pytest.raises(KeyboardInterrupt):
        sr.select(data, **QUICK, n_threads=2)
    assert ended.wait(10)  # 50,000 trees take longer


def test_each_ensemble_of_the_teacher_is_kept_and_reported(data, trained, monkeypatch, tmp_path: Path) -> None:
    options = {**QUICK, "out": tmp_path / "run", "n_threads": 1}
    train, said = lightgbm.train, []

    def interrupted(*given: Any, **more: Any) -> Any:
        if len(trained) == 2:
            raise KeyboardInterrupt
        return train(*given, **more)

    with monkeypatch.context() as patch:
        patch.setattr(lightgbm, "train", interrupted)
        with pytest.raises(KeyboardInterrupt):
            sr.select(data, **options)
    assert len(trained) == 2
    again = sr.select(data, **options, progress=lambda done, n, what, left: said.append(what))
    assert [what for what in said if "teacher" in what] == [
        "teacher of distilled weights",
        "teacher of distilled weights: LightGBM 3 of 3",
    ]
    assert len(trained) == 4  # the last ensemble, which the rival shares, and one of the rival that was not kept
    assert np.array_equal(again.model.coef, sr.select(data, **QUICK, n_threads=1).model.coef)


@pytest.mark.parametrize(
    ("fails", "error", "said"),
    [
        *(
            (n, REFUSED, "LightGBM cannot be trained with these settings on these data: Check failed: no luck")
            for n in range(3)
        ),
        (1, MemoryError(), "MemoryError"),
    ],
)
def test_if_lightgbm_fails_steps_teach_alone_and_a_sentence_says_why(
    data, monkeypatch, tmp_path, fails, error, said
) -> None:
    train, calls = lightgbm.train, []

    def failing(*given: Any, **more: Any) -> Any:
        calls.append(0)
        if len(calls) == fails + 1:
            raise error
        return train(*given, **more)

    alone = sr.select(data, **QUICK, rival="none")
    monkeypatch.setattr(lightgbm, "train", failing)
    results = [sr.select(data, **QUICK, n_threads=1, out=tmp_path / "run") for _ in range(2)]
    for result in results:  # the second one reads what the first has found
        assert np.array_equal(result.model.coef, alone.model.coef)
        assert f"alone, because {said}." in note_of(result)
        assert result.to_json()["teacher"]["trees"] is None
        assert result.to_json()["teacher"]["without_trees"] == said


def test_each_reason_is_a_sentence_and_steps_teach(data, monkeypatch, tmp_path: Path) -> None:
    names = data.feature_names
    other = tmp_path / "regression.txt"
    other.write_text("objective = regression\nnum_iterations = 10\nverbosity = -1\n")
    wide = replace(data, X=np.column_stack([data.X, data.X[:, 0] ** 2]), feature_names=[*names, "more"])
    booster = lightgbm.train(
        {**FEW.parameters, "verbosity": -1},
        lightgbm.Dataset(wide.X, wide.relevance, group=wide.sizes, feature_name=list(wide.feature_names)),
        5,
    )
    booster.save_model(tmp_path / "wide.txt")
    halved = replace(data, relevance=data.relevance / 2)
    sr.write_letor(data, tmp_path / "train.txt")
    sr.convert([tmp_path / "train.txt"], tmp_path / "store")
    for given, options, said in (
        (data, {"rival": other}, "has the objective regression"),
        (data, {"rival": tmp_path / "wide.txt"}, "the data lack features of the rival (more)"),
        (halved, {}, "accepts only whole grades"),
        (sr.read(tmp_path / "store"), {}, "not in the memory of one process"),
        (data, {"rival": "none"}, "of rival='none'"),
    ):
        result = sr.select(given, **QUICK, **options)
        assert said in note_of(result), said
        assert (result.teacher["trees"] is None) == bool(said)
    monkeypatch.setattr(tree_rivals, "is_installed", lambda: False)
    assert "LightGBM is not installed" in note_of(sr.select(data, **QUICK))


def test_pieces_depend_on_the_teacher(data, trained, monkeypatch, tmp_path: Path) -> None:
    options = {**QUICK, "feature_transform": ["none", "distilled"], "out": tmp_path / "run"}
    first = sr.select(data, **options)
    assert len(trained) == 3
    with monkeypatch.context() as patch:
        patch.setattr(lightgbm, "Dataset", None)  # nothing is prepared for trees
        again = sr.select(data, **options)
    assert len(trained) == 3  # the rival's trees, the teacher's grades and all paths are read
    assert np.array_equal(first.model.coef, again.model.coef)
    assert first.teacher == again.teacher
    assert "of rival='none'" in note_of(sr.select(data, **options, rival="none"))
    assert len(trained) == 3
    other = tmp_path / "regression.txt"
    other.write_text("objective = regression\nnum_iterations = 3\n")
    assert "has the objective regression" in note_of(sr.select(data, **options, rival=other))
    del trained[3:]  # those of the other rival
    monkeypatch.setattr(tree_rivals, "identity_of_trees", lambda: {"lightgbm": "0.0.1"})
    pieces = {p.name for p in (tmp_path / "run").rglob("*.npz")}
    sr.select(data, **options)
    assert len(trained) == 6  # another version teaches anew
    new = {p.name for p in (tmp_path / "run").rglob("*.npz")} - pieces
    assert new
    assert not [name for name in new if not any(kind in name for kind in ("distilled", "teacher", "rival"))]


def test_screen_model_and_result_name_the_teacher(data: sr.RankingDataset) -> None:
    result = sr.select(data, **QUICK, random_state=7)
    named = f"LightGBM ({lightgbm.__version__}, seed 7) and 100 boosted steps (seed 0)"
    assert named in note_of(result)
    if result.chosen.label.startswith("distilled"):
        assert result.model.parameters["teacher"] == named
    else:
        assert "teacher" not in result.model.parameters
    record = result.to_json()["teacher"]
    assert record["lightgbm"] == lightgbm.__version__
    assert record["seed"] == 7


@pytest.mark.parametrize(("values", "work"), [(0, np.inf), (np.inf, np.inf), (np.inf, 0.0)])
def test_threads_and_processes_change_no_bit(data: sr.RankingDataset, monkeypatch, values: float, work: float) -> None:
    monkeypatch.setattr(trees, "MIN_SHARED_VALUES", values)  # 0: two threads grow one ensemble
    monkeypatch.setattr(fitting, "MIN_PROCESS_WORK", work)
    one, two = (sr.select(data, **QUICK, n_threads=n) for n in (1, 2))
    for label in one.paths:
        assert np.array_equal(one.paths[label].scaled_coefs, two.paths[label].scaled_coefs)
    assert one.chosen.mean == two.chosen.mean


def test_trees_that_are_expected_to_take_too_long_do_not_teach(data, trained, tmp_path: Path) -> None:
    """From numbers of documents, trees and leaves, not from a clock."""
    file = tmp_path / "rival.txt"
    file.write_text("objective = lambdarank\nnum_iterations = 40\nnum_leaves = 7\nverbosity = -1\n")
    expected = 3 * (0.2 + 7e-5 * data.n_docs) / 10  # two folds and all queries, a tenth of the trees measured
    results = [sr.select(data, **QUICK, rival=file, rival_time=share * expected) for share in (0.99, 1.01)]
    assert [r.teacher["trees"] is None for r in results] == [True, False]
    assert "is expected to take" in note_of(results[0])
    alone = sr.select(data, **QUICK, rival="none")
    assert np.array_equal(results[0].model.coef, alone.model.coef)


def test_a_directory_that_cannot_be_written_is_no_reason_against_trees(data, monkeypatch, tmp_path: Path) -> None:
    """A later call would otherwise find that trees cannot teach."""

    def full(self: WorkStore, name: str, arrays: Any) -> None:
        if name.startswith("teacher-trees"):
            raise RunDirectoryError("no space is left")
        save(self, name, arrays)

    save = WorkStore.save
    monkeypatch.setattr(WorkStore, "save", full)
    with pytest.raises(RunDirectoryError, match="no space is left"):
        sr.select(data, out=tmp_path / "run", **QUICK)
    monkeypatch.setattr(WorkStore, "save", save)
    assert "learned the order of LightGBM" in " ".join(sr.select(data, out=tmp_path / "run", **QUICK).notes)
