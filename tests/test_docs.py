"""Every block of the documentation runs, page by page in the order in which it stands there; what cannot says why."""

import re
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchmarks.first_hour import tasks

import sparserank as sr
from tests.support.doc_blocks import DOCS, MAX_NOT_RUN, NEEDS, NOT_RUN, PAGES, PRINTED, SHOWN, blocks, run_page, runs
from tests.support.made_responses import collection, response, write

RUNNING = [page for page in PAGES if any(runs(block) and block.kind is None for block in blocks(page))]


def test_every_block_runs_or_says_why_not() -> None:
    declared = 0
    for page in PAGES:
        text = (DOCS / page).read_text(encoding="utf-8")
        found = blocks(page)
        assert 2 * len(found) == len(re.findall(r"(?m)^ *```", text)), f"{page}: a fence is not closed"
        for block in found:
            known = block.language in ("python", "sh", *SHOWN) or block.language.startswith("{")
            assert known, f"{page}: say what this block is: {block.text[:60]!r}"
            reasons = {"not run": NOT_RUN, "needs": NEEDS, "printed": PRINTED}
            assert block.kind is None or block.why in reasons[block.kind], f"{page}: {block.why}"
            declared += block.kind == "not run"
    assert 0 < declared <= MAX_NOT_RUN
    assert len(RUNNING) >= 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the pages read: ranking text, a table, runs and judgments,
    a model that a selection may have left in run/."""
    place = tmp_path_factory.mktemp("docs")
    data = sr.datasets.make_ranking(60, (6, 10), 6, n_informative=2, n_redundant=1, noise=0.4, random_state=2).data
    order = np.argsort([not name.startswith("signal") for name in data.feature_names or ()], kind="stable")
    X, names = np.array(data.X)[:, order], ["bm25_title", "popularity", "bm25_body", "length", "age", "clicks"]
    named = sr.RankingDataset(X, data.relevance, data.qid, [f"D{i}" for i in range(len(X))], names)
    parts = {"train": np.arange(30), "vali": np.arange(30, 45), "test": np.arange(45, 60)}
    for name, queries in parts.items():
        sr.write_letor(named.take_queries(queries), place / f"{name}.txt")
    frame = pd.DataFrame(X, columns=names).assign(grade=data.relevance.astype(int), query=data.qid, docno=named.docid)
    for name, queries in parts.items():
        frame[frame["query"].isin(named.query_ids[queries])].to_parquet(place / f"{name}.parquet", index=False)
    for year, name in {2024: "train", 2025: "vali"}.items():
        shutil.copy(place / f"{name}.parquet", place / f"log-{year}.parquet")
    test = named.take_queries(parts["test"])
    sr.write_qrels(test, place / "test.qrels")
    sr.write_run(test, np.asarray(test.X)[:, :2] @ [1.0, -1.0], place / "new.run")
    sr.write_run(test, np.asarray(test.X)[:, 0], place / "now.run")
    sr.write_qrels(named.take_queries(parts["train"]), place / "train.qrels")
    for column, name in enumerate(("bm25", "dense", "splade")):
        train = named.take_queries(parts["train"])
        sr.write_run(
            train, np.asarray(train.X)[:, column] - np.asarray(train.X)[:, column].min() + 1, place / f"{name}.run"
        )
    ranks = np.argsort(np.argsort(-np.asarray(train.X)[:, :3], axis=0), axis=0) + 1  # of all documents, best first
    lines = [
        f"{y:g} qid:{q} 1:{a} 2:{b} 3:NULL\n" for y, q, (a, b, _) in zip(train.relevance, train.qid, ranks, strict=True)
    ]  # type: ignore[arg-type]
    (place / "ranks.txt").write_text("".join(line.replace("NULL", str(k % 9 + 1)) for k, line in enumerate(lines)))
    boosts = {"title": 5, "body": 1.2, "tags": 1}
    clauses = [{"leaf": {"id": name, "_name": name, "boost": boost}} for name, boost in boosts.items()]
    request = {"query": {"bool": {"should": [*clauses, {"leaf": {"id": "pop", "boost": 0.7}}]}}}
    documents, judged = collection(60)
    for name in ("responses", "before", "after"):
        write(place / f"{name}.jsonl", [response(q, of, request) for q, of in documents.items()])
    parts = {"title": ("title", 5.0), "body": ("body", 1.2), "bf_log_sum_popularity_1": ("pop", 0.7)}
    answers = []
    for q, of in documents.items():
        clauses_of = {d: {n: v.get(key, 0.0) * boost for n, (key, boost) in parts.items()} for d, v in of.items()}
        docs = [{"id": d, "score": sum(scores.values()), **scores} for d, scores in clauses_of.items()]
        answers.append({"qid": q, "response": {"response": {"docs": docs}}})
    write(place / "solr.jsonl", answers)
    lines = [f"{q} 0 {d} {g}\n" for q, of in judged.items() for d, g in of.items()]
    for name in ("judged", "others"):
        (place / f"{name}.qrels").write_text("".join(lines))
    ranker = sr.SparseRanker(penalty="mcp", k=2).fit(frame[names], frame["grade"], qid=frame["query"])
    (place / "run").mkdir()
    ranker.save(place / "run/model.json")
    return place


@pytest.mark.slow_but("index.md")
@pytest.mark.usefixtures("short_selections", "no_processes")
@pytest.mark.parametrize("page", RUNNING)
def test_the_blocks_of_a_page_run(page: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    run_page(page, needs=(None,))


def test_figures_of_the_comparison_with_other_tools_are_those_that_were_recorded() -> None:
    recorded = (DOCS / "frontier.md").read_text(encoding="utf-8")
    pages = "other-tools.md", "tutorials/lightgbm.md"
    page = " ".join(word for p in pages for word in (DOCS / p).read_text(encoding="utf-8").split())

    def of(table: str, system: str) -> list[str]:
        rows = recorded.partition(f"### {table}")[2].partition("###")[0]
        return [cell.strip() for cell in re.findall(rf"(?m)^\| {re.escape(system)} \|(.+)$", rows)[0].split("|")]

    trees = "LambdaRank: 251 queries, 5 x 5", "MQ2008: 784 queries, 5 x 5"
    (ours, theirs), (ours_2008, theirs_2008) = ((of(t, "default"), of(t, "LightGBM")) for t in trees)
    assert f"its trees is {theirs[5].partition(' ')[0].replace('+-', ' +- ')} times that of our default" in page
    assert f"our choice uses {ours[0]} features on average and the trees {theirs[0]}." in page
    assert f"On MQ2008, it uses {ours_2008[0]} and the trees {theirs_2008[0]}" in page
    swapped = str.maketrans("+-", "-+")

    def row_of(other: list[str], at: int) -> str:
        """Mean and difference to ours, of which the record has the opposite."""
        difference, _, interval = other[at].partition("+-")
        return f"| {other[0]} | {difference.strip().translate(swapped)} +- {interval.strip()} |"

    fused, weighted = (of("TREC DL 2019", system) for system in ("fuse", "wsum (ranx)"))
    assert f"`fuse` | 2 | {fused[0]} | | {fused[2]} |" in page
    assert f"of wsum | 6 {row_of(weighted, 1)} {weighted[2]} |" in page
    assert f"SegFuse | 25 {row_of(of('MQ2008-agg', 'SegFuse (ranx)'), 1)}" in page
    trials = (DOCS.parent / "benchmarks/search_trials.md").read_text(encoding="utf-8").split("\n## ")
    for title in ("MQ2008", "Generated, *made*", "Generated, *shop*"):
        section = next(part for part in trials if part.startswith(title))
        ours, tpe = (
            [cell.strip() for cell in re.findall(rf"(?m)^\| {name} \|(.+)$", section)[0].split("|")]
            for name in ("select", "TPE, 1,000 trials")
        )
        assert f"boosts | {ours[2]} | {ours[0]} | | {ours[3]} |" in page
        assert f"(TPE) | {tpe[2].removesuffix('.0')} {row_of(tpe, 1)} {tpe[3]} |" in page


def test_the_transcript_is_of_the_tasks_of_the_first_tutorial() -> None:
    """Every command of the last section of the first tutorial, and its Python, stand in the transcript;
    `python -m benchmarks.first_hour` makes a new one."""
    transcript = (DOCS / "first-hour-transcript.md").read_text(encoding="utf-8")
    named = tasks()
    assert len(named) == 6
    for task in named:
        assert task.name[1:] in transcript
        assert task.commands or task.python
        for command in task.commands:
            assert f"$ {command}\n" in transcript
        assert task.python is None or task.python in transcript
