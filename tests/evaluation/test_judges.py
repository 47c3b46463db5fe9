"""Means from people and a judge: the estimate is unbiased however wrong the judge is, and its interval holds."""

import csv
import json
import math
import re
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from benchmarks.cases import judges as worlds

import sparserank as sr
from sparserank.data.runs import Qrels, Run
from sparserank.errors import DataError
from sparserank.evaluation.judge_rows import agreement
from sparserank.evaluation.judges import Estimates, JudgedMeans, judged_means, without_favour
from tests.oracles import judged_means as oracle
from tests.support.command_line import Cli, assert_refused


def problem(
    seed: int, n: int, r: int, *, correlation: float = 0.7, lacking: int = 0, n_strata: int = 1
) -> tuple[dict[str, float], dict[str, float], dict[str, str]]:
    """Values of people, of the judge, and the strata of their queries."""
    rng = np.random.default_rng(seed)
    ids = [f"q{i:03}" for i in range(n + r)]
    g = rng.normal(0.3, 1.0, n + r)
    h = correlation * g + (1 - correlation**2) ** 0.5 * rng.normal(size=n + r)
    strata = {q: f"s{rng.integers(n_strata)}" for q in ids}
    human = {q: float(h[i]) for i, q in enumerate(ids[:n])}
    judge = {q: float(g[i]) for i, q in enumerate(ids) if not i < lacking}
    return human, judge, strata


def ours(human: dict[str, float], judge: dict[str, float], strata: dict[str, str] | None = None) -> JudgedMeans:
    own, others = list(human), [q for q in judge if q not in human]
    arrays = [[human[q] for q in own], [judge.get(q, np.nan) for q in own], [judge[q] for q in others]]
    numbers = {name: i for i, name in enumerate(sorted(set((strata or {}).values())))}
    of = (
        None if strata is None else tuple(np.array([numbers[strata[q]] for q in qs], dtype=int) for qs in (own, others))
    )
    return judged_means(*(np.array([a]) for a in arrays), of)  # type: ignore[arg-type]


@pytest.mark.parametrize("correlation", [-0.8, 0.0, 0.4, 0.95])
@pytest.mark.parametrize(
    ("n", "r", "lacking", "n_strata"), [(8, 0, 0, 1), (9, 30, 0, 1), (25, 60, 4, 1), (30, 90, 3, 4), (25, 60, 9, 6)]
)
def test_the_estimate_is_that_of_the_oracle(correlation: float, n: int, r: int, lacking: int, n_strata: int) -> None:
    human, judge, strata = problem(n, n, r, correlation=correlation, lacking=lacking, n_strata=n_strata)
    found = ours(human, judge, strata)
    both, alone = oracle.with_judge(human, judge, strata), oracle.human_only(human, judge, strata)
    # Sums of at most 120 values of order 1, and one difference of two of them for each lambda.
    seen = (found.with_judge.mean[0], found.with_judge.half()[0], found.lam[0])
    assert seen == pytest.approx(both, rel=1e-10, abs=1e-12, nan_ok=True)
    assert np.isfinite(both.half) or n_strata == 6  # too few degrees of freedom
    assert (found.people.mean[0], found.people.half()[0]) == pytest.approx(alone[:2], rel=1e-12)
    assert found.used[0] == (oracle.decided(human, judge, strata) == both)


def test_the_mean_over_all_samples_is_the_truth() -> None:
    """Each set of 5 of 8 queries is graded by people equally often: the mean over all sets is that of all 8, with a
    lambda for each query from the others. The naive mixture is off by the judge's bias; so would be one lambda from all
    of the queries."""
    human, judge, _ = problem(3, 8, 0, correlation=0.8)
    judge = {q: g + 0.7 * g**2 for q, g in judge.items()}
    truth = np.mean([*human.values()])
    found = {"ours": [], "naive": [], "of all": []}  # type: ignore[var-annotated]
    for graded in combinations(human, 5):
        own = {q: human[q] for q in graded}
        both = ours(own, judge)
        found["ours"].append(both.with_judge.mean[0])
        found["naive"].append(oracle.naive_mixture(own, judge).mean)
        lam = oracle.best_lambda(own, judge, dict.fromkeys(human, "all"), {"all": 1.0})
        rest = np.mean([judge[q] for q in judge if q not in own])
        found["of all"].append(np.mean([own[q] - lam * 3 / 8 * (judge[q] - rest) for q in own]))
    assert np.std(found["ours"]) > 0.01
    assert np.mean(found["ours"]) == pytest.approx(truth, abs=1e-12)
    assert abs(np.mean(found["naive"]) - truth) > 0.1
    assert abs(np.mean(found["of all"]) - truth) > 1e-3


