"""The output of a fusion, whose features are retrievers: the screen of `fuse` and the page of its selection."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from sparserank.crossval.choice import Candidate
from sparserank.data.fusion.norms import MINMAX
from sparserank.evaluation.statistics import as_percent
from sparserank.export.fusion import fusion_command
from sparserank.model.feature import Feature
from sparserank.model.fusion import formula_of
from sparserank.model.ranking_model import RankingModel
from sparserank.report.document import Column, Fact, Section, Table
from sparserank.report.page import commands_of_sizes, render_page
from sparserank.report.screen import (
    ALONE,
    MAX_LINES,
    MAX_WIDTH,
    MIN_WIDTH,
    Row,
    Screen,
    aligned,
    first_of,
    more_in,
    shortened,
)
from sparserank.selection.fusion import TITLES, FusionResult, shown_weight
from sparserank.selection.queries import Added, QueryDifference
from sparserank.selection.result import SelectionResult
from sparserank.selection.rivals import ComparedRival
from sparserank.selection.statements import all_equal, coarse, needed, queries
from sparserank.text import figure, interval, relative, signed
from sparserank.transforms import NONE

MAX_NAMED = 4  # retrievers in the first line
MAX_RETRIEVER = 28  # characters of a name
FINE = 0.01  # loss for which the number of queries to rule it out is shown, relative to the best


def fusion_lines(
    result: FusionResult, folder: str | None = None, *, most: int = MAX_LINES, width: int = MAX_WIDTH
) -> list[str]:
    """The lines on the screen; folder: directory of the run, for the next commands."""
    more = more_in(folder, "result.selection.notes")
    screen = FusionScreen(result.selection, max(MIN_WIDTH, min(width, MAX_WIDTH)), more, result)
    return screen.lines(folder, most, True)


@dataclass(frozen=True)
class FusionScreen(Screen):
    """The screen of a fusion; its features are retrievers."""

    fusion: FusionResult
    star_note = "'at most': one-sided; 'if switched off': each pair alone"

    def named(self) -> str:
        """Whether the queries can tell, and the first kept retrievers with their weights."""
        doubt = f"; {self.fusion.doubt}" if self.fusion.doubt else ""
        if self.result.chosen is self.result.choice.named:
            return doubt
        weights = list(self.fusion.weights.items())
        said = [f"{shortened(name, MAX_RETRIEVER)} {shown_weight(weight, 2)}" for name, weight in weights[:MAX_NAMED]]
        return f"{doubt}: {', '.join(said)}{', ...' if len(weights) > MAX_NAMED else ''}"

    def opening(self, kept: str) -> Iterator[str]:
        """What is kept; fewer retrievers that may be as good; the queries."""
        yield kept
        yield f"{self.fusion.fewer}." if self.fusion.fewer else ""
        yield f"{self.judged()}."

    def judged(self) -> str:
        """The number of queries, the depth and the norm."""
        cut = f"lists cut at rank {self.fusion.facts.depth}, norm {self.fusion.formula.norm}"
        return f"{queries(self.result.n_queries)}, each scored by weights not learned from it; {cut}"

    def shown(self, name: str, c: Candidate) -> str:
        """The name of a candidate's row, with its norm."""
        if c is self.result.choice.named:
            return f"{name}: {self.all}"
        return f"{name} ({self.fusion.norm_of(c)})"

    def best(self) -> list[Row]:
        """The choice of the rule by itself if the named formula is chosen; otherwise the best formula."""
        c, choice = self.result.choice.contender, self.result.choice
        if c is None or choice.chosen is not choice.named or c is choice.named or choice.rule.limit is not None:
            return super().best()
        return [] if c.formula else [(self.shown("best learned", c), c.n_features, c.mean, "")]

    def rivals(self) -> Sequence[ComparedRival]:
        """The formulas of all retrievers, and the best single retriever, unless it has a row."""
        compared, shown = self.result.rivals.compared, (self.result.chosen.formula, self.result.dense.formula)
        single = max((r for r in compared if r.n_features == 1), key=lambda r: r.mean, default=None)
        named = [replace(r, name=self._with_norm(r.name)) for r in compared if r.n_features != 1]
        if single is None or single.name in shown:
            return named
        return [*named, replace(single, name=f"{ALONE}{single.name.removesuffix(' alone')}")]

    def _with_norm(self, name: str) -> str:
        norm = next((norm for norm, title in TITLES.items() if title == name), None)
        return f"{name} ({norm})" if norm == MINMAX else name

    def alone(self) -> list[Row]:
        return []

    def sentences(self) -> Iterator[str]:
        """Also the number of queries that would show a small difference."""
        yield from super().sentences()
        choice = self.result.choice
        if any(rival.name.startswith(ALONE) for rival in self.rivals()):
            yield f"{ALONE.strip()} chosen on these queries: expect less on others."
        if self.has_intervals and not all_equal(choice) and not coarse(choice) and choice.resolution > FINE:
            yield f"To rule out a loss of {FINE:.0%}, you would need {needed(choice, FINE)} queries."

    def worth(self, room: int) -> list[str]:
        """The kept retrievers, and the change if each is switched off."""
        rows = [row for row in self.fusion.rows() if row["kept"]]
        shown, rest = first_of(rows, room, 1)
        often, costs = self._often(), bool(self.fusion.facts.costs)
        optional = ["cost" if costs else "", "half-samples" if often else ""]
        cells = [["weight", f"alone {self.result.metric}", "if switched off", *optional]]
        for row in shown:
            loss = self._switched_off(row) if len(rows) > 1 else "-"  # a formula needs a retriever
            cost = f"{row['cost']:g}" if costs else ""
            often_kept = often.get(row["retriever"], "")
            cells.append([shown_weight(row["weight"], 3), _alone(row), f"{loss:>24}", cost, often_kept])
        most = min(MAX_RETRIEVER, max(len(row["retriever"]) for row in shown))
        room, cells = self.beside(cells, most, 4)
        names = ["retriever", *(shortened(row["retriever"], room) for row in shown)]
        lines = [[name, *line] for name, line in zip(names, cells, strict=True)]
        table = aligned(lines, "<", ">", ">8", ">", ">6", ">")
        return [*table, *self.more_names([row["retriever"] for row in rest])]

    def _switched_off(self, row: Fact) -> str:
        """The change of the mean without a retriever, with its interval: '-2.1% (-4.0 to -0.3%)'."""
        if row["loss"] is None:
            return "-"
        return relative(-row["loss"], -row["loss_high"], -row["loss_low"], self.result.chosen.mean, shown=False)

    def _often(self) -> dict[str, str]:
        """{kept retriever: '97 of 100'}, the number of half-samples on which any of its norms was selected."""
        if self.result.stability is None:
            return {}
        n, rows = self.result.stability.n_samples, of_retrievers(self.fusion).facts["features"]
        return {row["feature"]: f"{round(row['selection_frequency'] * n)} of {n}" for row in rows}

    def unused(self, n_pairs: int) -> str:
        """The retrievers that can be switched off; `n_pairs` is ignored."""
        fusion, dropped = self.fusion, self.fusion.dropped
        if not dropped:
            return "Every retriever is kept."
        text = f"Switched off: {', '.join(shortened(name, MAX_RETRIEVER) for name in dropped)}."
        if fusion.cost is None or fusion.full_cost is None:
            return text
        rule = "slowest" if fusion.facts.cost_rule == "max" else "total"
        return f"{text} Cost ({rule}): {fusion.cost:g} instead of {fusion.full_cost:g}."

    def exports(self, place: str) -> list[str]:
        """Commands that use the run."""
        return [fusion_command(self.fusion.formula, place), f"sparserank predict {place} RUNS... --run fused.run"]


