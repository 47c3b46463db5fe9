"""`python -m benchmarks.production_log`: the job on a log as production has it, beside what people do by hand.

The log is generated: 58 columns that could be features, among them text, categories, a boolean, a time stamp, a number
that is an id, the position of a click, missing values that matter, two exact copies, an interaction. First the commands
that a reader of the README types, each timed, and other ways on the same queries, judged on queries that nothing has
seen (NDCG@10, 95% intervals over queries). Then (`--nested`) the selection with and without categories and flags, also
where both are shuffled within queries and mean nothing, and on MQ2008-agg, where 65% is missing (SPARSERANK_DATA).
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import sparserank as sr
from sparserank.evaluation import per_query_values
from sparserank.metrics import parse_metric

METRIC = parse_metric("ndcg@10")
LABEL, QID = "grade", "query"
TEXTS = ["category", "brand", "color", "title"]
BY_HAND = ["pos", "created", "sku"]  # that a person leaves out
K = 12  # features of the shorter lists


def make_log(n_queries: int, seed: int) -> pd.DataFrame:
    """58 columns beside query, document and grade."""
    world, rng = np.random.default_rng(1), np.random.default_rng(seed)  # the effects are the same in every log
    sizes = rng.integers(14, 27, n_queries)
    query = np.repeat(np.arange(n_queries), sizes)
    n = len(query)
    brands = [f"brand {i}" for i in range(300)]
    popular = 1.0 / np.arange(1, 301) ** 1.05
    brand = rng.choice(300, n, p=popular / popular.sum())
    of_brand = world.normal(0, 0.6, 300)
    categories = np.array(["shoes", "books", "toys", "food & drink", "garden", None], dtype=object)
    category = rng.choice(6, n, p=[0.3, 0.25, 0.2, 0.12, 0.08, 0.05])
    of_category = np.array([0.5, -0.4, 0.0, 0.3, -0.1, -0.6])
    bm25, clicks = rng.gamma(2.0, 3.0, n), rng.lognormal(2.0, 1.5, n)
    price, margin = rng.lognormal(3.0, 1.0, n), rng.normal(size=n)
    rating = rng.normal(4.0, 0.6, n).clip(1, 5)
    rated, stock = rng.random(n) > 0.15, rng.random(n) < 0.8
    score = (
        0.12 * bm25
        + 0.5 * np.log1p(clicks)
        + of_brand[brand]
        + of_category[category]
        + np.where(rated, 0.5 * (rating - 4.0), -0.7)
        + 0.5 * stock
        + 0.25 * margin * np.log(price / 20.0)
        + rng.normal(0, 0.9, n)
    )
    rank = pd.Series(-score).groupby(query).rank()
    grade = np.select([rank <= 1, rank <= 3, rank <= 7], [3, 2, 1], 0)
    columns: dict[str, Any] = {
        QID: [f"q{seed}-{q}" for q in query],
        "docno": [f"d{i}" for i in range(n)],
        LABEL: grade,
        "title": [f"title {i} of {rng.integers(1_000_000)}" for i in range(n)],
        "brand": [brands[i] for i in brand],
        "category": categories[category],
        "color": rng.choice(["red", "blue", "green", "black"], n),
        "bm25": bm25,
        "bm25_again": bm25,
        "clicks_90d": clicks,
        "clicks_copy": clicks,
        "price": price,
        "margin": margin,
        "rating_avg": np.where(rated, rating, np.nan),
        "in_stock": stock,
        "sku": rng.permutation(n),
        "created": 1_700_000_000 + rng.integers(0, 5_000_000, n),
        "pos": rank + rng.integers(0, 4, n),
    }
    for j in range(58 - (len(columns) - 3)):
        noise = 0.7 * bm25 + rng.normal(0, 4, n) if j < 8 else rng.lognormal(0, 1, n) if j % 2 else rng.normal(size=n)
        columns[f"signal_{j}"] = np.where(rng.random(n) < 0.05, np.nan, noise) if j % 3 == 0 else noise
    return pd.DataFrame(columns)


def ndcg(scores: np.ndarray, frame: pd.DataFrame) -> np.ndarray:
    """(n_queries,)"""
    data = sr.RankingDataset(np.zeros((len(frame), 1)), frame[LABEL].to_numpy(), frame[QID].to_numpy())
    return per_query_values(data.from_input_order(scores), data, [METRIC])[0]


def against(values: np.ndarray, other: np.ndarray) -> str:
    """The relative difference of two means, paired."""
    difference = (values - other) / np.nanmean(other)
    half = 1.96 * np.nanstd(difference, ddof=1) / np.sqrt(np.isfinite(difference).sum())
    return f"{100 * np.nanmean(difference):+.1f} +- {100 * half:.1f}%"


# -- the job ----------------------------------------------------------------------------------------------------------


def command(*words: str) -> tuple[float, float]:
    """(seconds, CPU seconds) of a command."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, "-m", "sparserank", *words], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.perf_counter() - began, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def by_hand(train: pd.DataFrame, test: pd.DataFrame) -> tuple[np.ndarray, int]:
    """Pairs, an l1 logistic on logarithms, text left out: (test scores, number of features)."""
    from sklearn.linear_model import LogisticRegressionCV
    from sklearn.preprocessing import StandardScaler

    names = numbers_of(train)
    X = {part: np.log1p(frame[names].fillna(0).clip(lower=0)).to_numpy() for part, frame in (("a", train), ("b", test))}
    scaler = StandardScaler().fit(X["a"])
    rng, first, second = np.random.default_rng(0), [], []
    for rows in train.groupby(QID, sort=False).indices.values():
        y = train[LABEL].to_numpy()[rows]
        better, worse = np.nonzero(y[:, None] > y)
        pick = rng.choice(len(better), min(30, len(better)), replace=False)
        first.append(rows[better[pick]])
        second.append(rows[worse[pick]])
    D = scaler.transform(X["a"])[np.concatenate(first)] - scaler.transform(X["a"])[np.concatenate(second)]
    sign = np.where(rng.random(len(D)) < 0.5, 1, -1)
    fit = LogisticRegressionCV(Cs=8, penalty="l1", solver="liblinear", fit_intercept=False, cv=3)
    fit.fit(D * sign[:, None], sign)
    return scaler.transform(X["b"]) @ fit.coef_[0], int((fit.coef_[0] != 0).sum())