def test_the_favour_is_subtracted_in_proportion_to_its_room() -> None:
    rng = np.random.default_rng(4)
    room = np.where(rng.random(30) < 0.5, rng.random(30), 0.0)
    values = room * (0.4 + rng.normal(0, 1, 30))
    judge, rooms = ({f"q{i}": float(x) for i, x in enumerate(of)} for of in (values, room))
    found = without_favour(values[None], room[None])[0]
    assert found == pytest.approx([*oracle.without_favour(judge, rooms).values()], abs=1e-15)
    assert (found == 0).sum() == (values == 0).sum() > 5
    assert found @ room == pytest.approx(0.0, abs=1e-12)
    assert without_favour(values[None] + 0.3 * room, room[None])[0] == pytest.approx(found, abs=1e-12)
    assert (without_favour(values[None], np.zeros((1, 30))) == values).all()
    # A query that the judge lacks says nothing of its favour.
    lacking = without_favour(np.array([[np.nan, *values[1:]]]), room[None])
    assert np.isnan(lacking[0, 0])
    assert lacking[0, 1:] == pytest.approx(without_favour(values[None, 1:], room[None, 1:])[0], abs=1e-15)


def test_a_judge_that_knows_nothing_is_worth_nothing() -> None:
    human, judge, _ = problem(1, 20, 60)
    for useless in (dict.fromkeys(judge, 0.4), {q: -human.get(q, 0.1) for q in judge}):
        found = ours(human, useless)
        assert (found.lam[0], found.used[0], found.worth[0]) == (0.0, False, 20)
    # One other value gives no slope without its query.
    found = ours(human, {**dict.fromkeys(judge, 0.4), "q001": 0.9})
    assert found.used[0] == (oracle.decided(human, {**dict.fromkeys(judge, 0.4), "q001": 0.9}).lam > 0)


def test_nothing_is_gained_where_people_graded_all() -> None:
    human, judge, _ = problem(2, 20, 0, correlation=0.95)
    found = ours(human, judge)
    assert found.with_judge.mean[0] == found.people.mean[0] == pytest.approx(np.mean([*human.values()]))
    assert not found.used[0]


def test_a_perfect_judge_is_worth_all_of_its_queries() -> None:
    human, judge, _ = problem(2, 50, 150, correlation=1.0 - 1e-9)
    found = ours(human, judge)
    assert found.used[0]
    assert 150 < found.worth[0] <= 200


@pytest.mark.parametrize("can_favour", [False, True])
def test_a_judge_whose_errors_are_hardly_known_is_worth_nothing(can_favour: bool) -> None:
    """It is right on all of the queries but one or two: with one, it could be wrong on a tenth of the others. Errors
    are counted before the favour is subtracted, which moves each value."""
    people, judge, _ = problem(6, 30, 90)
    human = {q: float(h > 0.5) - float(h < -0.5) for q, h in people.items()}
    right = human | {q: float(g > 0.5) - float(g < -0.5) for q, g in judge.items() if q not in human}
    for n_apart in (1, 2):
        wrong = right | {q: human[q] - 1.0 for q in [*human][:n_apart]}
        own, others = ([[by[q] for q in qs]] for by, qs in ((human, human), (wrong, [*wrong][30:])))
        room = dict(zip(wrong, np.abs(np.random.default_rng(7).normal(size=120)), strict=True)) if can_favour else None
        rooms = None if room is None else np.array([[*room.values()]])
        found = judged_means(np.array(own), np.array([[wrong[q] for q in human]]), np.array(others), None, rooms)
        by_oracle = oracle.decided(human, wrong, room=room)
        assert found.n_apart[0] == n_apart
        assert found.used[0] == (by_oracle.lam > 0) == (n_apart == 2)
        assert (found.decided.mean[0], found.decided.half()[0]) == pytest.approx(by_oracle[:2], rel=1e-10)


