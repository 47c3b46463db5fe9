"""The output of a fusion, whose features are retrievers: the screen of `fuse` and the page of its selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from sparserank.crossval.choice import Candidate
from sparserank.data.fusion.norms import MINMAX
from sparserank.evaluation.statistics import as_percent
from sparserank.report.document import Columns, Fact, Section, Table
from sparserank.report.page import render_page
from sparserank.report.screen import (
    ALONE,
    MAX_LINES,
    MAX_WIDTH,
    Lines,
    ModelScreen,
    Row,
    aligned,
    first_of,
)
from sparserank.selection.fusion_plan import MAX_RETRIEVER, TITLES, shown_weight
from sparserank.selection.rivals import ComparedRival
from sparserank.text import figure, interval, relative, shortened, signed

if TYPE_CHECKING:
    from sparserank.selection.fusion import FusionResult


def fusion_lines(result: FusionResult, folder: str | None = None, *, width: int = MAX_WIDTH) -> Lines:
    """The lines on the screen; folder: directory of the run, for the next commands."""
    return FusionScreen(result.selection, result.claims, folder, width, result).lines(MAX_LINES, True)


@dataclass(frozen=True)
class FusionScreen(ModelScreen):
    """The screen of a fusion; its features are retrievers."""

    fusion: FusionResult

    notes_in: ClassVar = "result.selection.notes"

    def shown(self, name: str, c: Candidate) -> str:
        """The name of a candidate's row, with its norm."""
        if c is self.result.choice.named:
            return f"{name}: {self.all}"
        return f"{name} ({self.fusion.norm_of(c)})"

    def best(self) -> list[Row]:
        """The choice of the rule by itself if the named formula is chosen; otherwise the best formula."""
        c = self.result.choice.contender
        choice = self.result.choice
        if c is None or choice.chosen is not choice.named or c is choice.named or choice.rule.limit is not None:
            return super().best()
        return [] if c.formula else [(self.shown("best learned", c), c.n_features, c.mean, "")]

    def rivals(self) -> Sequence[ComparedRival]:
        """The formulas of all retrievers, and the best single retriever, unless it has a row."""
        of_all = [r for r in self.result.rivals.compared if r.n_features != 1]
        sum_of_all = TITLES[MINMAX]
        named = [replace(r, name=f"{r.name} ({MINMAX})") if r.name == sum_of_all else r for r in of_all]
        single = self.fusion.best_alone
        if single is not None:
            named.append(replace(single, name=f"{ALONE}{single.name.removesuffix(' alone')}"))
        return named

    def alone(self) -> list[Row]:
        return []

    def worth(self, room: int) -> Lines:
        """The kept retrievers, and the change if each is switched off."""
        rows = [row for row in self.fusion.rows() if row["kept"]]
        shown, rest = first_of(rows, room, 1)
        often = self._often()
        costs = bool(self.fusion.facts.costs)
        optional = ["cost" if costs else "", "half-samples" if often else ""]
        cells = [["weight", f"alone {self.result.metric}", "if switched off", *optional]]
        mean = self.result.chosen.mean
        for row in shown:
            loss = "-"
            if len(rows) > 1 and row["loss"] is not None:  # a formula needs a retriever
                loss = relative(-row["loss"], -row["loss_high"], -row["loss_low"], mean, shown=False)
            cost = f"{row['cost']:g}" if costs else ""
            often_kept = often.get(row["retriever"], "")
            cells.append([shown_weight(row["weight"], 3), _alone(row), f"{loss:>24}", cost, often_kept])
        lines = self.fitted(["retriever", *(row["retriever"] for row in shown)], cells, MAX_RETRIEVER, 4)
        table = aligned(lines, "<", ">", ">8", ">", ">6", ">")
        return [*table, *self.more_names([row["retriever"] for row in rest])]

    def _often(self) -> dict[str, str]:
        """{kept retriever: '97 of 100'}, the number of half-samples on which any of its norms was selected."""
        if self.result.stability is None:
            return {}
        n = self.result.stability.n_samples
        rows = self.fusion.by_retriever.facts.features
        return {row["feature"]: f"{round(row['selection_frequency'] * n)} of {n}" for row in rows}

    def unused(self, n_pairs: int) -> str:
        """The retrievers that can be switched off; `n_pairs` is ignored."""
        fusion = self.fusion
        dropped = self.fusion.dropped
        if not dropped:
            return "Every retriever is kept."
        text = f"Switched off: {', '.join(shortened(name, MAX_RETRIEVER) for name in dropped)}."
        if fusion.cost is None or fusion.full_cost is None:
            return text
        rule = "slowest" if fusion.facts.cost_rule == "max" else "total"
        return f"{text} Cost ({rule}): {fusion.cost:g} instead of {fusion.full_cost:g}."

    def exports(self, place: str) -> Lines:
        """Commands that use the run."""
        return [
            self.fusion.export_command(self.result.model, place),
            f"sparserank predict {place} RUNS... --run fused.run",
        ]


# -- the page ---------------------------------------------------------------------------------------------------------


def render_fusion(result: FusionResult, place: str | None = None) -> str:
    """One HTML document.

    Parameters
        place   the directory of the run, for commands; None: there is none
    """
    formula = result.formula
    terms = " + ".join(f"{shown_weight(t.weight, 3)} {t.retriever}" for t in formula.terms)
    rules = "" if formula.engine is None else f", by the rules of {formula.engine}"
    text = f"score = {terms}. Each list is cut at rank {formula.depth} and normalised by {formula.norm}{rules}."
    section = Section("Retrievers", text, [retriever_table(result)])
    return render_page(result, place, result.by_retriever, section)


def retriever_table(result: FusionResult) -> Table:
    """Every retriever: its weight, its metric by itself, and the loss if it is switched off."""
    selection = result.selection
    facts = result.facts
    columns: Columns = {
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
