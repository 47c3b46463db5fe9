"""What a new installation must be able to do, with nothing but the package and what it installs:
run by test_release.py in a clean environment."""

from __future__ import annotations

import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

import sparserank as sr

EXTRAS = ("matplotlib", "dask", "lightgbm", "onnx", "pandas", "polars")


def main(version: str) -> None:
    assert sr.__version__ == version
    assert not [name for name in EXTRAS if find_spec(name)], "this environment is not clean"
    assert all(getattr(sr, name) is not None for name in sr.__all__)
    data = sr.datasets.make_ranking(40, (6, 10), 6, n_informative=2, n_redundant=1, noise=0.3, random_state=2).data
    train, test = data.take_queries(np.arange(30)), data.take_queries(np.arange(30, 40))
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        sr.write_letor(train, place / "train.txt")
        result = sr.select(place / "train.txt", test=test, penalties=["l1", "mcp"], n_alphas=10, half_samples=0, cv=3)
        assert len(result.model.support) > 0
        result.model.save(place / "model.json")
        scores = sr.load_model(place / "model.json").predict(test.X)
        assert np.array_equal(scores, result.model.predict(test.X))
        assert sr.evaluate(scores, test)["ndcg@10"] > sr.evaluate(np.zeros(test.n_docs), test)["ndcg@10"]
        sr.convert([place / "train.txt"], place / "store")
        assert sr.read(place / "store", verify=True).n_docs == train.n_docs
        code: dict[str, object] = {}
        exec(result.model.export("python")["model.py"], code)
        row = dict(zip(result.model.feature_names, np.asarray(test.X)[0], strict=True))
        assert abs(code["score"](row) - scores[0]) < 1e-9  # type: ignore[operator]
    for ranker in (
        sr.SparseRanker(penalty="log"),
        sr.papers.GreedyRankRLS(k=2),
        sr.papers.FenchelRank(radius=4.0),
        sr.papers.RankSVM(),
    ):
        assert ranker.fit(np.array(train.X), train.relevance, qid=train.qid).predict(np.array(test.X)).std() > 0
    print("smoke: all of it works")


if __name__ == "__main__":
    main(sys.argv[1])
