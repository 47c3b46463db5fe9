"""`sparserank evaluate`: metrics of models, runs or score files, compared."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparserank.cli.output import FAILED_CHECK, MARKDOWN, TEXT, answer, give, refuse_other
from sparserank.cli.reading import documents_for, model_of, parsed, require, require_no_reading
from sparserank.cli.screen import gap, note, say, table
from sparserank.options import option
from sparserank.text import brief, figure, interval, listed, p_text, relative, signed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sparserank.data.run_reader import Asked
    from sparserank.data.runs import Run
    from sparserank.evaluation import Comparison
    from sparserank.evaluation.statistics import Row, Rows

HELP = """Evaluate one or several systems on judged documents, with intervals, paired tests and Holm correction.

A system is a model file (ours, or one that LightGBM saved), a run (TREC, JSON, Parquet or CSV) or a file with one \
score per line in file order; the name of the file does not matter. All other systems are tested against the first. \
With --qrels, judgments (TREC, BEIR, JSON or CSV) replace judged documents. All judged queries count; a query that is \
missing from a run counts as 0. With --judge, grades of people for a few queries are used with those of a language \
model for many: it says how many human queries these are worth, or that they are worth nothing.

[bold]Examples[/bold]

  sparserank evaluate test.txt --system run/model.json --metric ndcg@10 --metric map

  sparserank evaluate test.txt --system sparse.json --system dense.json --system bm25.run --convention letor4

  sparserank evaluate --qrels test.qrels --system now.run --system new.run --metric ndcg@10

  sparserank evaluate --qrels test.qrels --system fused --runs bm25.run --runs dense.run --system bm25.run

  sparserank evaluate test.txt --system run/model.json --format csv

  sparserank evaluate --qrels test.qrels --system now.run --system new.run --fail-if-worse 1%

  sparserank evaluate --qrels people.qrels --judge model.qrels --system now.run --system new.run

  sparserank evaluate --qrels people.qrels --judge model.qrels --system now.run --system new.run --judge-next 20 \