def test_a_judge_that_is_worth_less_than_a_query_is_not_used() -> None:
    """Otherwise, its estimate would be printed beside the words that it is worth nothing."""
    narrower = 0
    for seed in range(60):
        human, judge, _ = problem(seed, 15, 60, correlation=0.5)
        found = ours(human, judge)
        assert found.used[0] == (int(found.worth[0]) > 15)
        by = found.with_judge if found.used[0] else found.people
        assert (found.decided.mean[0], found.decided.half()[0]) == (by.mean[0], by.half()[0])
        narrower += int(not found.used[0] and found.with_judge.half()[0] < found.people.half()[0])
    assert narrower > 0


def test_few_queries_have_no_interval() -> None:
    human, judge, _ = problem(2, 7, 50)
    found = ours(human, judge)
    assert not found.used[0]
    human, judge, _ = problem(2, 8, 50, correlation=0.99)
    assert ours(human, judge).used[0]
    del human["q000"]
    assert not ours(human, judge).used[0]


def write_files(n_people: int = 20, n_judge: int = 80, noise: float = 0.3, seed: int = 1) -> None:
    """people.qrels of some of the queries, model.qrels and runs of all; b is a little better than a."""
    rng = np.random.default_rng(seed)
    lines: dict[str, list[str]] = {name: [] for name in ("people.qrels", "model.qrels", "a.run", "b.run")}
    for q in range(n_judge):
        for d in range(10):
            relevance = rng.normal()
            grades = [int(np.searchsorted((0.3, 1.2), relevance + e)) for e in (0.0, noise * rng.normal())]
            scores = relevance + rng.normal(size=2) * (1.0, 0.8)
            if q < n_people:
                lines["people.qrels"].append(f"q{q} 0 d{d} {grades[0]}\n")
            lines["model.qrels"].append(f"q{q} 0 d{d} {grades[1]}\n")
            for name, score in zip(("a.run", "b.run"), scores, strict=True):
                lines[name].append(f"q{q} Q0 d{d} 1 {score} x\n")
    for name, text in lines.items():
        Path(name).write_text("".join(text))


CALL = ("evaluate", "--qrels", "people.qrels", "--system", "a.run", "--system", "b.run", "--metric", "ndcg@10")


