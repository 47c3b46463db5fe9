"""The results of a selection as tables, which the screen and the page share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from sparserank.crossval.choice import FEATURE, Choice
from sparserank.evaluation import Comparison
from sparserank.evaluation.statistics import as_percent
from sparserank.model.ranking_model import RankingModel
from sparserank.report.document import Column, Columns, Fact, Table
from sparserank.selection.claims import enough, share, smallest
from sparserank.selection.facts import model_row
from sparserank.selection.origin import Origin
from sparserank.selection.plan import SelectionPlan
from sparserank.selection.queries import Pair, QueryDifference
from sparserank.text import figure, interval, listed, p_text, signed

if TYPE_CHECKING:
    from sparserank.selection.lists import TreesSelection
    from sparserank.selection.result import ChoiceResult, SelectionResult

MAX_LEFT = 50  # features left out that a page lists
# features shown for a pair of documents: of the chosen model, only of the rival
MAX_OWN = 12
MAX_RIVAL = 5


def where(result: SelectionResult) -> str:
    return "out of fold" if result.plan.protocol == "cv" else "on validation"


def evenly(n: int, most: int, always: int) -> list[int]:
    """At most `most` evenly spaced numbers from 0 to n - 1, including the first, the last and `always`."""
    spaced = range(n) if n <= most else (round(k * (n - 1) / (most - 2)) for k in range(most - 1))
    return sorted({*spaced, always})


# -- models -----------------------------------------------------------------------------------------------------------


def penalty_table(result: SelectionResult) -> Table:
    """The smallest model of each penalty whose loss is small enough, with the certificate of its path."""
    choice = result.choice
    rule = result.plan.rule
    rows = []
    for label, path in result.paths.items():
        name = label
        model = result.by_penalty.get(label)
        if label not in result.by_penalty:
            model = max((d for d in choice.candidates if d.penalty == label), key=lambda d: d.mean)
            name = label.replace("ridge", "dense (ridge)", 1)
        elif model is not None:
            name = model.label
        below, at_most = ("-", "-") if model is None else losses(choice, model_row(choice, model, []))
        n = "none" if model is None else str(model.n_features)
        c = path.certificate()
        gap = "-" if c.gap is None else f"{c.gap:.0e}"
        rows.append([name, n, below, at_most, c.status, f"{c.kkt_violation:.0e}", gap, figure(c.time_s, 1)])
    title = (
        f"{smallest(rule.by_cost).capitalize()} model of each penalty {enough(rule)}, and the best dense one "
        f"({result.plan.metric.title} {where(result)}, {result.n_queries} queries)"
    )
    head = ["penalty", f"{result.noun}s", "below the best", "loses at most", "path", "worst kkt", "gap", "s"]
    # the limits of the certificates
    notes = ["Path, worst kkt and gap describe the whole path of the penalty."]
    if any(c is not None and c.relax > 0 for c in result.by_penalty.values()):
        notes.append(
            "A relaxed (1) model is the optimum of another problem, a ridge problem on what it uses. A relaxed (0.5) "
            "model is not the optimum of any problem."
        )
    conditions = dict.fromkeys(path.certificate().gap_condition for path in result.paths.values())
    notes += [f"The gaps are valid {condition}." for condition in conditions if condition is not None]
    return Table(title, head, rows, note=" ".join(notes))


def size_table(result: ChoiceResult, most: int | None = None) -> Table:
    """The best model of at most each number of features, or each cost (up to `most`, but always the chosen one and the
    best), with simultaneous bounds and the features that enter and leave."""
    choice = result.choice
    rows = []
    for i, (c, row) in enumerate(zip(result.by_size, result.facts.sizes, strict=True)):
        within = most is None or (i < most if choice.by_cost else c.n_features <= most)
        if within or c in (choice.chosen, choice.best):
            rows.append(row)
    title = (
        f"Best model of at most each {'cost' if choice.by_cost else 'size'} by {result.plan.metric.title} "
        f"(simultaneous bounds, {as_percent(result.plan.confidence)})"
    )
    costed = result.plan.costs is not None or choice.by_cost
    labels = {"penalty": "{label}"} if "label" in rows[0] else {}
    columns: Columns = {
        f"{result.noun}s": "{n_features}",
        **({"cost": "{cost:g}"} if costed else {}),
        **labels,
        result.metric: "{mean:.4f}",
        "below the best": lambda row: losses(choice, row)[0],
        "loses at most": lambda row: losses(choice, row)[1],
    }
    screen = tuple(range(len(columns)))
    moves: Columns = {"enter": lambda row: listed(row["enter"]), "leave": lambda row: listed(row["leave"])}
    note = "A size without a better model than a smaller one has no row."
    return Table.of(title, rows, {**columns, **moves}, words=[*labels, *moves], screen=screen, note=note)


def losses(choice: Choice, row: Fact) -> tuple[str, str]:
    """The loss of a candidate relative to the best: the estimate and the bound."""
    at_most = share(row["bound"], choice) if math.isfinite(row["bound"]) else "-"
    return f"{100.0 * row['loss'] / choice.unit:.1f}%", at_most


def rival_table(result: SelectionResult) -> Table:
    """The rankers that were compared on the same queries, and the chosen model relative to each."""
    rows = []
    metric = result.plan.metric
    for r in result.rivals.compared:
        difference, low, high = r.percents
        between = f"[{low}, {high}]" if math.isfinite(r.low) else "-"
        shown = f"shown {r.shown}" if r.shown else "not shown to differ"
        rows.append([r.name, str(r.n_features), figure(r.mean), difference, between, shown])
    title = f"Rivals, compared by {metric.title} {where(result)}, never chosen (simultaneous intervals)"
    of_interval = f"{as_percent(result.plan.confidence)} interval"
    head = ["ranker", f"{result.noun}s", repr(metric), "chosen model", of_interval, "the ranker is"]
    return Table(title, head, rows, words=(5,))


# -- features ---------------------------------------------------------------------------------------------------------


def feature_table(result: SelectionResult) -> Table:
    """The selected features, largest weight first, with the cost of leaving out each."""
    columns: Columns = {"feature": "{name}", "weight": "{weight:.4f}"}
    note = ""
    if result.stability is not None:
        columns["half-samples"] = "{selection_frequency:.0%}"
        note = "The column half-samples is the share of them that select the feature."
    columns |= _costs(result, "cost")
    title = f"Selected features and their ablation costs {where(result)}, with the others refitted"
    note = " ".join(text for text in (note, result.smaller) if text)
    return Table.of(title, result.facts.features, columns, note=note)


def gain_table(result: TreesSelection) -> Table:
    """The features of the chosen list, and their shares of the gain."""
    columns = {"feature": "{feature}", "share of the gain": "{gain:.1%}"}
    return Table.of("Features to keep", result.facts.features, columns)


def column_table(model: RankingModel) -> Table:
    """What the levels of the selected categories add, and missing values of the selected numbers."""
    rows = [
        [column, f.level, f"{model.rise(f):+.4f}"]
        for column, features in model.sources.items()
        for f in sorted(features, key=lambda f: -model.rise(f))
        if f.level
    ]
    return Table(
        "Levels of categories, and missing values", ["feature", "value", "adds to the score"], rows, folded=True
    )


def zeroed_table(result: SelectionResult) -> Table:
    """The selected features, with the cost of setting the weight of each to 0."""
    columns = {result.noun: "{name}", **_costs(result, "zeroed")}
    title = f"Cost of setting the weight of each {result.noun} to 0 {where(result)}, with the other weights unchanged"
    return Table.of(title, result.facts.features, columns, folded=True)


def group_table(result: SelectionResult) -> Table:
    """The groups in use, the most costly first, with the cost of leaving out each."""
    columns: Columns = {"group": "{group}", "cost": "{group_cost:g}"}
    columns |= {"features": lambda row: str(len(row["features"])), **_costs(result, "cost")}
    title = f"Groups in use and their ablation costs {where(result)}, with the others refitted"
    return Table.of(title, result.facts.feature_groups, columns)


def _costs(result: SelectionResult, of: str) -> Columns:
    """Columns for the cost in each metric, `of` the facts, and the interval for the first metric."""
    metrics = list(map(repr, result.plan.metrics))

    def cost(metric: str) -> Column:
        return lambda row: "-" if row[of] is None else signed(row[of][metric]["cost"])

    def between(row: Fact) -> str:
        return "-" if row[of] is None else bounds(row[of][metrics[0]])

    head = f"{as_percent(result.plan.confidence)} interval ({result.metric})"
    return {**{f"{metric} cost": cost(metric) for metric in metrics}, head: between}


def family_table(result: SelectionResult) -> Table:
    """The selected features, each with the redundant ones that were left out."""
    families: dict[str, list[str]] = {}
    for r in result.redundant.left:
        families.setdefault(r.selected, []).append(f"{r.feature} ({signed(r.correlation, 2)})")
    rows = [[selected, str(len(family)), listed(family, MAX_LEFT)] for selected, family in families.items()]
    title = f"Selected {result.noun}s and the {result.noun}s redundant with each (correlation)"
    return Table(title, ["selected", "redundant", f"{result.noun}s"], rows, words=(2,))


def substitute_table(result: SelectionResult) -> Table:
    """The substitutes of selected features."""
    columns: Columns = {
        "selected": "{feature}",
        "in its place": "{other}",
        result.metric: "{difference:+.4f}",
        f"{as_percent(result.plan.confidence)} interval": bounds,
        "correlation": "{correlation:.2f}",
    }
    title = (
        f"Exchanges of one {result.noun} within the margin {where(result)}, both refitted (intervals of each pair "
        "alone)"
    )
    return Table.of(title, result.facts.substitutes, columns, words=["in its place"])


def stability_table(result: SelectionResult) -> Table:
    """How often half-samples select each feature."""
    assert result.stability is not None
    title = f"Selection frequency in {result.stability.n_samples} half-samples of the queries"
    columns: Columns = {result.noun: "{feature}", "selection frequency": "{selection_frequency:.0%}"}
    columns["in the model"] = lambda row: "yes" if row["in_model"] else ""
    return Table.of(title, result.facts.stability, columns, folded=True)


# -- queries ----------------------------------------------------------------------------------------------------------


def query_tables(result: SelectionResult) -> list[Table]:
    """The queries with the largest losses and gains, each with the deciding features."""
    queries = result.queries
    out = []
    head = ["query", "documents", "chosen model", queries.rival, "difference"]
    for title, changed, lost in (("Lost most", queries.lost, True), ("Won most", queries.won, False)):
        rows = [[q.query, str(q.n_docs), figure(q.chosen), figure(q.rival), signed(q.difference)] for q in changed]
        if rows:
            out.append(Table(f"{title}, by {result.metric}", head, rows))
        for q in changed:
            if q.pair is not None:
                out.append(_pair_table(q.query, q.pair, queries.rival, lost, result.noun))
            if q.lists:
                out.append(_list_table(q))
    return out


def _list_table(q: QueryDifference) -> Table:
    """The first documents of a query, ranker by ranker."""
    columns = [[f"{document} ({grade:g})" for document, grade in ranking.documents] for ranking in q.lists]
    rows = [[str(rank), *cells] for rank, cells in enumerate(zip(*columns, strict=True), 1)]
    title = f"Query {q.query}: the first {len(rows)} documents of each ranker"
    head = ["rank", *(ranking.ranker for ranking in q.lists)]
    return Table(title, head, rows, note="The grades are in brackets.", folded=True)


def _pair_table(query: str, pair: Pair, rival: str, lost: bool, noun: str) -> Table:
    """Why a query is lost or won: for each feature, its contribution to the document that should rank higher
    minus its contribution to the other."""
    of_chosen, of_rival_only = ([r for r in pair.features if (r.chosen is None) is lacks] for lacks in (False, True))
    shown = [*of_chosen[:MAX_OWN], *of_rival_only][: MAX_OWN + MAX_RIVAL]
    rows = []
    for r in shown:
        values = [v if isinstance(v, str) else f"{v:.6g}" for v in (r.better, r.worse)]
        rows.append([r.feature, signed(r.chosen), signed(r.rival), *values])
    rest = [r for r in pair.features if r not in shown]
    n = len(rest) + pair.others[0]
    if n:
        sum_of_chosen, sum_of_rival = (sum(getattr(r, name) or 0.0 for r in rest) for name in ("chosen", "rival"))
        by_chosen = signed(sum_of_chosen) if any(r.chosen is not None for r in rest) else "-"
        by_rival = "-" if pair.rival is None else signed(sum_of_rival + pair.others[1])
        rows.append([f"{n} other{'' if n == 1 else 's'}", by_chosen, by_rival, "", ""])
    rows.append(["together", signed(pair.chosen), signed(pair.rival), "", ""])
    heads = [f"value in {d.document} (grade {d.grade:g})" for d in (pair.better, pair.worse)]
    title = f"Query {query}: why {pair.better.document} is {'not ' if lost else ''}ranked above {pair.worse.document}"
    deciding = [feature for _, feature in _deciding(pair, lost)]
    return Table(
        f"{title} ({listed(deciding, 3)})" if deciding else title,
        [noun, "chosen model", rival, *heads],
        rows,
        note=pair_sentence(pair, rival, lost, noun),
        strong=(len(rows) - 1,),
        folded=True,
    )


def _deciding(pair: Pair, lost: bool, of: str = "chosen") -> list[tuple[float, str]]:
    """(contribution, feature) of those that favour the order in which the chosen model, or the rival, has the two
    documents, the strongest first."""
    above = lost is (of == "rival")  # whether it has the better document above the other
    parts = [(getattr(r, of) or 0.0, r.feature) for r in pair.features]
    return sorted([p for p in parts if p[0] and (p[0] > 0) is above], key=lambda part: -abs(part[0]))


def _by(parts: Sequence[tuple[float, str]]) -> str:
    features = ", ".join(f"{feature} {signed(part)}" for part, feature in parts[:3])
    return f", by {features}" if features else ""


def pair_sentence(pair: Pair, rival: str, lost: bool, noun: str = FEATURE) -> str:
    """The two documents, their ranks by each ranker, and the features behind these."""
    a = pair.better
    b = pair.worse
    text = (
        f"{a.document} (grade {a.grade:g}) should rank above {b.document} (grade {b.grade:g}). "
        f"The chosen model puts them at ranks {a.chosen} and {b.chosen}"
    )
    text += _by(_deciding(pair, lost)) if pair.chosen else ": their scores are equal"
    text += f"; {rival} at ranks {a.rival} and {b.rival}{_by(_deciding(pair, lost, 'rival')) if pair.rival else ''}"
    return (
        f"{text}. Each value is the contribution of the {noun} to the score of the first document minus its "
        "contribution to the score of the second. The values add up to the difference of the scores."
    )


def comparison_table(test: Comparison, confidence: float) -> Table:
    """The systems on the test queries, compared with the first one, the chosen model."""
    rows = []
    for r in test.rows(confidence):
        against = ["", "", ""]
        if "difference" in r:
            between = interval(r["difference_low"], r["difference_high"], signed)
            against = [signed(r["difference"]), between, p_text(r["p_holm"])]
        rows.append([r["system"], r["metric"], figure(r["mean"]), interval(r["low"], r["high"]), *against])
    between = f"{as_percent(confidence)} interval"
    title = f"Test queries: means; differences from the chosen model with {between}s, paired t test, Holm-corrected p"
    head = ["system", "metric", "mean", between, "difference", between, "p (Holm)"]
    return Table(title, head, rows, screen=(0, 1, 2, 4, 5, 6))


def bounds(row: Fact) -> str:
    """The interval of a difference."""
    return interval(row["low"], row["high"], signed)


# -- origin -----------------------------------------------------------------------------------------------------------


def origin_tables(origin: Origin, plan: SelectionPlan) -> list[Table]:
    """Files, date, command, versions."""
    drawn = f"{plan.cv}, drawn with seed {plan.random_state}"
    run = [
        ["date", origin.date.replace("T", " ").replace("+00:00", " UTC")],
        ["command", origin.command or "a call of sparserank.select in Python"],
        ["versions", ", ".join(f"{name} {number}" for name, number in origin.versions.items())],
        ["folds", drawn if plan.protocol == "cv" else "none: chosen on the validation queries"],
    ]
    data = [
        [p.part, f"{p.documents:,}", f"{p.queries:,}", p.hash, ", ".join(p.files) or "from memory"] for p in origin.data
    ]
    head = ["part", "documents", "queries", "hash", "files"]
    return [Table("Run", ["", "what"], run, words=(1,)), Table("Data", head, data, words=(4,))]