def numbers_of(frame: pd.DataFrame) -> list[str]:
    left_out = {QID, "docno", LABEL, *TEXTS, *BY_HAND}
    return [name for name in frame if name not in left_out]


def for_trees(frame: pd.DataFrame, names: list[str], like: pd.DataFrame | None = None) -> pd.DataFrame:
    """Text as categories, with the levels of `like`."""
    out = frame[names].copy()
    for name in set(names) & set(TEXTS):
        levels = None if like is None else like[name].cat.categories
        out[name] = pd.Categorical(out[name], categories=levels)
    return out


def lightgbm(train: pd.DataFrame, test: pd.DataFrame, names: list[str]) -> tuple[np.ndarray, Any]:
    from lightgbm import LGBMRanker

    X = for_trees(train, names)
    ranker = LGBMRanker(
        n_estimators=400, num_leaves=7, learning_rate=0.02, subsample=0.7, subsample_freq=1, colsample_bytree=0.3,
        random_state=0, verbose=-1, n_jobs=2,
    )  # fmt: skip
    ranker.fit(X, train[LABEL], group=train.groupby(QID, sort=False).size())
    return np.asarray(ranker.predict(for_trees(test, names, X))), ranker


def by_gain(train: pd.DataFrame, test: pd.DataFrame) -> tuple[np.ndarray, int]:
    names = [*numbers_of(train), "category", "brand", "color"]
    _, ranker = lightgbm(train, test, names)
    gain = ranker.booster_.feature_importance("gain")
    kept = [names[j] for j in np.argsort(-gain)[:K]]
    return lightgbm(train, test, kept)[0], K


