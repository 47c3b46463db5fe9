"""The papers' figures from our results, as SVG text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from reproduction.protocol.results import Results, Row
from reproduction.protocol.summary import frontier
from reproduction.published.cells import LAPORTE, TABLES, best_systems, compare, number_of
from reproduction.systems import SYSTEMS
from sparserank.papers.measures import single_feature_metric
from sparserank.penalties import L1, MCP, Log, Lp
from sparserank.report.svg import ACCENT, BAND, INK, SERIES, SOFT, new_axes, picture_text, to_svg

MARKERS = ["o", "s", "^", "D", "v", "P"]
FRONTIER_HIGHLIGHT = ("select", "greedy_rank_rls", "l0.5", "sparserank", "fenchel_exact", "gas_e")


def published_metrics(results: Results) -> dict[str, list[tuple[float, float]]]:
    """{paper: (printed, ours) of every printed metric value for which we have one}, on the available data sets."""
    by_paper: dict[str, list[tuple[float, float]]] = {}
    for table in TABLES:
        pairs = [(number_of(c.printed), c.value) for c in compare(table, results) if isinstance(c.value, float)]
        if table.of_metrics and pairs:
            by_paper.setdefault(table.paper, []).extend(pairs)
    return by_paper


def published_and_ours(by_paper: dict[str, list[tuple[float, float]]]) -> str:
    """Values of `published_metrics`, of at least one paper."""
    figure, axes = new_axes("published", "ours", (5.4, 4.2))
    pairs = np.array([pair for paper in by_paper.values() for pair in paper])
    ends = [pairs.min() - 0.01, pairs.max() + 0.01]
    axes.plot(ends, ends, color=SOFT, linewidth=1.0)
    for k, (paper, values) in enumerate(by_paper.items()):
        label = f"{paper}, {len(values)} values"
        axes.plot(*zip(*values, strict=True), MARKERS[k], color=SERIES[k], markersize=4.5, alpha=0.7, label=label)
    axes.legend(frameon=False, fontsize=9, loc="upper left")
    axes.set_aspect("equal")
    return to_svg(figure, "Published values of metrics, and ours")


def penalty_curves() -> str:
    """Laporte 2014, Fig. 1: the penalties on the line, eps = gamma = 1 there."""
    figure, axes = new_axes("w", "penalty")
    w = np.linspace(-3, 3, 601)
    shown = {
        "l1": L1(),
        "l0.5": Lp(),
        "log, eps = 1": Log(eps=1.0),
        "MCP, gamma = 1": MCP(gamma=1.0, gamma_scale="mean"),
    }
    for k, (label, penalty) in enumerate(shown.items()):
        axes.plot(w, [penalty.value(np.array([v])) for v in w], color=SERIES[k], label=label, linewidth=1.6)
    axes.legend(frameon=False, fontsize=9)
    return to_svg(figure, "Penalties")


def removed_features(results: Results) -> str:
    """Laporte 2014, Fig. 2: share of removed features; a radar chart for three or more data sets, else bars."""
    datasets = results.datasets
    table = {d: {r["system"]: 1.0 - r["sparsity_varying"] for r in best_systems(results, d)} for d in datasets}
    if len(datasets) >= 3:
        figure = Figure(figsize=(6.0, 5.0), layout="constrained")
        axes = figure.add_subplot(projection="polar")
        angles = np.linspace(0, 2 * np.pi, len(datasets), endpoint=False)
        for k, s in enumerate(LAPORTE):
            values = [table[d].get(s, np.nan) for d in datasets]
            axes.plot(
                [*angles, angles[0]], [*values, values[0]], color=SERIES[k], label=SYSTEMS[s].title, linewidth=1.5
            )
        axes.set_xticks(angles, [picture_text(d) for d in datasets])
        axes.set_ylim(0, 1)
        axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.05, 1.0))
        return to_svg(figure, "Removed features")
    figure, axes = new_axes("", "share of varying features removed")
    width = 0.8 / len(LAPORTE)
    for k, s in enumerate(LAPORTE):
        values = [table[d].get(s, np.nan) for d in datasets]
        axes.bar(
            np.arange(len(datasets)) + (k - 2.5) * width, values, 0.9 * width, color=SERIES[k], label=SYSTEMS[s].title
        )
    axes.set_xticks(range(len(datasets)), [picture_text(d) for d in datasets])
    axes.set_ylim(0, 1.25)
    axes.legend(frameon=False, fontsize=9, ncols=3, loc="upper center")
    return to_svg(figure, "Removed features")


def map_against_sparsity(results: Results, dataset: str) -> str:
    """Laporte 2014, Fig. 3: test MAP against the share of remaining features;
    the dashed line is the systems' mean."""
    figure, axes = new_axes("sparsity ratio (varying features that remain)", "MAP")
    rows = best_systems(results, dataset)
    for k, r in enumerate(rows):
        axes.plot(r["sparsity_varying"], r["map"], MARKERS[k], color=SERIES[k], markersize=9, label=r["title"])
    axes.axhline(float(np.mean([r["map"] for r in rows])), color=SOFT, linestyle="--", linewidth=1.2)
    axes.set_xlim(0, max(0.7, *(r["sparsity_varying"] + 0.05 for r in rows)))
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + max(0.35 * (high - low), 1e-3))
    axes.legend(frameon=False, fontsize=9, ncols=3, loc="upper center")
    return to_svg(figure, f"MAP against sparsity, {dataset}")


