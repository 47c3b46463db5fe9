"""`python -m benchmarks.peers`: other ways to few features, beside `select`, on the same outer folds.

Each system learns on four fifths of the queries with its own inner folds and is judged on the last fifth (NDCG@10,
`default` convention); differences are paired over queries, 1.96 standard errors. The systems are written as their users
would write them: what a tool does not have (folds of queries, a rule for the size) is added in the fewest lines, which
are counted. Needs SPARSERANK_DATA, lightgbm, catboost and interpret-core. Finished folds lie in --work.
"""

from __future__ import annotations

import argparse
import inspect
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.nested import SETS, _read

SIZES = (1, 2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 25, 30, 40)
MARGIN = 0.01  # every size rule: the smallest within 1% of the best mean
TREES: dict[str, Any] = {
    "n_estimators": 400,
    "num_leaves": 7,
    "learning_rate": 0.02,
    "subsample": 0.7,
    "subsample_freq": 1,
    "colsample_bytree": 0.3,
    "n_jobs": 1,
    "verbose": -1,
}
Found = tuple[np.ndarray, int]  # scores of the test documents, number of features


def ours(train: Any, test: Any) -> Found:
    """sparserank"""
    import sparserank as sr

    result = sr.select(train, n_threads=1)
    return result.model.predict(test.X), result.chosen.n_features


def trees(train: Any, test: Any) -> Found:
    """LightGBM, all features"""
    from lightgbm import LGBMRanker

    ranker = LGBMRanker(**TREES).fit(train.X, train.relevance, group=train.sizes)
    return np.asarray(ranker.predict(test.X)), train.n_features


def rfecv(train: Any, test: Any) -> Found:
    """RFECV with LightGBM"""
    import sklearn
    from lightgbm import LGBMRanker
    from sklearn.feature_selection import RFECV
    from sklearn.metrics import make_scorer
    from sklearn.model_selection import GroupKFold

    import sparserank as sr

    class Ranker(LGBMRanker):  # scikit-learn passes query ids, LightGBM takes sizes
        def fit(self, X, y, qid):  # type: ignore[no-untyped-def, override]
            return super().fit(X, y, group=np.diff(np.flatnonzero(np.r_[True, qid[1:] != qid[:-1], True])))

    def ndcg(y, scores, qid):  # type: ignore[no-untyped-def]  # without a scorer, RFECV takes R2
        return sr.evaluate(scores, y, qid=qid)["ndcg@10"]

    with sklearn.config_context(enable_metadata_routing=True):
        ranker = Ranker(**TREES).set_fit_request(qid=True)
        scoring = make_scorer(ndcg).set_score_request(qid=True)
        search = RFECV(ranker, step=0.1, cv=GroupKFold(5), scoring=scoring)
        X, y, qid = np.array(train.X), train.relevance.astype(int), np.array(train.qid)
        search.fit(X, y, qid=qid, groups=qid)
    return search.predict(np.array(test.X)), int(search.n_features_)


def shap(train: Any, test: Any) -> Found:
    """LightGBM with SHAP"""
    from lightgbm import LGBMRanker

    import sparserank as sr

    def of(data: Any, columns: np.ndarray) -> Any:
        return LGBMRanker(**TREES).fit(data.X[:, columns], data.relevance, group=data.sizes)

    def order(data: Any) -> np.ndarray:  # by mean |SHAP|, of trees on all features
        every = np.arange(data.n_features)
        values = of(data, every).predict(data.X, pred_contrib=True)[:, :-1]
        return np.argsort(-np.abs(values).mean(axis=0), kind="stable")

    sizes = [k for k in SIZES if k < train.n_features]
    fold = np.random.default_rng(0).permutation(train.n_queries) % 5
    means = np.zeros(len(sizes))
    for f in range(5):
        inside = train.take_queries(np.flatnonzero(fold != f))
        outside = train.take_queries(np.flatnonzero(fold == f))
        ranked = order(inside)
        for i, k in enumerate(sizes):
            scores = of(inside, ranked[:k]).predict(outside.X[:, ranked[:k]])
            means[i] += sr.evaluate(scores, outside)["ndcg@10"] / 5
    k = sizes[int(np.argmax(means >= (1 - MARGIN) * means.max()))]
    kept = order(train)[:k]
    return np.asarray(of(train, kept).predict(test.X[:, kept])), k


