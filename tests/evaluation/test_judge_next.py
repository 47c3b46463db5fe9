"""What people should judge next: documents by how far a grade moves a difference, and queries by a random draw within
strata, which keeps estimates unbiased. A list of the queries with the largest differences does not."""

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from benchmarks.cases import judge_next as worlds
from scipy import stats

import sparserank as sr
from sparserank.data.runs import Qrels, Run
from sparserank.errors import DataError, ParameterError
from sparserank.evaluation.judge_next import LARGEST_RATIO, Draw, cautious, draw
from sparserank.evaluation.judges import Estimates
from sparserank.evaluation.moves import moves, rooms
from sparserank.metrics import parse_metric
from tests.evaluation.test_judges import CALL, write_files
from tests.oracles import judge_next as oracle
from tests.support.command_line import Cli, assert_refused

Pairs = dict[tuple[str, str], float]


def lists(seed: int, n_queries: int = 6, n_docs: int = 9, alike: int = 0) -> tuple[Pairs, Pairs, Pairs]:
    """Judgments of two in three documents, and two runs, which do not retrieve all of them and rank the first queries
    alike."""
    rng = np.random.default_rng(seed)
    grades, now, new = {}, {}, {}
    for q in range(n_queries):
        for d in range(n_docs):
            key = f"q{q}", f"d{d}"
            if rng.random() < 0.67 or d == 0:
                grades[key] = float(rng.integers(0, 4))
            if rng.random() < 0.8 or d == 1:
                now[key] = float(rng.normal())
                new[key] = now[key] if q < alike else float(rng.normal())
            elif q >= alike:
                new[key] = float(rng.normal())
    return grades, now, new


@pytest.mark.parametrize("metric", ["ndcg@4", "ndcg@20", "p@3", "map"])
@pytest.mark.parametrize("n_runs", [1, 2])
def test_moves_are_those_of_new_evaluations(metric: str, n_runs: int) -> None:
    grades, *pairs = lists(3, n_docs=14, alike=2)
    runs = dict(zip(("now", "new"), map(Run, pairs[:n_runs]), strict=False))
    name, _, cutoff = metric.partition("@")
    first_ranks = int(cutoff or 10)
    every = sorted({*grades.values()})
    expected, by_largest = (
        oracle.largest_moves(grades, [*runs.values()], name, first_ranks, tried) for tried in (every, every[-1:])
    )
    assert by_largest != expected  # a document with the largest grade, for one
    found = moves(runs, "now", Qrels(grades), parse_metric(metric, "trec"))
    assert dict(zip(found.documents, found.sizes[0], strict=True)) == pytest.approx(expected, abs=1e-12)
    for run, ranks in zip(runs.values(), found.ranks, strict=True):
        for (q, d), rank in zip(found.documents, ranks, strict=True):
            first = oracle.shown(run, q, first_ranks)
            assert rank == (first.index(d) + 1 if d in first else 0)
    if n_runs == 2:
        assert any(expected.values())
        assert not any(size for (q, _), size in expected.items() if q in ("q0", "q1"))  # alike: nothing can differ


def test_the_room_for_favour_is_that_of_new_evaluations() -> None:
    grades, now, new = lists(3, n_docs=14, alike=2)
    other = {key: -score for key, score in new.items()}
    runs = {"new": Run(new), "now": Run(now), "other": Run(other)}
    ids = Qrels(grades).documents([*runs.values()]).query_ids.tolist()
    metrics = {name: parse_metric(name, "trec") for name in ("ndcg@4", "ndcg@20", "p@3", "map")}
    found = rooms(runs, "now", Qrels(grades), metrics)
    for metric in metrics:
        name, _, cutoff = metric.partition("@")
        for room, run in zip(found[metric], (new, other), strict=True):
            expected = oracle.room_for_favour(grades, [now, run], name, int(cutoff or 10))
            assert dict(zip(ids, room.tolist(), strict=True)) == pytest.approx(expected, abs=1e-12)
        assert (found[metric][0] == 0).sum() == 2  # alike
    assert rooms({"now": Run(now)}, "now", Qrels(grades), metrics)["map"].shape == (0, len(ids))


