"""Our models of every size compared with trees, on the same folds: trees on all features, and on k features that are
chosen in five ways inside each fold. `benchmarks.frontier` shows what it finds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from scipy.special import ndtr, stdtrit

from sparserank.crossval.choice import Candidate
from sparserank.crossval.trees import Trees, TreeSettings, check_trees, fit_trees, identity_of_trees, usable_by_trees
from sparserank.data.data_hash import data_hash
from sparserank.data.dataset import RankingDataset
from sparserank.data.folds import query_folds
from sparserank.data.matrices import columns_dense
from sparserank.evaluation import per_query_values
from sparserank.evaluation.loss_bounds import MIN_QUERIES
from sparserank.evaluation.statistics import mean_interval
from sparserank.execution import available_cores
from sparserank.metrics import parse_metric
from sparserank.report.document import Picture, Section, Table
from sparserank.report.svg import ACCENT, INK, PAGE_SIZE, SERIES, SOFT, legend_below, new_axes, to_svg
from sparserank.selection.claims import counted
from sparserank.selection.job import SelectionJob, SelectionProblem
from sparserank.selection.plan import SelectionPlan
from sparserank.text import figure
from sparserank.workdir.pieces import code_hash

NAME = "LightGBM (150 x 0.05)"
SHARES = (("bagging_fraction", 0.8), ("bagging_freq", 1), ("feature_fraction", 0.8))  # drawn for each tree
SETTINGS = TreeSettings(150, (*SHARES, ("num_leaves", 7), ("learning_rate", 0.05)))
SIZES = (1, 2, 3, 4, 5, 7, 10, 12, 15, 20)
GAIN, SHAP, RECURSIVE, RANDOM, OURS = "own gain", "SHAP", "recursive gain", "random", "ours"
SHAP_ROWS = 4000  # that contributions are averaged over, about
ALL, CHOICE = "trees on all features", "our choice"
N_DRAWS = 2000
LEGEND = len(SERIES)  # makers of ours in a picture; more would hide each other

# Of a piece of work: values "values|system|k" of its queries (k 0: none), `where` they are, and more.
Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class ComparedSystem:
    """name; k, the number of features it may use (None: any);
    values (n_queries,), means over repeats and seeds."""

    name: str
    k: int | None
    values: np.ndarray

    @property
    def mean(self) -> float:
        return float(np.nanmean(self.values))


@dataclass(frozen=True)
class Costs:
    """Means over folds: seconds to fit the trees on all features, seconds to score a document, bytes of their model;
    seconds of all our paths."""

    fitting: float
    scoring: float
    n_bytes: float
    ours: float


@dataclass(frozen=True)
class ComparisonResult:
    """A comparison of our models with trees by number of features.

    Attributes
    ----------
    systems : list of ComparedSystem
        Our models by penalty and size, trees by list and size, and two systems without a size: our choice, and the
        trees on all features.
    n_chosen : list of int
        Number of features of our choice in each repetition.
    """

    n_queries: int
    n_features: int
    metric: str
    repeats: int
    n_folds: int
    n_seeds: int
    confidence: float
    systems: list[ComparedSystem]
    n_chosen: list[int]
    costs: Costs
    trees: TreeSettings

    @property
    def all_features(self) -> ComparedSystem:
        """The trees on all features."""
        return next(s for s in self.systems if s.name == ALL)

    @property
    def choice(self) -> ComparedSystem:
        """The model that `select` would choose."""
        return next(s for s in self.systems if s.name == CHOICE)

    @property
    def names(self) -> list[str]:
        """The systems that have sizes, ours first."""
        found = list(dict.fromkeys(s.name for s in self.systems if s.k is not None))
        return [n for n in found if not n.startswith("trees")] + [n for n in found if n.startswith("trees")]

    @property
    def sizes(self) -> list[int]:
        return sorted({s.k for s in self.systems if s.k is not None})

    def of(self, name: str) -> dict[int, ComparedSystem]:
        """{k: the system of that size}"""
        return {s.k: s for s in self.systems if s.name == name and s.k is not None}

    def rows(self) -> list[dict[str, Any]]:
        """One row per system and size: mean, and difference from the trees on all features with its interval,
        which is simultaneous over all sizes of a system."""
        out: list[dict[str, Any]] = []
        base = self.all_features.values
        for name in [*self.names, CHOICE, ALL]:
            own = sorted((s for s in self.systems if s.name == name), key=lambda s: s.k or 0)
            differences = np.array([s.values - base for s in own])
            low, high = simultaneous_intervals(differences, self.confidence)
            for i, s in enumerate(own):
                row: dict[str, Any] = {"system": name, "features": s.k, "metric": self.metric, "mean": s.mean}
                if name != ALL:
                    row |= {
                        "difference": float(np.nanmean(differences[i])),
                        "low": float(low[i]),
                        "high": float(high[i]),
                    }
                out.append(row)
        return out

    @property
    def span(self) -> str:
        """Number of features of our choice: '4', or '4 to 9' over the repeats."""
        least, most = min(self.n_chosen), max(self.n_chosen)
        return str(least) if least == most else f"{least} to {most}"

    def sentences(self) -> list[str]:
        """The comparison in full sentences."""
        difference = self.choice.values - self.all_features.values
        mean, low, high = mean_interval(difference, self.confidence)
        chosen = sorted(set(self.n_chosen))
        said = [
            f"Our choice of {counted(self.span)} has {self.metric} {self.choice.mean:.4f} out of fold; trees on all "
            f"{counted(self.n_features)} have {self.all_features.mean:.4f}. The difference is {mean:+.4f} "
            f"[{low:+.4f}, {high:+.4f}] on these {self.n_queries} queries. The choice is optimistically biased, "
            "because the same queries were used to make it; the intervals do not account for this bias."
        ]
        if self.n_queries < MIN_QUERIES:
            said.append(
                f"{self.n_queries} queries are too few to tell systems apart; at least {MIN_QUERIES} are needed."
            )
        at = min(
            (s for s in self.systems if s.name == "trees on own gain"),
            key=lambda s: abs((s.k or 0) - np.median(chosen)),
            default=None,
        )
        if at is not None:
            mean, low, high = mean_interval(self.choice.values - at.values, self.confidence)
            said.append(
                f"Against trees on the {counted(at.k or 0)} with the largest gain ({at.mean:.4f}), our "
                f"choice differs by {mean:+.4f} [{low:+.4f}, {high:+.4f}]."
            )
        return said


def simultaneous_intervals(differences: np.ndarray, confidence: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Intervals (low, high), each (m,), of the means of m rows (m, n_queries) that all hold together: the largest
    standardised deviation of N_DRAWS normal reweightings of the queries gives the quantile."""
    known = np.isfinite(differences).all(axis=0)
    d = differences[:, known]
    n = d.shape[1]
    mean = d.mean(axis=1) if n else np.full(len(d), np.nan)
    if n < 2:
        return np.full(len(d), np.nan), np.full(len(d), np.nan)
    centred = d - mean[:, None]
    error = centred.std(axis=1, ddof=1) / np.sqrt(n)
    draws = np.random.default_rng(seed).standard_normal((N_DRAWS, n)) @ centred.T / np.sqrt(n * (n - 1.0))
    safe = np.where(error > 0, error, 1.0)
    largest = np.abs(draws / safe).max(axis=1)
    quantile = float(stdtrit(n - 1, ndtr(np.quantile(largest, confidence))))  # errors are estimates
    return mean - quantile * error, mean + quantile * error