def by_shap(train: pd.DataFrame, test: pd.DataFrame) -> tuple[np.ndarray, int]:
    names = [*numbers_of(train), "category", "brand", "color"]
    _, ranker = lightgbm(train, test, names)
    shap = ranker.predict(for_trees(train, names), pred_contrib=True)[:, :-1]
    kept = [names[j] for j in np.argsort(-np.abs(shap).mean(axis=0))[:K]]
    return lightgbm(train, test, kept)[0], K


def by_rfecv(train: pd.DataFrame, test: pd.DataFrame) -> tuple[np.ndarray, int]:
    from sklearn.feature_selection import RFECV
    from sklearn.linear_model import Ridge
    from sklearn.model_selection import GroupKFold
    from sklearn.preprocessing import StandardScaler

    names = numbers_of(train)
    scaler = StandardScaler().fit(train[names].fillna(0))
    A, B = scaler.transform(train[names].fillna(0)), scaler.transform(test[names].fillna(0))
    found = RFECV(Ridge(), cv=GroupKFold(5)).fit(A, train[LABEL], groups=train[QID])
    return found.predict(B), int(found.n_features_)


def columns_used(model: sr.RankingModel) -> set[str]:
    """The columns of the table that a model uses."""
    names = [model.feature_names[j] for j in model.support]
    return {model.derived[name].source if name in model.derived else name for name in names}


def job(n_queries: int, folder: Path) -> None:
    train, test = make_log(n_queries, 7), make_log(400, 8)
    train.to_parquet(folder / "log.parquet", index=False)
    test.to_parquet(folder / "test.parquet", index=False)
    log, run = str(folder / "log.parquet"), str(folder / "run")
    columns = ("--label-column", LABEL, "--qid-column", QID)
    print(
        f"## The job: {len(train):,} rows, {n_queries} queries, 58 columns\n\n| step | seconds | CPU s |\n|---|---|---|"
    )
    known = ("select", log, *columns, "--ignore-columns", ",".join(BY_HAND))
    for name, words in {
        "inspect": ("inspect", log),
        "first look": (*known, "--fast", "--out", f"{run}-fast"),
        "select": (*known, "--engine", "elasticsearch", "--out", run),
        "export": ("export", run, "--to", "elasticsearch", "--out", str(folder / "es")),
        "predict": ("predict", run, str(folder / "test.parquet"), "--out", str(folder / "s.txt")),
    }.items():
        wall, cpu = command(*words)
        print(f"| {name} | {wall:.1f} | {cpu:.1f} |", flush=True)
    model = sr.load_model(run)
    used = columns_used(model)
    ours = ndcg(model.predict(test), test)
    print(f"\nChosen: {len(used)} features ({', '.join(sorted(used))}).\n")
    everything = [*numbers_of(train), "category", "brand", "color"]
    ways: dict[str, Callable[[], tuple[np.ndarray, int]]] = {
        "l1 logistic on pairs, by hand": lambda: by_hand(train, test),
        "LightGBM, all": lambda: (lightgbm(train, test, everything)[0], len(everything)),
        f"LightGBM, {K} by gain": lambda: by_gain(train, test),
        f"LightGBM, {K} by SHAP": lambda: by_shap(train, test),
        "RFECV (ridge)": lambda: by_rfecv(train, test),
        "LightGBM on our features": lambda: (lightgbm(train, test, [n for n in everything if n in used])[0], len(used)),
    }
    print("| way | features | ndcg@10 | against sparserank | CPU s |\n|---|---|---|---|---|")
    print(f"| sparserank select | {len(used)} | {np.nanmean(ours):.4f} | | above |")
    for name, way in ways.items():
        began = time.process_time()
        scores, n = way()
        values = ndcg(scores, test)
        cpu = time.process_time() - began
        print(f"| {name} | {n} | {np.nanmean(values):.4f} | {against(values, ours)} | {cpu:.1f} |", flush=True)