def test_each_metric_has_its_own_order_of_equal_scores() -> None:
    grades, *pairs = lists(3, n_docs=14)
    runs = {name: Run({key: round(score) for key, score in of.items()}) for name, of in zip("ab", pairs, strict=True)}
    metrics = {convention: parse_metric("p@3", convention) for convention in ("trec", "xgboost")}
    both = rooms(runs, "a", Qrels(grades), metrics)
    assert not np.array_equal(both["trec"], both["xgboost"])
    for name, metric in metrics.items():
        np.testing.assert_array_equal(both[name], rooms(runs, "a", Qrels(grades), {name: metric})[name])


def test_the_largest_of_several_differences_counts() -> None:
    grades, now, new = lists(6)
    runs = {"new": Run(new), "now": Run(now), "other": Run({key: -score for key, score in new.items()})}
    found = sr.compare_systems(runs, Qrels(grades), "ndcg@4", baseline="now").judge_next(100)["documents"]
    tried = sorted({*grades.values()})
    by = {s: oracle.largest_moves(grades, [now, runs[s]], "ndcg", 4, tried) for s in ("new", "other")}
    assert {row["system"] for row in found} == {*by}
    for row in found:
        sizes = {s: moves_of.get((row["query"], row["document"]), 0.0) for s, moves_of in by.items()}
        assert row["move"] == pytest.approx(max(sizes.values()) / 6, abs=1e-12)
        assert sizes[row["system"]] == pytest.approx(max(sizes.values()), abs=1e-12)
        assert row["against"] == "now"
    assert [row["move"] for row in found] == sorted((row["move"] for row in found), reverse=True)


