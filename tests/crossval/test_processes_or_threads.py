"""Which paths are computed by processes, which need a copy of the data each."""

import numpy as np
import pytest

from sparserank.crossval import fitting
from sparserank.crossval.feature_transforms import RAW
from sparserank.crossval.folded_paths import FoldedPaths
from sparserank.crossval.tasks import FINAL
from sparserank.data.dataset import RankingDataset
from sparserank.datasets import make_ranking
from sparserank.metrics import parse_metric
from sparserank.paths import PathPlan


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
