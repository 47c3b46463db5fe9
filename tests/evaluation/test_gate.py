"""A gate for pipelines: exit code 3 if a system is worse by more than a limit, and what these queries can tell."""

import json
import math
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import sparserank as sr
from sparserank.errors import DataError, DataFormatError, DataWarning, ParameterError
from sparserank.evaluation.gate import Gate, gate, limit_of
from sparserank.metrics import parse_metric
from tests.support.command_line import Cli, assert_refused

NDCG, PAIRS = parse_metric("ndcg@10"), parse_metric("pairwise_error")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("worse", [-0.05, 0.0, 0.02, 0.2])
def test_the_bound_is_that_of_a_one_sided_t_test(seed: int, worse: float) -> None:
    rng = np.random.default_rng(seed)
    base = rng.random(40)
    new = base - worse + rng.normal(0, 0.05, 40)
    base[3], new[7] = np.nan, np.nan
    both = np.isfinite(base) & np.isfinite(new)
    for limit, absolute in (("2%", 0.02 * base[both].mean()), ("0.03", 0.03)):
        found = gate(new, base, limit_of(limit), NDCG)
        test = stats.ttest_1samp((base - new)[both], absolute, alternative="greater")
        assert found.limit == pytest.approx(absolute)
        assert found.fails(shown=True) == (test.pvalue < 0.05)
        assert found.fails() == ((base - new)[both].mean() > absolute)
        two_sided = stats.ttest_1samp((base - new)[both], absolute).confidence_interval(0.95).low
        assert found.loss - found.half > two_sided  # a two-sided interval would be too careful
        assert gate(1 - new, 1 - base, limit_of(limit), PAIRS).loss == pytest.approx(found.loss)