# -- the work ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ComparisonPlan:
    """plan: our selection, whose folds, seed, metric and makers are used; repeats: how often all folds are drawn, each
    time with another seed; n_seeds: seeds of the trees on all features; trees on k features have one."""

    plan: SelectionPlan
    trees: TreeSettings = SETTINGS
    sizes: tuple[int, ...] = SIZES
    repeats: int = 1
    n_seeds: int = 5

    def identity(self, data: RankingDataset) -> str:
        """All that pieces of work depend on."""
        return repr((self, data_hash(data), code_hash(_nothing), identity_of_trees()))


def _nothing(inside: tuple[str, ...]) -> bool:
    """No file of the package is left out."""
    return False


def compare(data: RankingDataset, plan: ComparisonPlan, work: Path | None = None) -> ComparisonResult:
    """Compare our makers at every size with trees on all features and on k features chosen in five ways, inside each
    fold. `work` keeps finished pieces, a file each, which are used again.

    Raises
        DataError   LightGBM is not installed, or its objective does not accept the relevance
    """
    check_trees(data)
    n_folds, pieces = min(plan.plan.cv, data.n_queries), []
    for r in range(plan.repeats):
        own = replace(plan.plan, random_state=plan.plan.random_state + r, half_samples=0, relaxed=True)
        fold = query_folds(data.n_queries, n_folds, own.random_state)
        kept = partial(_kept, work, plan.identity(data))
        ours = kept(f"ours-{r}", partial(_our_paths, data, own, plan.sizes))
        of_folds = [
            kept(f"trees-{r}-{f}", partial(_trees, data, fold, f, 1000 * r, ours, plan)) for f in range(n_folds)
        ]
        pieces.append((ours, of_folds))
    trees = [piece for _, of_folds in pieces for piece in of_folds]
    fitting, scoring, n_bytes = np.mean([p["costs"] for p in trees], axis=0).tolist()
    seconds = float(np.mean([float(ours["seconds"]) for ours, _ in pieces]))
    return ComparisonResult(
        data.n_queries,
        data.n_features,
        repr(plan.plan.metric),
        plan.repeats,
        n_folds,
        plan.n_seeds,
        plan.plan.confidence,
        _systems([p for ours, of_folds in pieces for p in (ours, *of_folds)], data.n_queries, plan.repeats),
        [int(ours["n_chosen"]) for ours, _ in pieces],
        Costs(fitting, scoring, n_bytes, seconds),
        plan.trees,
    )