def test_the_command_prints_what_the_judge_is_worth(cli_here: Cli) -> None:
    write_files()
    done = cli_here(*CALL, "--judge", "model.qrels", "--format", "json").done
    found = json.loads(done.out)
    assert [row["system"] for row in found["rows"]] == ["a.run", "b.run"]
    mean_a, _, difference = found["judge_rows"]
    assert (mean_a["against"], difference["against"], difference["n_human"], difference["n_judge"]) == (
        None,
        "a.run",
        20,
        80,
    )
    # People alone have the interval of the paired test.
    assert found["rows"][1]["difference_low"] == pytest.approx(difference["human_low"])
    assert mean_a["human_high"] == pytest.approx(found["rows"][0]["high"])
    assert difference["estimate_high"] - difference["estimate_low"] < difference["human_high"] - difference["human_low"]
    more = difference["worth"]
    assert 5 < more <= 60
    said = f"model.qrels is worth {more} more human queries (n = 20 -> {20 + more}) for b.run against a.run."
    assert difference["sentence"].startswith(f"{said} A difference is not shown: the interval contains 0. One as large")
    # As many queries of people, with a judge of as many more, have an interval that ends at 0.
    half = (difference["estimate_high"] - difference["estimate_low"]) / 2
    needed = math.ceil(20 * (half / difference["estimate"]) ** 2)
    would = f"needs {needed} queries of people, if model.qrels grades 4.0 times as many."
    assert difference["sentence"].endswith(would)
    (fact,) = found["facts"]
    assert np.sum(fact["documents"]) == 200
    assert 0.7 < fact["kappa"] < 1
    assert fact["notes"] == []
    assert len(difference["differs"]) == 3
    text = cli_here(*CALL, "--judge", "model.qrels").done.out
    assert said in text
    assert "20 queries of people, 80 of the judge" in text
    assert f"weighted kappa {fact['kappa']:.2f}" in text
    worst = difference["differs"][0]
    first = f"{worst['query']} (people {worst['human']:+.3f}, judge {worst['judge']:+.3f})"
    assert f"b.run - a.run: people and the judge differ most on {first}" in text
    # Each difference has its line; that of two equal systems has none.
    Path("c.run").write_text(Path("a.run").read_text())
    third = cli_here(*CALL, "--system", "c.run", "--judge", "model.qrels").done.out
    assert f"b.run - a.run: people and the judge differ most on {first}" in third
    assert "c.run - a.run: they differ" not in third
    # Programs find the rows of the comparison as they are without a judge, those of its gate too.
    plain, judged = ([*CALL, "--fail-if-worse", "90%", *more] for more in ((), ("--judge", "model.qrels")))
    alone = json.loads(cli_here(*plain, "--format", "json").done.out)
    together = json.loads(cli_here(*judged, "--format", "json").done.out)["rows"]
    assert [[*row] for row in together] == [[*row] for row in alone]
    assert "above_limit" in together[1]
    columns = {"limit", "above_limit", "shown"}
    as_csv = [[*csv.DictReader(cli_here(*call, "--format", "csv").done.out.splitlines())] for call in (plain, judged)]
    assert columns < set(as_csv[1][0])
    assert [{k: v for k, v in row.items() if k not in columns} for row in as_csv[1]] == [
        {k: v for k, v in row.items() if k not in columns} for row in as_csv[0]
    ]
    # In Python, the same rows.
    runs = {name: sr.read_run(name) for name in ("a.run", "b.run")}
    compared = sr.compare_systems(runs, "people.qrels", "ndcg@10", judges={"model.qrels": "model.qrels"})
    row = compared.judge_rows()[2]
    assert row.pop("differs") == difference.pop("differs")
    assert row == pytest.approx(difference)
    assert compared.judge_facts()[0]["documents"] == fact["documents"]


def test_kappa_is_that_of_scikit_learn() -> None:
    from sklearn.metrics import cohen_kappa_score, confusion_matrix

    rng = np.random.default_rng(2)
    a = rng.integers(0, 4, 50)
    b = np.clip(a + rng.integers(-1, 2, 50), 0, 3)
    people, judge = ({("q", str(i)): float(g) for i, g in enumerate(grades)} for grades in (a, b))
    found = agreement(people, {**judge, ("q", "new"): 3.0})
    assert found["kappa"] == pytest.approx(cohen_kappa_score(a, b, weights="quadratic"))
    assert found["documents"] == confusion_matrix(a, b).tolist()
    assert found["by_people"] == found["by_judge"] == [0, 1, 2, 3]
    assert np.isnan(agreement({("q", "0"): 1.0}, {("q", "0"): 1.0})["kappa"])


def test_a_judge_without_knowledge_leaves_the_human_interval(cli_here: Cli) -> None:
    write_files(noise=1000.0)
    done = cli_here(*CALL, "--judge", "model.qrels", "--format", "json").done
    row = json.loads(done.out)["judge_rows"][2]
    assert (row["estimate"], row["estimate_low"], row["lambda"], row["worth"]) == (
        row["human"],
        row["human_low"],
        0.0,
        0,
    )
    assert row["sentence"].startswith(
        "model.qrels is worth nothing here, for b.run against a.run: use the human grades."
    )


