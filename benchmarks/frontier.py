"""`python -m benchmarks.frontier MARKDOWN`: compare our models with trees by number of features, on five data sets.

Writes docs/frontier.md, and a CSV file and pictures next to it. Needs SPARSERANK_DATA. Finished pieces are kept in
--work; run a killed command again to continue from there.
"""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

INTRO = (
    "Written by `python -m benchmarks.frontier docs/frontier.md` (part of `make evidence`). Every system is evaluated "
    'on the same folds, on queries that it has not seen. "Trees" are LightGBM (150 x 0.05), 150 trees of 7 leaves. '
    '"Ours" are l1, MCP and splicing (best_k) on unchanged features, and on logarithms where these differ; '
    "the same distilled from boosted steps; and boosted steps. Greedy RankRLS is forward selection by leave-query-out "
    "error (Pahikkala 2010) on unchanged features. Inside each "
    "fold it uses the ridge parameter with the lowest leave-query-out error on all features. The CSV file next to this "
    "page contains the differences from the trees on all features, with confidence intervals that are valid for all "
    "sizes of a system simultaneously. Numbers within one table are comparable with each other, but not with results "
    "on the splits of papers."
)

ABLATION = ["linear", "products", "margin 0.5%", "bound 2%"]  # variants of `benchmarks.nested`
STRENGTHS = [2.0**e for e in range(17)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.frontier", description=__doc__)
    parser.add_argument("markdown", type=Path)
    parser.add_argument("--work", type=Path, default=Path("evidence/frontier"))
    parser.add_argument("--fusion", type=Path, help="the --work of `benchmarks.fusion`, for a section of its own")
    parser.add_argument("--nested", type=Path, help="the --work of `benchmarks.nested`, for the first section")
    parser.add_argument("--only", action="append", help="one of the sets; may be repeated")
    given = parser.parse_args()
    from reproduction.written import to_markdown, write_csv, write_picture, write_text

    from benchmarks.trees_by_size import comparison_section
    from sparserank.report.document import Section

    sections, rows = [_nested(given.nested), _tried(given.nested)] if given.nested else [], []
    if given.fusion:
        sections.append(_fused(given.fusion))
    pictures = given.markdown.with_suffix("")
    for name, (data, repeats, told) in _sets(Path(os.environ["SPARSERANK_DATA"])).items():
        if given.only and name not in given.only:
            continue
        print(f"{name} ...", flush=True)
        result = _compared(data, repeats, given.work / name.replace(" ", "-").lower())
        key = name.replace(" ", "-").lower()
        found = comparison_section(result, name, key)
        sections.append(Section(name, f"{told} {found.text} {_shown_better(result)}", found.tables, found.pictures))
        rows += [{"data": name, **row} for row in result.rows()]
        write_picture(pictures / f"{key}.svg", found.pictures[0].svg)
    write_text(given.markdown, to_markdown("Quality against the number of features", INTRO, sections, pictures.name))
    write_csv(given.markdown.with_suffix(".csv"), rows)
    return 0


def _nested(work: Path) -> Any:
    """The quality of `select` with its defaults on queries that it has not seen, compared with three settings of
    trees."""
    from benchmarks.nested import BASELINE, FAST, RIVAL, RIVALS, nested_table
    from sparserank.report.document import Section, Table

    tables = []
    for name in sorted(p.name for p in work.iterdir() if p.is_dir()):
        for systems in ([BASELINE, FAST, RIVAL], [BASELINE, *RIVALS]):
            seeds = [s for s in range(5) if _finished(work / name, systems, s)]
            if seeds:
                title, head, rows = nested_table(work, name, systems, seeds)
                tables.append(Table(title, ["system", *head[1:]], rows))
    text = (
        "`python -m benchmarks.nested`: inside each outer fold, `select` runs with all its defaults except "
        "half-samples, and its model is evaluated on the queries of the fold. "
        "*LightGBM*: 400 trees of 7 leaves at learning rate 0.02, 70% of rows, 30% of features; "
        "*LightGBM (150 x 0.05)*: 150 trees at learning rate 0.05; *grid*: the best of these two settings with 7 or "
        "15 leaves, chosen by 3-fold cross-validation inside the outer fold. Each cell shows the ratio of the means "
        "and their difference, both +- 1.96 standard errors. Standard errors are paired over queries, with values "
        "averaged over the repeats. *raw - test*, *corrected - test*: the mean that `select` printed, before and "
        "after its correction for the choice, minus the mean on the outer fold of the same models of the inner folds; "
        "in tables without *raw - test*, of the final model, which learned from more queries."
    )
    return Section("Compared with trees, nested", text, tables, [])


def _tried(work: Path) -> Any:
    """The gain from each part of the default and from other variants, nested."""
    from benchmarks.nested import BASELINE, nested_table
    from sparserank.report.document import Section, Table

    tables = []
    for name in sorted(p.name for p in work.iterdir() if p.is_dir()):
        for n_repeats in range(5, 0, -1):
            seeds = [s for s in range(5) if _finished(work / name, [BASELINE, *ABLATION], s)][:n_repeats]
            if len(seeds) == n_repeats:
                title, head, rows = nested_table(work, name, [BASELINE, *ABLATION], seeds)
                tables.append(Table(title, ["system", *head[1:]], rows))
                break
    text = (
        "Variants of the default of 0.3.0 on the same outer folds. *linear*: unchanged features, logarithms, and each "
        "feature either unchanged or as its logarithm, whichever is better, without curves; *products*: linear, with "
        "the "
        "products of the twelve features with the largest weights; *margin 0.5%*, *bound 2%*: the rule with another "
        "margin, and with a bound of 2% instead of an estimate of 1%. Also tried on LambdaRank: curves with 6 knots "
        "(0.7526 instead of 0.7536) and curves of up to 20 features (0.7493); see benchmarks/nested.md."
    )
    return Section("What was tried, nested", text, tables, [])


def _fused(work: Path) -> Any:
    """Fusion of retrievers compared with fixed formulas, the full grid of weights and ranx, nested."""
    from sparserank.report.document import Section, Table

    tables = []
    for path in sorted(work.glob("*.json"), reverse=True):
        found = json.loads(path.read_text())
        more = [key for key in ("letor4:map", "letor4:ndcg@10") if key in found["rows"]["fuse"]]
        rows = [
            [
                name,
                f"{row['mean']:.4f}",
                f"{row['difference']:+.4f}+-{row['half']:.4f}" if "difference" in row else "",
                f"{row['seconds']:.1f}" if "seconds" in row else "",
                *(f"{row[key]:.4f}" for key in more),
            ]
            for name, row in found["rows"].items()
        ]
        title = f"{found['title']}; kept: {found['kept']}"
        tables.append(Table(title, ["system", "mean", "fuse - it", "seconds a fit", *more], rows))
    text = (
        "`python -m benchmarks.fusion`: `fuse` and what it is compared with learn on the training topics of each outer "
        "fold and are evaluated on its other topics. *full grid*: the best of all weights in steps of 0.1 of min-max "
        "scores: 3,003 for six retrievers, and 131 million for the 25 of MQ2008-agg, where it ends. *wsum (ranx)*: "
        "`optimize_fusion` of ranx 0.3 over the 2,486 of these weights whose floating-point sum is exactly 1. *SegFuse "
        "(ranx)*: Shokouhi 2007. The differences are paired, +- 1.96 standard errors over queries. Seconds are medians "
        "on one thread."
    )
    return Section("Fusion of retrievers, nested", text, tables, [])


def _finished(folder: Path, systems: list[str], seed: int) -> bool:
    from benchmarks.nested import file_of

    return all((folder / file_of(s, seed, f, 5)).exists() for s in systems for f in range(5))


def _sets(folder: Path) -> dict[str, tuple[Any, int, str]]:
    """{name: (data, repeats, description)}"""
    import sparserank as sr
    from sparserank.datasets import make_curved_ranking

    mslr = folder / "mslr-web10k-sample"
    return {
        "MQ2008": (
            sr.read([folder / f"mq2008/S{i}.txt.gz" for i in range(1, 6)]),
            1,
            "LETOR 4.0, features normalised within queries.",
        ),
        "OHSUMED": (
            sr.read([folder / f"ohsumed/querylevelnorm/S{i}.txt.gz" for i in range(1, 6)]),
            1,
            "LETOR 3.0, features normalised within queries.",
        ),
        "MSLR sample": (
            sr.read([mslr / f"fold1.{part}.5k.txt.gz" for part in ("train", "test")]),
            2,
            "The first 5,000 documents of the training set and of the test set of MSLR-WEB10K, fold 1, raw features.",
        ),
        "LightGBM example": (
            sr.read([folder / f"lightgbm-lambdarank/{part}.txt.gz" for part in ("train", "test")]),
            1,
            "The data of LightGBM's lambdarank example, 251 queries, 300 features.",
        ),
        "Curved truth": (
            make_curved_ranking(500, random_state=0).data,
            1,
            "Data of `make_curved_ranking` with 500 queries: 10 of 100 features matter, half of them through a hump; "
            "features have heavy tails.",
        ),
    }


def _compared(data: Any, repeats: int, work: Path) -> Any:
    from benchmarks.trees_by_size import ComparisonPlan, compare
    from sparserank.crossval.feature_transforms import logs_differ
    from sparserank.options.selection import SELECT
    from sparserank.selection.plan import make_plan

    plan = ComparisonPlan(
        make_plan(
            penalties=("l1", "mcp", "best_k", "steps"),
            metric=SELECT["metric"].default,
            report_metrics=(),
            convention="default",
            feature_transform=("none", "log", "distilled(log)") if logs_differ(data) else ("none", "distilled"),
        ),
        repeats=repeats,
    )
    found = compare(data, plan, work)
    return replace(found, systems=[*found.systems, *_greedy(data, plan)])


def _greedy(data: Any, plan: Any) -> list[Any]:
    """Greedy RankRLS of every size on the same folds, means over the repeats."""
    import sparserank as sr
    from benchmarks.trees_by_size import ComparedSystem
    from sparserank.data.folds import query_folds
    from sparserank.evaluation import per_query_values

    values = {k: np.zeros(data.n_queries) for k in plan.sizes}
    for r in range(plan.repeats):
        fold = query_folds(data.n_queries, plan.plan.cv, plan.plan.random_state + r)
        for f in range(plan.plan.cv):
            train, test = data.take_queries(np.flatnonzero(fold != f)), data.take_queries(np.flatnonzero(fold == f))
            scaling = sr.fit_scaling(train)
            train, test = scaling.apply(train), scaling.apply(test)
            lam = STRENGTHS[int(np.argmin(sr.papers.leave_query_out(train, STRENGTHS).errors))]
            path = sr.papers.GreedyRankRLS(k=max(plan.sizes), lam=lam).fit_dataset(train).path_
            for k in plan.sizes:
                (own,) = per_query_values(test.X @ path[min(k, len(path)) - 1].coef, test, [plan.plan.metric])
                values[k][fold == f] += own / plan.repeats
    return [ComparedSystem("greedy RankRLS", k, v) for k, v in values.items()]


def _shown_better(result: Any) -> str:
    """The systems shown to rank better than our choice: the interval of their difference from it lies above 0, with
    Bonferroni correction over all systems."""
    from sparserank.evaluation.statistics import mean_interval

    n = len(result.systems)
    confidence = 1.0 - (1.0 - result.confidence) / max(n, 1)
    better = []
    for s in result.systems:
        mean, low, _ = mean_interval(s.values - result.choice.values, confidence)
        if s is not result.choice and np.isfinite(low) and low > 0:
            better.append(f"{s.name}{'' if s.k is None else f' with {s.k} features'} ({mean:+.4f})")
    if not better:
        return (
            f"None of the {n} systems and sizes is shown to rank better than our choice (Bonferroni over all of them)."
        )
    return (
        f"Shown to rank better than our choice (Bonferroni over all {n}): "
        f"{', '.join(better[:8])}{' ...' if len(better) > 8 else ''}."
    )


if __name__ == "__main__":
    raise SystemExit(main())
