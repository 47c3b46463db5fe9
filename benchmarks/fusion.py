"""`python -m benchmarks.fusion`: what `fuse` is worth on queries that no part of it has seen.

dl19: R repeats x 5 outer folds of the topics of TREC DL 2019 (six retrievers). Inside each outer fold, `sr.fuse` runs
with its own inner folds and its formula is judged on the topics of the fold, beside RRF, CombSUM, equal weights, the
retriever that is best on the training topics, and the full grid: all weights in steps of 0.1 that sum to 1, of min-max
scores, of which the one with the highest mean on the training topics is taken (the first of equal ones, in
lexicographic order), and two methods of ranx if it is installed: `optimize_fusion` of wsum over the weights that it
tries (2,486 of the 3,003, of equal means the last) and SegFuse, on min-max scores, learned on the training topics.

agg: the official folds of MQ2008-agg (the ranks of 25 engines). `sr.fuse` learns from the training and validation
queries; beside it plain non-negative l1 on 60 / (60 + rank) with the number of engines by cross-validation, LightGBM on
the same columns, ranx's SegFuse on 60 / (60 + rank) if ranx is installed, and RRF.

halves: random halves of the topics of DL 2019, of TREC News and of MQ2008-agg. `sr.fuse` chooses on one half, and its
formula is judged on the other beside RRF of all and every other rival.

Intervals are paired over queries, 1.96 standard errors, values averaged over repeats. Needs SPARSERANK_DATA.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.competitors import ranx_fusion

METRIC = "ndcg@10"
STEPS = 10  # of the grid
DEPTH = 100  # at which the lists of dl19 are cut
HAS_RANX = find_spec("ranx") is not None
PARTS = {1: "123 4 5", 2: "234 5 1", 3: "345 1 2", 4: "451 2 3", 5: "512 3 4"}  # training, validation, test
Values = dict[str, np.ndarray]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fusion", description=__doc__)
    parser.add_argument("sets", nargs="*", choices=("dl19", "agg", "halves"), default=["dl19", "agg"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2, 3, 4], help="of the outer folds of dl19")
    parser.add_argument("--norm", nargs="+", default=["auto"])
    parser.add_argument("--halves", type=int, default=20, help="number of random halves")
    parser.add_argument("--no-grid", action="store_true", help="leave out the full grid of weights")
    parser.add_argument("--work", type=Path, default=Path("evidence/fusion"), help="for `benchmarks.frontier --fusion`")
    given = parser.parse_args()
    data = Path(os.environ["SPARSERANK_DATA"])
    given.work.mkdir(parents=True, exist_ok=True)
    if "dl19" in given.sets:
        found = dl19(data / "dl19-runs", given.seeds, given.norm, not given.no_grid)
        (given.work / "dl19.json").write_text(json.dumps(found, indent=1))
    if "halves" in given.sets:
        for name, one in (("dl19", of_runs), ("news", of_runs), ("mq2008-agg", of_columns)):
            halves(name, one, data, given.halves)
    if "agg" in given.sets:
        (given.work / "agg.json").write_text(json.dumps(agg(data / "mq2008-agg", given.norm), indent=1))
    return 0


# -- TREC DL 2019 ------------------------------------------------------------------------------------------------------


def dl19(folder: Path, seeds: Sequence[int], norm: Sequence[str], with_grid: bool) -> dict[str, Any]:
    """Print the table, and return it."""
    import sparserank as sr

    runs = sorted(folder.glob("*.run.gz"))
    qrels = sr.read_qrels(folder / "qrels.gz")
    topics = list(dict.fromkeys(q for q, _ in qrels))
    every: dict[str, list[np.ndarray]] = {}
    sizes, seconds, grid_seconds = [], [], []
    ranx_seconds: list[float] = []
    for seed in seeds:
        fold = sr.query_folds(len(topics), 5, seed)
        values: dict[str, np.ndarray] = {}
        for f in range(5):
            inside, outside = (_of(qrels, topics, own) for own in (fold != f, fold == f))
            began = time.perf_counter()
            result = sr.fuse(runs, inside, test_qrels=outside, norm=norm, half_samples=0, n_threads=1)
            seconds.append(time.perf_counter() - began)
            sizes.append(len(result.retrievers))
            test = result.selection.test
            assert test is not None
            system, *_ = test.values
            own = {"fuse": test.values[system][METRIC]}
            own["RRF"] = test.values["RRF of all"][METRIC]
            own |= {name: test.values[name][METRIC] for name in ("CombSUM", "equal weights, zscore")}
            singles = [r for r in result.selection.rivals.compared if r.n_features == 1]
            own["best single"] = test.values[max(singles, key=lambda r: r.mean).name][METRIC]
            if with_grid:
                began = time.perf_counter()
                own["full grid"] = _grid(runs, inside, outside)
                grid_seconds.append(time.perf_counter() - began)
            if HAS_RANX:
                own |= ranx_fusion.of_runs(runs, inside, outside, METRIC, DEPTH, ranx_seconds)
            for name, found in own.items():
                values.setdefault(name, np.zeros(len(topics)))[fold == f] = found
            print(f"seed {seed} fold {f + 1}: {result.headline}", flush=True)
        for name, found in values.items():
            every.setdefault(name, []).append(found)
    title = f"TREC DL 2019, {len(topics)} topics, {len(seeds)} x 5 folds, {METRIC}, gain 2^grade - 1, depth {DEPTH}"
    rows = _compared({name: np.mean(found, axis=0) for name, found in every.items()})
    for name, took in (("fuse", seconds), ("full grid", grid_seconds), ("wsum (ranx)", ranx_seconds)):
        if took:
            rows[name]["seconds"] = float(np.median(took))
    kept = f"median {np.median(sizes):g}, {min(sizes)} to {max(sizes)}"
    _print(title, rows, kept)
    return {"title": title, "rows": rows, "kept": kept}


def _of(
    qrels: Mapping[tuple[str, str], float], topics: Sequence[str], kept: np.ndarray
) -> dict[tuple[str, str], float]:
    own = {t for t, k in zip(topics, kept, strict=True) if k}
    return {key: grade for key, grade in qrels.items() if key[0] in own}


def _grid(runs: Sequence[Path], inside: Any, outside: Any) -> np.ndarray:
    """Values of the test topics by the weights that are best on the training topics."""
    train, test = (_columns(runs, q) for q in (inside, outside))
    n = train[0].shape[1]
    weights = np.array([w for w in itertools.product(range(STEPS + 1), repeat=n) if sum(w) == STEPS]) / STEPS
    means = np.array([_values(train, w).mean() for w in weights])
    return _values(test, weights[int(np.argmax(means))])


def _columns(runs: Sequence[Path], qrels: Any) -> tuple[np.ndarray, Any]:
    from sparserank.data.fusion.fusion_table import fusion_table
    from sparserank.data.fusion.judged_runs import read_judged_runs
    from sparserank.data.fusion.norms import Norm

    judged = read_judged_runs(list(map(str, runs)), dict(qrels), DEPTH, None)
    norms = [Norm("minmax")]
    table = fusion_table(judged.lists, norms, judged.depth, judged.qrels, judged.query_ids, judged.documents)
    return np.asarray(table.judged.X), table.judged


def _values(columns: tuple[np.ndarray, Any], weights: np.ndarray) -> np.ndarray:
    from dataclasses import replace

    from sparserank.evaluation import per_query_values
    from sparserank.metrics import CONVENTIONS, parse_metric

    metric = parse_metric(METRIC, replace(CONVENTIONS["default"], zero_scores="left_out"))
    (values,) = per_query_values(columns[0] @ weights, columns[1], [metric])
    return np.asarray(values)


# -- MQ2008-agg --------------------------------------------------------------------------------------------------------


def agg(folder: Path, norm: Sequence[str]) -> dict[str, Any]:
    """Print the table, and return it."""
    import sparserank as sr

    values: dict[str, list[np.ndarray]] = {}
    letor: dict[str, list[float]] = {}
    sizes, seconds = [], []
    for fold, parts in PARTS.items():
        train, valid, (test,) = ([folder / f"A{i}.txt.gz" for i in part] for part in parts.split())
        began = time.perf_counter()
        result = sr.fuse([*train, *valid], rank_columns=True, norm=norm, half_samples=0, n_threads=1)
        seconds.append(time.perf_counter() - began)
        sizes.append(len(result.retrievers))
        held = sr.read(test, missing={"*": 0})  # ranks start at 1, so 0 is what was not returned
        learned = sr.read([*train, *valid], missing={"*": 0})
        scores = {
            "fuse": _scores(result, held),
            "l1 on 60 / (60 + rank)": _plain_l1(learned, held),
            "LightGBM on the same": _trees(learned, held),
            "RRF": _rrf(np.asarray(held.X)).sum(axis=1),
        }
        if HAS_RANX:
            scores["SegFuse (ranx)"] = ranx_fusion.of_columns(learned, held, _rrf)
        for name, own in scores.items():
            found = sr.evaluate(held.to_input_order(own), held, [METRIC, "letor4:map", "letor4:ndcg@10"])
            values.setdefault(name, []).append(found.per_query[METRIC])
            for metric in ("letor4:map", "letor4:ndcg@10"):
                letor.setdefault(f"{name}|{metric}", []).append(found[metric])
        shown = ", ".join(result.retrievers)
        print(f"fold {fold}: {len(result.retrievers)} engines ({shown}), {seconds[-1]:.1f} s", flush=True)
    title = f"MQ2008-agg, 784 queries, official folds, {METRIC}, gain 2^grade - 1"
    rows = _compared({name: np.concatenate(found) for name, found in values.items()})
    rows["fuse"]["seconds"] = float(np.median(seconds))
    for name, row in rows.items():
        row |= {metric: float(np.mean(letor[f"{name}|{metric}"])) for metric in ("letor4:map", "letor4:ndcg@10")}
    kept = f"{min(sizes)} to {max(sizes)} of 25"
    _print(title, rows, kept)
    return {"title": title, "rows": rows, "kept": kept}


# -- random halves -----------------------------------------------------------------------------------------------------


def halves(name: str, one: Callable[[Path, str, int], tuple[Values, int]], data: Path, n: int) -> None:
    """Print the choice of one half minus each rival, on the other half: mean and 1.96 standard errors over halves,
    which share topics."""
    differences: dict[str, list[float]] = {}
    kept = []
    for seed in range(n):
        values, n_kept = one(data, name, seed)
        chosen = values.pop("fuse")
        kept.append(n_kept)
        for rival, own in values.items():
            differences.setdefault(rival, []).append(float((chosen - own).mean()))
    print(f"\n{name}, {n} random halves, {METRIC}: `fuse` minus each; it keeps {np.mean(kept):.1f} on average")
    for rival, found in differences.items():
        half = 1.96 * np.std(found, ddof=1) / np.sqrt(n)
        print(f"{rival:28}{np.mean(found):+8.4f} +- {half:.4f}", flush=True)


def _half(topics: Sequence[str], seed: int) -> np.ndarray:
    """(n_topics,) bool: a random half."""
    chosen = np.zeros(len(topics), dtype=bool)
    chosen[np.random.default_rng(seed).permutation(len(topics))[: len(topics) // 2]] = True
    return chosen


def of_runs(data: Path, name: str, seed: int) -> tuple[Values, int]:
    """Values of the topics of the other half by TREC runs."""
    import sparserank as sr

    folder = data / f"{name}-runs"
    qrels = sr.read_qrels(folder / "qrels.gz")
    topics = sorted({q for q, _ in qrels})
    own = _half(topics, seed)
    inside, outside = (_of(qrels, topics, part) for part in (own, ~own))
    runs = sorted(folder.glob("*.run.gz"))
    result = sr.fuse(runs, inside, test_qrels=outside, half_samples=0, n_threads=1)
    test = result.selection.test
    assert test is not None
    found = {name: of[METRIC] for name, of in test.values.items()}
    best = max((r for r in result.rows() if r["alone"] is not None), key=lambda r: r["alone"])
    out = {"fuse": found[test.baseline]}
    out |= {title: found[title] for title in ("RRF of all", "CombSUM", "equal weights, zscore")}
    return {**out, "best single": found[f"{best['retriever']} alone"]}, len(result.retrievers)


def of_columns(data: Path, name: str, seed: int) -> tuple[Values, int]:
    """Values of the queries of the other half by ranks of 25 engines."""
    import sparserank as sr

    whole = sr.read([data / name / f"A{i}.txt.gz" for i in range(1, 6)], missing={"*": 0})
    own = _half([str(q) for q in whole.query_ids], seed)
    learned, held = whole.take_queries(own), whole.take_queries(~own)
    ranks = np.where(np.asarray(learned.X) > 0, learned.X, np.nan)
    result = sr.fuse((ranks, learned.relevance, learned.qid), rank_columns=True, half_samples=0, n_threads=1)
    X = np.asarray(held.X)
    logs = np.where(X > 0, np.log1p(result.formula.depth) - np.log(np.maximum(X, 1.0)), 0.0)
    best = max(result.rows(), key=lambda r: r["alone"] or 0.0)
    scores = {
        "fuse": _scores(result, held),
        "RRF of all": _rrf(X).sum(axis=1),
        "equal weights, logrank": np.maximum(logs, 0.0).sum(axis=1),
        "best single": _rrf(X[:, list(held.feature_names or ()).index(best["retriever"])]),
    }
    found = {n: sr.evaluate(held.to_input_order(s), held, [METRIC]).per_query[METRIC] for n, s in scores.items()}
    return found, len(result.retrievers)


def _rrf(ranks: np.ndarray) -> np.ndarray:
    return np.where(ranks > 0, 60.0 / (60.0 + ranks), 0.0)


def _scores(result: Any, data: Any) -> np.ndarray:
    """Scores of documents with ranks by the formula."""
    ranks, names, total = np.asarray(data.X), list(data.feature_names), np.zeros(data.n_docs)
    norm = result.formula.norm
    for term in result.formula.terms:
        own = ranks[:, names.index(term.retriever)]
        with np.errstate(divide="ignore"):
            value = 1.0 / (norm.k + own) if norm.name == "rrf" else np.log1p(result.formula.depth) - np.log(own)
        total += term.weight * np.where((own > 0) & (own <= result.formula.depth), np.maximum(value, 1e-9), 0.0)
    return total


def _plain_l1(learned: Any, data: Any) -> np.ndarray:
    import sparserank as sr

    ranker = sr.SparseRankerCV(penalty=sr.penalties.L1(monotone=(1,) * learned.n_features), rule="best")
    ranker.fit(_rrf(np.asarray(learned.X)), learned.relevance, qid=learned.qid)
    return np.asarray(ranker.predict(_rrf(np.asarray(data.X))))


def _trees(learned: Any, data: Any) -> np.ndarray:
    import lightgbm as lgb

    fixed = {"objective": "lambdarank", "verbosity": -1, "num_threads": 1, "num_iterations": 150, "num_leaves": 7}
    made = lgb.Dataset(_rrf(np.asarray(learned.X)), learned.relevance, group=np.diff(learned.query_ptr))
    return np.asarray(lgb.train({**fixed, "learning_rate": 0.05, "seed": 0}, made).predict(_rrf(np.asarray(data.X))))


def _compared(values: Values) -> dict[str, dict[str, float]]:
    """{system: mean, and the paired difference of `fuse` to it with half the length of its interval}."""
    rows = {name: {"mean": float(found.mean())} for name, found in values.items()}
    for name, found in values.items():
        if name != "fuse":
            difference = values["fuse"] - found
            half = 1.96 * difference.std(ddof=1) / np.sqrt(len(difference))
            rows[name] |= {"difference": float(difference.mean()), "half": float(half)}
    return rows


def _print(title: str, rows: Mapping[str, Mapping[str, float]], kept: str) -> None:
    print(f"\n{title}\n{'':28}{'mean':>8}{'fuse - it':>20}")
    for name, row in rows.items():
        shown = f"{row['difference']:+.4f} +- {row['half']:.4f}" if "difference" in row else ""
        rest = "  ".join(f"{key} {row[key]:.4g}" for key in row if key not in ("mean", "difference", "half"))
        print(f"{name:28}{row['mean']:8.4f}{shown:>20}  {rest}")
    print(f"retrievers kept: {kept}")


if __name__ == "__main__":
    raise SystemExit(main())