def test_people_who_grade_the_easy_queries_are_noticed(cli_here: Cli) -> None:
    write_files(n_people=80)
    judged = [line.split() for line in Path("model.qrels").read_text().splitlines()]
    relevant = {q: sum(int(line[3]) for line in judged if line[0] == q) for q in dict.fromkeys(r[0] for r in judged)}
    head = sorted(relevant, key=lambda q: -relevant[q])[:20]
    people = Path("people.qrels").read_text().splitlines(keepends=True)
    Path("people.qrels").write_text("".join(line for line in people if line.split()[0] in head))
    text = cli_here(*CALL, "--judge", "model.qrels").done.out
    assert "people graded a selection: all means here are those of such queries" in " ".join(text.split())
    # With strata, there is no such warning, and the estimate of people alone is that of both strata.
    Path("strata.txt").write_text("".join(f"{q} {'head' if q in head[:10] else 'tail'}\n" for q in relevant))
    rows = json.loads(cli_here(*CALL, "--judge", "model.qrels", "--strata", "strata.txt", "--format", "json").done.out)
    mean = rows["judge_rows"][0]["human"]
    assert mean != pytest.approx(rows["rows"][0]["mean"])
    # A relative limit is one of the mean with weights, the only one on the screen.
    runs = {name: sr.read_run(name) for name in ("a.run", "b.run")}
    judges = {"model.qrels": "model.qrels"}
    compared = sr.compare_systems(runs, "people.qrels", "ndcg@10", judges=judges, strata="strata.txt")
    assert compared.gate("5%")[0]["limit"] == pytest.approx(0.05 * mean)
    text = cli_here(*CALL, "--judge", "model.qrels", "--strata", "strata.txt").done.out
    assert f"{mean:.4f} [" in text
    assert "against the first, paired" not in text
    assert f"{rows['rows'][0]['mean']:.4f}" not in text


def test_the_gate_decides_by_the_judge_as_far_as_people_confirm_it(cli_here: Cli) -> None:
    write_files()
    found = {}
    for more in ((), ("--judge", "model.qrels"), ("--judge", "model.qrels", "--judge-only")):
        done = cli_here(*CALL, *more, "--fail-if-worse", "5%")
        found[len(more)] = done.done.out
    needs = re.search(r"with (\d+) queries of people, or (\d+) if model\.qrels grades 4\.0 times as many\.", found[2])
    assert needs
    people, together = map(int, needs.groups())
    # The limit that they bear is in proportion to the root of their number.
    bears = re.search(r"a limit of ([\d.]+)% has 5 in 100 false alarms", found[2])
    assert bears
    assert together == pytest.approx(20 * (float(bears[1]) / 5.0) ** 2, rel=0.05)
    assert together < people
    # Without a judge, the same number of queries is said.
    assert f"It would have 5 false alarms with {people} queries." in found[0]
    (decided,) = [line for line in found[3].splitlines() if "estimated gain" in line]
    assert decided.split(": ")[1:3] == ["by the grades of model.qrels alone, not by people", "b.run against a.run"]
    runs = {name: sr.read_run(name) for name in ("a.run", "b.run")}
    compared = sr.compare_systems(runs, "people.qrels", "ndcg@10", judges={"m": "model.qrels"})
    (row,), (_, _, judged) = compared.gate("1%"), compared.judge_rows()
    assert row["loss"] == pytest.approx(-judged["estimate"])
    assert row["judge"] == "m"
    assert compared.gate("1%", judge_only=True)[0]["loss"] != row["loss"]


@pytest.mark.parametrize("only", [(), ("--judge-only",)])
@pytest.mark.parametrize("first", ["q20", "q75"])
def test_a_run_without_the_queries_of_the_judge_is_noticed(cli_here: Cli, only: tuple[str, ...], first: str) -> None:
    """They count as 0, which would let a gate pass anything."""
    write_files()
    every = {name: Path(name).read_text() for name in ("a.run", "b.run")}
    n = 80 - int(first[1:])
    lacks = f"has no documents for {n} of the queries of model.qrels, e.g. '{first}'; these queries count as 0"
    for name, whole in every.items():
        lines = [line for line in whole.splitlines(keepends=True) if int(line.split()[0][1:]) < int(first[1:])]
        Path(name).write_text("".join(lines))
        done = cli_here(*CALL, "--judge", "model.qrels").done
        assert f"{name} {lacks}" in " ".join(done.out.split())
        fact = json.loads(cli_here(*CALL, "--judge", "model.qrels", "--format", "json").done.out)["facts"][0]
        assert fact["notes"][0].startswith(f"{name} {lacks}")
        gated = cli_here(*CALL, "--judge", "model.qrels", "--fail-if-worse", "5%", *only)
        if name == "a.run":
            assert_refused(gated, 1, f"a.run {lacks} (as in trec_eval -c). For a gate, give another baseline")
        else:
            assert f"b.run {lacks}" in " ".join(gated.out.split("estimated ")[1].split())
        Path(name).write_text(whole)


