"""Which paths are fitted beside those asked for, in what order, and which by processes."""

from dataclasses import replace

import numpy as np
import pytest

from sparserank.crossval import fitting
from sparserank.crossval.feature_transforms import RAW
from sparserank.crossval.folded_paths import FoldedPaths
from sparserank.crossval.tasks import FINAL, PathTask, with_starts_and_refits
from sparserank.data.dataset import RankingDataset
from sparserank.datasets import make_ranking
from sparserank.metrics import parse_metric
from sparserank.paths import BestK, PathPlan, PenaltyPath
from sparserank.penalties import L1, MCP, Ridge

L1_PATH, MCP_PATH, RIDGE = PenaltyPath(L1()), PenaltyPath(MCP()), PenaltyPath(Ridge())


def planned(tasks, **options):
    return [(t.label, t.start, t.scored) for t in with_starts_and_refits(tasks, **options)]


def test_a_concave_penalty_starts_from_the_l1_path_of_the_same_rules():
    tasks = [PathTask("mcp", MCP_PATH), PathTask("l1", L1_PATH), PathTask("ridge", RIDGE)]
    assert planned(tasks) == [("l1", None, True), ("ridge", None, True), ("mcp", "l1", True)]
    assert planned(tasks[:1]) == [("start 1 (l1)", None, False), ("mcp", "start 1 (l1)", True)]
    found = planned([tasks[0], PathTask("mcp b", PenaltyPath(MCP(drop=(0,)))), PathTask("best_k", BestK())])
    assert found[:2] == [("start 1 (l1)", None, False), ("start 2 (l1)", None, False)]
    starts = {"mcp": "start 1 (l1)", "mcp b": "start 2 (l1)", "best_k": "start 1 (l1)"}
    assert found[2:] == [(label, start, True) for label, start in starts.items()]
    stronger = PathTask("l1", PenaltyPath(L1(7.0)))  # a path has strengths of its own
    assert planned([tasks[0], stronger])[-1] == ("mcp", "l1", True)


def test_refits_follow_the_paths_that_shrink_under_each_transform():
    on_other = PathTask("l1 on other", L1_PATH, replace(RAW, name="other"))
    tasks = [PathTask("l1", L1_PATH), PathTask("b", BestK()), on_other]
    found = planned(tasks, relaxed=True)
    assert [label for label, _, _ in found] == ["l1", "b", "l1 relaxed", "l1 on other", "l1 on other relaxed"]
    with pytest.raises(ValueError, match="must differ"):
        planned([tasks[0], tasks[0]])


def test_an_l1_path_from_which_a_concave_penalty_starts_is_not_refitted():
    tasks = [PathTask("l1", L1_PATH), PathTask("mcp", MCP_PATH), PathTask("l1 b", PenaltyPath(L1(drop=(0,))))]
    found = [label for label, _, _ in planned(tasks, relaxed=True)]
    assert found == ["l1", "l1 b", "mcp", "mcp relaxed", "l1 b relaxed"]
    assert "l1 relaxed" in [label for label, _, _ in planned([tasks[0], PathTask("k", BestK())], relaxed=True)]


def test_large_judged_documents_are_not_sent_to_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    few, many = (make_ranking(10, (n, n), 6, n_informative=3, n_redundant=1, random_state=0).data for n in (5, 50))
    monkeypatch.setattr(fitting, "MIN_PROCESS_WORK", 0)
    monkeypatch.setattr(fitting, "MAX_PROCESS_BYTES", few.X.nbytes + many.X.nbytes - 1)

    def in_processes(judged: RankingDataset | None) -> bool:
        work = FoldedPaths(few, np.arange(10) % 2, PathPlan(), [parse_metric("ndcg@10")], judged=judged)
        return fitting.FittedPaths({RAW: work}, [], [FINAL], n_workers=2)._use_processes(2)

    assert in_processes(None)
    assert in_processes(few)
    assert not in_processes(many)


def test_many_short_solves_are_worth_processes() -> None:
    """Python itself takes most of the time of a solve on few documents."""
    few = make_ranking(10, (5, 5), 6, n_informative=3, n_redundant=1, random_state=0).data
    work = FoldedPaths(few, np.arange(10) % 2, PathPlan(n_alphas=40), [parse_metric("ndcg@10")])
    paths = fitting.FittedPaths({RAW: work}, [], [FINAL], n_workers=2)
    assert not paths._use_processes(10)
    assert paths._use_processes(200)
