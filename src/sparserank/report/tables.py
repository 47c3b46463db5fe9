"""What a selection says, as tables: the screen and the page show the same ones."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from sparserank.crossval.choice import FEATURE, Candidate, Choice
from sparserank.evaluation import Comparison
from sparserank.evaluation.statistics import as_percent
from sparserank.report.document import Table
from sparserank.selection.plan import SelectionPlan
from sparserank.selection.queries import Added, Pair, QueryDifference
from sparserank.selection.result import SelectionResult
from sparserank.selection.statements import estimated, share
from sparserank.text import figure, listed, lower, p_text, percent, upper
from sparserank.transforms import NONE

MAX_LEFT = 50  # features left out that a page lists
MAX_OWN, MAX_RIVAL = 12, 5  # features of a pair of documents: of the chosen model, of the rival alone


def where(result: SelectionResult) -> str:
    return "out of fold" if result.plan.protocol == "cv" else "on validation"


def penalty_table(result: SelectionResult) -> Table:
    """The smallest model of each penalty whose loss is small enough, with the certificate of its path."""
    rows = []
    for label, path in result.paths.items():
        c = path.certificate()
        gap = "-" if c.gap is None else f"{c.gap:.0e}"
        certificate = [c.status, f"{c.kkt_violation:.0e}", gap, figure(c.time_s, 1)]
        found = result.by_penalty.get(label)
        if label not in result.by_penalty:
            dense = max((d for d in result.choice.candidates if d.penalty == label), key=lambda d: d.mean)
            name = label.replace("ridge", "dense (ridge)", 1)
            rows.append([name, str(dense.n_features), *losses(result.choice, dense), *certificate])
        elif found is None:
            rows.append([label, "none", "-", "-", *certificate])
        else:
            rows.append([found.label, str(found.n_features), *losses(result.choice, found), *certificate])
    rule = result.plan.rule
    enough = "with an estimated loss of" if rule.guarantee is None else "shown to lose"
    return Table(
        f"{'Cheapest' if rule.by_cost else 'Smallest'} model of each penalty {enough} at most "
        f"{100 * rule.largest_loss:.3g}%, and the best dense one ({result.plan.metric.title} {where(result)}, "
        f"{result.n_queries} queries)",
        ["penalty", f"{result.noun}s", "below the best", "loses at most", "path", "worst kkt", "gap", "s"],
        rows,
        note=" ".join(_certified(result)),
    )


def _certified(result: SelectionResult) -> list[str]:
    """What the certificates of the table do not hold for."""
    said = ["Path, worst kkt and gap describe the whole path of the penalty."]
    if any(c is not None and c.relax > 0 for c in result.by_penalty.values()):
        said.append(
            "A relaxed (1) model is the optimum of another problem, a ridge problem on what it uses. A relaxed (0.5) "
            "model is not the optimum of any problem."
        )
    conditions = dict.fromkeys(path.certificate().gap_condition for path in result.paths.values())
    return [*said, *(f"The gaps are valid {condition}." for condition in conditions if condition is not None)]


def size_table(result: SelectionResult, most: int | None = None) -> Table:
    """The best model of at most each number of features, or each cost (up to `most`, the chosen one and the best in any
    case), with bounds that hold for all of them at once; the chosen one stands out."""
    choice = result.choice
    sizes = [
        c
        for i, c in enumerate(result.by_size)
        if most is None or (i < most if choice.by_cost else c.n_features <= most) or c in (result.chosen, result.best)
    ]
    moves = dict(zip(result.by_size, result.moves(), strict=True))
    head, rows = size_rows(choice, sizes, result.plan, "penalty")
    return Table(
        f"Best model of at most each {'cost' if choice.by_cost else 'size'} by {result.plan.metric.title} "
        f"(simultaneous bounds, {as_percent(result.plan.confidence)})",
        [*head, "enter", "leave"],
        [[*row, *map(listed, moves[c])] for row, c in zip(rows, sizes, strict=True)],
        screen=tuple(range(len(head))),
        note="A size without a better model than a smaller one has no row.",
        words=(head.index("penalty"), len(head), len(head) + 1),
        strong=tuple(i for i, c in enumerate(sizes) if c is result.chosen),
    )


def size_rows(
    choice: Choice, shown: Sequence[Candidate], plan: SelectionPlan, what: str
) -> tuple[list[str], list[list[str]]]:
    """(the head, a row for each) of candidates by size: how many features they have, what they cost where that counts,
    `what` their label says, what they are worth, what they lose."""
    costed = plan.costs is not None or choice.by_cost
    head = [f"{plan.noun}s", *(["cost"] if costed else []), what, repr(plan.metric), "below the best", "loses at most"]
    rows = [
        [
            str(c.n_features),
            *([f"{c.cost:g}"] if costed else []),
            c.label,
            figure(c.mean),
            *losses(choice, c),
        ]
        for c in shown
    ]
    return head, rows


def rival_table(result: SelectionResult) -> Table:
    """The rankers that were compared on the same queries, and what the chosen model is worth beside each."""
    confidence = as_percent(result.plan.confidence)
    rows = []
    for r in result.rivals.compared:
        difference, low, high = r.percents
        between = f"[{low}, {high}]" if math.isfinite(r.low) else "-"
        shown = f"shown {r.shown}" if r.shown else "not shown to differ"
        rows.append([r.name, str(r.n_features), figure(r.mean), difference, between, shown])
    return Table(
        f"Rivals, compared by {result.plan.metric.title} {where(result)}, never chosen (simultaneous intervals)",
        [
            "ranker",
            f"{result.noun}s",
            repr(result.plan.metric),
            "chosen model",
            f"{confidence} interval",
            "the ranker is",
        ],
        rows,
        words=(5,),
    )


def family_table(result: SelectionResult) -> Table:
    """The selected features, each with the redundant ones that were left out."""
    families: dict[str, list[str]] = {}
    for r in result.redundant.left:
        families.setdefault(r.selected, []).append(f"{r.feature} ({figure(r.correlation, 2, signed=True)})")
    return Table(
        f"Selected {result.noun}s and the {result.noun}s redundant with each (correlation)",
        ["selected", "redundant", f"{result.noun}s"],
        [[selected, str(len(own)), listed(own, MAX_LEFT)] for selected, own in families.items()],
        words=(2,),
    )


def substitute_table(result: SelectionResult) -> Table:
    """What may take the place of selected features."""
    metric, confidence = result.metric, as_percent(result.plan.confidence)
    rows = [
        [
            s.feature,
            s.other,
            figure(s.difference, signed=True),
            interval(vars(s), signed=True),
            figure(s.correlation, 2),
        ]
        for s in result.worth.substitutes
    ]
    return Table(
        f"Exchanges of one {result.noun} within the margin {where(result)}, both refitted (intervals of each pair "
        "alone)",
        ["selected", "in its place", metric, f"{confidence} interval", "correlation"],
        rows,
        words=(1,),
    )


def query_tables(result: SelectionResult) -> list[Table]:
    """The queries lost and won most, each with the features that decide."""
    found = result.queries
    out = []
    for title, own, lost in (("Lost most", found.lost, True), ("Won most", found.won, False)):
        rows = [
            [q.query, str(q.n_docs), figure(q.chosen), figure(q.rival), figure(q.difference, signed=True)] for q in own
        ]
        head = ["query", "documents", "chosen model", found.rival, "difference"]
        if rows:
            out.append(Table(f"{title}, by {result.metric}", head, rows))
        for q in own:
            out += [] if q.pair is None else [_pair_table(q.query, q.pair, found.rival, lost, result.noun)]
            out += [_list_table(q)] if q.lists else []
    return out


def _list_table(q: QueryDifference) -> Table:
    """The first documents of a query, ranker by ranker."""
    columns = [[f"{document} ({grade:g})" for document, grade in own.documents] for own in q.lists]
    rows = [[str(rank + 1), *cells] for rank, cells in enumerate(zip(*columns, strict=True))]
    return Table(
        f"Query {q.query}: the first {len(rows)} documents of each ranker",
        ["rank", *(own.ranker for own in q.lists)],
        rows,
        note="The grades are in brackets.",
        folded=True,
    )


def _pair_table(query: str, pair: Pair, rival: str, lost: bool, noun: str) -> Table:
    """Why a query is lost, or won: what each feature adds to the document that should be above,
    less what it adds to the other."""

    def added(value: float | None) -> str:
        return figure(value, signed=True)

    own = [r for r in pair.features if r.chosen is not None]
    shown = [*own[:MAX_OWN], *(r for r in pair.features if r.chosen is None)][: MAX_OWN + MAX_RIVAL]
    rows = [[r.feature, added(r.chosen), added(r.rival), f"{r.better:.6g}", f"{r.worse:.6g}"] for r in shown]
    rest = [r for r in pair.features if r not in shown]
    n = len(rest) + pair.others[0]
    if n:
        of_chosen, of_rival = (sum(getattr(r, name) or 0.0 for r in rest) for name in ("chosen", "rival"))
        by_chosen = added(of_chosen) if any(r.chosen is not None for r in rest) else "-"
        by_rival = "-" if pair.rival is None else added(of_rival + pair.others[1])
        rows.append([counted_others(n), by_chosen, by_rival, "", ""])
    rows.append(["together", added(pair.chosen), added(pair.rival), "", ""])
    better, worse = (f"{d.document} (grade {d.grade:g})" for d in (pair.better, pair.worse))
    why = listed([r.feature for r in deciding(pair, lost)], 3)
    return Table(
        f"Query {query}: why {pair.better.document} is {'not ' if lost else ''}ranked above {pair.worse.document}"
        + (f" ({why})" if why != "-" else ""),
        [noun, "chosen model", rival, f"value in {better}", f"value in {worse}"],
        rows,
        note=pair_sentence(pair, rival, lost, noun),
        strong=(len(rows) - 1,),
        folded=True,
    )


def counted_others(n: int) -> str:
    return f"{n} other{'' if n == 1 else 's'}"


def deciding(pair: Pair, lost: bool) -> list[Added]:
    """The features that pull the two documents the way in which the chosen model has them, the strongest first."""
    way = -1.0 if lost else 1.0
    return sorted((r for r in pair.features if r.chosen and way * r.chosen > 0), key=lambda r: -abs(r.chosen or 0.0))


def pair_sentence(pair: Pair, rival: str, lost: bool, noun: str = FEATURE) -> str:
    """The documents, who has them right, and by which features."""
    a, b = pair.better, pair.worse
    text = (
        f"{a.document} (grade {a.grade:g}) should rank above {b.document} (grade {b.grade:g}). "
        f"The chosen model puts them at ranks {a.chosen} and {b.chosen}"
    )
    by = ", ".join(f"{r.feature} {figure(r.chosen, signed=True)}" for r in deciding(pair, lost)[:3])
    text += f", by {by}" if pair.chosen and by else ": their scores are equal" if not pair.chosen else ""
    text += f"; {rival} at ranks {a.rival} and {b.rival}"
    if pair.rival is not None:
        right = [r for r in pair.features if r.rival and (r.rival > 0) is lost]
        strongest = sorted(right, key=lambda r: -abs(r.rival or 0.0))[:3]
        if strongest and pair.rival:
            text += ", by " + ", ".join(f"{r.feature} {figure(r.rival, signed=True)}" for r in strongest)
    return (
        f"{text}. Each value is the contribution of the {noun} to the score of the first document minus its "
        "contribution to the score of the second. The values add up to the difference of the scores."
    )


def stability_table(result: SelectionResult) -> Table:
    """How often half-samples select each feature."""
    found, names = result.stability, result.model.feature_names
    assert found is not None
    selected = set(result.model.support.tolist())
    rows = [[names[j], f"{found.frequency[j]:.0%}", "yes" if j in selected else ""] for j in found.often()]
    return Table(
        f"Selection frequency in {found.n_samples} half-samples of the queries",
        [result.noun, "selection frequency", "in the model"],
        rows,
        folded=True,
    )


def origin_tables(result: SelectionResult) -> list[Table]:
    """Files, date, command, versions."""
    origin, plan = result.origin, result.plan
    if origin is None:
        return []
    made = [
        ["date", origin.date.replace("T", " ").replace("+00:00", " UTC")],
        ["command", origin.command or "a call of sparserank.select in Python"],
        ["versions", ", ".join(f"{name} {number}" for name, number in origin.versions.items())],
        [
            "folds",
            f"{plan.cv}, drawn with seed {plan.random_state}"
            if plan.protocol == "cv"
            else "none: chosen on the validation queries",
        ],
    ]
    data = [
        [p.part, f"{p.documents:,}", f"{p.queries:,}", p.hash, ", ".join(p.files) or "from memory"] for p in origin.data
    ]
    return [
        Table("Run", ["", "what"], made, words=(1,)),
        Table("Data", ["part", "documents", "queries", "hash", "files"], data, words=(4,)),
    ]


def losses(choice: Choice, c: Candidate) -> list[str]:
    """What a candidate loses against the best: the estimate, and the bound."""
    return [estimated(c, choice), bound_text(choice, c)]


def bound_text(choice: Choice, c: Candidate) -> str:
    return share(choice.bound(c), choice) if math.isfinite(choice.bound(c)) else "-"


def feature_table(result: SelectionResult) -> Table:
    """The selected features, largest weight first, and what each is worth."""
    metrics = [repr(m) for m in result.plan.metrics]
    halves = result.stability is not None
    rows = []
    for d in result.worth.features:
        kept = [f"{selection_frequency(result, d):.0%}"] if halves else []
        rows.append([shaped_name(d), figure(d["coef"]), *kept, f"{d['share']:.0%}", *_costs(d["cost"], metrics)])
    return Table(
        f"Selected features and their ablation costs {where(result)}, with the others refitted",
        [
            "feature",
            "weight",
            *(["half-samples"] if halves else []),
            "sets",
            *[f"{m} cost" for m in metrics],
            f"{as_percent(result.plan.confidence)} interval ({result.metric})",
        ],
        rows,
        note=(
            "The column half-samples is the share of them that select the feature. Sets is the share of nearly equal "
            "models that use it."
            if halves
            else ""
        ),
    )


def zeroed_table(result: SelectionResult) -> Table:
    """The selected features, and what setting the weight of each to 0 costs."""
    metrics = [repr(m) for m in result.plan.metrics]
    return Table(
        f"Cost of setting the weight of each {result.noun} to 0 {where(result)}, with the other weights unchanged",
        [
            result.noun,
            *[f"{m} cost" for m in metrics],
            f"{as_percent(result.plan.confidence)} interval ({result.metric})",
        ],
        [[shaped_name(d), *_costs(d["zeroed"], metrics)] for d in result.worth.features],
        folded=True,
    )


def group_table(result: SelectionResult) -> Table:
    """The groups in use, the dearest first, and what each is worth."""
    metrics = [repr(m) for m in result.plan.metrics]
    rows = [
        [d["group"], f"{d['group_cost']:g}", str(len(d["features"])), *_costs(d["cost"], metrics)]
        for d in result.worth.feature_groups
    ]
    share = as_percent(result.plan.confidence)
    return Table(
        f"Groups in use and their ablation costs {where(result)}, with the others refitted",
        ["group", "cost", "features", *[f"{m} cost" for m in metrics], f"{share} interval ({result.metric})"],
        rows,
    )


def _costs(costs: dict[str, Any] | None, metrics: Sequence[str]) -> list[str]:
    """The cost by each metric, the interval of the first; where nothing is known, dashes."""
    if costs is None:
        return ["-"] * (len(metrics) + 1)
    return [*(figure(costs[m]["cost"], signed=True) for m in metrics), interval(costs[metrics[0]], signed=True)]


def shaped_name(row: dict[str, Any]) -> str:
    """The feature of a row of `worth.features` as it enters the model: curve(log(name))."""
    if row["transform"] == NONE:
        return str(row["feature"])
    outer, _, inner = str(row["transform"]).removesuffix(")").partition("(")
    return f"{outer}({inner}({row['feature']}))" if inner else f"{outer}({row['feature']})"


def selection_frequency(result: SelectionResult, row: dict[str, Any]) -> float:
    """The share of half-samples that keep the feature of a row of `worth.features`."""
    assert result.stability is not None
    return float(result.stability.frequency[result.model.feature_names.index(row["feature"])])


def test_table(result: SelectionResult) -> Table:
    """The chosen model beside its rivals on the test queries."""
    assert result.test is not None
    return comparison_rows(result.test, result.plan.confidence)


def comparison_rows(test: Comparison, confidence: float) -> Table:
    """Systems on test queries beside the first, the chosen one."""
    share = as_percent(confidence)
    rows = []
    for r in test.rows(confidence):
        row = [r["system"], r["metric"], figure(r["mean"]), interval(r)]
        if "difference" in r:
            against = interval({"low": r["difference_low"], "high": r["difference_high"]}, signed=True)
            row += [figure(r["difference"], signed=True), against, p_text(r["p_holm"])]
        else:
            row += ["", "", ""]
        rows.append(row)
    return Table(
        f"Test queries: means; differences from the chosen model with {share} intervals, paired t test, Holm-corrected "
        "p",
        ["system", "metric", "mean", f"{share} interval", "difference", f"{share} interval", "p (Holm)"],
        rows,
        screen=(0, 1, 2, 4, 5, 6),
    )


def interval(row: dict[str, Any], signed: bool = False) -> str:
    return f"[{figure(row['low'], signed=signed)}, {figure(row['high'], signed=signed)}]"


def on_test(test: Comparison, metric: str, confidence: float, others: tuple[str, ...], name: str) -> str:
    """The chosen model on the test queries, compared with the system whose name begins with one of `others`."""
    rows = [r for r in test.rows(confidence) if r["metric"] == metric]
    chosen = next(r for r in rows if r["system"] == test.baseline)
    n = len(test.values[test.baseline][metric])
    text = f"Your {n:,} test {'query' if n == 1 else 'queries'}: chosen {figure(chosen['mean'])}"
    other = next((r for r in rows if r["system"].startswith(others) and r is not chosen), None)
    if other is not None:
        unit = abs(other["mean"]) or 1.0
        low, high = -other["difference_high"] / unit, -other["difference_low"] / unit
        text += f", {name} {figure(other['mean'])}, {percent(-other['difference'] / unit)}"
        if math.isfinite(high - low):
            shown = ": chosen is better" if low > 0 else f": {name} better" if high < 0 else ""
            text += f" ({lower(low).removesuffix('%')} to {upper(high)}, this pair alone){shown}"
    return f"{text}."