@pytest.mark.parametrize(
    ("people", "judge", "more", "message"),
    [
        ("q0 0 d0 1\nq1 0 d1 0\n", "q0 0 d0 3\n", (), "has the grade 3, but those of people are 0 to 1; say what it"),
        ("q0 0 d0 1\n", "z0 0 d0 1\n", (), "has no document that people graded, e.g. 'd0' of query 'q0'; use the"),
        ("q0 0 d0 1\n", "q0 0 z 1\n", (), "e.g. 'd0' of query 'q0'; use the same ids of queries"),
        ("q0 0 d0 1\n", "q0 0 d0 1\n", ("--judge-grades", "1=2,1=0"), "must be pairs such as 2=1,3=1, each grade once"),
        ("q0 0 d0 1\n", "q0 0 d0 1\n", ("--strata", "a.run"), "a.run:1: expected 'query stratum'; got 'q0 Q0"),
    ],
)
def test_wrong_files_are_one_sentence(
    cli_here: Cli, people: str, judge: str, more: tuple[str, ...], message: str
) -> None:
    write_files(n_judge=30)
    Path("people.qrels").write_text(people)
    Path("model.qrels").write_text(judge)
    done = cli_here(*CALL, "--judge", "model.qrels", *more)
    assert_refused(done, 2 if "--judge-grades" in more else 1, message)


def test_the_remedy_for_another_scale_works(cli_here: Cli) -> None:
    write_files(n_judge=30)
    text = Path("model.qrels").read_text()
    Path("model.qrels").write_text(text.replace(" 2\n", " 4\n").replace(" 1\n", " 3\n"))
    done = cli_here(*CALL, "--judge", "model.qrels")
    assert_refused(done, 1, "such as --judge-grades 3=2,4=2, or 3=3 if it is on their scale.")
    same = cli_here(*CALL, "--judge", "model.qrels", "--judge-grades", "3=3,4=4", "--format", "json").done
    assert json.loads(same.out)["facts"][0]["by_judge"] == [0, 3, 4]
    wide = cli_here(*CALL, "--judge", "model.qrels", "--judge-grades", "3=1,4=2", "--format", "json").done
    Path("model.qrels").write_text(text)
    assert json.loads(wide.out) == json.loads(cli_here(*CALL, "--judge", "model.qrels", "--format", "json").done.out)


def test_what_is_said_of_doubtful_judges(cli_here: Cli) -> None:
    write_files()
    judged = Path("model.qrels").read_text()
    # A copy of the judge, and one of people.
    Path("copy.qrels").write_text(judged)
    done = cli_here(*CALL, "--judge", "model.qrels", "--judge", "copy.qrels").done
    assert "model.qrels and copy.qrels have the same grades: they are one judge" in " ".join(done.err.split())
    assert_refused(
        cli_here(*CALL, "--judge", "model.qrels", "--judge", "copy.qrels", "--fail-if-worse", "1%"),
        1,
        "a gate decides by one judge; got model.qrels, copy.qrels.",
    )
    people = Path("people.qrels").read_text()
    rest = [line for line in judged.splitlines(keepends=True) if f"{line.split()[0]} " not in people]
    Path("mixed.qrels").write_text(people + "".join(rest))
    done = cli_here(*CALL, "--judge", "mixed.qrels").done
    said = "it differs from people on 0 of 20 queries, too few to show how wrong it is elsewhere; use the"
    assert f"mixed.qrels is worth nothing here, for b.run against a.run: {said} human grades." in done.out
    # A judge without some queries of people, and with some that no system answered.
    lacking = [line for line in judged.splitlines(keepends=True) if not line.startswith(("q3 ", "q4 "))]
    Path("lacking.qrels").write_text("".join(lacking) + "new 0 d1 1\n")
    done = cli_here(*CALL, "--judge", "lacking.qrels", "--format", "json").done
    found = json.loads(done.out)
    assert found["facts"][0]["notes"] == [
        "lacking.qrels lacks 2 of the queries of people, e.g. 'q3'; they count without it."
    ]
    assert (found["judge_rows"][0]["n_human"], found["judge_rows"][0]["n_judge"]) == (20, 78)
    assert "left out, because no system has documents for them: 1 of its queries" in " ".join(done.err.split())
    # Few queries.
    Path("people.qrels").write_text("".join(line for line in people.splitlines(keepends=True) if line < "q15"))
    done = cli_here(*CALL, "--judge", "model.qrels").done
    assert "for b.run against a.run: people graded 7 queries, and an interval needs 8." in done.out
    (line,) = [line for line in done.out.splitlines() if line.startswith("b.run - a.run ")]
    assert re.fullmatch(r"b\.run - a\.run +([+-]0\.\d{4}) - +\1 - +nothing *", line)
    row = json.loads(cli_here(*CALL, "--judge", "model.qrels", "--format", "json").done.out)["judge_rows"][2]
    assert {row[f"{name}_{end}"] for name in ("human", "estimate", "bias") for end in ("low", "high")} == {None}
    assert row["estimate"] == row["human"] == pytest.approx(float(line.split()[3]), abs=1e-4)


