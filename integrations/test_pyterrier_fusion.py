"""PyTerrier pipelines with fused retrievers."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
import pyterrier as pt
import pytest
from integrations.matrix import ran

import sparserank as sr
from sparserank.data.fusion.norms import parse_norm
from sparserank.errors import DataError
from sparserank.export.fusion import export_fusion
from sparserank.model.fusion import FusionFormula, FusionTerm
from sparserank.pyterrier import SparseFusion

EMPTY = pd.DataFrame({"qid": [], "query": [], "docno": [], "score": [], "rank": []})
QUICK = {"half_samples": 0, "penalties": ("l1", "best_k"), "norm": "rrf"}


class Retriever(pt.Transformer):
    """Documents d0 ... d49 by their grade and noise; it counts how often it runs."""

    def __init__(self, quality: float, seed: int) -> None:
        super().__init__()
        self.quality, self.seed, self.runs = quality, seed, 0

    def transform(self, topics: pd.DataFrame) -> pd.DataFrame:
        self.runs += 1
        rows = []
        for qid, query in zip(topics["qid"], topics["query"], strict=True):
            q = int(qid.removeprefix("t"))
            grades = np.random.default_rng(q).random(50) < 0.15
            scores = self.quality * grades + np.random.default_rng([q, self.seed]).standard_normal(50)
            rows += [(qid, query, f"d{i}", float(scores[i])) for i in np.argsort(-scores)[:20]]
        return pt.model.add_ranks(pd.DataFrame(rows, columns=["qid", "query", "docno", "score"]))


def topics(first: int, last: int) -> pd.DataFrame:
    return pd.DataFrame({"qid": [f"t{q}" for q in range(first, last)], "query": "words"})


def qrels(first: int, last: int) -> pd.DataFrame:
    rows = [
        (f"t{q}", f"d{i}", 1)
        for q in range(first, last)
        for i in np.flatnonzero(np.random.default_rng(q).random(50) < 0.15)
    ]
    return pd.DataFrame(rows, columns=["qid", "docno", "label"])


def test_the_step_runs_only_what_it_keeps_and_ranks_as_the_formula() -> None:
    good, other, noise = Retriever(2.0, 1), Retriever(1.8, 2), Retriever(0.0, 3)
    step = SparseFusion({"good": good, "other": other, "noise": noise}, **QUICK)
    with pytest.raises(DataError, match="has no formula yet"):
        step.transform(topics(0, 1))
    step.fit(topics(0, 40), qrels(0, 40), topics(40, 50), qrels(40, 50))
    assert step.result_ is not None
    assert step.result_.selection.n_queries == 50
    assert "noise" in step.result_.dropped
    before = noise.runs
    results = step(topics(60, 70))
    assert noise.runs == before
    assert list(results["rank"][results["qid"] == "t60"]) == list(range((results["qid"] == "t60").sum()))
    assert set(results["query"]) == {"words"}
    runs = {name: r(topics(60, 70)) for name, r in step.retrievers.items()}
    expected = step.result_.formula.apply(runs)
    found = {(q, d): s for q, d, s in zip(results["qid"], results["docno"], results["score"], strict=True)}
    assert found == expected
    again = SparseFusion({"good": good, "other": other, "noise": noise}, step.formula_)
    pd.testing.assert_frame_equal(again(topics(60, 70)), results)
    pipeline = step % 5
    assert (pipeline(topics(60, 62)).groupby("qid").size() == 5).all()


def test_a_list_of_retrievers_is_numbered() -> None:
    step = SparseFusion([Retriever(2.0, 1), Retriever(0.0, 3)], **QUICK).fit(topics(0, 30), qrels(0, 30))
    assert step.formula_ is not None
    assert step.formula_.retrievers == ("1",)
    with pytest.raises(DataError, match="at least two steps"):
        SparseFusion([Retriever(2.0, 1)])
    with pytest.raises(DataError, match="judges none of the topics"):
        SparseFusion([Retriever(2.0, 1), Retriever(0.0, 3)]).fit(topics(0, 5), qrels(10, 15))
    assert isinstance(step.result_, sr.FusionResult)


@pytest.mark.parametrize("norm", ["minmax", "zscore", "rrf", "logrank"])
def test_the_exported_expression_ranks_as_the_formula(norm: str) -> None:
    retrievers = {"good": Retriever(2.0, 1), 'it\'s "other"': Retriever(1.8, 2), "empty": pt.Transformer.from_df(EMPTY)}
    terms = tuple(FusionTerm(name, w) for name, w in zip(retrievers, (0.5, 0.3, 0.2), strict=True))
    formula = FusionFormula(terms, parse_norm(norm), 15)
    module: dict[str, Any] = {}
    exec(str(export_fusion(formula, "pyterrier")["pipeline.py"]), module)
    results = module["pipeline"](retrievers)(topics(0, 20))
    found = {(q, d): s for q, d, s in zip(results["qid"], results["docno"], results["score"], strict=True)}
    runs = {name: r(topics(0, 20)) for name, r in retrievers.items()}
    assert found == pytest.approx(dict(formula.apply(runs)), rel=1e-12, abs=1e-13)
    first = results[results["rank"] == 0].set_index("qid")["score"]
    assert (first == results.groupby("qid")["score"].max()[first.index]).all()
    ran("pyterrier", f"PyTerrier {version('pyterrier')}", "fusion")
