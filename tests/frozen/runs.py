"""The reference runs: each a function of the folder of real data and of an empty folder, which gives arrays by name.

What a run is called, what it does and what its arrays are called are the contract between versions; how it asks the
package for them may change with the package's names.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import sparserank as sr
from sparserank.crossval import tree_rivals
from sparserank.selection.fit import fit_model

assert callable(tree_rivals.is_installed)
tree_rivals.is_installed = lambda: False  # trees are no part of what is kept

Arrays = dict[str, np.ndarray]
Run = Callable[[Path, Path], Arrays]

RUNS: dict[str, Run] = {}
PENALTIES = ("l1", "log", "mcp")
QUICK: dict[str, Any] = {
    "penalties": PENALTIES,
    "n_alphas": 12,
    "cv": 3,
    "half_samples": 0,
    "feature_transform": "none",
}
LOGS = ("none", "log")
GROUPS = {f"f{j}": f"g{j // 4}" for j in range(1, 31)}  # of `generated`
GROUP_COSTS = {f"g{j}": 1.0 + j % 3 for j in range(8)}


def run(function: Run) -> Run:
    """Register a run under the name of its function."""
    RUNS[function.__name__] = function
    return function


# -- what is kept of results -----------------------------------------------------------------------


def of_selection(result: Any) -> Arrays:
    """Of every path the strengths, coefficients, losses and certificates; of every candidate its values and bound;
    the model; what drops cost."""
    out: Arrays = {}
    for label, path in result.paths.items():
        out |= {f"path {label} {name}": value for name, value in of_path(path).items()}
    choice = result.choice
    for c in choice.candidates:
        name = f"candidate {c.label} {c.k:g} {c.index}"
        out[f"{name} values"] = c.values
        out[f"{name} bound"] = np.array([choice.bound(c), choice.loss(c), c.n_features, c.cost])
    out["margin"] = np.array([choice.margin, choice.bounds.resolution])
    out["resampled"] = choice.resampled_sizes
    out |= {f"model {name}": value for name, value in of_model(result.model).items()}
    zeroed = [d["zeroed"] for d in result.worth.features]
    out["drops"] = np.array([[v for m in row.values() for v in m.values()] for row in zeroed])
    if result.stability is not None:
        out["stability"] = result.stability.kept
    if result.change is not None:
        out["change"] = np.array([result.change.mean, result.change.low, result.change.high])
    if result.test is not None:
        for system, values in result.test.values.items():
            out |= {f"test {system} {metric}": v for metric, v in values.items()}
    return out


def of_path(path: Any) -> Arrays:
    coefs = path.sparse_coefs
    return {
        "alphas": path.alphas,
        "data": coefs.data,
        "indices": coefs.indices,
        "indptr": coefs.indptr,
        "losses": path.losses,
        "objectives": path.objectives,
        "kkt_violations": path.kkt_violations,
        "gaps": path.gaps,
        "statuses": np.array(path.statuses),
    }


def of_model(model: Any) -> Arrays:
    out = {"coef": model.coef}
    if hasattr(model, "features"):
        steps = {f.index: f.steps for f in model.features if f.steps is not None}
    else:  # before features were records
        steps = model.steps
    for j, function in steps.items():
        out[f"steps {j}"] = np.concatenate([function.edges, function.values])
    return out


def of_ranker(ranker: Any) -> Arrays:
    name = "coef_" if hasattr(ranker, "coef_") else "scaled_coef_"  # of transformed features
    out = {"coef": getattr(ranker, name)}
    if hasattr(ranker, "values_"):
        bounds = [ranker.bound_, ranker.resolution_]
        out |= {
            "values": ranker.values_,
            "bounds": np.array(bounds),
            "curve": np.array([c["bound"] for c in ranker.curve_]),
        }
    return out


def of_table(table: pa.Table) -> Arrays:
    """Numbers and lists of numbers of a table, but for seconds."""
    out = {}
    for name in table.column_names:
        if name != "time_s":
            values = table.column(name).to_pylist()
            flat = [v for row in values for v in row] if values and isinstance(values[0], list) else values
            out[name] = np.array([np.nan if v is None else v for v in flat])
    return out


# -- data ------------------------------------------------------------------------------------------


def mq2008(data: Path, *parts: str) -> Any:
    return sr.read([str(data / f"mq2008/{p}.txt.gz") for p in parts])


def ohsumed(data: Path, *parts: str) -> Any:
    return sr.read([str(data / f"ohsumed/querylevelnorm/{p}.txt.gz") for p in parts])


def mslr(data: Path, part: str = "train") -> Any:
    return sr.read(str(data / f"mslr-web10k-sample/fold1.{part}.5k.txt.gz"))


def lightgbm_example(data: Path, part: str = "train") -> Any:
    return sr.read(str(data / f"lightgbm-lambdarank/{part}.txt.gz"))


def generated(seed: int = 3) -> Any:
    made = sr.datasets.make_ranking(80, (5, 30), 30, n_informative=6, noise=0.5, random_state=seed).data
    return sr.RankingDataset(made.X, made.relevance, qid_of(made), feature_names=[f"f{j}" for j in range(1, 31)])


def qid_of(data: Any) -> np.ndarray:
    return np.repeat(np.arange(data.n_queries), np.diff(data.query_ptr))


# -- select ----------------------------------------------------------------------------------------


def selected(train: Any, *more: Any, **given: Any) -> Arrays:
    return of_selection(sr.select(train, *more, **{**QUICK, **given}))


@run
def select_by_default(data: Path, folder: Path) -> Arrays:
    return of_selection(sr.select(mq2008(data, "S1", "S2"), test=mq2008(data, "S5")))


@run
def select_every_penalty(data: Path, folder: Path) -> Arrays:
    penalties = ["l1", "elastic_net", "l0.5", "log", "mcp", "scad", "best_k(k_max=6)"]
    return selected(ohsumed(data, "S1", "S2", "S3"), penalties=penalties)


@run
def select_shapes_of_penalties(data: Path, folder: Path) -> Arrays:
    penalties = ["mcp(gamma=2.0)", "mcp(gamma=5.0)", "scad(a=4.0)", "log(eps=0.01)"]
    return selected(ohsumed(data, "S1", "S2"), penalties=penalties, metric="map")


@run
def select_by_holdout(data: Path, folder: Path) -> Arrays:
    parts = ohsumed(data, "S1", "S2", "S3"), ohsumed(data, "S4"), ohsumed(data, "S5")
    return selected(*parts, protocol="holdout", cv=5, feature_transform=LOGS)


@run
def select_on_logs(data: Path, folder: Path) -> Arrays:
    return selected(mslr(data), feature_transform=LOGS)


@run
def select_on_asinh(data: Path, folder: Path) -> Arrays:
    return selected(mslr(data), penalties=["l1", "best_k(k_max=4)"], feature_transform="asinh")


@run
def select_groups_within_a_budget(data: Path, folder: Path) -> Arrays:
    penalties = ["l1", "mcp", "log", "best_k"]
    return selected(generated(), feature_groups=GROUPS, costs=GROUP_COSTS, budget=6.0, penalties=penalties)


@run
def select_groups_on_logs(data: Path, folder: Path) -> Arrays:
    train = mslr(data)
    feature_groups = {name: f"g{j // 9}" for j, name in enumerate(train.feature_names)}
    return selected(train, feature_groups=feature_groups, penalties=["l1", "scad"], feature_transform=LOGS)


@run
def select_with_costs(data: Path, folder: Path) -> Arrays:
    return selected(generated(), costs=[1.0 + j % 5 for j in range(30)], k=4)


@run
def select_under_rules(data: Path, folder: Path) -> Arrays:
    return selected(generated(), monotone={"f1": "+", "f2": "-"}, keep=["f3"], drop=["f4", "f5"])


@run
def select_with_half_samples(data: Path, folder: Path) -> Arrays:
    return selected(ohsumed(data, "S1", "S2"), half_samples=12)


@run
def select_with_weights(data: Path, folder: Path) -> Arrays:
    train = generated()
    weight = np.random.default_rng(1).integers(0, 3, train.n_queries).astype(float)
    doc_weight = np.random.default_rng(2).uniform(0.5, 2.0, train.n_docs)
    weighted = sr.RankingDataset(train.X, train.relevance, qid_of(train))
    return selected(weighted, query_weight=weight, doc_weight=doc_weight, pair_weights="query")


@run
def select_scaled_otherwise(data: Path, folder: Path) -> Arrays:
    return selected(mslr(data), scaling="query-min-max", confidence=0.9, random_state=7)


@run
def select_beside_a_current_model(data: Path, folder: Path) -> Arrays:
    train = mslr(data)
    return selected(train, current=train.feature_names[109], test=mslr(data, "test"))


@run
def select_from_a_store(data: Path, folder: Path) -> Arrays:
    sr.convert([data / "mq2008/S1.txt.gz"], folder / "store", shard_bytes=400_000)
    return selected(sr.read(folder / "store"), penalties=["l1", "mcp"])


@run
def select_sparse_rows(data: Path, folder: Path) -> Arrays:
    import scipy.sparse as sp

    train = generated()
    X = sp.csr_array(np.where(np.abs(train.X) > 0.8, train.X, 0.0))
    return selected(sr.RankingDataset(X, train.relevance, qid_of(train)))


@run
def select_with_missing_values(data: Path, folder: Path) -> Arrays:
    part = [str(data / f"ohsumed/feature-null/{p}.txt.gz") for p in ("S1", "S2")]
    return selected(part, missing="query-min", penalties=["l1", "log"])


@run
def select_resumed(data: Path, folder: Path) -> Arrays:
    """Paths of two of three penalties are there already."""
    train, shared = ohsumed(data, "S1", "S2"), folder / "run"
    selected(train, penalties=["l1", "mcp"], out=shared)
    return selected(train, penalties=["l1", "mcp"], out=shared, margin=0.05, half_samples=4)


@run
def select_on_a_cluster(data: Path, folder: Path) -> Arrays:
    sr.convert([data / "mq2008/S1.txt.gz"], folder / "store", shard_bytes=400_000)
    with cluster() as client:
        return selected(sr.read(folder / "store"), penalties=["l1", "mcp"], client=client)


@contextmanager
def cluster() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as workers, Client(workers) as client:
        yield client


# -- fuse, fit, export -----------------------------------------------------------------------------


def of_fusion(result: Any) -> Arrays:
    """Of the selection; the formula, as weights and as code."""
    rows = [(row["retriever"], row["weight"]) for row in result.rows() if row["kept"]]
    return of_selection(result.selection) | {
        "retrievers": np.array([name for name, _ in rows]),
        "weights": np.array([weight for _, weight in rows]),
        "code": np.array(list(result.export("python").values())),
    }


def fused(data: Path, *names: str, **given: Any) -> Arrays:
    runs = [data / f"dl19-runs/{name}.run.gz" for name in names]
    return of_fusion(sr.fuse(runs, data / "dl19-runs/qrels.gz", half_samples=0, **given))


RETRIEVERS = ("BM25", "D_BERT_KD_TASB", "REP_LLAMA", "SPLADE_P_P_ENSEMBLE_DISTIL")


@run
def fuse_by_one_of_three_norms(data: Path, folder: Path) -> Arrays:
    return fused(data, *RETRIEVERS, norm=["rrf", "minmax", "zscore"], penalties=["l1", "mcp"])


@run
def fuse_for_an_engine(data: Path, folder: Path) -> Arrays:
    return fused(data, *RETRIEVERS[1:], engine="elasticsearch", penalties="l1", metric="map", depth=50)


@run
def fuse_rank_columns(data: Path, folder: Path) -> Arrays:
    """Ranks of 25 engines."""
    read = sr.read(data / "mq2008-agg/A1.txt.gz", missing={"*": 0})
    ranks = np.where(np.asarray(read.X) > 0, read.X, np.nan)
    options: dict[str, Any] = {"penalties": "l1", "norm": "logrank", "half_samples": 0}
    return of_fusion(sr.fuse((ranks, read.relevance, read.qid), rank_columns=True, **options))


@run
def fit_under_rules(data: Path, folder: Path) -> Arrays:
    made: Mapping[str, Any] = {
        "rules": {"penalty": "mcp", "k": 6, "monotone": {"f1": "+", "f2": "-"}, "keep": ["f3"], "drop": ["f4"]},
        "groups": {"penalty": "l1", "alpha_ratio": 0.1, "feature_groups": GROUPS},
    }
    fitted = {name: fit_model(generated(), **given).model for name, given in made.items()}
    return {f"{n} {k}": v for n, model in fitted.items() for k, v in of_model(model).items()}


@run
def export_models(data: Path, folder: Path) -> Arrays:
    linear = fit_model(mq2008(data, "S1"), penalty="mcp", k=5, feature_transform="log").model
    stepped = fit_model(generated(), penalty="steps", k=4).model
    return {
        name: np.array(list(model.export("sql").values())) for name, model in (("linear", linear), ("steps", stepped))
    }


# -- rankers, paths --------------------------------------------------------------------------------


@run
def cross_validated_rankers(data: Path, folder: Path) -> Arrays:
    train, valid = mq2008(data, "S1"), mq2008(data, "S4")
    made: Mapping[str, Any] = {
        "l1": sr.SparseRankerCV(n_alphas=12),
        "mcp best": sr.SparseRankerCV(penalty="mcp", rule="best", n_alphas=12, cv=3, random_state=4),
        "ridge": sr.SparseRankerCV(penalty="ridge", rule="best", n_alphas=8),
        "log three": sr.SparseRankerCV(penalty="log", k=3, n_alphas=12, scaling="none"),
    }
    out = {f"{n} {k}": v for n, r in made.items() for k, v in of_ranker(r.fit_dataset(train)).items()}
    X, y, qid = train.X, train.relevance, qid_of(train)
    eval_qid = qid_of(valid)
    held = sr.SparseRankerCV(penalty="scad", n_alphas=12)
    held.fit(X, y, qid=qid, eval_set=[(valid.X, valid.relevance)], eval_qid=[eval_qid])
    return out | {f"held out {k}": v for k, v in of_ranker(held).items()}


@run
def sparse_rankers(data: Path, folder: Path) -> Arrays:
    train = ohsumed(data, "S1", "S2")
    made: Mapping[str, Any] = {
        "given strength": sr.SparseRanker(penalty="l1", alpha=0.001),
        "share of the largest": sr.SparseRanker(penalty="mcp", alpha_ratio=0.1),
        "seven features": sr.SparseRanker(penalty="scad", k=7),
        "seven on logs": sr.SparseRanker(penalty="l1", k=7, feature_transform="log"),
        "best three": sr.SparseRanker(penalty="best_k", k=3),
        "lp": sr.SparseRanker(penalty="l0.5", alpha_ratio=0.2),
    }
    return {f"{n} {k}": v for n, r in made.items() for k, v in of_ranker(r.fit_dataset(train)).items()}


@run
def paths_alone(data: Path, folder: Path) -> Arrays:
    train, out = mslr(data), {}
    for penalty in ("l1", "elastic_net", "log", "mcp", "scad", "best_k(k_max=4)"):
        out |= {f"{penalty} {k}": v for k, v in of_path(sr.fit_path(train, penalty, n_alphas=10)).items()}
    return out


@run
def rankers_of_papers(data: Path, folder: Path) -> Arrays:
    train = ohsumed(data, "S1")
    made: Mapping[str, Any] = {
        "fenchel": sr.papers.FenchelRank(),
        "fsm": sr.papers.FSMRank(),
        "rls": sr.papers.RankRLS(),
        "greedy rls": sr.papers.GreedyRankRLS(k=5),
        "laporte": sr.papers.Laporte2014(),
        "tg": sr.papers.TGRank(),
        "svm": sr.papers.RankSVM(),
        "fs": sr.papers.FSRank(),
        "gas": sr.papers.GasRanker(),
    }
    return {f"{n} {k}": v for n, r in made.items() for k, v in of_ranker(r.fit_dataset(train)).items()}


# -- experiments, trees, the command line ----------------------------------------------------------


@run
def letor_systems(data: Path, folder: Path) -> Arrays:
    from reproduction.protocol.experiment import Experiment
    from reproduction.protocol.plan import DatasetPlan, ExperimentPlan
    from reproduction.protocol.tasks import TaskRunner

    systems = ("sparserank", "select", "greedy_rank_rls", "rank_svm", "fsm_rank", "l1", "random")
    dataset = DatasetPlan("ohsumed", str(data / "ohsumed/querylevelnorm"))
    plan = ExperimentPlan((dataset,), systems, folds=(1,))
    out: Arrays = {}
    for task in Experiment(plan, folder / "results", n_workers=1).tasks:
        for kind, table in zip(("candidates", "queries"), TaskRunner(plan)(task), strict=True):
            out |= {f"{task.system} {kind} {k}": v for k, v in of_table(table).items()}
    return out


@run
def select_for_model(data: Path, folder: Path) -> Arrays:
    found = sr.select(ohsumed(data, "S1", "S2"), for_model="lightgbm", cv=3, sizes=(2, 5, 8), n_threads=2)
    out = {f"{c.k:g}": np.append(c.values, found.choice.bound(c)) for c in found.choice.candidates}
    return out | {"features": np.array(found.features), "gains": found.gains}


@run
def command_line(data: Path, folder: Path) -> Arrays:
    """The model file of `sparserank select`, scores of `predict`."""
    import subprocess
    import sys

    o = data / "ohsumed/querylevelnorm"
    command = [sys.executable, "-m", "sparserank"]
    train, test = [str(o / f"{p}.txt.gz") for p in ("S1", "S2")], str(o / "S5.txt.gz")
    quiet: Any = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "env": os.environ}
    subprocess.run([*command, "select", *train, "--test", test, "--out", str(folder / "run")], **quiet)
    model = str(folder / "run/model.json")
    subprocess.run([*command, "predict", model, test, "--out", str(folder / "scores")], **quiet)
    out = {f"model {k}": v for k, v in of_model(sr.load_model(model)).items()}
    return out | {"scores": np.loadtxt(folder / "scores")}
