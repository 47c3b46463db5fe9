"""The LETOR protocol: folder layouts, choice on validation, the store, and the tables made from it."""

import csv
import gzip
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from reproduction.datasets import find_folds, find_published, read_fold
from reproduction.protocol.experiment import Experiment
from reproduction.protocol.frontier_tables import frontier_sections
from reproduction.protocol.plan import DatasetPlan, ExperimentPlan
from reproduction.protocol.results import Results
from reproduction.protocol.summary import frontier, system_table
from reproduction.protocol.summary_tables import summary_sections
from reproduction.published.best_sets import against_best, best_set, best_set_sections
from reproduction.systems import SYSTEMS

import sparserank as sr
from sparserank.errors import DataError, DataWarning
from sparserank.report.html import to_html
from tests.oracles import best_k as subsets
from tests.oracles import rank_rls as papers
from tests.support.command_line import Cli
from tests.support.shortcuts import no_processes

QUICK = ("log", "greedy_rank_rls", "rank_svm", "random")


@pytest.fixture(scope="module")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder S1.txt ... S5.txt with 12 queries each; one of them compressed."""
    folder = tmp_path_factory.mktemp("letor") / "MQ2008"
    folder.mkdir()
    data = sr.datasets.make_ranking(60, (8, 14), 9, n_informative=3, n_redundant=2, noise=0.6, random_state=5).data
    for k in range(5):
        sr.write_letor(data.take_queries(np.arange(12 * k, 12 * k + 12)), folder / f"S{k + 1}.txt")
    (folder / "S2.txt.gz").write_bytes(gzip.compress((folder / "S2.txt").read_bytes()))
    (folder / "S2.txt").unlink()
    return folder


def ran(plan: ExperimentPlan, out: Path) -> Experiment:
    experiment = Experiment(plan, out, n_workers=1)
    experiment.run()
    return experiment


@pytest.fixture(scope="module")
def finished(parts: Path, tmp_path_factory: pytest.TempPathFactory) -> Results:
    plan = ExperimentPlan((DatasetPlan("MQ2008", str(parts)),), QUICK, max_size=4)
    with no_processes():
        return Results(ran(plan, tmp_path_factory.mktemp("out")))


@pytest.mark.parametrize(
    ("train", "valid", "test"),
    [("train.txt", "vali.txt", "test.txt"), ("trainingset.txt", "validationset.txt", "testset.txt")],
)
def test_fold_folders_and_parts_give_the_same_folds(parts, tmp_path, train, valid, test):
    for files in find_folds(parts):
        place = tmp_path / f"Fold{files.number}"
        place.mkdir()
        for name, group in ((train, files.train), (valid, files.valid), (test, files.test)):
            texts = [gzip.decompress(p.read_bytes()) if p.suffix == ".gz" else p.read_bytes() for p in group]
            (place / name).write_bytes(b"".join(texts))
    for a, b in zip(find_folds(parts), find_folds(tmp_path), strict=True):
        first, second = read_fold(a), read_fold(b)
        for x, y in ((first.train, second.train), (first.valid, second.valid), (first.test, second.test)):
            np.testing.assert_array_equal(x.X, y.X)
            np.testing.assert_array_equal(x.qid, y.qid)


def test_published_data_sets_are_found_whatever_their_case(parts: Path, tmp_path: Path) -> None:
    shutil.copytree(parts, tmp_path / "ohsumed" / "QueryLevelNorm")
    shutil.copytree(parts, tmp_path / "mq2008")
    (tmp_path / "TD2003").mkdir()
    found, lacking = find_published(tmp_path)
    assert set(found) == {"MQ2008", "OHSUMED"}
    assert "neither Fold1" in lacking["TD2003"]
    assert lacking["HP2004"] == "no such folder"


def test_a_folder_without_folds_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"neither Fold1/train.txt"):
        find_folds(tmp_path)
    (tmp_path / "Fold1").mkdir()
    with pytest.raises(DataError, match="no train file"):
        find_folds(tmp_path)
    (tmp_path / "Fold3").mkdir()
    with pytest.raises(DataError, match="Fold2 is missing"):
        find_folds(tmp_path)


@pytest.mark.slow
def test_choice_is_the_best_validated_model_and_never_an_empty_one(finished: Results) -> None:
    for (dataset, system, fold), rows in finished.rows.items():
        if system == "random":
            continue
        (chosen,) = finished.chosen(dataset, system, fold, "map")
        assert chosen["n_features"] > 0
        best = max(r["valid map"] for r in rows if r["n_features"] > 0)
        assert chosen["valid map"] == best
        first = next(r for r in rows if r["n_features"] > 0 and r["valid map"] == best)
        assert chosen["candidate"] == first["candidate"]  # ties go to the first of the grid
    assert any(r["n_features"] == 0 for rows in finished.rows.values() for r in rows)  # there was one to avoid


@pytest.mark.slow
def test_test_figures_are_those_of_the_chosen_coefficients(finished: Results) -> None:
    for system in ("log", "greedy_rank_rls"):
        for fold in finished.folds("MQ2008", system):
            (row,) = finished.chosen("MQ2008", system, fold, "ndcg@10")
            test = finished.fold_data("MQ2008", fold).test
            expected = sr.evaluate(test.X @ np.array(row["coef"]), test, ["map", "ndcg@3"], convention="letor4")
            assert row["test map"] == expected["letor4:map"]
            assert row["test ndcg@3"] == expected["letor4:ndcg@3"]
    values = finished.values("MQ2008", "log", "map", "map")
    assert finished.mean("MQ2008", "log", "map", "map") == pytest.approx(np.mean([v.mean() for v in values]))
    draws = [finished.chosen("MQ2008", "random", f, "map") for f in finished.folds("MQ2008", "random")]
    assert all(len(rows) == 10 for rows in draws)  # of random weights the mean counts
    expected = np.mean([np.mean([r["test map"] for r in rows]) for rows in draws])
    assert finished.mean("MQ2008", "random", "map", "map") == pytest.approx(expected)
    n_pairs = sr.solvers.PairwiseObjective(finished.fold_data("MQ2008", 1).train).n_pairs
    for row in finished.rows["MQ2008", "log", 1]:
        assert row["C_mean"] == pytest.approx(1 / row["alpha"])
        assert row["C_sum"] == pytest.approx(1 / (row["alpha"] * n_pairs))
        assert row["r"] == pytest.approx(np.abs(row["coef"]).sum())


@pytest.mark.slow
def test_sizes_limit_the_frontier(finished: Results) -> None:
    rows = frontier(finished, "MQ2008", "map")
    assert {r["k"] for r in rows} == {1, 2, 3, 4}
    assert all(0 < r["n_features"] <= r["k"] for r in rows)
    assert all(r["low"] <= np.nan_to_num(r["mean"]) + 0.05 and r["high"] >= r["mean"] - 0.05 for r in rows)
    assert {r["system"] for r in rows} <= set(QUICK) - {"random"}


@pytest.mark.slow
def test_every_system_is_tested_against_the_best(finished: Results) -> None:
    rows = system_table(finished, "MQ2008", "map")
    best = max(rows, key=lambda r: r["map"])
    assert best["is_best"]
    assert "p_query" not in best
    for r in rows:
        if r is not best:
            assert 0 <= r["p_query"] <= 1
            assert r["p_holm"] >= r["p_query"]
            assert abs(r["p_randomisation"] - r["p_query"]) < 0.1


@pytest.mark.parametrize("system", [s for s in SYSTEMS if s not in QUICK])
def test_every_system_runs(parts: Path, tmp_path: Path, system: str) -> None:
    short = {"max_iter": [20], "radius": [1.0], "alpha_ratio": [0.3, 0.1], "lambda1": [0.01], "n_alphas": [6]}
    short |= {"eps": [0.1], "p": [0.5], "gamma": [2.0], "c": [0.1]}
    short["importance"] = ["pearson" if "fsm" in system else "map"]
    grid = {k: v for k, v in short.items() if k in SYSTEMS[system].grid}
    if system == "laporte_timing":
        grid["alpha_ratio"] = [0.1]
    plan = ExperimentPlan((DatasetPlan("x", str(parts)),), (system,), folds=(2,), grids={system: grid})
    experiment = ran(plan, tmp_path)
    assert experiment.failed == {}
    results = Results(experiment)
    (row,) = results.chosen("x", system, 2, "map")
    assert 0 < row["test map"] <= 1
    assert row["n_features"] <= 9
    sections = [*summary_sections(results), *frontier_sections(results, pictures=True)]
    assert any(t.rows for s in sections for t in s.tables)
    assert to_html("t", "i", sections).count("<table>") >= 2


def test_finished_pieces_are_kept_and_a_changed_grid_recomputes_its_own_only(parts: Path, tmp_path: Path) -> None:
    plan = ExperimentPlan((DatasetPlan("x", str(parts)),), ("rank_svm", "rank_rls"))
    seen: list[str] = []
    Experiment(plan, tmp_path, n_workers=1).run(lambda done, total, what, left: seen.append(what))
    assert len(seen) == 11
    seen.clear()
    Experiment(plan, tmp_path, n_workers=1).run(lambda done, total, what, left: seen.append(what))
    assert seen == ["resumed"]
    seen.clear()
    changed = ExperimentPlan(plan.datasets, plan.systems, grids={"rank_rls": {"lam": [1.0, 2.0]}})
    Experiment(changed, tmp_path, n_workers=1).run(lambda done, total, what, left: seen.append(what))
    assert sum("rank_rls" in s for s in seen) == 5
    assert not any("rank_svm" in s for s in seen)
    broken = next((tmp_path / "candidates").glob("*rank_svm*"))
    broken.write_bytes(broken.read_bytes()[:100])
    seen.clear()
    with pytest.warns(DataWarning, match=rf"{broken.stem}\.json: a damaged piece"):
        Experiment(plan, tmp_path, n_workers=1).run(lambda done, total, what, left: seen.append(what))
    assert sum("rank_svm" in s for s in seen) == 1  # a damaged piece is computed again


@pytest.mark.usefixtures("no_processes")
def test_a_piece_that_fails_costs_no_other(parts: Path, tmp_path: Path, cli: Cli) -> None:
    grids = {"log": {"alpha_ratio": [1.0]}, "fsm_truncated": {"lambda2": [1e4]}}
    plan = ExperimentPlan((DatasetPlan("x", str(parts)),), ("log", "rank_rls", "fsm_truncated"), grids=grids)
    experiment = ran(plan, tmp_path)
    assert len(experiment.failed) == 10
    assert "x fold 1 log" in experiment.failed
    assert all("no grid point gives" in why for why in experiment.failed.values())
    results = Results(experiment)
    assert [r["system"] for r in system_table(results, "x", "map")] == ["rank_rls"]
    out = tmp_path / "cli"
    text = f"systems=['log','rank_rls']\n[[datasets]]\nname='x'\npath='{parts}'\n[grids.log]\nalpha_ratio=[1.0]"
    (tmp_path / "plan.toml").write_text(text)
    assert cli("reproduction", "run", tmp_path / "plan.toml", "--out", out, "--threads", 1).code == 1
    assert (out / "summary.html").exists()


def test_a_system_missing_in_one_fold_is_left_out_of_the_comparison(parts: Path, tmp_path: Path) -> None:
    plan = ExperimentPlan((DatasetPlan("x", str(parts)),), ("rank_svm", "rank_rls"))
    experiment = ran(plan, tmp_path)
    next((tmp_path / "per_query").glob("*fold3-rank_svm*")).unlink()
    with pytest.warns(DataWarning, match=r"fold3-rank_svm-.*\.json: a damaged piece \(.*\.parquet: No such file"):
        results = Results(experiment)
    assert [r["system"] for r in system_table(results, "x", "map")] == ["rank_rls"]
    assert any("are left out" in t.note for s in summary_sections(results) for t in s.tables)
    experiment.run()  # the lost half of a piece is computed again
    assert len(system_table(Results(experiment), "x", "map")) == 2


def test_lists_too_short_for_the_metric_tie_with_a_note(tmp_path: Path) -> None:
    data = sr.datasets.make_ranking(40, 6, 5, n_informative=2, n_redundant=1, noise=0.4, random_state=8).data
    for k in range(5):
        sr.write_letor(data.take_queries(np.arange(8 * k, 8 * k + 8)), tmp_path / f"S{k + 1}.txt")
    plan = ExperimentPlan((DatasetPlan("x", str(tmp_path)),), ("rank_svm", "rank_rls"), ("ndcg@10",), max_size=1)
    experiment = ran(plan, tmp_path / "out")
    sections = summary_sections(Results(experiment))
    assert "all candidates tie" in sections[0].tables[0].note
    frontier_sections(Results(experiment), pictures=True)


@pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning")
def test_queries_in_two_parts_of_a_fold_are_refused(parts: Path, tmp_path: Path) -> None:
    for k in range(1, 6):
        (tmp_path / f"S{k}.txt").write_text((parts / "S1.txt").read_text())
    with pytest.raises(DataError, match=r"fold 1: train and validation have 12 query ids in common"):
        read_fold(find_folds(tmp_path)[0])


@pytest.mark.parametrize(
    "options",
    [
        *["--system nope", "--convention nope", "--missing banana", "--scaling up", "--choose-by x"],
        "--choose-by map --choose-by letor4:MAP",
    ],
)
def test_misuse_of_letor_exits_with_2(parts: Path, tmp_path: Path, cli: Cli, options: str) -> None:
    refused = cli("reproduction", "letor", parts, "--out", tmp_path / "o", *options.split())
    assert refused.code == 2
    assert options.split()[0] in refused.err
    assert not (tmp_path / "o").exists()


@pytest.mark.usefixtures("no_processes")
def test_another_convention_goes_without_what_it_lacks(parts: Path, tmp_path: Path) -> None:
    asked = {"choose_by": ("ndcg@5",), "metrics": ("ndcg@5",), "convention": "letor3"}
    plan = ExperimentPlan((DatasetPlan("x", str(parts)),), ("rank_rls",), **asked)
    experiment = ran(plan, tmp_path)
    assert summary_sections(Results(experiment))[0].tables[0].rows


def test_an_absent_data_set_is_skipped_by_name(parts: Path, tmp_path: Path) -> None:
    plan = ExperimentPlan((DatasetPlan("here", str(parts)), DatasetPlan("gone", str(tmp_path / "no"))), ("rank_svm",))
    assert list(Experiment(plan, tmp_path / "out").skipped) == ["gone"]
    with pytest.raises(DataError, match="no data set of the plan"):
        Experiment(ExperimentPlan((plan.datasets[1],)), tmp_path / "out")


@pytest.mark.usefixtures("no_processes", "pictures")
def test_letor_command_prints_and_writes_its_tables(parts: Path, tmp_path: Path, cli: Cli) -> None:
    out = tmp_path / "out"
    systems = [s for s in QUICK if s != "log"]
    args = [parts, "--out", out, *[a for s in systems for a in ("--system", s)], "--threads", 1, "--verbose"]
    done = cli("reproduction", "letor", *args).done
    for word in ("GRankRLS", "RankSVM-Primal", "(Holm)", "with at most k features"):
        assert word in done.out
    with open(out / "summary.csv", newline="") as text:
        rows = list(csv.DictReader(text))
    assert {r["system"] for r in rows} == set(systems)
    page = (out / "summary.html").read_text()
    assert page.count("<svg") == 2
    assert "<script" not in page
    assert pq.read_table(out / "candidates").num_rows > 0
    refused = cli("reproduction", "letor", tmp_path / "nowhere", "--out", out)
    assert (refused.code, "no such folder" in refused.err) == (1, True)


@pytest.mark.slow
@pytest.mark.usefixtures("no_processes")
def test_published_command_compares_our_figures_with_theirs(parts: Path, tmp_path: Path, cli: Cli) -> None:
    args = ["--system", "greedy_rank_rls", "--system", "rank_rls", "--threads", 1, "--markdown", tmp_path / "r.md"]
    printed = cli("reproduction", "published", parts.parent, "--out", tmp_path / "out", *args).done
    assert "MQ2007" in printed.err
    with open(tmp_path / "out/published.csv", newline="") as text:
        rows = list(csv.DictReader(text))
    assert len(printed.out.strip().splitlines()) <= 25
    for tables, shown in (("2",), "2"), (("7", "8", "9", "10"), "7-10"):
        equal = [r["equal"] for r in rows if r["source"] == "pahikkala2010" and r["table"] in tables and r["equal"]]
        (line,) = (own for own in printed.out.splitlines() if own.split()[:3] == ["Pahikkala", "2010", shown])
        assert f" {equal.count('True')} of {len(equal)} " in f"{line} "
    assert "We have no values for these tables: Pahikkala 2010, 1, 3-6; " in printed.out
    assert len(rows) == 1323
    ours = [r for r in rows if r["ours"] != "not available"]
    assert {(r["source"], r["table"]) for r in ours} >= {("pahikkala2010", t) for t in "2789"}
    assert all(r["dataset"] == "MQ2008" for r in ours)
    page = (tmp_path / "r.md").read_text()
    assert page.index("Table 7") < page.index("## Greedy RankRLS against the best set") < page.index("## Laporte 2014")
    assert list((tmp_path / "r-figures").glob("*.svg"))
    refused = cli("reproduction", "published", tmp_path / "out", "--out", tmp_path / "o2")
    assert (refused.code, "contains none of" in refused.err) == (1, True)


def problem(seed: int) -> tuple[np.ndarray, np.ndarray, float, int]:
    """A Gram and moments of correlated columns, a strength between weak and strong, a size."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(5, 11))
    X = rng.standard_normal((40, 3)) @ rng.standard_normal((3, d)) + 0.5 * rng.standard_normal((40, d))
    y = X @ rng.standard_normal(d) + rng.standard_normal(40)
    return X.T @ X, X.T @ y, float(10 ** rng.uniform(-2, 3)), int(rng.integers(1, 6))


