"""Fixed formulas as rivals of a selection: rankers that need no training."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from sparserank.crossval.rivals import Rival
from sparserank.crossval.tree_rivals import LeftOut
from sparserank.data.dataset import RankingDataset
from sparserank.evaluation import per_query_values
from sparserank.metrics import Metric
from sparserank.runs.progress import Progress
from sparserank.runs.work_store import WorkStore


@dataclass
class Formulas:
    """Scores by fixed formulas, as `RivalsOnFolds`.

    judged       queries that candidates are judged on
    scores       {name: (n_docs,) scores of the judged documents}; test_scores: of the test documents, in input order
    n_features   {name: number of features that it reads}
    """

    judged: RankingDataset
    metric: Metric
    scores: dict[str, np.ndarray]
    n_features: Mapping[str, int]
    test_scores: dict[str, np.ndarray] = field(default_factory=dict)
    rivals: dict[str, Rival] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    n_pieces: int = 0

    @property
    def for_model(self) -> dict[str, str]:
        return {}

    def fit(self, store: WorkStore | None, progress: Progress | None) -> list[Rival]:
        """All of them."""
        for name, scores in self.scores.items():
            (values,) = per_query_values(scores, self.judged, [self.metric])
            self.rivals[name] = Rival(name, self.n_features[name], values)
        return list(self.rivals.values())

    def on_features(self, name: str, features: dict[int, np.ndarray], store: WorkStore | None) -> None:
        """None: a formula is not trained."""