def _kept(work: Path | None, identity: str, name: str, make: Callable[[], Arrays]) -> Arrays:
    """The arrays of a piece, from its file if that is of the same work."""
    if work is None:
        return make()
    path = work / f"{name}.npz"
    if path.exists():
        with np.load(path) as file:
            if str(file["identity"]) == identity:
                return {key: file[key] for key in file.files if key != "identity"}
    made, part = make(), path.with_suffix(".part.npz")
    work.mkdir(parents=True, exist_ok=True)
    arrays: dict[str, Any] = {"identity": np.array(identity), **made}
    np.savez(part, **arrays)
    part.replace(path)
    print(f"  {name}", flush=True)
    return made


def _our_paths(data: RankingDataset, plan: SelectionPlan, sizes: Sequence[int]) -> Arrays:
    """Values of our models of every size and of our choice, and the feature lists of the chosen maker."""
    began = time.perf_counter()
    job = SelectionJob(plan, SelectionProblem(data), n_threads=available_cores())
    candidate_set = job.candidates()
    chosen, seconds = plan.choose(candidate_set.sparse, candidate_set.dense).chosen, time.perf_counter() - began
    own = [c for c in candidate_set.sparse if c.penalty == chosen.penalty and c.relax == 0]
    out = {
        "where": np.arange(data.n_queries),
        _named(CHOICE): chosen.values,
        "n_chosen": np.array(chosen.n_features),
        "seconds": np.array(seconds),
    }
    for label in dict.fromkeys(c.penalty for c in candidate_set.sparse):
        of_label = [c for c in candidate_set.sparse if c.penalty == label]
        for k in sizes:  # the best of the shrunken and relaxed models of at most that size
            size = max((c.k for c in of_label if c.k <= k), default=None)
            if size is not None:
                out[_named(label, k)] = max((c for c in of_label if c.k == size), key=lambda c: c.mean).values
    for k, c in largest_within(own, tuple(sizes)).items():
        out |= {f"features|{f}|{k}": candidate_set.features(c, f) for f in job.cv.folds}
    return out


def largest_within(candidates: Sequence[Candidate], sizes: Sequence[int]) -> dict[int, Candidate]:
    """{k: the largest candidate with at most k features}, for candidates of one maker, without those that already
    represent a smaller k."""
    out: dict[int, Candidate] = {}
    for k in sorted(sizes):
        c = max((c for c in candidates if c.k <= k), key=lambda c: c.k, default=None)
        if c is not None and c not in out.values():
            out[k] = c
    return out