# -- the page ---------------------------------------------------------------------------------------------------------


def render_fusion(result: FusionResult, place: str | None = None) -> str:
    """One HTML document.

    Parameters
        place   the directory of the run, for commands; None: there is none
    """

    def export(model: RankingModel, at: str) -> str:
        return fusion_command(formula_of(model), at)

    commands = commands_of_sizes(result.selection, place, export, "result.formula", "result.selection")
    said = [f"{text[0].upper()}{text[1:]}." for text in (result.doubt, result.fewer) if text]
    section = Section("Retrievers", " ".join([*said, _formula(result)]), [retriever_table(result)])
    return render_page(of_retrievers(result), section, commands)


def of_retrievers(result: FusionResult) -> SelectionResult:
    """The selection with retrievers as features, instead of one column per retriever and norm."""
    found, names = result.selection, result.facts.retrievers
    n_norms = found.model.n_features // len(names)

    def named(feature: str) -> str:
        return feature.rpartition(":")[0]

    def model(m: RankingModel) -> RankingModel:
        features = [Feature(f.index // n_norms, named(f.name), f.coef) for f in m.features]  # a formula has one norm
        return RankingModel(tuple(features), names, NONE, m.parameters, m.metadata)

    chosen, worth, stability = model(found.model), found.worth, found.stability
    if stability is not None:
        kept = np.asarray(stability.kept.reshape(len(stability.kept), len(names), n_norms).any(axis=2))
        stability = replace(stability, kept=kept, chosen=chosen.support, n_varying=len(names))
    constant = list(map(named, found.constant_features))
    exchanges = [replace(s, feature=named(s.feature), other=named(s.other)) for s in worth.substitutes]
    lost, won = (tuple(_of_retrievers(q, named) for q in own) for own in (found.queries.lost, found.queries.won))
    left = [replace(r, feature=named(r.feature), selected=named(r.selected)) for r in found.redundant.left]
    apart = {r.feature: r for r in reversed(left) if r.feature not in result.weights}
    return replace(
        found,
        model=chosen,
        models=[model(m) for m in found.models],
        size_costs=[of and {named(feature): cost for feature, cost in of.items()} for of in found.size_costs],
        worth=replace(
            worth,
            features=[{**row, "feature": named(row["feature"])} for row in worth.features],
            substitutes=tuple(s for s in exchanges if s.feature != s.other),
        ),
        stability=stability,
        redundant=replace(found.redundant, left=tuple(apart.values())),
        queries=replace(found.queries, lost=lost, won=won),
        paths={label: replace(p, feature_names=tuple(map(named, p.feature_names))) for label, p in found.paths.items()},
        constant_features=tuple(name for name in names if constant.count(name) == n_norms),
    )


def _of_retrievers(q: QueryDifference, named: Callable[[str], str]) -> QueryDifference:
    """A query whose pair of documents is explained by retrievers. If the two rankers use a retriever under different
    norms, its value under the norm of the chosen formula is shown."""
    if q.pair is None:
        return q
    merged: dict[str, Added] = {}
    for row in q.pair.features:
        first = merged.get(named(row.feature))
        if first is None:
            merged[named(row.feature)] = replace(row, feature=named(row.feature))
        else:
            rivals = [r.rival for r in (first, row) if r.rival is not None]
            merged[first.feature] = replace(first, rival=sum(rivals) if rivals else None)
    return replace(q, pair=replace(q.pair, features=tuple(merged.values())))


def retriever_table(result: FusionResult) -> Table:
    """Every retriever: its weight, its metric by itself, and the loss if it is switched off."""
    selection, facts = result.selection, result.facts
    columns: dict[str, Column] = {
        "retriever": "{retriever}",
        "weight": lambda row: shown_weight(row["weight"], 3) if row["kept"] else "off",
        **({"cost": "{cost:g}"} if facts.costs else {}),
        "alone": _alone,
        "loss if switched off": _loss,
        **({f"judged@{facts.judged_depth}": "{judged:.0%}"} if facts.judged_share else {}),
        "queries": "{queries}",
    }
    title = f"Retrievers ({selection.plan.metric.title}, {selection.n_queries} queries)"
    note = (
        "The loss is measured out of fold with the other weights refitted; "
        f"{as_percent(selection.plan.confidence)} intervals of each retriever alone."
    )
    by_loss = sorted(result.rows(), key=lambda row: (not row["kept"], -(row["loss"] or 0.0)))
    return Table.of(title, by_loss, columns, note=note)


def _alone(row: Fact) -> str:
    """The metric of a retriever by itself."""
    return "" if row["alone"] is None else figure(row["alone"])


def _loss(row: Fact) -> str:
    """The loss if a retriever is switched off, with its interval."""
    if row["loss"] is None:
        return ""
    between = "" if row["loss_low"] is None else f" {interval(row['loss_low'], row['loss_high'], signed)}"
    return f"{signed(row['loss'])}{between}"


def _formula(result: FusionResult) -> str:
    formula = result.formula
    terms = " + ".join(f"{shown_weight(t.weight, 3)} {t.retriever}" for t in formula.terms)
    rules = "" if formula.engine is None else f", by the rules of {formula.engine}"
    return f"score = {terms}. Each list is cut at rank {formula.depth} and normalised by {formula.norm}{rules}."