def greedy_curves(results: Results, dataset: str, metric: str) -> str:
    """Pahikkala 2010, Figs 1-4: validation metric of GRankRLS against the number of features, for each lambda."""
    figure, axes = new_axes("number of selected features", f"{metric} on validation, mean over folds")
    system = "greedy_rank_rls"
    by_lam: dict[float, dict[int, list[float]]] = {}
    for fold in results.folds(dataset, system):
        for r in results.rows[dataset, system, fold]:
            by_lam.setdefault(r["params"]["lam"], {}).setdefault(r["params"]["k"], []).append(r[f"valid {metric}"])
    lams = sorted(by_lam)
    for i, lam in enumerate(lams):
        sizes = sorted(by_lam[lam])
        shade = 0.15 + 0.75 * i / max(len(lams) - 1, 1)
        colour = (0.1 + 0.6 * shade, 0.25, 0.85 - 0.65 * shade)
        label = f"lambda = 2^{np.log2(lam):.0f}" if i in (0, len(lams) // 2, len(lams) - 1) else None
        axes.plot(sizes, [np.mean(by_lam[lam][k]) for k in sizes], color=colour, linewidth=1.2, label=label)
    axes.legend(frameon=False, fontsize=9)
    return to_svg(figure, f"GRankRLS, {metric} on validation, {dataset}")


def single_features(results: Results, dataset: str, metric: str = "ndcg@10") -> str:
    """Lai 2012, Fig. 1 and Lai 2013, Fig. 4: every feature alone on all queries, and the mean of random weights."""
    fold = results.fold_data(dataset, 1)
    parts = (fold.train, fold.valid, fold.test)
    sums = [
        single_feature_metric(d, metric, convention=results.plan.convention, ascending=False)[0] * d.n_queries
        for d in parts
    ]
    values = np.sum(sums, axis=0) / sum(d.n_queries for d in parts)
    figure, axes = new_axes("feature", f"{metric} of ranking by this feature alone")
    axes.plot(np.arange(1, len(values) + 1), values, "o", color=SERIES[0], markersize=4)
    if results.has(dataset, "random"):
        level = results.mean(dataset, "random", results.plan.choose_by[0], metric)
        axes.axhline(level, color=ACCENT, linewidth=1.4, label="random weights, mean of 10")
        axes.legend(frameon=False, fontsize=9)
    return to_svg(figure, f"Single features, {dataset}")


def fenchel_against_primal(results: Results, dataset: str) -> str:
    """Lai 2012, Figs 2-4: NDCG@1..10 and MAP of FenchelRank and RankSVM-Primal."""
    figure, axes = new_axes("", "test value")
    cutoffs = sorted(int(m[5:]) for m in results.plan.metric_names if m.startswith("ndcg@"))
    names = [*(f"ndcg@{n}" for n in cutoffs), "map"]
    for k, s in enumerate(("rank_svm", "fenchel_rank", "fenchel_exact")):
        if results.has(dataset, s):
            by = "ndcg@10" if "ndcg@10" in results.plan.choose_by else results.plan.choose_by[0]
            values = [results.mean(dataset, s, by, m) for m in names]
            axes.plot(
                names, values, MARKERS[k] + "-", color=SERIES[k], markersize=4, linewidth=1.3, label=SYSTEMS[s].title
            )
    axes.tick_params(axis="x", rotation=60)
    axes.legend(frameon=False, fontsize=9)
    return to_svg(figure, f"FenchelRank and RankSVM-Primal, {dataset}")


def by_size(results: Results, dataset: str, metric: str) -> str:
    """Lai 2013, Figs 1-3: FSMRank cut to k weights, FSMSVM and GAS-E at every k;
    other parameters are chosen by validation."""
    figure, axes = new_axes("number of features", f"test {metric}")
    for n, s in enumerate(("fsm_truncated", "fsmsvm", "gas_e")):
        folds = results.folds(dataset, s)
        largest = max((r["params"]["k"] for f in folds for r in results.rows[dataset, s, f]), default=0)
        sizes = []
        values = []
        for k in range(1, largest + 1):
            rows = [_at_size(results, dataset, s, f, k, metric) for f in folds]
            sizes.append(k)
            values.append(results.test_mean(rows, metric))
        axes.plot(sizes, values, MARKERS[n] + "-", color=SERIES[n], markersize=3, linewidth=1.2, label=SYSTEMS[s].title)
    axes.legend(frameon=False, fontsize=9)
    return to_svg(figure, f"{metric} by number of features, {dataset}")


def _at_size(results: Results, dataset: str, system: str, fold: int, k: int, metric: str) -> Row | None:
    """The best validated candidate of size k, or the whole FSMRank model if it has fewer features."""
    size = min(k, max(r["params"]["k"] for r in results.rows[dataset, system, fold]))
    return results.best_of(dataset, system, fold, metric, lambda r: r["params"]["k"] == size)


def frontier_figure(results: Results, dataset: str, metric: str) -> str:
    """Test quality of every system with at most k features; some systems are named.

    The band is the best at each k plus and minus the median half-width of the other systems' paired intervals to it.
    Systems inside it can typically not be distinguished from the best.
    """
    rows = frontier(results, dataset, metric)
    figure, axes = new_axes("at most k features", f"test {metric}")
    best: dict[int, dict[str, Any]] = {}
    for r in rows:
        if r["k"] not in best or r["mean"] > best[r["k"]]["mean"]:
            best[r["k"]] = r
    sizes = sorted(best)
    half = {
        k: float(np.median([r["behind_high"] - r["behind"] for r in rows if r["k"] == k and r is not best[k]] or [0.0]))
        for k in sizes
    }
    axes.fill_between(
        sizes,
        [best[k]["mean"] - half[k] for k in sizes],
        [best[k]["mean"] + half[k] for k in sizes],
        color=BAND,
        linewidth=0,
        label="paired 95% interval against the best",
    )
    drawn = list(dict.fromkeys(r["system"] for r in rows))
    named = drawn if len(drawn) <= len(SERIES) else [s for s in FRONTIER_HIGHLIGHT if s in drawn]
    for s in drawn:
        mine = [r for r in rows if r["system"] == s]
        x = [r["k"] for r in mine]
        y = [r["mean"] for r in mine]
        if s in named:
            n = named.index(s)
            axes.plot(
                x, y, MARKERS[n] + "-", color=SERIES[n], markersize=4, linewidth=1.5, label=SYSTEMS[s].title, zorder=3
            )
        else:
            axes.plot(x, y, color="#b9c0cc", linewidth=0.9, zorder=2)
    means = [r["mean"] for r in rows if r["k"] > 1] or [r["mean"] for r in rows]
    low = float(np.quantile(means, 0.02))
    span = max(max(means) - low, 1e-3)
    axes.set_ylim(low - 0.5 * span, max(means) + 0.7 * span)
    if len(named) < len(drawn):
        axes.plot([], [], color="#b9c0cc", linewidth=0.9, label="other systems")
    if results.complete(dataset, metric, ["rank_svm"]):
        dense = results.mean(dataset, "rank_svm", metric, metric)
        axes.axhline(dense, color=INK, linestyle=":", linewidth=1.2, label="dense RankSVM (all features)")
    figure.legend(frameon=False, fontsize=8, ncols=2, loc="outside lower center")
    axes.tick_params(colors=INK)
    return to_svg(figure, f"Frontier, {metric}, {dataset}")


def published_figures(results: Results) -> Iterator[tuple[str, str, str]]:
    """(file name, caption, SVG) of every figure for which there are results."""
    metrics = published_metrics(results)
    if metrics:
        caption = (
            "Every printed value of MAP, P@10 and NDCG on the available data sets, compared with ours; equal values "
            "are on the line"
        )
        yield "published-and-ours", caption, published_and_ours(metrics)
    yield "laporte2014-fig1", "Laporte 2014, Fig. 1: penalties", penalty_curves()
    with_laporte = [d for d in results.datasets if len(results.complete(d, "map", LAPORTE)) == len(LAPORTE)]
    if with_laporte == results.datasets:
        yield "laporte2014-fig2", "Laporte 2014, Fig. 2: removed features", removed_features(results)
    for d in with_laporte:
        yield (
            f"laporte2014-fig3-{d}",
            f"Laporte 2014, Fig. 3: MAP against sparsity, {d}",
            map_against_sparsity(results, d),
        )
    for d in results.datasets:
        if results.has(d, "greedy_rank_rls"):
            for metric in ("map", "mean_ndcg"):
                if metric in results.plan.valid_names:
                    caption = f"Pahikkala 2010, Figs 1-4: {metric} on validation, {d}"
                    yield f"pahikkala2010-{metric}-{d}", caption, greedy_curves(results, d, metric)
        yield f"single-features-{d}", f"Lai 2012, Fig. 1 and Lai 2013, Fig. 4: {d}", single_features(results, d)
        if results.has(d, "rank_svm") and results.has(d, "fenchel_rank"):
            caption = f"Lai 2012, Figs 2-4: FenchelRank and RankSVM-Primal, {d}"
            yield f"lai2012-accuracies-{d}", caption, fenchel_against_primal(results, d)
        if all(results.has(d, s) for s in ("fsm_truncated", "fsmsvm", "gas_e")):
            for metric in ("ndcg@10", "map"):
                yield f"lai2013-{metric}-{d}", f"Lai 2013, Figs 1-3: {metric}, {d}", by_size(results, d, metric)