def _trees(
    data: RankingDataset, fold: np.ndarray, f: int, seed: int, ours: Mapping[str, np.ndarray], plan: ComparisonPlan
) -> Arrays:
    """Values of trees without fold f. Gains and contributions come from the training queries."""
    where, seed, metric = np.flatnonzero(fold == f), seed + f, plan.plan.metric
    train, unseen = data.take_queries(np.flatnonzero(fold != f)), data.take_queries(where)

    def fitted(columns: np.ndarray, draw: int = 0) -> Trees:
        return fit_trees(train, columns, plan.trees, seed + 100_000 * draw)

    def values(trees: Sequence[Trees]) -> np.ndarray:
        return np.mean([per_query_values(t.scores(unseen.X), unseen, [metric])[0] for t in trees], axis=0)

    usable = usable_by_trees(train)
    began = time.perf_counter()
    full = [fitted(usable)]
    seconds = time.perf_counter() - began
    full += [fitted(usable, draw) for draw in range(1, plan.n_seeds)]
    began = time.perf_counter()
    full[0].scores(unseen.X)
    scoring = (time.perf_counter() - began) / max(unseen.n_docs, 1)
    n_bytes = len(full[0].booster.model_to_string().encode())
    out = {"where": where, _named(ALL): values(full), "costs": np.array([seconds, scoring, n_bytes])}
    by_gain, by_shap = full[0].by_gain(), _by_shap(full[0], train)
    shuffled, left = np.random.default_rng(seed).permutation(usable), by_gain
    for k in sorted((k for k in plan.sizes if k < len(usable)), reverse=True):
        lists = {GAIN: by_gain[:k], SHAP: by_shap[:k], RECURSIVE: left[:k], RANDOM: shuffled[:k]}
        lists[OURS] = ours.get(f"features|{f}|{k}", usable[:0])
        for name, features in lists.items():
            if len(features):
                trees = fitted(np.sort(features))
                out[_named(f"trees on {name}", k)] = values([trees])
                left = trees.by_gain() if name == RECURSIVE else left
    return out


