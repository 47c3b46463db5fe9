"""`python -m benchmarks.search_trials`: boosts of a query by `select`, beside search by trials.

Each column is the score of a clause, and a query is a sum of clauses with boosts >= 0. Inside each of 5 outer folds,
every method chooses boosts on the training queries by NDCG@10, and reports a figure: `select` the estimate of its inner
folds, a search by trials the mean on the training queries of the best trial. Both are judged on the queries of the
outer fold. Trials are evaluated in memory, by the same metric code, and not by requests to an engine; their clauses are
divided by the standard deviations of their scores.

TPE    Optuna's default sampler, boosts uniform in [0, 10], 200 or 1,000 trials.
grid   one clause after the other, its boost the best of 0, 0.5, 1, 2 and 4 times the start, round after round until
       nothing changes, or 1,000 evaluations are reached; it starts with all boosts equal.

mq2008     BM25, TF-IDF and a language model on four fields, PageRank, inlinks: 14 clauses (SPARSERANK_DATA).
dl19       the scores of six retrievers, TREC DL 2019 (SPARSERANK_DATA); what a retriever did not return has 0.
made       30 clauses that match 10 to 70% of the documents, 8 of which matter, generated.
shop       500 documents per query; text tells the fifth that may be relevant at all, and popularity the best of
           these, generated: three text clauses and popularity.

Intervals are paired over queries, 1.96 standard errors. Needs optuna >= 4.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import sparserank as sr
from sparserank.data.dataset import RankingDataset
from sparserank.evaluation import per_query_values
from sparserank.metrics import parse_metric

METRIC = "ndcg@10"
N_FOLDS = 5
MULTIPLES = (0.0, 0.5, 1.0, 2.0, 4.0)
N_EVALUATIONS = 1000
FIELDS = [0, 1, 2, 3]  # body, anchor, title, URL
MQ2008 = [*(20 + f for f in FIELDS), *(10 + f for f in FIELDS), *(35 + f for f in FIELDS), 40, 41]
Search = Callable[[RankingDataset, int], tuple[np.ndarray, float]]  # (boosts, the reported figure)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.search_trials", description=__doc__)
    parser.add_argument("sets", nargs="*", metavar="set", help=f"any of {', '.join(SETS)}; default all")
    chosen = parser.parse_args().sets or list(SETS)
    if odd := next((name for name in chosen if name not in SETS), None):
        parser.error(f"unknown set {odd}; known: {', '.join(SETS)}.")
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    for name in chosen:
        compare(name, SETS[name]())
    return 0


def compare(name: str, data: RankingDataset) -> None:
    """Print the table of a set."""
    fold = sr.query_folds(data.n_queries, N_FOLDS, 0)
    values = {method: np.zeros(data.n_queries) for method in METHODS}
    reported = {method: np.zeros(data.n_queries) for method in METHODS}
    kept: dict[str, list[int]] = {method: [] for method in METHODS}
    seconds: dict[str, list[float]] = {method: [] for method in METHODS}
    for method, search in METHODS.items():
        search(data.take_queries(fold == 0), 0) if method == "select" else None  # compilation, outside the clock
        for f in range(N_FOLDS):
            train, test = data.take_queries(fold != f), data.take_queries(fold == f)
            began = time.perf_counter()
            boosts, figure = search(train, f)
            seconds[method].append(time.perf_counter() - began)
            values[method][fold == f], reported[method][fold == f] = _values(test, boosts), figure
            kept[method].append(int(np.count_nonzero(boosts)))
    print(f"\n{name}: {data.n_queries} queries, {data.n_features} clauses, {METRIC}\n")
    print("| | mean | select minus it | clauses | seconds | its own figure is too high by |\n|---|---|---|---|---|---|")
    for method, of in values.items():
        difference, extra = values["select"] - of, reported[method] - of
        against = "" if method == "select" else _interval(difference)
        row = [f"{of.mean():.4f}", against, f"{np.mean(kept[method]):.1f}", f"{np.mean(seconds[method]):.1f}"]
        own = "" if np.isnan(extra).any() else _interval(extra)
        print(f"| {method} | {' | '.join(row)} | {own} |", flush=True)


def _interval(values: np.ndarray) -> str:
    return f"{values.mean():+.4f} +- {1.96 * values.std(ddof=1) / np.sqrt(len(values)):.4f}"


def _values(data: RankingDataset, boosts: np.ndarray) -> np.ndarray:
    (values,) = per_query_values(np.asarray(data.X) @ boosts, data, [parse_metric(METRIC)])
    return np.asarray(values)


# -- methods -----------------------------------------------------------------------------------------------------------


def by_select(margin: float, **more: Any) -> Search:
    """`select` with the engine of boosts; a margin of 0 takes the best model."""

    def search(train: RankingDataset, seed: int) -> tuple[np.ndarray, float]:
        options: dict[str, Any] = {"half_samples": 0, "rival": "none", "margin": margin, "n_threads": 2, **more}
        found = sr.select(train, engine="elasticsearch-query", metric=METRIC, **options)
        boosts = np.zeros(train.n_features)
        for clause, boost in found.model.weights.items():
            boosts[list(train.feature_names or ()).index(clause)] = boost
        return boosts, found.chosen.mean

    return search


def by_select_of_first(n_docs: int) -> Search:
    """`select` on the documents of each query that rank first with all boosts equal; its figure is on these alone."""

    def search(train: RankingDataset, seed: int) -> tuple[np.ndarray, float]:
        X, sizes = np.asarray(train.X), np.diff(train.query_ptr)
        query = np.repeat(np.arange(train.n_queries), sizes)
        order = np.lexsort((-(X / _spread(train)).sum(axis=1), query))
        rank = np.arange(train.n_docs) - np.repeat(train.query_ptr[:-1], sizes)
        rows = np.sort(order[rank < n_docs])
        boosts, _ = by_select(0.01)(RankingDataset(X[rows], train.relevance[rows], query[rows]), seed)
        return boosts, np.nan

    return search


def by_tpe(n_trials: int) -> Search:
    def search(train: RankingDataset, seed: int) -> tuple[np.ndarray, float]:
        import optuna

        spread = _spread(train)

        def objective(trial: Any) -> float:
            drawn = [trial.suggest_float(str(j), 0.0, 10.0) for j in range(train.n_features)]
            return float(_values(train, np.array(drawn) / spread).mean())

        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
        study.optimize(objective, n_trials=n_trials)
        best = np.array([study.best_params[str(j)] for j in range(train.n_features)])
        return best / spread, study.best_value

    return search


def by_grid(train: RankingDataset, seed: int) -> tuple[np.ndarray, float]:
    spread, n = _spread(train), 0
    boosts = np.ones(train.n_features)
    best, changed = float(_values(train, boosts / spread).mean()), True
    while changed and n < N_EVALUATIONS:
        changed = False
        for j in range(train.n_features):
            for multiple in MULTIPLES:
                tried = boosts.copy()
                tried[j] = multiple
                mean = float(_values(train, tried / spread).mean())
                n += 1
                if mean > best:
                    best, boosts, changed = mean, tried, True
    return boosts / spread, best


def _spread(data: RankingDataset) -> np.ndarray:
    """Standard deviations of the clauses; 1 for those that never match."""
    spread = np.asarray(data.X).std(axis=0)
    return np.where(spread > 0, spread, 1.0)


METHODS: dict[str, Search] = {
    "select": by_select(0.01),
    "select, margin 0": by_select(0.0),
    "select without the search on the metric": by_select(0.01, penalties=["l1", "mcp"]),
    "select, first 30 documents": by_select_of_first(30),
    "TPE, 200 trials": by_tpe(200),
    "TPE, 1,000 trials": by_tpe(1000),
    "grid, one clause at a time": by_grid,
}


# -- sets --------------------------------------------------------------------------------------------------------------


def mq2008() -> RankingDataset:
    folder = Path(os.environ["SPARSERANK_DATA"]) / "mq2008"
    data = sr.read([folder / f"S{i}.txt.gz" for i in range(1, 6)])
    return RankingDataset(np.asarray(data.X)[:, MQ2008], data.relevance, data.qid)


def dl19() -> RankingDataset:
    folder = Path(os.environ["SPARSERANK_DATA"]) / "dl19-runs"
    runs, qrels = [sr.read_run(path) for path in sorted(folder.glob("*.run.gz"))], sr.read_qrels(folder / "qrels.gz")
    topics = {q for q, _ in qrels}
    pairs = sorted({pair for run in runs for pair in run if pair[0] in topics})
    X = np.array([[max(run.get(pair, 0.0), 0.0) for run in runs] for pair in pairs])
    return RankingDataset(X, np.array([qrels.get(pair, 0.0) for pair in pairs]), np.array([q for q, _ in pairs]))


def made(n_queries: int = 400, n_docs: int = 50, n_clauses: int = 30, n_useful: int = 8) -> RankingDataset:
    rng = np.random.default_rng(0)
    n = n_queries * n_docs
    truth = np.zeros(n_clauses)
    truth[rng.permutation(n_clauses)[:n_useful]] = rng.uniform(0.3, 1.5, n_useful)
    topic = rng.standard_normal((n, 1))  # what makes a document match many clauses
    latent = 0.5 * topic + rng.standard_normal((n, n_clauses))
    cuts = np.quantile(latent, rng.uniform(0.3, 0.9, n_clauses), axis=0).diagonal()
    weight_of_terms = np.repeat(rng.uniform(0.5, 2.0, (n_queries, n_clauses)), n_docs, axis=0)  # IDF
    X = np.where(latent > cuts, 1.0 + latent - cuts, 0.0) * weight_of_terms * rng.uniform(0.5, 8.0, n_clauses)
    score = (X / X.std(axis=0)) @ truth + 1.5 * rng.standard_normal(n)
    grades = np.searchsorted(np.quantile(score, [0.8, 0.92, 0.98]), score).astype(np.float64)
    return RankingDataset(X, grades, np.repeat(np.arange(n_queries), n_docs))


def shop(n_queries: int = 150, n_docs: int = 500) -> RankingDataset:
    rng = np.random.default_rng(0)
    n = n_queries * n_docs
    about = rng.random(n) < 0.2
    counts = [
        rng.binomial(n_words, np.where(about, share, chance))  # of a word of the query, by chance in other documents
        for n_words, share, chance in ((3, 0.17, 0.003), (40, 0.07, 0.03), (1, 0.05, 0.002))
    ]
    rarity = np.repeat(rng.uniform(3.0, 6.0, n_queries), n_docs)  # IDF
    popularity = rng.uniform(0.0, 10.0, n)
    X = np.column_stack([*(rarity * tf / (tf + 1.2) for tf in counts), popularity / (popularity + 5.0)])
    worth = 1.2 + 0.25 * popularity + 0.4 * (counts[0] > 0) + 0.6 * rng.standard_normal(n)
    grades = np.searchsorted([2.6, 3.6], np.where(about, worth, 0.0)).astype(np.float64)
    return RankingDataset(X, grades, np.repeat(np.arange(n_queries), n_docs))


SETS: dict[str, Callable[[], RankingDataset]] = {"mq2008": mq2008, "dl19": dl19, "made": made, "shop": shop}


if __name__ == "__main__":
    raise SystemExit(main())