--strata-out strata.txt
"""


def run(
    *,
    system: list[Path],
    data: list[Path] | None = None,
    qrels: Path | None = None,
    runs: list[Path] | None = None,
    metric: list[str] | None = None,
    convention: str | None = None,
    missing: str | None = None,
    fail_if_worse: str | None = None,
    fail_if_shown: bool = False,
    judges: list[Path] | None = None,
    judge_grades: str | None = None,
    strata: Path | None = None,
    judge_only: bool = False,
    junit: Path | None = None,
    out: Path | None = None,
    baseline: Path | None = None,
    **options: Any,
) -> None:
    """Options are those of `Reading`; judge_next, random_state and strata_out."""
    from sparserank.crossval.tree_rivals import columns_in, scores_of_saved
    from sparserank.data.missing import KEEP
    from sparserank.data.run_reader import Asked, judgments_of, read_run
    from sparserank.data.trec import STRATA_HEAD
    from sparserank.evaluation import compare_systems
    from sparserank.evaluation.comparison import EVALUATION
    from sparserank.evaluation.gate import JUNIT, limit_of, write_junit
    from sparserank.files import atomic_write
    from sparserank.metrics import parse_convention, parse_metric

    judge_next = options.pop("judge_next", None)
    strata_out = options.pop("strata_out", None)
    seed = options.pop("random_state", 0)
    for target, begins in ((out, EVALUATION), (junit, JUNIT), (strata_out, STRATA_HEAD)):
        if target is not None:
            refuse_other(target, begins)
    if junit is not None:
        junit.unlink(missing_ok=True)  # so that an old report does not remain if this run fails
    require(bool(data) != (qrels is not None), "DATA", "needs either judged documents or --qrels.")
    rules = parsed("--convention", parse_convention, convention or ("default" if qrels is None else "trec"))
    metrics = [parsed("--metric", lambda m: parse_metric(m, rules), m) for m in metric or ["ndcg@10", "map"]]
    if fail_if_worse is None:
        require(not fail_if_shown, "--fail-if-shown", "needs --fail-if-worse.")
        require(junit is None, "--junit", "needs --fail-if-worse.")
        require(not judge_only, "--judge-only", "needs --fail-if-worse.")
    else:
        parsed("--fail-if-worse", limit_of, fail_if_worse)
        several = baseline is not None or len(system) > 1
        require(several, "--fail-if-worse", "needs a second --system, or --baseline.")
    require(strata_out is None or bool(judge_next and judges), "--strata-out", "needs --judge-next and --judge.")
    require(len(set(system)) == len(system), "--system", "names the same file twice.")
    other = out is None or baseline is None or os.path.realpath(out) != os.path.realpath(baseline)
    require(other, "--out", "is the file of --baseline.")
    kinds = {path: _kind_of(path) for path in system}
    require(runs is None or qrels is not None, "--runs", "needs --qrels.")
    if qrels is not None:
        asked = Asked(*(options.pop(name, None) for name in Asked._fields))
        require_no_reading("TREC judgments", **options, missing=missing)
        judged: Any = judgments_of(qrels, asked)
        systems: dict[str, Any] = {str(path): _lists_of(path, kind, runs, asked) for path, kind in kinds.items()}
    else:
        models = {path: model_of(path, missing) for path in system if kinds[path] == "model"}
        named = [name for path in system if kinds[path] == "trees" for name in columns_in(path)]
        # Trees take missing values as they are.
        rule: Any = KEEP if named and not models and missing is None else missing
        fixed = {"featureless": not models, "kept": named}
        judged = documents_for([*models.values()], system, data or [], options, missing=rule, **fixed)
        of_kind = {
            "model": lambda path: models[path].score_dataset(judged),
            "trees": lambda path: scores_of_saved(path, judged),
            "run": lambda path: read_run(path),
            "scores": lambda path: _scores(path, judged),
        }
        systems = {str(path): of_kind[kind](path) for path, kind in kinds.items()}
    of_judges = {str(path): path for path in judges or []}
    compared = evaluated = compare_systems(
        systems, judged, metrics, judges=of_judges, judge_grades=judge_grades, strata=strata
    )
    for lacking in evaluated.lacking.values():
        note(f"note: {lacking}")
    if baseline is not None:
        compared = evaluated.against(baseline)
    if out is not None:
        evaluated.save(out)
    verdicts: Rows = []
    if fail_if_worse is not None:
        verdicts = compared.gate(fail_if_worse, fail_if_shown=fail_if_shown, judge_only=judge_only)
    to_judge = {} if judge_next is None else compared.judge_next(judge_next, random_state=seed)
    if strata_out is not None:
        with atomic_write(strata_out) as file:
            file.writelines([STRATA_HEAD, *(f"{q} {stratum}\n" for q, stratum in to_judge["strata"].items())])
    if judge_only:
        say(f"Decided by the grades of {', '.join(of_judges)} alone, not by those of people.")
    show_comparison(compared, verdicts)
    if of_judges:
        show_judges(compared)
    if to_judge:
        show_next(to_judge)
    for name in compared.others if answer().format == MARKDOWN or answer().verbose else ():
        show_queries(f"{name}: queries whose {metrics[0]!r} changed most", compared.most_changed(name))
    for verdict in verdicts:
        _tell(verdict["sentence"])
    answer().code = FAILED_CHECK if any(verdict["fails"] for verdict in verdicts) else 0
    if junit is not None:
        write_junit(verdicts, junit)


def _lists_of(path: Path, kind: str, runs: list[Path] | None, asked: Asked) -> Run:
    """A run, or the run that a model of `fuse` computes from the runs of its retrievers."""
    from sparserank.data.run_reader import run_of
    from sparserank.errors import ModelFormatError
    from sparserank.model.fusion import formula_of, is_fusion
    from sparserank.model.size_models import load_model

    if kind == "run":
        return run_of(path, "the run", asked)
    try:
        model: Any = load_model(path) if kind == "model" else None
    except ModelFormatError as error:
        raise ModelFormatError(f"{error} If it is a run, write it in TREC format.") from error
    usable = model is not None and is_fusion(model)
    require(usable, "--system", f"must be runs or models of fuse with --qrels; {path} is neither.")
    require(bool(runs), "--runs", f"is needed: the runs that {path} fuses.")
    return formula_of(model).apply(list(map(str, runs or [])))


def _kind_of(path: Path) -> str:
    """What a system file contains: 'model', 'trees' (of LightGBM), 'run' or 'scores'."""
    from sparserank.data.read_files import LIGHTGBM_FIRST_LINE
    from sparserank.data.run_reader import EITHER, JUDGMENTS, OF_RESPONSES, TABLE, kind_of_content
    from sparserank.data.text_lines import text_lines
    from sparserank.data.trec import RUN
    from sparserank.errors import DataFormatError

    if path.is_dir():  # the directory of a selection stands for its chosen model
        return "model"
    content = kind_of_content(path)
    if content in (EITHER, TABLE):
        return "run"
    expected = f"a model file, a run (lines '{RUN}', JSON, Parquet or CSV) or one score per line"
    for _, text in text_lines(path, expected):
        fields = text.split(maxsplit=5)
        if not fields or fields[0].startswith("#"):
            continue
        if content == JUDGMENTS:
            first = f"{brief(text)}, as in judgments, which {option('qrels')} takes"
            raise DataFormatError(f"{path}: expected {expected}; its first line is {first}.")
        if fields[0].startswith("{"):
            return "run" if OF_RESPONSES.search(text.encode()) else "model"
        if fields == [LIGHTGBM_FIRST_LINE]:
            return "trees"
        if len(fields) == 1:
            return "scores"
        if len(fields) < 5:
            raise DataFormatError(f"{path}: expected {expected}; its first line is {brief(text)}.")
        return "run"
    raise DataFormatError(f"{path}: is empty; expected {expected}.")


def _scores(path: Path, data: Any) -> Any:
    """Scores of a plain file with one score per line."""
    import numpy as np

    from sparserank.data.text_lines import read_numbers
    from sparserank.errors import DataFormatError

    scores = read_numbers(path, "score", "a finite number", lambda v: True)
    if len(scores) != data.n_docs:
        raise DataFormatError(
            f"{path}: {len(scores)} scores for {data.n_docs} documents; give one per line, in file order."
        )
    return np.array(scores)


MAX_ROWS = 18  # shown without --verbose
# fields of a gate's verdict that programs get, added to the row of the system
GATED = ("limit", "above_limit", "shown")


def show_comparison(compared: Comparison, verdicts: Rows | None = None) -> None:
    """Print the rows of a comparison; programs also get the verdicts of its gate."""
    from sparserank.options.selection import DEFAULT_CONFIDENCE

    judged = {(v["system"], v["metric"]): {name: v[name] for name in GATED} for v in verdicts or ()}
    rows = [row | judged.get((row["system"], row["metric"]), {}) for row in compared.rows()]
    give(rows)
    if compared.judges:
        return  # `show_judges` has the estimates of people beside those with a judge, with the weights of strata
    signs = {name: 1 if metric.higher_is_better else -1 for name, metric in compared.metrics.items()}
    head = f"{len(compared.query_ids):,} queries, {compared.n_docs:,} documents; 95% intervals"
    everything = answer().verbose
    shown = rows if everything else rows[:MAX_ROWS]
    columns: list[str] = []
    if everything:
        head += "; differences from the first system, paired t test"
        columns = ["difference", "its interval", "p", "p (Holm)"]
    elif compared.others:
        columns = ["against the first, paired"]
    cells = []
    for r in shown:
        line = [r["system"], compared.metrics[r["metric"]].title, figure(r["mean"]), interval(r["low"], r["high"])]
        known = "difference" in r
        low = r.get("difference_low", 0.0)
        high = r.get("difference_high", 0.0)
        if everything:
            between = interval(low, high, signed) if known else ""
            line += [signed(r.get("difference")), between, p_text(r.get("p_value")), p_text(r.get("p_holm"))]
        elif known:
            proven = r["p_holm"] <= 1.0 - DEFAULT_CONFIDENCE
            base = r["mean"] - r["difference"]
            line.append(relative(r["difference"], low, high, base, shown=proven, sign=signs[r["metric"]]))
        elif columns:
            line.append("")
        cells.append(line)
    table(
        head,
        ["system", "metric", "mean", "interval", *columns],
        cells,
    )
    if len(rows) > len(shown):
        say(f"{len(rows) - len(shown)} more rows are shown with --verbose.")
    for r in rows if everything else []:
        if r["metric"] == rows[0]["metric"] and "difference" in r:
            gain = signs[r["metric"]] * r["difference"]
            word = "better than" if gain > 0 else "worse than" if gain < 0 else "equal to"
            apart = r["difference_low"] > 0 or r["difference_high"] < 0
            shown_or_not = "" if apart else "; these queries cannot tell the two apart"
            say(
                f"{r['system']} is {word} {compared.baseline} by {figure(abs(r['difference']))} {r['metric']}, "
                f"{interval(r['difference_low'], r['difference_high'], signed)}{shown_or_not}."
            )


def show_judges(compared: Comparison) -> None:
    """Print what the judges are worth. Programs get it beside the rows of the comparison; csv has these rows alone."""
    rows = compared.judge_rows()
    facts = compared.judge_facts()
    answer().document = {"rows": answer().rows, "judge_rows": rows, "facts": facts}
    first = next(iter(compared.metrics))
    for fact in facts:
        own = [r for r in rows if r["judge"] == fact["judge"]]
        for metric, definition in compared.metrics.items():
            of_metric = [r for r in own if r["metric"] == metric]
            counts = "{n_human:,} queries of people, {n_judge:,} of the judge".format_map(of_metric[0])
            title = f"{fact['judge']}: {definition.title}, {counts}; 95% intervals, worth in human queries"
            table(title, ["", "people alone", "with the judge", "worth"], [_judged(r) for r in of_metric])
            if any(r["worth"] for r in of_metric if not r["against"]):
                say("Each row uses the judge as far as people confirm it; so differences are not those of rows above.")
        for r in own:
            if r["metric"] == first and (r["against"] or not compared.others):
                _tell(r["sentence"])
                shown = signed if r["against"] else figure
                differs = [
                    f"{d['query']} (people {shown(d['human'], 3)}, judge {shown(d['judge'], 3)})" for d in r["differs"]
                ]
                if differs:
                    _tell(f"{_what(r)}: people and the judge differ most on {listed(differs)}.")
        for said in fact["notes"]:
            _tell(said)
        gap()
        by_judge = [f"{grade:g}" for grade in fact["by_judge"]]
        by_people = zip(fact["by_people"], fact["documents"], strict=True)
        counted = [[f"{grade:g}", *(f"{n:,}" for n in row)] for grade, row in by_people]
        kappa = f"weighted kappa {figure(fact['kappa'], 2)} (1: equal, 0: by chance)"
        title = f"documents by grade of people (rows) and of the judge; {kappa}"
        table(title, ["", *by_judge], counted)


def _judged(row: Row) -> list[str]:
    """The cells of a row of `Comparison.judge_rows`."""
    shown = signed if row["against"] else figure
    estimates = [
        f"{shown(row[name])} {interval(row[f'{name}_low'], row[f'{name}_high'], shown)}".replace("[-, -]", "-")
        for name in ("human", "estimate")
    ]
    return [_what(row), *estimates, f"+{row['worth']:,}" if row["worth"] else "nothing"]


def _tell(sentence: str) -> None:
    """Print a sentence of the result; programs get it in their document, and people who call them here."""
    say(sentence)
    if answer().format != TEXT:
        note(sentence)


def show_next(found: Row) -> None:
    """Print what people should judge next. Programs get it beside what they have already."""
    current = answer()
    named = current.document if isinstance(current.document, dict) else {"rows": current.rows}
    current.document = {**named, "judge_next": found}
    cells = [
        [
            d["query"],
            d["document"],
            ", ".join(str(rank or "-") for rank in d["ranks"].values()),
            figure(d["move"]),
            _what(d),
        ]
        for d in found["documents"]
    ]
    if cells:
        title = "documents that people did not judge, by how far a grade can move a mean difference"
        table(title, ["query", "document", "ranks", "at most", "difference"], cells)
    else:
        say("Documents: people judged all that can move a difference in their queries.")
    if "queries" in found:
        drawn = [[q["query"], q["stratum"], f"{q['probability']:.3f}"] for q in found["queries"]]
        title = "queries for people to judge next, drawn at random within strata; share: of a stratum, judged then"
        table(title, ["query", "stratum", "share"], drawn)
        for width in found["widths"]:
            now, expected = figure(width["now"]), figure(width["expected"])
            say(f"Interval of {_what(width)}: +-{now} now, about +-{expected} once they are judged.")


def _what(row: Row) -> str:
    """The system of a row, or its difference from another."""
    return f"{row['system']} - {row['against']}" if row["against"] else row["system"]


def show_queries(title: str, rows: Sequence[Row]) -> None:
    """Print the queries that changed most."""
    cells = [[r["query"], *(f"{r[name]:.4f}" for name in ("old", "new")), f"{r['difference']:+.4f}"] for r in rows]
    if rows:
        table(title, ["query", "old", "new", "difference"], cells)