def test_options_that_need_a_judge(cli_here: Cli) -> None:
    write_files(n_judge=30)
    assert_refused(cli_here(*CALL, "--strata", "s.txt"), 2, "needs the grades of a judge.")
    assert_refused(cli_here(*CALL, "--fail-if-worse", "1%", "--judge-only"), 2, "needs the grades of a judge.")
    assert_refused(cli_here(*CALL, "--judge-only"), 2, "needs --fail-if-worse.")
    judged = ("--judge", "model.qrels")
    assert cli_here(*CALL, "--out", "old.json").code == 0
    assert_refused(cli_here(*CALL, *judged, "--baseline", "old.json"), 1, "an earlier evaluation has no grades of a")
    sr.write_letor(sr.datasets.make_ranking(5, 5, 3, n_informative=1, n_redundant=0).data, "d.txt")
    Path("scores.txt").write_text("1\n" * 25)
    told = cli_here("evaluate", "d.txt", "--system", "scores.txt", *judged)
    assert_refused(told, 1, "a judge needs runs, and judgments of people (--qrels); got judged documents.")
    Path("s.txt").write_text("q0 x\nq0 y\n")
    assert_refused(cli_here(*CALL, *judged, "--strata", "s.txt"), 1, "s.txt:2: query 'q0' has a stratum already")
    Path("s.txt").write_text("q0 x\n")
    assert_refused(cli_here(*CALL, *judged, "--strata", "s.txt"), 1, "the strata lack 29 queries, e.g. 'q1'; give each")
    Path("s.txt").write_text("".join(f"q{q} {'tail' if q > 18 else 'head'}\n" for q in range(30)))
    assert_refused(
        cli_here(*CALL, *judged, "--strata", "s.txt"), 1, "stratum 'tail' has 1 queries of people, and needs"
    )


def test_intervals_hold_in_worlds_and_the_naive_mixture_does_not() -> None:
    """The small part of `python -m benchmarks judges`."""
    rng, n_worlds = np.random.default_rng(3), 1500
    error = (0.05 / n_worlds) ** 0.5  # standard error of a share of 95%, and more than that of a difference of two
    normal, graded = worlds.normal_pool(rng, 20_000), worlds.graded_pool(rng, worlds.SOME, 4000)
    for pool, n, n_all in ((normal, 25, 100), (graded, 15, 600)):
        for name, seen in worlds.worlds(rng, pool, n, n_all, n_worlds).items():
            found = seen.shares()
            assert found["judged"] > found["human"] - 0.007 - 3 * error, name
            if name in ("r = 0.6, biased", worlds.STRONG):
                assert found["naive"] < 0.5
            if name.startswith("r = 0.9"):
                assert found["judged_length"] / found["human_length"] == pytest.approx(0.626, rel=0.05)
            if name in worlds.USELESS:
                assert found["judged_length"] <= 1.03 * found["human_length"]
                assert found["used"] < 0.1
            assert found["warned"] < 0.1, name
    head = worlds.worlds(rng, worlds.normal_pool(rng, 20_000), 50, 200, 100, head=True)
    assert head["r = 0.9"].warned > 95


