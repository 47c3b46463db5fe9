"""`python -m benchmarks.nested`: what `select` is worth on queries that no part of it has seen, variant by variant.

R repeats x 5 outer folds of queries: inside each outer fold `sr.select` runs with its own inner folds, and the model it
takes is judged on the outer fold's queries (NDCG@10, `default` convention), beside LightGBM trained on the same
queries. Values per query are averaged over the repeats; intervals are paired, 1.96 standard errors over queries. Needs
SPARSERANK_DATA. What is finished lies in --work, a file each: an interrupted run goes on, another variant adds its own.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

METRIC = "ndcg@10"
BASELINE, RIVAL, FAST, GRID = "default", "LightGBM", "LightGBM (150 x 0.05)", "LightGBM grid"
GRID_FOLDS = 3  # of the outer training queries, in which the best of the grid is found
SETS: dict[str, list[str]] = {
    "MQ2008": [f"mq2008/S{i}.txt.gz" for i in range(1, 6)],
    "OHSUMED": [f"ohsumed/querylevelnorm/S{i}.txt.gz" for i in range(1, 6)],
    "MSLR": [f"mslr-web10k-sample/fold1.{part}.5k.txt.gz" for part in ("train", "test")],
    "LambdaRank": [f"lightgbm-lambdarank/{part}.txt.gz" for part in ("train", "test")],
}
# Options of `select`; 'products' is the number of features, of the largest weights, whose products are added.
LINEAR = ("none", "log")
VARIANTS: dict[str, dict[str, Any]] = {
    BASELINE: {},
    "linear": {"feature_transform": LINEAR},
    "products": {"feature_transform": LINEAR, "products": 12},
    "margin 0.5%": {"margin": 0.005},
    "bound 2%": {"guarantee": 0.02},
}
MADE = ("curved", "products")  # sets that are made: additive curves, and two products beside linear features
RIVALS: dict[str, dict[str, Any]] = {
    RIVAL: {
        "num_iterations": 400,
        "num_leaves": 7,
        "learning_rate": 0.02,
        "bagging_fraction": 0.7,
        "bagging_freq": 1,
        "feature_fraction": 0.3,
    },
    FAST: {"num_iterations": 150, "num_leaves": 7, "learning_rate": 0.05},
}
RIVALS[GRID] = {"grid": [{**RIVALS[s], "num_leaves": leaves} for s in (FAST, RIVAL) for leaves in (7, 15)]}


def main() -> int:
    given = _arguments()
    for name in given.sets:
        data = _read(name)
        for seed in given.seeds:
            for fold in range(given.outer):
                _one_fold(name, data, seed, fold, given)
    for name in given.sets:
        _print_table(name, given)
    for system in given.variants:
        every = [r for name in given.sets for seed in given.seeds for r in _runs(name, system, seed, given)]
        print(f"{system}, all sets: raw - test, corrected - test: {', '.join(_optimism(every))}")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.nested", description=__doc__)
    parser.add_argument("--sets", nargs="+", choices=[*SETS, *MADE], default=list(SETS))
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=list(VARIANTS))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0], help="of the outer folds: one repeat each")
    parser.add_argument("--outer", type=int, default=5, help="outer folds")
    parser.add_argument("--inner", type=int, default=5, help="folds of each selection")
    parser.add_argument("--half-samples", type=int, default=0)
    parser.add_argument("--n-alphas", type=int, help="default: that of `select`")
    parser.add_argument("--penalties", nargs="+", help="default: those of `select`")
    parser.add_argument("--n-threads", type=int, default=1)
    parser.add_argument("--rivals", nargs="*", choices=RIVALS, default=[RIVAL, FAST])
    parser.add_argument("--work", type=Path, default=Path("evidence/nested"))
    return parser.parse_args()


def _read(name: str) -> Any:
    import sparserank as sr

    if name == "curved":
        return sr.datasets.make_curved_ranking(200, random_state=7).data
    if name == "products":
        return _with_true_products(200)
    return sr.read([Path(os.environ["SPARSERANK_DATA"]) / file for file in SETS[name]])


def _one_fold(name: str, data: Any, seed: int, fold: int, given: argparse.Namespace) -> None:
    """What is missing of an outer fold; all variants share the paths that they have in common."""
    from sparserank.data.folds import query_folds

    of_query = query_folds(data.n_queries, given.outer, seed)
    train, test = (data.take_queries(np.flatnonzero(own)) for own in (of_query != fold, of_query == fold))
    with tempfile.TemporaryDirectory() as shared:
        for system in [*given.variants, *given.rivals]:
            options = _options(system, seed, given)
            file = _file(name, system, seed, fold, given)
            known = json.loads(file.read_text()) if file.exists() else {}
            if known.get("options") == options:
                continue
            began = time.perf_counter()
            if system in RIVALS:
                found = _trees(train, test, options)
            else:
                found = _selected(train, test, options, Path(shared) / "run")
            found |= {"options": options, "queries": np.flatnonzero(of_query == fold).tolist()}
            found["seconds"] = time.perf_counter() - began
            file.parent.mkdir(parents=True, exist_ok=True)
            part = file.with_suffix(".part")
            part.write_text(json.dumps(found))
            part.replace(file)
            mean = float(np.mean(found["values"]))
            print(
                f"{name} seed {seed} fold {fold + 1}: {system} {mean:.4f}, {found['n_features']} features, "
                f"{found['label']}, {found['seconds']:.0f} s",
                flush=True,
            )


def _options(system: str, seed: int, given: argparse.Namespace) -> dict[str, Any]:
    """All that a result depends on besides the data and its fold."""
    if system in RIVALS:
        return {**RIVALS[system], "seed": seed}
    shared = {"half_samples": given.half_samples, "random_state": seed}
    named = {"penalties": given.penalties, "n_alphas": given.n_alphas}
    shared |= {option: value for option, value in named.items() if value is not None}
    shared |= {} if given.inner == 5 else {"cv": given.inner}
    return {**shared, **VARIANTS[system]}


def _file(name: str, system: str, seed: int, fold: int, given: argparse.Namespace) -> Path:
    folder: Path = given.work
    return folder / name / file_of(system, seed, fold, given.outer)


def file_of(system: str, seed: int, fold: int, outer: int) -> str:
    """The file of a finished fold."""
    return f"{re.sub(r'[^a-z0-9.%]+', '-', system.lower())}-seed{seed}-fold{fold + 1}of{outer}.json"


def _selected(train: Any, test: Any, options: Mapping[str, Any], out: Path) -> dict[str, Any]:
    import sparserank as sr

    own = dict(options)
    products = own.pop("products", 0)
    with _remembered() as finished, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = sr.select(train, metric=METRIC, out=out, n_threads=1, **own)
        if products:
            train, test = _with_products(result.model, products, train, test)
            result = sr.select(train, metric=METRIC, n_threads=1, **own)
    values = sr.evaluate(result.model, test, [METRIC]).per_query[METRIC]
    return {
        "values": np.asarray(values).tolist(),
        "n_features": result.chosen.n_features,
        "features": list(result.model.weights),
        "label": result.chosen.label,
        "mean": result.chosen.mean,
        "corrected": result.choice.corrected_chosen,
        "fold_models": _of_fold_models(*finished[-1], result.choice.chosen, test),
    }


@contextmanager
def _remembered() -> Iterator[list[tuple[Any, Any]]]:
    """[(job, its candidates)] of the selections inside."""
    from sparserank.selection.job import SelectionJob

    finished, make = [], SelectionJob.candidates

    def remembering(job: Any, *given: Any) -> Any:
        candidate_set = make(job, *given)
        finished.append((job, candidate_set))
        return candidate_set

    SelectionJob.candidates = remembering  # type: ignore[method-assign, assignment]
    try:
        yield finished
    finally:
        SelectionJob.candidates = make  # type: ignore[method-assign]


def _of_fold_models(job: Any, candidate_set: Any, chosen: Any, test: Any) -> float:
    """The mean over the inner folds of what the chosen candidate's model of the fold is worth on the outer fold's
    queries: the models that the printed mean speaks of, where the final model learned from all the inner folds."""
    import sparserank as sr

    models = [candidate_set.model(chosen, job.names, f) for f in job.cv.folds]
    return float(np.mean([sr.evaluate(m, test, [METRIC])[METRIC] for m in models]))


def _with_products(model: Any, most: int, *parts: Any) -> list[Any]:
    """Each of the data sets with the selected features of the largest weights alone, and with the products of each two
    of them: of signed logarithms, standardised on the first data set."""
    import sparserank as sr

    chosen = model.support[np.argsort(-np.abs(model.coef[model.support]), kind="stable")][:most]
    logs = [np.sign(d.X[:, chosen]) * np.log1p(np.abs(np.asarray(d.X[:, chosen], dtype=float))) for d in parts]
    mean, deviation = logs[0].mean(axis=0), logs[0].std(axis=0) + 1e-12
    a, b = np.triu_indices(len(chosen), 1)
    out = []
    for d, log in zip(parts, logs, strict=True):
        z = (log - mean) / deviation
        X = np.column_stack([d.X[:, chosen], z[:, a] * z[:, b]])
        out.append(sr.RankingDataset(X, d.relevance, d.qid))
    return out


def _with_true_products(n_queries: int) -> Any:
    """20 features, of which five and two products of two others decide."""
    import sparserank as sr

    rng = np.random.default_rng(11)
    X = rng.standard_normal((n_queries * 25, 20))
    score = X[:, :5] @ np.array([1.0, 0.9, 0.8, 0.7, 0.6]) + 0.9 * X[:, 5] * X[:, 6] + 0.9 * X[:, 7] * X[:, 8]
    score += 1.2 * rng.standard_normal(len(score))
    return sr.RankingDataset(X, np.digitize(score, [0.5, 1.8, 3.0]).astype(float), np.repeat(np.arange(n_queries), 25))


def _trees(train: Any, test: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    import lightgbm as lgb

    import sparserank as sr

    fixed = {
        "objective": "lambdarank",
        "verbosity": -1,
        "num_threads": 1,
        "deterministic": True,
        "force_row_wise": True,
    }
    options = dict(options)
    if grid := options.pop("grid", None):
        found = [_of_grid(train, {**own, **options}) for own in grid]
        options |= grid[int(np.argmax(found))]
    made = lgb.Dataset(train.X, train.relevance, group=np.diff(train.query_ptr), free_raw_data=False)
    booster = lgb.train({**fixed, **options}, made)
    values = sr.evaluate(booster.predict(test.X), test, [METRIC]).per_query[METRIC]
    n = int((booster.feature_importance() > 0).sum())
    return {"values": np.asarray(values).tolist(), "n_features": n, "label": "trees"}


def _of_grid(train: Any, options: Mapping[str, Any]) -> float:
    """The mean metric of these settings on folds of the training queries."""
    from sparserank.data.folds import query_folds

    fold = query_folds(train.n_queries, GRID_FOLDS, options["seed"])
    each = []
    for f in range(GRID_FOLDS):
        inside, outside = (train.take_queries(np.flatnonzero(own)) for own in (fold != f, fold == f))
        each += _trees(inside, outside, options)["values"]
    return float(np.mean(each))


# -- what is printed ---------------------------------------------------------------------------------------------------


def _print_table(name: str, given: argparse.Namespace) -> None:
    title, head, rows = nested_table(given.work, name, [*given.variants, *given.rivals], given.seeds, given.outer)
    print(f"\n{title}")
    for row in [head, *rows]:
        print(
            f"{row[0]:16}{row[1]:>9}{row[2]:>9}{row[3]:>9}{row[4]:>18}{row[5]:>18}  "
            + "".join(f"{cell:>34}" for cell in row[6:])
        )


def nested_table(
    work: Path, name: str, systems: Sequence[str], seeds: Sequence[int], outer: int = 5
) -> tuple[str, list[str], list[list[str]]]:
    """(what it is, columns, a row for each system) of finished runs."""
    given = argparse.Namespace(work=work, outer=outer)
    runs = {s: [_runs(name, s, seed, given) for seed in seeds] for s in systems}
    values = {s: np.mean([_by_query(of_seed) for of_seed in own], axis=0) for s, own in runs.items()}
    n, against = len(next(iter(values.values()))), [r for r in (BASELINE, *RIVALS) if r in values]
    rows = []
    for s, own in runs.items():
        every = [run for of_seed in own for run in of_seed]
        cells = ["" if r == s else _compared(values[s], values[r]) for r in against]
        size = np.mean([r["n_features"] for r in every])
        mean = f"{values[s].mean():.4f}"
        rows.append([s, f"{size:.1f}", _overlap(own), mean, *_optimism(every), *cells])
    head = ["", "features", "overlap", "mean", "raw - test", "corrected - test", *(f"vs {r}" for r in against)]
    return f"{name}: {n} queries, {len(seeds)} x {outer} outer folds", head, rows


def _overlap(runs: list[list[dict[str, Any]]]) -> str:
    """The mean overlap of the chosen features of two outer folds of a repeat, as a share of those of either (Jaccard);
    '' for trees."""
    if "features" not in runs[0][0]:
        return ""
    each = []
    for of_seed in runs:
        chosen = [set(r["features"]) for r in of_seed]
        each += [len(a & b) / len(a | b) for a, b in combinations(chosen, 2)]
    return f"{np.mean(each):.2f}"


def _optimism(runs: list[dict[str, Any]]) -> list[str]:
    """The mean that `select` prints, before and after its correction for the choice, minus what the models that it
    speaks of are worth on the outer folds: '+0.0021 (+0.5%)'; '' for trees."""
    if "fold_models" not in runs[0]:
        return ["", ""]
    test = np.mean([r["fold_models"] for r in runs])
    return [
        f"{d:+.4f} ({100 * d / test:+.1f}%)"
        for d in (np.mean([r[m] for r in runs]) - test for m in ("mean", "corrected"))
    ]


def _runs(name: str, system: str, seed: int, given: argparse.Namespace) -> list[dict[str, Any]]:
    return [json.loads(_file(name, system, seed, f, given).read_text()) for f in range(given.outer)]


def _by_query(of_seed: list[dict[str, Any]]) -> np.ndarray:
    """(n_queries,) of one repeat, in the order of the data."""
    queries = np.concatenate([r["queries"] for r in of_seed])
    return np.concatenate([r["values"] for r in of_seed])[np.argsort(queries)]


def _compared(own: np.ndarray, other: np.ndarray) -> str:
    """'0.98+-0.02 (-0.0080+-0.0090)': ratio of means and difference, paired over queries."""

    def half(x: np.ndarray) -> float:
        return float(1.96 * x.std(ddof=1) / np.sqrt(len(x)))

    ratio = own.mean() / other.mean()
    within = half((own - ratio * other) / other.mean())
    return f"{ratio:.3f}+-{within:.3f} ({(own - other).mean():+.4f}+-{half(own - other):.4f})"


if __name__ == "__main__":
    raise SystemExit(main())