@pytest.mark.parametrize("n_pairs", [2000, pytest.param(20_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("n", [12, 43])
def test_equal_and_worse_systems_fail_as_often_as_is_said(n: int, n_pairs: int) -> None:
    """What the sentence says of one pair of systems holds, on average, for the next pair on as many other queries: how
    often an equal one fails, and one passes that is worse by the limit, with this limit and with that which the queries
    bear."""
    rng = np.random.default_rng(n)
    said, seen = [], []
    for _ in range(n_pairs):
        base, limit = 0.5, 0.02 * 0.5
        found = gate(base + rng.normal(0, 0.1, n), np.full(n, base), (0.02, True), NDCG)
        assert found.limit == pytest.approx(limit)
        shown = limit + found.half
        said.append([found.failing(loss, at) for at in (limit, shown, found.half) for loss in (0.0, limit)])
        lost = rng.normal(0, 0.1, n)
        error = lost.std(ddof=1) / math.sqrt(n)
        with_bound = limit + stats.t(n - 1).ppf(0.95) * error  # as --fail-if-shown, of the next pair
        seen.append([lost.mean() + loss > at for at in (limit, with_bound, found.half) for loss in (0.0, limit)])
    rates, tolerance = np.mean(seen, axis=0), 4 * math.sqrt(0.25 / n_pairs)
    assert rates == pytest.approx(np.mean(said, axis=0), abs=tolerance)
    assert rates[1] == pytest.approx(0.5, abs=tolerance)
    assert rates[3:5] == pytest.approx([0.05, 0.05], abs=4 * math.sqrt(0.05 / n_pairs))


@pytest.mark.parametrize("n", [12, 43])
def test_the_sentence_gives_the_limit_that_these_queries_bear(n: int) -> None:
    rng = np.random.default_rng(n)
    base = rng.uniform(0.3, 0.7, n)
    found = gate(base + rng.normal(0, 0.1, n), base, (0.01, True), NDCG)
    bears, error = found.half / found.unit, found.error / found.unit
    t = stats.t(n - 1)
    said = found.sentence("new", "now", "ndcg@10")
    assert bears == pytest.approx(t.ppf(0.95) * error)
    equal, passing = 100 * t.sf(0.01 / error), 100 * t.sf((0.01 - bears) / error)
    assert f"In general, with these {n} queries, this limit has {equal:.0f} in 100 false alarms" in said
    assert "and 50 in 100 real losses of 1.0% pass" in said
    assert f"; a limit of {100 * bears:.1f}% has 5 in 100 false alarms, and {passing:.0f} in 100 real losses" in said
    enough = found.needed
    assert math.ceil(n * (bears / 0.01) ** 2) == enough
    assert said.endswith(f"It would have 5 false alarms with {enough:,} queries.")
    shown = found.sentence("new", "now", "ndcg@10", shown=True)
    assert "a gate for what is shown has" in shown
    assert shown.endswith("and 95 in 100 real losses of 1.0% pass.")
    # A limit that they bear needs no more queries.
    assert "would have 5" not in gate(base + rng.normal(0, 0.01, n), base, (0.2, True), NDCG).sentence("a", "b", "m")


def test_a_limit_that_no_system_can_exceed_is_refused() -> None:
    base = np.array([0.5, 0.25, 0.75])
    for limit in ("1", "5", "0.5", "100%", "250%"):
        with pytest.raises(ParameterError, match=r"must be below 0\.5000, because no loss of ndcg@10 is larger; got"):
            gate(base, base, limit_of(limit), NDCG)
    with pytest.raises(ParameterError, match=r"got 5 \(a share is written 5%\)"):
        gate(base, base, limit_of("5"), NDCG)
    assert isinstance(gate(base, base, limit_of("99%"), NDCG), Gate)
    # Of an error of 0.2, 0.8 can be lost: four times as much.
    assert not gate(base, base - 0.3, limit_of("300%"), PAIRS).fails()
    with pytest.raises(ParameterError, match=r"must be below 0\.8000"):
        gate(base, base - 0.3, limit_of("400%"), PAIRS)
    for metric, worst in ((NDCG, 0.0), (PAIRS, 1.0)):
        with pytest.raises(DataError, match=f"now has a mean .* of {worst:.4f}, so nothing is worse; give another"):
            gate(base, np.full(3, worst), limit_of("1%"), metric, ("new", "now"))


def test_limits_are_shares_or_numbers() -> None:
    assert (limit_of("1%"), limit_of("0.01"), limit_of("0")) == ((0.01, True), (0.01, False), (0.0, False))
    for wrong in ("", "%", "one", "-1%", "nan", "inf"):
        with pytest.raises(ParameterError, match="must be a share such as 1%, or a number >= 0"):
            limit_of(wrong)


def test_few_queries_and_equal_systems_do_not_fail() -> None:
    same = np.array([0.5, 0.25, 1.0])
    found = gate(same, same, (0.0, True), NDCG)
    assert not found.fails()
    said = found.sentence("a", "b", "m")
    assert "not above the limit. All 3 queries differ alike, so they say nothing about false alarms." in said
    with pytest.raises(DataError, match="at least 2 queries with a value of the metric; got 1"):
        gate(np.array([0.4, np.nan]), np.array([0.5, 0.5]), (0.01, True), NDCG)


def write_runs() -> None:
    """j.qrels, and runs: two of one quality, a third like them, and one without any."""
    rng = np.random.default_rng(1)
    rows = {"now": [], "same": [], "new": [], "bad": []}  # type: ignore[var-annotated]
    judged = []
    for q in range(60):
        for d in range(10):
            grade = int(rng.integers(0, 3))
            judged.append(f"{q} 0 d{d} {grade}\n")
            noise = rng.normal(size=3)
            scores = {"now": grade + noise[0], "same": grade + noise[0], "new": grade + noise[1], "bad": noise[2]}
            for name, score in scores.items():
                rows[name].append(f"{q} Q0 d{d} 1 {score} x\n")
    Path("j.qrels").write_text("".join(judged))
    for name, lines in rows.items():
        Path(f"{name}.run").write_text("".join(lines))


def test_the_command_ends_with_3(cli_here: Cli) -> None:
    write_runs()
    call = ("evaluate", "--qrels", "j.qrels", "--system", "now.run", "--system")
    for name, limit, more, code, word in (
        ("same", "1%", (), 0, "not above the limit"),
        ("bad", "1%", (), 3, "Fail: bad.run against now.run: estimated loss"),
        ("bad", "0.8", (), 0, "not above the limit"),
        ("bad", "1%", ("--fail-if-shown",), 3, "shown"),
    ):
        done = cli_here(*call, f"{name}.run", "--fail-if-worse", limit, *more, "--format", "json")
        assert done.code == code, done
        assert word in " ".join(done.err.split())
        found = json.loads(done.out)
        assert {r["system"] for r in found} == {"now.run", f"{name}.run"}
        assert [r["above_limit"] for r in found if "limit" in r] == [code == 3]
    summary = cli_here(*call, "bad.run", "--fail-if-worse", "1%", "--format", "markdown")
    assert (
        summary.code,
        "bad.run against now.run: estimated loss of trec:ndcg@10" in summary.out.replace("\\", ""),
    ) == (3, True)
    likely = cli_here(*call, "new.run", "--fail-if-worse", "0")
    shown = cli_here(*call, "new.run", "--fail-if-worse", "0", "--fail-if-shown")
    assert ("likely, not shown" in likely.out, likely.code, shown.code) in ((True, 3, 0), (False, 0, 0))
    assert cli_here(*call, "new.run").code == 0
    assert_refused(cli_here(*call, "new.run", "--fail-if-worse", "1x"), 2, "must be a share such as 1%")
    for wrong in ("1", "5", "100%"):
        refused = cli_here(*call, "new.run", "--fail-if-worse", wrong)
        assert_refused(refused, 2, "because no loss of trec:ndcg@10 is larger; got " + wrong)
    assert_refused(cli_here(*call, "new.run", "--fail-if-shown"), 2, "needs --fail-if-worse")
    assert_refused(cli_here(*call[:-1], "--fail-if-worse", "1%"), 2, "needs a second --system")


def test_an_earlier_evaluation_is_the_first_system(cli_here: Cli) -> None:
    """The figures are those of the two runs side by side, and nothing else is accepted in its place."""
    write_runs()
    call = ("evaluate", "--qrels", "j.qrels", "--metric", "ndcg@10", "--metric", "mrr")
    side_by_side = json.loads(
        cli_here(*call, "--system", "now.run", "--system", "bad.run", "--format", "json", "--fail-if-worse", "1%").out
    )
    assert cli_here(*call, "--system", "now.run", "--out", "now.json").code == 0
    assert cli_here(*call, "--system", "now.run", "--out", "now.json").code == 0  # replaces its own file
    against = (*call, "--system", "bad.run", "--baseline", "now.json")
    gated = (*against, "--fail-if-worse", "1%")
    done = cli_here(*gated, "--format", "json", "--junit", "j.xml")
    assert (done.code, json.loads(done.out)) == (3, side_by_side)
    suite = ElementTree.parse("j.xml").getroot()
    assert suite.attrib["failures"] == "1"
    failure = suite.find("testcase[@name='bad.run']/failure")
    assert failure is not None
    assert failure.attrib["message"] in done.err
    summary = cli_here(*gated, "--format", "markdown").out.replace("\\", "")
    assert summary.count("\n| ") == 2 + 2 * 2 + 2 + 10  # heads; systems by metrics; queries
    assert "bad.run: queries whose" in summary
    assert failure.attrib["message"] in summary
    # An earlier version of the same file keeps both names apart.
    again = json.loads(cli_here(*call, "--system", "now.run", "--baseline", "now.json", "--format", "json").out)
    assert [r["system"] for r in again[:2]] == ["now.run before", "now.run"]
    assert {r["difference"] for r in again if "difference" in r} == {0.0}
    # Other judgments, among them those with the same grades of other documents; other metrics, other files.
    lines = Path("j.qrels").read_text().splitlines()
    (first, second), same = (line.split() for line in lines[:2]), lines[2:]
    Path("k.qrels").write_text("\n".join([f"{lines[0][:-1]}{(int(lines[0][-1]) + 1) % 3}", *lines[1:]]) + "\n")
    grades = sorted({line.split()[3] for line in lines})
    swap = [f"{first[0]} 0 {first[2]} {grades[0]}", f"{second[0]} 0 {second[2]} {grades[1]}"], [grades[1], grades[0]]
    for name, two in (("a", swap[0]), ("b", [line[:-1] + g for line, g in zip(swap[0], swap[1], strict=True)])):
        Path(f"{name}.qrels").write_text("\n".join([*two, *same]) + "\n")
    mrr = ("--metric", "mrr", "--system", "now.run")
    assert cli_here("evaluate", "--qrels", "a.qrels", *mrr, "--out", "a.json").code == 0
    assert cli_here("evaluate", "--qrels", "a.qrels", *mrr, "--baseline", "a.json").code == 0
    other = "was made with other judgments; evaluate the earlier system with these."
    refused = cli_here("evaluate", "--qrels", "b.qrels", *mrr, "--baseline", "a.json")
    assert (refused.code, refused.err) == (1, f"error: a.json: {other}\n")
    assert cli_here("evaluate", "--qrels", "k.qrels", *against[3:]).err == f"error: now.json: {other}\n"
    assert_refused(
        cli_here(*against, "--metric", "map"),
        1,
        "now.json: has no values of trec:map, but other metrics, trec:ndcg@10, trec:mrr; evaluate the earlier system "
        "by this metric too, or ask for --metric trec:ndcg@10",
    )
    content = json.loads(Path("now.json").read_text())
    values = content["values"]["trec:mrr"]
    broken = [{**content, "system": ["a"]}, {**content, "format": "x"}, {**content, "values": 3}, [], {}]
    for key, value in (("0", "0.5"), ("0", True), ("0", [1])):
        damaged = {**content["values"], "trec:mrr": {**values, key: value}}
        broken.append({**content, "values": damaged})
    del (lacking := dict(values))["0"]
    broken.append({**content, "values": {**content["values"], "trec:mrr": lacking}})
    for wrong in broken:
        Path("wrong.json").write_text(json.dumps(wrong))
        refused = cli_here(*call, "--system", "bad.run", "--baseline", "wrong.json")
        assert (refused.code, len(refused.sentences)) == (1, 1), refused
        assert refused.err.startswith("error: wrong.json: is ")
    # What would be lost is refused before anything is evaluated.
    assert_refused(cli_here(*against, "--out", "now.json"), 2, "is the file of --baseline")
    assert_refused(cli_here(*against, "--junit", "j.xml"), 2, "needs --fail-if-worse")
    kind = "already exists and is another kind of file"
    Path("pom.xml").write_text("<?xml version='1.0' encoding='utf-8'?>\n<project/>")
    for option, target in (("--out", "j.qrels"), ("--junit", "pom.xml")):
        refused = cli_here(*gated, option, target)
        assert (refused.code, refused.out, refused.err) == (1, "", f"error: {target}: {kind}; choose another file.\n")
        assert_refused(cli_here(*gated, option, "."), 1, "cannot be written; name a file in an existing directory")
        assert_refused(cli_here(*gated, option, "no/x"), 1, "cannot be written; name a file in an existing directory")
    Path("empty.json").touch()
    assert cli_here(*against, "--out", "empty.json").code == 0
    assert cli_here(*call, "--system", "now.run", "--baseline", "empty.json").code == 0


def test_an_earlier_evaluation_may_lack_document_ids(tmp_path: Path) -> None:
    """One system makes the reader take the ids of documents, another does not; the grades of each query decide then."""
    y, qid, docid = [1, 0, 0, 1], ["a", "a", "b", "b"], ["d1", "d2", "d3", "d4"]
    scores = {"now": [2, 1, 1, 2]}
    for name, ids in (("with", docid), ("without", None), ("others", docid[::-1])):
        sr.compare_systems(scores, y, "map", qid=qid, docid=ids).save(tmp_path / f"{name}.json")
    known = sr.compare_systems(scores, y, "map", qid=qid, docid=docid)
    unknown = sr.compare_systems(scores, y, "map", qid=qid)
    for found, name in ((known, "with"), (known, "without"), (unknown, "with"), (unknown, "without")):
        assert found.against(tmp_path / f"{name}.json").baseline == "now before"
    other = sr.compare_systems(scores, [1, 1, 0, 1], "map", qid=qid)
    for found, name in ((known, "others"), (other, "without"), (other, "with")):
        with pytest.raises(DataFormatError, match="was made with other judgments"):
            found.against(tmp_path / f"{name}.json")


def test_equal_scores_that_a_convention_orders_as_in_the_file_are_named() -> None:
    """The empty model of a path won by MAP of letor4, with the quality of a file sorted by grade."""
    y, qid = [1, 0, 1, 0], ["a", "a", "b", "b"]
    with pytest.warns(DataWarning, match="all scores are equal in 2 of 2 queries, where letor4:map is the value"):
        assert sr.evaluate([0.0] * 4, y, "map", qid=qid, convention="letor4")["letor4:map"] == 1.0
    assert sr.evaluate([0.0] * 4, y, "map", qid=qid)["map"] == 0.5
    assert sr.evaluate([0.0, 0.0, 1.0, 0.0], y, "map", qid=qid, convention="letor4")["letor4:map"] == 1.0
    with pytest.raises(KeyError, match="map; the metrics are letor4:map"):
        sr.evaluate([0.0, 0.0, 1.0, 0.0], y, "map", qid=qid, convention="letor4")["map"]


@pytest.mark.parametrize("shown", [False, True])
def test_python_has_the_verdicts_of_the_command(cli_here: Cli, shown: bool) -> None:
    """The file of the earlier system, the figures, the decision and the sentence of each system are the same."""
    write_runs()
    call = ("evaluate", "--qrels", "j.qrels", "--metric", "ndcg@10", "--metric", "mrr")
    assert cli_here(*call, "--system", "now.run", "--out", "now.json").code == 0
    sr.compare_systems({"now.run": "now.run"}, "j.qrels", ["ndcg@10", "mrr"]).save("python.json")
    assert Path("python.json").read_bytes() == Path("now.json").read_bytes()
    names = ["same.run", "new.run", "bad.run"]
    found = sr.compare_systems({name: name for name in names}, "j.qrels", ["ndcg@10", "mrr"]).against("now.json")
    verdicts = found.gate(0, fail_if_shown=shown)
    systems = [part for name in names for part in ("--system", name)]
    gated = ("--fail-if-worse", "0", "--junit", "j.xml", *(["--fail-if-shown"] if shown else []))
    done = cli_here(*call, *systems, "--baseline", "now.json", *gated, "--format", "json")
    keys = ("system", "metric", "limit", "above_limit", "shown")
    rows = [r for r in json.loads(done.out) if "limit" in r]
    assert [[row[key] for key in keys] for row in rows] == [[v[key] for key in keys] for v in verdicts]
    cases = ElementTree.parse("j.xml").getroot()
    assert [(c.attrib["name"], c[0].tag == "failure", c[0].text) for c in cases] == [
        (v["system"], v["fails"], v["sentence"]) for v in verdicts
    ]
    assert [v["fails"] for v in verdicts] == [False, verdicts[1]["shown" if shown else "above_limit"], True]
    assert done.code == 3
    for v in verdicts:
        lost = found.values["now.run"][v["metric"]] - found.values[v["system"]][v["metric"]]
        low = lost.mean() - stats.t(len(lost) - 1).ppf(0.95) * lost.std(ddof=1) / math.sqrt(len(lost))
        assert (v["loss"], v["loss_low"]) == pytest.approx((lost.mean(), low))
        assert v["loss_high"] == pytest.approx(2 * v["loss"] - v["loss_low"])


def test_a_gate_in_python_needs_a_limit_a_known_metric_and_two_systems(cli_here: Cli) -> None:
    write_runs()
    alone = sr.compare_systems({"now": "now.run"}, "j.qrels", ["ndcg@10", "mrr"])
    with pytest.raises(DataError, match="a gate needs a second system, or an earlier evaluation"):
        alone.gate("1%")
    alone.save("now.json")
    found = alone.against("now.json")
    assert found.baseline == "now before"
    assert [(v["metric"], v["loss"]) for v in found.gate("1%", "trec:mrr")] == [("trec:mrr", 0.0)]
    with pytest.raises(ParameterError, match="metric must be one of trec:ndcg@10, trec:mrr; got 'mrr'"):
        found.gate("1%", "mrr")
    with pytest.raises(ParameterError, match="fail_if_worse must be a share such as 1%, or a number >= 0; got '1x'"):
        found.gate("1x")
    with pytest.raises(ParameterError, match="system must be one of now before, now; got 'new'"):
        found.most_changed("new")
    Path("half.run").write_text("".join(f"{q} Q0 d0 1 1 x\n" for q in range(30)))
    lacking = sr.compare_systems({"half": "half.run", "now": "now.run"}, "j.qrels")
    with pytest.raises(
        DataError, match=r"half has no documents for 30 of the judged queries, e\.g\. '30'; .* For a gate"
    ):
        lacking.gate("1%")


def test_queries_without_documents_are_a_cause_and_no_baseline(cli_here: Cli) -> None:
    """Of a run, of an earlier evaluation, and among judged documents alike."""
    write_runs()
    lines = Path("now.run").read_text().splitlines(keepends=True)
    Path("half.run").write_text("".join(line for line in lines if int(line.split()[0]) < 30))
    call = ("evaluate", "--qrels", "j.qrels", "--metric", "ndcg@10")
    gated = ("--fail-if-worse", "5%", "--junit", "j.xml")
    said = "half.run has no documents for 30 of the judged queries, e.g. '30'; these queries count as 0"
    failed = cli_here(*call, "--system", "now.run", "--system", "half.run", *gated, "--format", "markdown")
    assert failed.code == 3
    failure = ElementTree.parse("j.xml").getroot().find("testcase[@name='half.run']/failure")
    assert failure is not None
    assert said in failure.attrib["message"]
    assert said in failed.out.replace("\\", "")
    assert said in cli_here(*call, "--system", "half.run", "--out", "half.json").err
    no = "For a gate, give another baseline, or leave these queries out of the judgments."
    for systems in (
        ("--system", "half.run", "--system", "now.run"),
        ("--baseline", "half.json", "--system", "now.run"),
    ):
        assert cli_here(*call, *systems).code == 0
        refused = cli_here(*call, *systems, *gated)
        assert (refused.code, refused.out) == (1, "")
        assert said in refused.err
        assert no in refused.err
        assert not Path("j.xml").exists()
    # Judged documents with ids.
    rows = [line.split() for line in Path("j.qrels").read_text().splitlines()]
    frame = pd.DataFrame(
        {"qid": [r[0] for r in rows], "docno": [r[2] for r in rows], "label": [int(r[3]) for r in rows]}
    )
    frame.assign(f=1.0).to_parquet("d.parquet")
    judged = ("evaluate", "d.parquet", "--convention", "trec", "--metric", "ndcg@10")
    failed = cli_here(*judged, "--system", "now.run", "--system", "half.run", *gated)
    assert (failed.code, said in " ".join(failed.out.split())) == (3, True)
    assert no in cli_here(*judged, "--system", "half.run", "--system", "now.run", *gated).err


def test_an_old_report_does_not_stay_after_an_error(cli_here: Cli) -> None:
    write_runs()
    call = ("evaluate", "--qrels", "j.qrels", "--system", "now.run", "--system")
    gated = ("--fail-if-worse", "1%", "--junit", "j.xml")
    for wrong in (
        ("no.run", *gated),
        ("bad.run", "--fail-if-worse", "100%", "--junit", "j.xml"),
        ("bad.run", *gated[2:]),
    ):
        assert cli_here(*call, "same.run", *gated).code == 0
        assert Path("j.xml").exists()
        assert cli_here(*call, *wrong).code in (1, 2)
        assert not Path("j.xml").exists()


def test_another_convention_is_named(cli_here: Cli) -> None:
    write_runs()
    call = ("evaluate", "--qrels", "j.qrels", "--system")
    assert cli_here(*call, "now.run", "--out", "now.json").code == 0
    refused = cli_here(*call, "same.run", "--baseline", "now.json", "--convention", "default", "--fail-if-worse", "1%")
    assert_refused(refused, 1, "has no values of ndcg@10, but another convention, trec:ndcg@10;")
    assert_refused(refused, 1, "or ask for --convention trec")
    again = (*call, "same.run", "--baseline", "now.json", "--convention", "trec", "--fail-if-worse", "1%")
    assert cli_here(*again).code == 0  # the remedy works
    content = json.loads(Path("now.json").read_text())
    Path("none.json").write_text(json.dumps({**content, "values": {}}))
    assert_refused(
        cli_here(*call, "same.run", "--baseline", "none.json"), 1, "none.json: has no values of trec:ndcg@10"
    )
    remedy = ("--convention", "default", "--metric", "trec:ndcg@10", "--fail-if-worse", "1%")
    assert cli_here(*call, "same.run", "--baseline", "now.json", *remedy).code == 0


def test_a_baseline_that_finds_nothing_is_none(cli_here: Cli) -> None:
    write_runs()
    Path("none.run").write_text("".join(f"{q} Q0 no{q} 1 1.0 x\n" for q in range(60)))
    call = ("evaluate", "--qrels", "j.qrels", "--metric", "ndcg@10")
    assert cli_here(*call, "--system", "none.run", "--out", "none.json").code == 0
    told = "none.run has a mean trec:ndcg@10 of 0.0000, so nothing is worse; give another baseline."
    for first in (("--baseline", "none.json"), ("--system", "none.run")):
        refused = cli_here(*call, *first, "--system", "now.run", "--fail-if-worse", "1%")
        assert (refused.code, refused.out, told in refused.err) == (1, "", True)
    # As a candidate, it fails, and the report says why.
    failed = cli_here(*call, "--system", "now.run", "--system", "none.run", "--fail-if-worse", "1%", "--junit", "j.xml")
    why = "none.run: none of its documents is judged, e.g. 'no0' of query '0'; do its document ids agree"
    failure = ElementTree.parse("j.xml").getroot().find("testcase[@name='none.run']/failure")
    assert failure is not None
    assert (failed.code, why in failure.attrib["message"]) == (3, True)
    assert f"warning: {why}" in " ".join(failed.err.split())


def test_any_name_of_a_system_can_be_read_back(cli_here: Cli) -> None:
    """A control character, and bytes that are no text; two systems whose names are taken."""
    write_runs()
    call = ("evaluate", "--qrels", "j.qrels", "--metric", "mrr")
    for name in ("a\x01b.run", "b\udcff.run"):
        Path(name).write_text(Path("now.run").read_text())
        assert cli_here(*call, "--system", name, "--out", "odd.json").code == 0
        gated = cli_here(
            *call, "--system", name, "--baseline", "odd.json", "--fail-if-worse", "1%", "--junit", "odd.xml"
        )
        assert gated.code == 0
        assert ElementTree.parse("odd.xml").getroot().attrib["failures"] == "0"
    Path("now.run before").write_text(Path("bad.run").read_text())
    assert cli_here(*call, "--system", "now.run", "--out", "now.json").code == 0
    two = cli_here(
        *call, "--system", "now.run", "--system", "now.run before", "--baseline", "now.json", "--format", "json"
    )
    assert [r["system"] for r in json.loads(two.out)] == ["now.run before before", "now.run", "now.run before"]


def test_judged_documents_may_have_an_earlier_evaluation(cli_here: Cli) -> None:
    data = sr.datasets.make_ranking(20, 8, 6, n_informative=2, n_redundant=1).data
    sr.write_letor(data, "d.txt")
    assert cli_here("fit", "d.txt", "--k", "1", "--out", "one.json").code == 0
    assert cli_here("fit", "d.txt", "--k", "3", "--out", "three.json").code == 0
    both = cli_here("evaluate", "d.txt", "--system", "three.json", "--system", "one.json", "--format", "json")
    assert cli_here("evaluate", "d.txt", "--system", "three.json", "--out", "three.evaluation").code == 0
    one = cli_here("evaluate", "d.txt", "--system", "one.json", "--baseline", "three.evaluation", "--format", "json")
    assert json.loads(one.out) == json.loads(both.out)
