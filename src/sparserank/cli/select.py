"""`sparserank select`: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparserank.cli import options as opt
from sparserank.cli.interrupts import resumable
from sparserank.cli.screen import announce_compiling, progress_bar, say

if TYPE_CHECKING:
    from sparserank.data.dataset import RankingDataset

HELP = """Select the smallest ranking model that ranks as well as the best.

Reads LETOR files, fits a path of models for every penalty, estimates the quality of every point out of fold, chooses the
smallest model that is not worse than the best by more than a margin, compares it on test queries with the dense model and
the best single feature, and writes everything to a directory. Killed runs resume when started again.

[bold]Examples[/bold]

  sparserank select train.txt --valid vali.txt --test test.txt --out run

  sparserank select S1.txt.gz S2.txt.gz S3.txt.gz --valid S4.txt.gz --test S5.txt.gz --penalty l1 --penalty mcp --k 10 --out run

  sparserank select train.txt --scaling log-standard --metric map --margin 0.02 --out run

  sparserank select train.txt --valid vali.txt --protocol holdout --convention letor4 --out run
"""

MODEL = "Models"
CHOICE = "Choice"
DEFAULT_PENALTIES = ["l1", "log", "mcp"]


def select(
    train: Annotated[list[Path], typer.Argument(help="Training files, LETOR text, plain or gzip.", show_default=False)],
    out: Annotated[Path, typer.Option("--out", help="Directory for results.", show_default=False)],
    valid: Annotated[list[Path] | None, typer.Option("--valid", help="Validation file; may be repeated.")] = None,
    test: Annotated[
        list[Path] | None, typer.Option("--test", help="Test file; may be repeated. Used for the comparison only.")
    ] = None,
    penalty: Annotated[
        list[str] | None,
        typer.Option(
            "--penalty",
            help="l1, l0.5, log, mcp, scad, elastic_net, or with parameters: 'mcp(gamma=2.0)'; may be repeated. "
            "[default: l1, log, mcp]",
            rich_help_panel=MODEL,
            show_default=False,
        ),
    ] = None,
    scaling: Annotated[
        str,
        typer.Option(
            "--scaling",
            help="within-query-std, none, min-max, standard, log-standard (signed log1p first), query-min-max.",
            rich_help_panel=MODEL,
        ),
    ] = "within-query-std",
    n_alphas: Annotated[
        int, typer.Option("--n-alphas", min=2, help="Points on each path.", rich_help_panel=MODEL)
    ] = 40,
    alpha_min_ratio: Annotated[
        float,
        typer.Option("--alpha-min-ratio", help="Last alpha of a path relative to the first.", rich_help_panel=MODEL),
    ] = 1e-2,
    tol: Annotated[
        float,
        typer.Option(
            "--tol",
            help="KKT violation that the final paths reach, relative to alpha_max; folds stop at 1e-4.",
            rich_help_panel=MODEL,
        ),
    ] = 1e-6,
    pair_weights: Annotated[
        str, typer.Option("--pair-weights", help="pair (every pair counts the same) or query.", rich_help_panel=MODEL)
    ] = "pair",
    refit: Annotated[
        bool, typer.Option("--refit", help="Refit the chosen features without sparsity penalty.", rich_help_panel=MODEL)
    ] = False,
    metric: Annotated[str, typer.Option("--metric", help="Metric of choice.", rich_help_panel=CHOICE)] = "ndcg@10",
    also: Annotated[
        list[str] | None,
        typer.Option(
            "--also",
            help="Further metrics to report. [default: map, ndcg@5]",
            rich_help_panel=CHOICE,
            show_default=False,
        ),
    ] = None,
    convention: opt.Convention = "default",
    protocol: Annotated[
        str,
        typer.Option(
            "--protocol",
            help="cv (out of fold over train and validation) or holdout (validation only).",
            rich_help_panel=CHOICE,
        ),
    ] = "cv",
    folds: Annotated[int, typer.Option("--folds", min=2, help="Folds of the cv protocol.", rich_help_panel=CHOICE)] = 5,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Seed of the folds.", rich_help_panel=CHOICE)] = 0,
    margin: Annotated[
        float,
        typer.Option(
            "--margin", help="Loss that still counts as equally good, relative to the best.", rich_help_panel=CHOICE
        ),
    ] = 0.01,
    k: Annotated[
        int | None,
        typer.Option("--k", min=1, help="Take the best model of at most K features.", rich_help_panel=CHOICE),
    ] = None,
    budget: Annotated[
        float | None,
        typer.Option("--budget", help="Take the best model of at most this total cost.", rich_help_panel=CHOICE),
    ] = None,
    costs: Annotated[
        Path | None,
        typer.Option(
            "--costs",
            help="File with one feature cost per line; costs also weight the penalty.",
            rich_help_panel=CHOICE,
        ),
    ] = None,
    baseline_feature: Annotated[
        str | None,
        typer.Option(
            "--baseline-feature",
            help="Feature that holds the score in use today, for the comparison.",
            rich_help_panel=CHOICE,
        ),
    ] = None,
    n_features: opt.NFeatures = None,
    missing: opt.Missing = None,
    index_base: opt.IndexBase = 1,
    unjudged: opt.Unjudged = "error",
    feature_names: opt.FeatureNames = None,
    allow_overlap: Annotated[
        bool,
        typer.Option(
            "--allow-overlap",
            help="Accept a query id in two of train, validation and test.",
            rich_help_panel=opt.READING,
        ),
    ] = False,
    restart: Annotated[bool, typer.Option("--restart", help="Discard what --out already holds.")] = False,
    threads: opt.Threads = None,
) -> None:
    from sparserank.data.scaling import SCALINGS
    from sparserank.metrics import parse_convention, parse_metric
    from sparserank.penalties import parse_penalty

    opt.check_reading(n_features, missing, index_base, unjudged)
    chosen_penalties = [opt.parsed("--penalty", parse_penalty, p) for p in penalty or DEFAULT_PENALTIES]
    opt.require(
        not any(p.smooth_at_zero for p in chosen_penalties),
        "--penalty",
        "ridge selects no features; it is always fitted as the dense reference.",
    )
    opt.require(len(set(chosen_penalties)) == len(chosen_penalties), "--penalty", "names the same penalty twice.")
    opt.require(scaling in SCALINGS, "--scaling", f"must be one of {', '.join(SCALINGS)}; got {scaling!r}.")
    opt.require(protocol in ("cv", "holdout"), "--protocol", f"must be cv or holdout; got {protocol!r}.")
    opt.require(pair_weights in ("pair", "query"), "--pair-weights", f"must be pair or query; got {pair_weights!r}.")
    opt.require(0 <= margin < 1, "--margin", f"must lie in [0, 1); got {margin}.")
    opt.require(0 < alpha_min_ratio < 1, "--alpha-min-ratio", f"must lie in (0, 1); got {alpha_min_ratio}.")
    opt.require(tol > 0, "--tol", f"must be positive; got {tol}.")
    opt.require(k is None or budget is None, "--budget", "cannot be combined with --k.")
    opt.require(budget is None or costs is not None, "--budget", "needs --costs.")
    opt.require(protocol == "cv" or valid is not None, "--protocol", "holdout needs --valid.")
    rules = opt.parsed("--convention", parse_convention, convention)
    metrics = [opt.parsed("--metric", lambda m: parse_metric(m, rules), metric)]
    metrics += [opt.parsed("--also", lambda m: parse_metric(m, rules), m) for m in also or ["map", "ndcg@5"]]
    opt.require(
        metrics[0].higher_is_better, "--metric", "must be one where higher is better; report others with --also."
    )

    from dataclasses import replace

    from sparserank.cli.selection_tables import show_selection
    from sparserank.data._letor_kernels import parse_lines
    from sparserank.reports.files import write_results
    from sparserank.selection.inputs import check_overlap, read_costs
    from sparserank.selection.job import SelectionJob, SelectionPlan
    from sparserank.selection.store import SelectionStore
    from sparserank.selection.units import PathSettings
    from sparserank.solvers._coordinate_descent_kernels import descend
    from sparserank.warmup import finish_compiling, start_compiling

    reading: dict[str, Any] = {
        "missing": missing, "index_base": index_base, "unjudged": unjudged,
        "feature_names": feature_names, "n_threads": threads,
    }  # fmt: skip
    choices: dict[str, Any] = {
        "metric": metrics[0], "report_metrics": tuple(metrics[1:]), "protocol": protocol, "n_folds": folds, "seed": seed,
        "margin": margin, "k": k, "budget": budget, "refit": refit, "baseline_feature": baseline_feature,
    }  # fmt: skip
    settings = (scaling, n_alphas, alpha_min_ratio, tol, pair_weights)
    with resumable(out):
        announce_compiling(parse_lines, descend)
        compiling = start_compiling()
        train_data, valid_data, test_data = _read_parts(train, valid, test, n_features, reading)
        finish_compiling(compiling)
        if not allow_overlap:
            check_overlap({"train": train_data, "validation": valid_data, "test": test_data})
        names = tuple(train_data.feature_names or ())
        if baseline_feature is not None and baseline_feature not in names:
            raise typer.BadParameter(
                f"names no feature; there are {names[0]} ... {names[-1]}.", param_hint="--baseline-feature"
            )
        cost_list = None if costs is None else read_costs(costs, names)
        if cost_list is not None:
            chosen_penalties = [replace(p, weights=cost_list) for p in chosen_penalties]
        plan = SelectionPlan(tuple(chosen_penalties), settings=PathSettings(*settings), costs=cost_list, **choices)
        job = SelectionJob(plan, train_data, valid_data, test_data, n_threads=threads)
        with SelectionStore(out, plan.identity(train_data, valid_data), restart=restart) as store:
            store.log({"event": "start", "command": "select", "train": [str(p) for p in train]})
            with progress_bar("paths") as progress:
                result = job.execute(store, progress)
            written = write_results(result, store.path)
    show_selection(result)
    say("wrote " + ", ".join(str(p) for p in written))


def _read_parts(
    train: list[Path],
    valid: list[Path] | None,
    test: list[Path] | None,
    n_features: int | None,
    reading: dict[str, Any],
) -> tuple[RankingDataset, RankingDataset | None, RankingDataset | None]:
    """Train, validation and test data; the training files decide how many features there are."""
    from sparserank.data.letor import read_letor
    from sparserank.errors import DataError, TooManyFeaturesError

    first = read_letor(train, n_features, **reading)
    try:
        others = [read_letor(paths, first.n_features, **reading) if paths else None for paths in (valid, test)]
    except TooManyFeaturesError as error:
        raise DataError(f"{error} Here: --n-features {error.width}.") from error
    return first, others[0], others[1]