# -- nested -----------------------------------------------------------------------------------------------------------


def shuffled(frame: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """Categories, and where numbers are missing, shuffled within queries, so that they mean nothing."""
    rng = np.random.default_rng(seed)
    order = np.lexsort([rng.random(len(frame)), pd.factorize(frame[QID])[0]])
    out = frame.copy()
    for name in ("category", "brand", "color"):
        out[name] = frame[name].to_numpy()[order]
    known = frame["rating_avg"].fillna(frame["rating_avg"].median()).to_numpy()
    out["rating_avg"] = np.where(frame["rating_avg"].isna().to_numpy()[order], np.nan, known)
    return out


def agg() -> pd.DataFrame:
    """MQ2008-agg as a table."""
    frames = []
    for i in range(1, 6):
        data = sr.read(f"{os.environ['SPARSERANK_DATA']}/mq2008-agg/A{i}.txt.gz", missing=-1)
        frame = pd.DataFrame(np.array(data.X), columns=list(data.feature_names or ()))
        frames.append(frame.mask(frame == -1).assign(**{QID: data.qid, LABEL: data.relevance}))
    return pd.concat(frames, ignore_index=True)


def nested(name: str, frame: pd.DataFrame, without: dict[str, Any], folds: int = 5) -> None:
    """Quality on queries that the selection has not seen, with and without categories and flags."""
    queries = np.random.default_rng(0).permutation(frame[QID].unique())
    of_query = dict(zip(queries, np.arange(len(queries)) % folds, strict=True))
    fold = frame[QID].map(of_query).to_numpy()
    values: dict[str, list[np.ndarray]] = {"with": [], "without": []}
    sizes: dict[str, list[int]] = {"with": [], "without": []}
    kept: dict[str, int] = {}
    for f in range(folds):
        train, test = frame[fold != f], frame[fold == f]
        for variant, options in {"with": {}, "without": without}.items():
            result = sr.select(train, label=LABEL, qid=QID, half_samples=0, rival="none", **options)
            values[variant].append(ndcg(result.model.predict(test), test))
            sizes[variant].append(result.chosen.n_features)
            if variant == "with":
                for used in columns_used(result.model):
                    kept[used] = kept.get(used, 0) + 1
    a, b = (np.concatenate(values[variant]) for variant in ("with", "without"))
    told = ", ".join(f"{n} {k}" for n, k in sorted(kept.items(), key=lambda item: -item[1]))
    sized = " | ".join(f"{np.mean(sizes[variant]):.1f}" for variant in ("with", "without"))
    print(f"| {name} | {np.nanmean(a):.4f} | {np.nanmean(b):.4f} | {against(a, b)} | {sized} | {told} |", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, default=1200)
    parser.add_argument("--nested", action="store_true", help="with and without categories and flags, nested")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if not given.nested:
        with tempfile.TemporaryDirectory() as folder:
            job(given.queries, Path(folder))
        return 0
    log = make_log(given.queries, 7).drop(columns=[*BY_HAND, "title"])
    plain: dict[str, Any] = {"ignore_columns": ["category", "brand", "color"], "missing": "median"}
    print("| table | with | without | difference | features | without | kept in folds |\n|---|---|---|---|---|---|---|")
    nested("log", log, plain)
    nested("log, flags only", log.drop(columns=["category", "brand", "color"]), {"missing": "median"})
    nested("log, shuffled within queries", shuffled(log), plain)
    if "SPARSERANK_DATA" in os.environ:
        for rule in ("median", "zero"):
            nested(f"MQ2008-agg, against {rule}", agg(), {"missing": rule})
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