def catboost(train: Any, test: Any) -> Found:
    """CatBoost, select_features"""
    from catboost import CatBoostRanker, EFeaturesSelectionAlgorithm, Pool

    fold = np.random.default_rng(0).permutation(train.n_queries) % 5
    inside = train.take_queries(np.flatnonzero(fold != 0))
    outside = train.take_queries(np.flatnonzero(fold == 0))
    pools = [
        Pool(np.array(d.X), d.relevance, group_id=np.repeat(np.arange(d.n_queries), d.sizes)) for d in (inside, outside)
    ]
    options: dict[str, Any] = {
        "loss_function": "YetiRank",
        "eval_metric": "NDCG:top=10;type=Exp",
        "iterations": 300,
        "depth": 4,
    }
    quiet: dict[str, Any] = {"thread_count": 1, "verbose": False, "allow_writing_files": False, "random_seed": 0}
    summary = CatBoostRanker(**options, **quiet).select_features(
        pools[0],
        eval_set=pools[1],
        features_for_select=list(range(train.n_features)),
        num_features_to_select=1,
        steps=20,
        algorithm=EFeaturesSelectionAlgorithm.RecursiveByShapValues,
        train_final_model=False,
        logging_level="Silent",
    )
    graph = summary["loss_graph"]
    removed, quality = np.array(graph["removed_features_count"]), -np.array(graph["loss_values"])
    quality = quality if quality.mean() > 0 else -quality
    n_removed = int(removed[quality >= (1 - MARGIN) * quality.max()].max())
    out = {*summary["eliminated_features"][:n_removed]}
    kept = [j for j in range(train.n_features) if j not in out]
    whole = Pool(
        np.array(train.X)[:, kept], train.relevance, group_id=np.repeat(np.arange(train.n_queries), train.sizes)
    )
    ranker = CatBoostRanker(**options, **quiet).fit(whole)
    return np.asarray(ranker.predict(np.array(test.X)[:, kept])), len(kept)


def ebm(train: Any, test: Any) -> Found:
    """EBM"""
    from interpret.glassbox import ExplainableBoostingRegressor

    model = ExplainableBoostingRegressor(interactions=0, n_jobs=1, random_state=0)
    model.fit(np.array(train.X), train.relevance)  # grades as numbers: it has no loss of rankings
    return model.predict(np.array(test.X)), train.n_features


SYSTEMS: tuple[Callable[[Any, Any], Found], ...] = (ours, trees, rfecv, shap, catboost, ebm)


def lines_of(system: Callable[[Any, Any], Found]) -> int:
    """Lines of code of a system, without its name, imports and blank lines."""
    body = inspect.getsource(system).splitlines()[2:]
    return sum(1 for line in map(str.strip, body) if line and not line.startswith(("import ", "from ", "#")))


def one_fold(name: str, data: Any, seed: int, fold: int, system: Callable[[Any, Any], Found], work: Path) -> Any:
    """What a system has found without an outer fold, and its values there."""
    import sparserank as sr

    file = work / f"{name}-{seed}-{fold}-{system.__name__}.json"
    if file.exists():
        return json.loads(file.read_text())
    of_query = np.random.default_rng(seed).permutation(data.n_queries) % 5
    queries = np.flatnonzero(of_query == fold)
    train, test = data.take_queries(np.flatnonzero(of_query != fold)), data.take_queries(queries)
    began = time.process_time()
    scores, n_features = system(train, test)
    seconds = time.process_time() - began
    values = np.asarray(sr.evaluate(scores, test, ["ndcg@10"]).per_query["ndcg@10"]).ravel()
    found = {"values": values.tolist(), "queries": queries.tolist(), "n_features": n_features, "seconds": seconds}
    work.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(found))
    print(f"{name} {seed} {fold} {system.__doc__}: {np.nanmean(values):.4f} {n_features} {seconds:.0f} s", flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description=__doc__)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=["MQ2008", "OHSUMED", "LambdaRank"])
    parser.add_argument("--systems", nargs="+", choices=[s.__name__ for s in SYSTEMS])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0])
    parser.add_argument("--work", type=Path, default=Path("evidence/peers"))
    given = parser.parse_args()
    systems = [s for s in SYSTEMS if not given.systems or s.__name__ in given.systems]
    for name in given.sets:
        data = _read(name)
        values, rows = {}, {}
        for system in systems:
            runs = [one_fold(name, data, s, f, system, given.work) for s in given.seeds for f in range(5)]
            total = np.zeros(data.n_queries)
            for run in runs:
                total[run["queries"]] += run["values"]
            values[system], rows[system] = total / len(given.seeds), runs
        print(f"\n{name}, {data.n_queries} queries, {data.n_features} features\n")
        print("| system | features | NDCG@10 | to sparserank | CPU s | lines |\n|---|---|---|---|---|---|")
        for system in systems:
            size, seconds = (np.mean([r[key] for r in rows[system]]) for key in ("n_features", "seconds"))
            apart = values[system] - values[systems[0]]
            interval = 1.96 * apart.std(ddof=1) / np.sqrt(len(apart))
            against = "" if system is systems[0] else f"{apart.mean():+.4f} +- {interval:.4f}"
            mean = values[system].mean()
            print(f"| {system.__doc__} | {size:.1f} | {mean:.4f} | {against} | {seconds:.0f} | {lines_of(system)} |")
        print(flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