def test_intervals_hold_for_metrics_of_few_values_unless_errors_are_not_counted() -> None:
    rng, n_worlds = np.random.default_rng(7), 2000
    error = (0.1 / n_worlds) ** 0.5
    pool = worlds.precision_pool(rng, 0.9, 20_000)
    truth = pool.human.mean()
    drawn = rng.integers(0, len(pool.human), size=(n_worlds, 500))
    human, judge = pool.human[drawn[:, :25]], pool.judges["right in 95%"][drawn]
    found = judged_means(human, judge[:, :25], judge[:, 25:])

    def covers(by: Estimates) -> float:
        return float((np.abs(by.mean - truth) <= by.half()).mean())

    assert covers(found.decided) > covers(found.people) - 0.007 - 3 * error
    assert found.used.any()
    uncounted = replace(found, n_apart=np.full(n_worlds, 25))
    assert covers(uncounted.decided) < covers(found.people) - 0.08


def test_intervals_hold_with_strata_of_few_queries_of_people() -> None:
    """A stratum with ten times the traffic of another, of which people graded few queries, decides the length: n less
    the number of strata is the wrong number of degrees of freedom."""
    rng, n_worlds = np.random.default_rng(5), 4000
    error = (0.05 / n_worlds) ** 0.5
    for n_tail, wrong in ((2, 0.75), (5, 0.91)):
        found, truth = worlds.with_strata(rng, worlds.normal_pool(rng, 20_000), "r = 0.6", n_tail, n_worlds)
        counted = found.people._replace(freedom=np.array(30 + n_tail - 2))
        assert (abs(counted.mean - truth) <= counted.half()).mean() < wrong
        for by in (found.people, found.decided):
            assert (abs(by.mean - truth) <= by.half()).mean() > 0.95 - 0.015 - 3 * error


def test_a_judge_favours_whom_it_likes_also_where_lower_is_better() -> None:
    """With pairwise_error it was said to favour the other system."""
    rng = np.random.default_rng(4)
    people, judge, now, new = {}, {}, {}, {}
    for q in range(40):
        relevance = rng.normal(size=8)
        scores = {"now": relevance + rng.normal(size=8), "new": relevance + rng.normal(size=8)}
        likes = np.argsort(np.argsort(-scores["new"])) < 3
        for d in range(8):
            if q < 20:
                people[f"q{q}", f"d{d}"] = float(relevance[d] > 0.3)
            judge[f"q{q}", f"d{d}"] = float(likes[d])
            now[f"q{q}", f"d{d}"], new[f"q{q}", f"d{d}"] = scores["now"][d], scores["new"][d]
    systems = {"now": Run(now), "new": Run(new)}
    for metric in ("ndcg@3", "pairwise_error"):
        found = sr.compare_systems(systems, Qrels(people), metric, judges={"model": Qrels(judge)})
        assert "It favours new by" in found.judge_rows()[-1]["sentence"], metric


def test_judgments_that_list_relevant_documents_only_are_no_copy() -> None:
    people = {(f"q{q}", f"d{d}"): 1.0 for q in range(10) for d in range(3)}
    judge = {(f"q{q}", f"d{d}"): 1.0 for q in range(30) for d in range(4)}
    run = Run({(f"q{q}", f"d{d}"): float(-d) for q in range(30) for d in range(6)})
    found = sr.compare_systems({"a": run}, Qrels(people), "ndcg@3", judges={"model": Qrels(judge)})
    assert found.judge_rows()[0]["n_human"] == 10
    many = {key: 0.01 * i for i, key in enumerate(judge)}
    with pytest.raises(DataError, match=r"has 19 other grades than those of people .* not scores"):
        sr.compare_systems({"a": run}, Qrels(people), "ndcg@3", judges={"model": Qrels(many)})
    exact = {**judge, ("q0", "d0"): 3.1234567}
    with pytest.raises(DataError, match=r"judge_grades='3.1234567=1'") as refused:
        sr.compare_systems({"a": run}, Qrels(people), "ndcg@3", judges={"model": Qrels(exact)})
    assert "has the grade 3.1234567" in str(refused.value)
    found = sr.compare_systems(
        {"a": run}, Qrels(people), "ndcg@3", judges={"model": Qrels(exact)}, judge_grades="3.1234567=1"
    )
    assert found.judge_rows()[0]["n_human"] == 10