def test_many_grades_are_thinned_out() -> None:
    """Probabilities, of which each document has its own."""
    grades, now, new = lists(5)
    rng = np.random.default_rng(1)
    grades = {key: float(rng.random()) for key in grades}
    for values in (grades, dict.fromkeys(grades, 1.0)):
        ordered = sorted({0.0, *values.values()})
        tried = ordered if len(ordered) < 10 else [ordered[k * (len(ordered) - 1) // 9] for k in range(10)]
        found = moves({"now": Run(now), "new": Run(new)}, "now", Qrels(values), parse_metric("ndcg@4", "trec"))
        expected = oracle.largest_moves(values, [now, new], "ndcg", 4, tried)
        assert dict(zip(found.documents, found.sizes[0], strict=True)) == pytest.approx(expected, abs=1e-12)


def problem(seed: int, n_all: int = 60, n: int = 12, none: int = 10) -> tuple[np.ndarray, np.ndarray]:
    """Expected spreads, of which some are 0, and which queries people judged."""
    rng = np.random.default_rng(seed)
    spread = np.exp(0.6 * rng.normal(size=n_all))
    spread[rng.permutation(n_all)[:none]] = 0.0
    return spread, np.isin(np.arange(n_all), rng.permutation(n_all)[:n])


def counts(found: Draw, members: np.ndarray) -> dict[str, int]:
    return {name: int(members[found.strata == name].sum()) for name in np.unique(found.strata).tolist()}


@pytest.mark.parametrize("seed", range(8))
def test_the_allocation_has_the_smallest_variance(seed: int) -> None:
    spread, judged = problem(seed)
    found = draw(spread, judged, 10, seed)
    assert found.drawn.sum() == 10
    assert not (found.drawn & judged).any()
    assert {*found.strata} == {"none", "low", "high"}
    sizes, before, after = (counts(found, m) for m in (judged | True, judged, judged | found.drawn))
    shrunk = cautious(spread)
    means = [float(np.mean(shrunk[found.strata == name] ** 2)) ** 0.5 for name in sizes]
    best = oracle.smallest_variance([*sizes.values()], [*before.values()], means, 10)
    assert sum((sizes[s] * m) ** 2 / after[s] for s, m in zip(sizes, means, strict=True)) == pytest.approx(best)
    assert found.probability == pytest.approx([after[s] / sizes[s] for s in found.strata])
    assert found.ratio == pytest.approx(best / (60 / 12 * (shrunk**2).sum()))
    # No query is drawn where no grade moves anything, as long as two are judged there.
    assert after["none"] == max(before["none"], 2)
    # The next draw keeps the strata, whose variance it lowers.
    again = draw(spread, judged | found.drawn, 9, seed, found.strata.tolist())
    assert (again.strata == found.strata).all()
    assert again.ratio == pytest.approx(oracle.smallest_variance([*sizes.values()], [*after.values()], means, 9) / best)


def test_the_allocation_is_the_best_for_whole_numbers() -> None:
    """Strata of very different sizes, where n_s in proportion to them, rounded, is another one."""
    sizes = {"a": 5, "b": 25}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        spread, strata = rng.uniform(1.0, 1.2, 30), rng.permutation(np.repeat([*sizes], [*sizes.values()]))
        judged = np.isin(np.arange(30), rng.permutation(30)[:9])
        found = draw(spread, judged, 6, seed, strata.tolist())
        before, after = counts(found, judged), counts(found, judged | found.drawn)
        means = [float(np.mean(cautious(spread)[strata == s] ** 2)) ** 0.5 for s in sizes]
        best = oracle.smallest_variance([*sizes.values()], [*before.values()], means, 6)
        ours = sum((sizes[s] * m) ** 2 / after[s] for s, m in zip(sizes, means, strict=True))
        assert ours == pytest.approx(best)


def test_the_width_to_expect() -> None:
    """The part of a census does not shrink; each query drawn is a degree of freedom more."""
    drawn = Draw(np.arange(9) < 4, np.full(9, "all"), np.ones(9), 0.25)
    then = drawn.expected(Estimates(np.array([0.1]), np.array([2.0]), np.array([7.0])), np.array([0.8]))
    assert then.half()[0] == pytest.approx(stats.t.ppf(0.975, 11) * np.sqrt(0.25 * 4.0 + 0.75 * 0.8))
    assert then.mean[0] == 0.1


def test_strata_have_equal_sums_of_the_spread() -> None:
    spread, judged = problem(1)
    found, shrunk = draw(spread, judged, 10, 0), cautious(spread)
    sums = [shrunk[found.strata == name].sum() for name in ("low", "high")]
    assert abs(sums[0] - sums[1]) <= 2 * shrunk.max()
    assert spread[found.strata == "low"].max() <= spread[found.strata == "high"].min()
    assert not spread[found.strata == "none"].any()
    # Without strata, queries that were drawn lower the variance by their number alone.
    assert draw(spread, judged, 7, 0).ratio == pytest.approx(12 / 19)
    # Few queries of people, or strata of one query: all are one.
    for few, n, one in ((judged, 7, spread), (judged, 10, np.r_[0.0, np.ones(59)]), (judged, 10, np.zeros(60))):
        assert {*draw(one, few, n, 0).strata} <= ({"all"} if n == 7 or one[0] == 0 < one[1] else {"low", "high"})


def test_shrunk_spreads_cost_little_if_all_are_equal_in_truth() -> None:
    """Kantorovich's inequality; spreads as they are would cost twice the queries."""
    spread, _ = problem(2, none=0)
    shrunk = cautious(spread)
    assert np.corrcoef(np.argsort(np.argsort(spread)), shrunk)[0, 1] > 0.7
    costs = [float((1 / s).mean() * s.mean()) for s in (shrunk, np.exp(2 * np.log(spread)))]
    assert costs[0] <= (1 + LARGEST_RATIO) ** 2 / (4 * LARGEST_RATIO) < 1.05 < 2 < costs[1]
    assert cautious(np.array([0.0, 3.0, 3.0])) == pytest.approx([0.0, 1.0, 1.0])


def test_the_mean_over_all_samples_is_the_truth() -> None:
    """Each set of 5 of 10 queries is judged first equally often, and then each draw of the plan. A plan that looks at
    the grades of people is biased, and so are the queries of the largest values, and strata that are forgotten."""
    rng = np.random.default_rng(4)
    strata = ["low"] * 5 + ["high"] * 5
    spread = np.repeat([1.0, 2.0], 5)
    values = (rng.exponential(size=10) * spread).tolist()
    truth = float(np.mean(values))
    means: dict[str, list[float]] = {"ours": [], "spreads of people": [], "largest": [], "forgotten": []}
    for first in oracle.first_parts(10, 5):
        before = {s: sum(strata[i] == s for i in first) for s in ("low", "high")}
        judged = np.isin(np.arange(10), first)
        found = draw(spread, judged, 3, 0, strata)
        after = counts(found, judged | found.drawn)
        means["ours"].append(oracle.mean_over_draws(values, strata, first, after))
        means["forgotten"].append(
            sum(after[s] * np.mean([values[i] for i in range(10) if strata[i] == s]) for s in after) / 8
        )
        rest = sorted((i for i in range(10) if i not in first), key=lambda i: -values[i])[:3]
        means["largest"].append(float(np.mean([values[i] for i in (*first, *rest)])))
        # All three queries go where the values of people differ most; of sets of 2 and 3, so that there is a choice.
        if max(before.values()) == 3:
            spreads = {s: np.std([values[i] for i in first if strata[i] == s]) for s in before}
            widest = max(spreads, key=lambda s: spreads[s])
            more = min(3, 5 - before[widest])
            other = {s: 3 - more if s != widest else more for s in before}
            planned = {s: before[s] + other[s] for s in before}
            means["spreads of people"].append(oracle.mean_over_draws(values, strata, first, planned))
    assert np.std(means["ours"]) > 0.01
    assert np.mean(means["ours"]) == pytest.approx(truth, abs=1e-12)
    for wrong in ("spreads of people", "largest", "forgotten"):
        assert abs(np.mean(means[wrong]) - truth) > 0.01, wrong


def test_factors_in_worlds() -> None:
    """The small part of `python -m benchmarks judge_next`."""
    rng = np.random.default_rng(7)
    n_worlds = 120
    noise = 4 / n_worlds**0.5  # four standard errors of a bias
    mostly = dict(worlds.list_pools(rng, 0.4, 2000))["noise 0.55"]
    found, expected = worlds.worlds(rng, mostly, 15, n_worlds)
    assert worlds.factor(found) > 1.3
    assert expected == pytest.approx(1.0, abs=0.15)
    assert found["strata"].covered > 0.95 - 4 * (0.05 / n_worlds) ** 0.5
    varied = worlds.normal_pool(rng, 1.0, true=True, size=5000)
    found, _ = worlds.worlds(rng, varied, 25, n_worlds)
    assert abs(found["strata"].bias) < noise < found["largest"].bias + 0.1


PLAIN = tuple(CALL)
JUDGED = (*CALL, "--judge", "model.qrels")


def test_documents_that_people_did_not_judge(cli_here: Cli) -> None:
    write_files()
    every = Path("people.qrels").read_text()
    assert (
        "Documents: people judged all that can move a difference in their queries."
        in cli_here(*PLAIN, "--judge-next", "5").done.out
    )
    some = [line for line in every.splitlines(keepends=True) if line.split()[2] not in ("d3", "d7")]
    Path("people.qrels").write_text("".join(some))
    found = json.loads(cli_here(*PLAIN, "--judge-next", "5", "--format", "json").done.out)
    plain = json.loads(cli_here(*PLAIN, "--format", "json").done.out)
    assert found["rows"] == plain
    assert [*found["judge_next"]] == ["documents"]
    rows = found["judge_next"]["documents"]
    people, runs = sr.read_qrels("people.qrels"), {name: sr.read_run(name) for name in ("a.run", "b.run")}
    expected = oracle.largest_moves(people, [*runs.values()], "ndcg", 10, sorted({*people.values()}))
    left = {key: size / 20 for key, size in expected.items() if key not in people}
    assert len(left) == 40
    assert {(r["query"], r["document"]): r["move"] for r in rows} == pytest.approx(
        dict(sorted(left.items(), key=lambda of: -of[1])[:5]), abs=1e-10
    )
    assert {(r["system"], r["against"]) for r in rows} == {("b.run", "a.run")}
    for r in rows:
        assert r["ranks"] == {n: oracle.shown(run, r["query"], 10).index(r["document"]) + 1 for n, run in runs.items()}
    text = cli_here(*PLAIN, "--judge-next", "5").done.out
    line = next(line for line in text.splitlines() if line.startswith(rows[0]["query"] + " "))
    shown = [rows[0]["document"], *(f"{rank}" for rank in rows[0]["ranks"].values()), f"{rows[0]['move']:.4f}"]
    assert line.replace(",", " ").split() == [rows[0]["query"], *shown, "b.run", "-", "a.run"]
    # In Python the same, and of one system its mean.
    compared = sr.compare_systems(runs, "people.qrels", "ndcg@10")
    assert compared.judge_next(5)["documents"] == rows
    assert len(compared.judge_next(50)["documents"]) == sum(size > 1e-12 for size in left.values()) < 50
    (row,) = sr.compare_systems({"a.run": runs["a.run"]}, "people.qrels", "ndcg@3").judge_next(1)["documents"]
    expected = oracle.largest_moves(people, [runs["a.run"]], "ndcg", 3, sorted({*people.values()}))
    assert row["move"] == pytest.approx(max(size for key, size in expected.items() if key not in people) / 20)
    assert (row["system"], row["against"]) == ("a.run", None)


def test_queries_are_drawn_then_judged_then_weighted(cli_here: Cli) -> None:
    write_files()
    call = (*JUDGED, "--judge-next", "12")
    found = json.loads(cli_here(*call, "--format", "json", "--strata-out", "strata.txt").done.out)
    assert [*found] == ["rows", "judge_rows", "facts", "judge_next"]
    queries, strata = found["judge_next"]["queries"], found["judge_next"]["strata"]
    asked = {row["query"] for row in queries}
    assert len(asked) == 12
    assert not {f"q{i}" for i in range(20)} & asked
    assert len(strata) == 80
    sizes, of_people = Counter(strata.values()), Counter(strata[q] for q in [*asked, *(f"q{i}" for i in range(20))])
    assert all(row["probability"] == of_people[row["stratum"]] / sizes[row["stratum"]] for row in queries)
    lines = Path("strata.txt").read_text().splitlines()
    assert lines[1:] == [f"{q} {stratum}" for q, stratum in strata.items()]
    text = cli_here(*call).done.out
    assert all(f"\n{row['query']} " in text for row in queries)
    (width,) = found["judge_next"]["widths"]
    assert (
        f"Interval of b.run - a.run: +-{width['now']:.4f} now, about +-{width['expected']:.4f} once they are judged."
        in text
    )
    now = found["judge_rows"][2]
    assert width["now"] == pytest.approx((now["estimate_high"] - now["estimate_low"]) / 2)
    # The same draw in Python; another one by another seed.
    runs = {name: sr.read_run(name) for name in ("a.run", "b.run")}
    compared = sr.compare_systems(runs, "people.qrels", "ndcg@10", judges={"model.qrels": "model.qrels"})
    assert json.loads(json.dumps(compared.judge_next(12))) == found["judge_next"]
    other = json.loads(cli_here(*call, "--seed", "1", "--format", "json").done.out)["judge_next"]
    assert other["strata"] == strata
    assert {row["query"] for row in other["queries"]} != asked
    # People judge them: the estimate has the weights of the strata, and about the width that was expected.
    lines = ["".join(f"q{q} 0 d{d} {(q + d) % 3}\n" for d in range(10)) for q in range(80) if f"q{q}" in asked]
    people = Path("people.qrels").read_text()
    Path("people.qrels").write_text(people + "".join(lines))
    weighted = (*JUDGED, "--strata", "strata.txt", "--format", "json")
    row = json.loads(cli_here(*weighted).done.out)["judge_rows"][2]
    values = sr.compare_systems(runs, "people.qrels", "ndcg@10")
    differences = values.values["b.run"]["trec:ndcg@10"] - values.values["a.run"]["trec:ndcg@10"]
    mean = sum(
        sizes[s] / 80 * np.mean([d for q, d in zip(values.query_ids, differences, strict=True) if strata[q] == s])
        for s in sizes
    )
    assert row["n_human"] == 32
    assert row["human"] == pytest.approx(mean)
    assert row["human"] != pytest.approx(differences.mean())
    # A second draw keeps the strata.
    again = json.loads(cli_here(*weighted, "--judge-next", "5").done.out)["judge_next"]
    assert again["strata"] == strata
    assert not asked & {row["query"] for row in again["queries"]}
    by_hand = {q: f"s{int(q[1:]) % 2}" for q in strata}
    Path("strata.txt").write_text("".join(f"{q} {stratum}\n" for q, stratum in by_hand.items()))
    assert json.loads(cli_here(*weighted, "--judge-next", "5").done.out)["judge_next"]["strata"] == by_hand


def test_few_queries_of_people_have_no_width(cli_here: Cli) -> None:
    for n_people, n_widths in ((1, 0), (7, 0), (8, 1)):
        write_files(n_people=n_people, n_judge=50)
        call = (*JUDGED, "--judge-grades", "2=1", "--judge-next", "25")
        found = json.loads(cli_here(*call, "--format", "json").done.out)["judge_next"]
        assert (len(found["queries"]), len(found["widths"])) == (25, n_widths)
        assert ("once they are judged" in cli_here(*call).done.out) == bool(n_widths)


def test_refused(cli_here: Cli) -> None:
    write_files(n_people=20, n_judge=40)
    for wrong in ("0", "-3"):
        assert_refused(cli_here(*PLAIN, "--judge-next", wrong), 2, f"must be an integer >= 1; got {wrong}.")
    left = "must be from 1 to 20 queries: each stratum needs 2 queries of people, and they did not judge 20; got 21."
    assert_refused(cli_here(*JUDGED, "--judge-next", "21"), 2, left)
    assert_refused(cli_here(*PLAIN, "--strata-out", "s.txt"), 2, "needs --judge-next and --judge.")
    alone = cli_here(*PLAIN, "--judge-next", "3", "--strata-out", "s.txt")
    assert_refused(alone, 2, "needs --judge-next and --judge.")
    assert not Path("s.txt").exists()
    told = cli_here(*JUDGED, "--judge-next", "3", "--strata-out", "a.run")
    assert_refused(told, 1, "a.run: already exists and is another kind of file")
    Path("second.qrels").write_text(Path("model.qrels").read_text())
    told = cli_here(*JUDGED, "--judge", "second.qrels", "--judge-next", "3")
    assert_refused(told, 1, "queries are drawn for one judge; got model.qrels, second.qrels.")
    judged = Path("model.qrels").read_text().splitlines(keepends=True)
    Path("model.qrels").write_text("".join(line for line in judged if not line.startswith("q4 ")))
    told = cli_here(*JUDGED, "--judge-next", "3")
    assert_refused(told, 1, "model.qrels lacks queries of people, e.g. 'q4'; a draw needs its grades of these.")
    assert cli_here(*PLAIN, "--out", "old.json").code == 0
    told = cli_here(*PLAIN[:-4], "--metric", "ndcg@10", "--baseline", "old.json", "--judge-next", "3")
    assert_refused(told, 1, "what to judge next needs judgments, and the runs of all systems.")
    found = sr.compare_systems({"a": [1, 2], "b": [2, 1]}, [1, 0], "map", qid=["a", "a"])
    with pytest.raises(DataError, match="needs judgments, and the runs of all systems"):
        found.judge_next()
    with pytest.raises(ParameterError, match="n must be an integer >= 1; got 0"):
        found.judge_next(0)
    with pytest.raises(ParameterError, match="random_state"):
        found.judge_next(1, random_state=-1)
    with pytest.raises(ParameterError, match="must be from 4 to 58 queries"):
        draw(np.ones(60), np.arange(60) < 2, 3, 0, ["a", "b", "c"] * 20)
