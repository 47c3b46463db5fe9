"""Tables of an experiment: quality, sparsity, tests against the best, frequent features, time.

Pages, CSV files and figures use the same tables. Each is made once per `Results` and must not be changed.
"""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import Any

import numpy as np

from reproduction.one_sided_tests import one_sided_t, randomisation_test
from reproduction.protocol.results import Results
from reproduction.systems import SYSTEMS
from sparserank.evaluation.statistics import holm, mean_interval

FREQUENT = 5
SIGNIFICANCE = 0.05


@cache
def system_table(
    results: Results, dataset: str, by: str, systems: tuple[str, ...] | None = None
) -> list[dict[str, Any]]:
    """One row per system, tested against the one with the best mean of `by` on the test queries (except `select`).

    Columns: every reported metric (mean over folds), sparsity of all and of varying features, features per fold, the
    best system's advantage as p values of one-sided paired tests (t over queries, Holm-corrected; t over folds;
    randomisation over queries), seconds per fit, grid points, folds in which all candidates tie on validation, most
    frequent features. Systems that made no choice in some fold are left out.
    """
    names = results.complete(dataset, by, list(systems) if systems else None)
    if not names:
        return []
    best = max(_references(names), key=lambda s: results.mean(dataset, s, by, by))
    best_values = results.values(dataset, best, by, by)
    best_mean = results.mean(dataset, best, by, by)
    rows = []
    for s in names:
        values = results.values(dataset, s, by, by)
        chosen = [r for f in results.folds(dataset, s) for r in results.chosen(dataset, s, f, by)]
        everything = [r for f in results.folds(dataset, s) for r in results.rows[dataset, s, f]]
        counts = Counter(j for r in chosen for j in r["features"])
        row: dict[str, Any] = {"dataset": dataset, "choose_by": by, "system": s, "title": SYSTEMS[s].title}
        row |= {m: results.mean(dataset, s, by, m) for m in results.plan.metric_names}
        row |= {
            "sparsity_all": results.sparsity(dataset, s, by, varying=False),
            "sparsity_varying": results.sparsity(dataset, s, by, varying=True),
            "features": [r["n_features"] for r in chosen] if s != "random" else [],
            "params": [r["params"] for r in chosen] if s != "random" else [],
            "time_s": float(np.mean([r["time_s"] for r in everything])),
            "grid": len(everything) / max(len(results.folds(dataset, s)), 1),
            "tied": sum(_all_tied(results.rows[dataset, s, f], by) for f in results.folds(dataset, s)),
            "frequent": [j + 1 for j, _ in counts.most_common(FREQUENT)] if s != "random" else [],
            "is_best": s == best,
            "decrease": 1.0 - results.mean(dataset, s, by, by) / best_mean if best_mean else float("nan"),
        }
        a = np.concatenate(best_values)
        b = np.concatenate(values)
        if s != best:
            row["p_query"] = one_sided_t(a, b)
            row["p_fold"] = one_sided_t(
                np.array([np.nanmean(v) for v in best_values]), np.array([np.nanmean(v) for v in values])
            )
            row["p_randomisation"] = randomisation_test(a, b)
        rows.append(row)
    others = [r for r in rows if "p_query" in r]
    for r, p in zip(others, holm(np.array([r["p_query"] for r in others])), strict=True):
        r["p_holm"] = float(p)
    return rows


def _references(systems: list[str]) -> list[str]:
    """The systems that others are tested against: not `select`, which also trains on the validation queries."""
    return [s for s in systems if s != "select"] or systems


def _all_tied(rows: list[dict[str, Any]], by: str) -> bool:
    values = {r[f"valid {by}"] for r in rows if r["n_features"] > 0}
    return len(values) == 1 and len(rows) > 1


@cache
def frontier(results: Results, dataset: str, metric: str) -> list[dict[str, Any]]:
    """Test quality of each system with at most k features, k = 1..max_size; the model of each k is chosen on
    validation.

    Columns: system, k, n_features (mean over folds of the chosen sizes), mean over folds, 95% interval (low, high) over
    queries; best: the system with the largest mean at this k; behind: mean paired difference to it over queries, with
    interval (behind_low, behind_high) and p_holm, the one-sided paired t test corrected over the systems at this k;
    `below`: p_holm < 0.05. The best is picked on the test queries themselves: a
    bias towards finding others below it.
    """
    rows = []
    for k in range(1, results.plan.max_size + 1):
        by = f"{metric}:k={k}"
        at_k: list[dict[str, Any]] = []
        for s in results.complete(dataset, by):
            pooled = np.concatenate(results.values(dataset, s, by, metric))
            _, low, high = mean_interval(pooled)
            taken = [r["n_features"] for f in results.folds(dataset, s) for r in results.chosen(dataset, s, f, by)]
            at_k.append(
                {
                    "dataset": dataset,
                    "metric": metric,
                    "system": s,
                    "title": SYSTEMS[s].title,
                    "k": k,
                    "n_features": float(np.mean(taken)),
                    "mean": results.mean(dataset, s, by, metric),
                    "low": low,
                    "high": high,
                    "values": pooled,
                }
            )
        if not at_k:
            continue
        comparable = _references([r["system"] for r in at_k])
        best = max((r for r in at_k if r["system"] in comparable), key=lambda r: r["mean"])
        others = [r for r in at_k if r is not best]
        p_values = holm(np.array([one_sided_t(best["values"], r["values"]) for r in others]))
        for r in at_k:
            difference, low, high = mean_interval(best["values"] - r["values"])
            r |= {"best": best["system"], "behind": difference, "behind_low": low, "behind_high": high}
            r |= {"p_holm": float("nan"), "below": False}
        for r, p in zip(others, p_values, strict=True):
            r |= {"p_holm": float(p), "below": bool(p < SIGNIFICANCE)}
        rows += at_k
    for r in rows:
        del r["values"]
    return rows


def fold_rows(results: Results) -> list[dict[str, Any]]:
    """One row per data set, metric of choice, system and fold: the chosen model and its test metrics."""
    rows = []
    for dataset in results.datasets:
        for by in results.plan.choose_by:
            for s in results.systems(dataset):
                for fold in results.folds(dataset, s):
                    for r in results.chosen(dataset, s, fold, by):
                        head = {"dataset": dataset, "choose_by": by, "system": s, "fold": fold}
                        head |= {"candidate": r["candidate"], "params": json.dumps(r["params"])}
                        head |= {k: r[k] for k in ("n_features", "alpha", "C_sum", "C_mean", "r", "time_s", "status")}
                        head |= {"features": " ".join(str(j + 1) for j in r["features"])}
                        rows.append(head | {m: r[f"test {m}"] for m in results.plan.metric_names})
    return rows