@pytest.mark.parametrize("seed", range(40))
def test_the_best_set_is_that_of_trying_every_set(seed: int) -> None:
    G, b, lam, k = problem(seed)
    best, chosen = subsets.all_subsets(G, b, lam, k)[0]
    found, members = best_set(G, b, k, lam)
    assert found == pytest.approx(best, rel=1e-10)
    assert members == chosen


def test_forward_selection_would_miss_the_best_set() -> None:
    missed = 0  # the wrong variant
    for G, b, lam, k in map(problem, range(40)):
        forward = subsets.explained(G, b, lam, subsets.greedy(G, b, lam, k))
        missed += forward < subsets.all_subsets(G, b, lam, k)[0][0] * (1 - 1e-6)
    assert missed > 0


@pytest.mark.slow
def test_choices_of_greedy_rank_rls_are_compared_with_the_best_of_all_sets(finished: Results) -> None:
    """Every set of k features is fitted; figures without the penalty, and a set that is not the best,
    are told apart."""
    (section,) = best_set_sections(finished)
    chosen = [finished.chosen("MQ2008", "greedy_rank_rls", f, "map")[0] for f in range(1, 6)]
    unpenalised = 0
    for row, line in zip(chosen, section.tables[0].rows, strict=True):
        train, lam = finished.fold_data("MQ2008", row["fold"]).train, row["params"]["lam"]
        X, y = (papers.centred(v, train.query_ptr) for v in (train.X, train.relevance))
        every = subsets.all_subsets(X.T @ X, X.T @ y, lam, len(row["features"]))
        explained = {S: value / (y @ y) for value, S in every}
        error = {S: papers.subset_error(train.X, train.relevance, train.query_ptr, lam, S) for S in explained}
        mine, best, worst = tuple(sorted(row["features"])), every[0][1], every[-1][1]
        figures = [explained[mine], explained[best], error[mine] / (y @ y), error[best] / (y @ y)]
        assert [line[i] for i in (3, 4, 6, 7)] == [f"{v:.5f}" for v in figures]
        assert line[:3] == [f"fold {row['fold']}", f"{lam:g}", str(len(mine))]
        assert line[5] == ("yes" if mine == best else "no")
        unpenalised += f"{1 - np.sum((y - X @ np.array(row['coef'])) ** 2) / (y @ y):.5f}" != line[3]
        coef = np.zeros(X.shape[1])
        coef[list(worst)] = papers.ridge(X[:, worst], y, lam)
        other = {**row, "features": list(worst), "coef": coef, "leave_query_out_error": error[worst]}
        found = against_best(train, other)
        assert found.same == (len(every) == 1)
        assert found.greedy == pytest.approx(explained[worst])
        assert found.best == pytest.approx(explained[best])
    assert unpenalised >= 3