def _by_shap(trees: Trees, data: RankingDataset) -> np.ndarray:
    """The columns of trees, by mean |SHAP value| over about SHAP_ROWS rows, largest first."""
    rows = data.X[:: max(data.n_docs // SHAP_ROWS, 1)]
    parts = np.asarray(trees.booster.predict(columns_dense(rows, trees.columns), pred_contrib=True))[:, :-1]
    return trees.columns[np.argsort(-np.abs(parts).mean(axis=0), kind="stable")]


def _named(system: str, k: int | None = None) -> str:
    """The name of the values of a system in a piece."""
    return f"values|{system}|{k or 0}"


def _systems(pieces: Sequence[Arrays], n_queries: int, repeats: int) -> list[ComparedSystem]:
    """Means over repeats, for systems that have a value for every query in every repeat."""
    total: dict[str, np.ndarray] = {}
    count: dict[str, np.ndarray] = {}
    for p in pieces:
        for name in (n for n in p if n.startswith("values|")):
            total.setdefault(name, np.zeros(n_queries))[p["where"]] += p[name]
            count.setdefault(name, np.zeros(n_queries))[p["where"]] += 1
    out = []
    for name, values in total.items():
        _, system, k = name.split("|")
        if (count[name] == repeats).all():
            out.append(ComparedSystem(system, int(k) or None, values / repeats))
    return out


# -- what it shows ----------------------------------------------------------------------------------------------------


def comparison_table(result: ComparisonResult) -> Table:
    """Means by size, a system a row; the best of each size in words below it would be chance,
    so the rows are ordered by maker."""
    sizes = result.sizes
    rows = []
    for name in result.names:
        own = result.of(name)
        rows.append([name, *(figure(own[k].mean) if k in own else "-" for k in sizes)])
    note = (
        f"{ALL} ({result.n_features}): {figure(result.all_features.mean)}; {CHOICE} ({result.span} features): "
        f"{figure(result.choice.mean)}. Our model at each size is the best shrunken or relaxed model of at most that "
        "size. These models and our choice are optimistically biased, because the queries shown were used to choose "
        "them. Trees on their own gain use features that are chosen inside each fold; trees on our features use "
        "those of our choice."
    )
    repeats = "" if result.repeats == 1 else f", drawn {result.repeats} times"
    return Table(
        f"Mean {result.metric} out of fold by number of features ({result.n_queries} queries, {result.n_folds} "
        f"folds{repeats})",
        ["system", *map(str, sizes)],
        rows,
        note,
    )


def cost_table(result: ComparisonResult) -> Table:
    """What the trees cost, and our whole search."""
    c, t = result.costs, result.trees
    return Table(
        "Costs (means over folds, on this machine)",
        ["", ""],
        [
            [
                f"fitting {t.n_trees} trees of {t.parameters['num_leaves']} leaves on all features, one thread",
                f"{c.fitting:.2f} s",
            ],
            ["all our paths, folds, refits and transforms", f"{c.ours:.1f} s"],
            ["scoring a document with the trees", f"{1e6 * c.scoring:.1f} us"],
            ["their model file", f"{c.n_bytes / 1000:.0f} kB"],
        ],
    )


def comparison_picture(result: ComparisonResult) -> str:
    """Quality against the number of features: ours in colour, trees in grey, what has no size as lines across."""
    drawn, axes = _quality_axes(result.metric)
    draw_comparison(result, axes)
    limits = parse_metric(result.metric).limits
    return _finished(drawn, axes, limits, "Quality against number of features, ours and trees")


def draw_comparison(result: ComparisonResult, axes: Any) -> None:
    """Means by number of features: ours in colour, trees in grey, what has no size as lines across."""
    ours = [n for n in result.names if not n.startswith("trees")]
    best_first = sorted(ours, key=lambda n: -max(s.mean for s in result.of(n).values()))[:LEGEND]
    for name, colour in zip(best_first, SERIES, strict=False):
        _line(axes, name, result.of(name), color=colour, marker="o", markersize=3, linewidth=1.5)
    of_trees = [n for n in result.names if n.startswith("trees")]
    for name, style in zip(of_trees, ("-", "--", "-.", ":", (0, (1, 3))), strict=False):
        _line(axes, name, result.of(name), color=SOFT, linestyle=style, linewidth=1.3)
    axes.axhline(result.all_features.mean, color=INK, linewidth=1.0, label=ALL)
    axes.axhline(result.choice.mean, color=ACCENT, linewidth=1.0, linestyle="--", label=f"{CHOICE} ({result.span})")


def _quality_axes(metric: str) -> tuple[Figure, Any]:
    return new_axes("number of features", f"mean {metric}, out of fold", PAGE_SIZE)


def _line(axes: Any, name: str, by_size: Mapping[int, ComparedSystem], **style: Any) -> None:
    """The means of a system by its number of features."""
    axes.plot(sorted(by_size), [by_size[k].mean for k in sorted(by_size)], label=name, **style)


def _finished(drawn: Figure, axes: Any, limits: tuple[float, float], title: str) -> str:
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    low, high = axes.get_ylim()
    axes.set_ylim(max(low, limits[0]), min(high, limits[1]))  # the values that the metric can take
    legend_below(drawn)
    return to_svg(drawn, title)


def comparison_section(result: ComparisonResult, title: str, name: str) -> Section:
    return Section(
        title,
        " ".join(result.sentences()),
        [comparison_table(result), cost_table(result)],
        [
            Picture(
                name, f"{title}: mean {result.metric}, ours and trees", comparison_picture(result), _compared(result)
            )
        ],
    )


def _compared(result: ComparisonResult) -> str:
    """The picture in words."""
    best = {name: max(result.of(name).items(), key=lambda own: own[1].mean) for name in result.names}
    each = "; ".join(f"{name} at most {figure(s.mean)}, with {k} features" for name, (k, s) in best.items())
    return (
        f"{each}; {ALL} {figure(result.all_features.mean)}; {CHOICE} {figure(result.choice.mean)}. The table below "
        "contains the values."
    )
