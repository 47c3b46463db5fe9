"""Models of real data, with 1,000 real documents each: what exports have to say in practice."""

from pathlib import Path

import numpy as np

import sparserank as sr

REAL = ("MQ2008, linear", "MSLR, logarithms")


def real_model(kind: str, folder: Path) -> tuple[sr.RankingModel, np.ndarray]:
    """(the model, X of 1,000 documents that it was not trained on)."""
    if kind == "MQ2008, linear":
        train, other = (sr.read(folder / f"mq2008/{part}.txt.gz", n_features=46) for part in ("S1", "S5"))
        ranker = sr.SparseRanker(penalty="mcp", k=10)
    else:
        train, other = (
            sr.read(folder / f"mslr-web10k-sample/fold1.{part}.5k.txt.gz", n_features=136) for part in ("train", "test")
        )
        ranker = sr.SparseRanker(penalty="mcp", k=10, feature_transform="log")
    return ranker.fit_dataset(train).to_model(), np.array(other.X[:1000])
