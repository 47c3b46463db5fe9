"""The result of `fuse`: the selection of retrievers, and facts on them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sparserank.arrow import frame_of
from sparserank.crossval.choice import Candidate, reference_name
from sparserank.data.fusion.norms import MINMAX, RRF, Norm
from sparserank.files import atomic_write
from sparserank.lazy import cached_property
from sparserank.model.fusion import FusionFormula, formula_of
from sparserank.options import option
from sparserank.options.arguments import check_arguments
from sparserank.selection.result import SelectionResult
from sparserank.selection.result_files import write_results
from sparserank.selection.statements import counted, headline
from sparserank.text import relative
from sparserank.workdir.directory import WorkDirectory

if TYPE_CHECKING:
    from sparserank.export.explanation import QueryExplanation

TITLES = {RRF: "RRF", MINMAX: "CombSUM"}
MAX_GAP = 0.05  # larger differences between the judged shares of kept and other retrievers are noted


def shown_weight(weight: float, decimals: int) -> str:
    """The weight with this many decimals, or in scientific notation if it would show as 0, which no kept weight is."""
    text = f"{weight:.{decimals}f}"
    return text if float(text) else f"{weight:.0e}"


def title_of(norm: Norm) -> str:
    """The name of the sum of all retrievers under a norm."""
    return TITLES.get(str(norm), f"equal weights, {norm}")


def alone(retriever: str) -> str:
    """The name of the formula of one retriever."""
    return f"{retriever} alone"


@dataclass(frozen=True)
class FusionFacts:
    """Facts on the retrievers.

    costs         {retriever: cost}; empty: none were given; cost_rule: 'sum' or 'max'
    judged_share  {retriever: share of its first `judged_depth` documents that are judged}; empty: all are
    n_lists       {retriever: number of judged queries for which it returned documents}
    """

    retrievers: tuple[str, ...]
    depth: int
    engine: str | None
    costs: Mapping[str, float]
    cost_rule: str
    unjudged: str
    judged_depth: int
    judged_share: Mapping[str, float]
    n_lists: Mapping[str, int]


@dataclass(frozen=True, repr=False)
class FusionResult:
    """The result of `fuse`.

    Attributes
    ----------
    selection : SelectionResult
        The models of every number of retrievers, bounds, rivals and everything else that `select` reports. A feature
        is a retriever under a norm: 'bm25:minmax'.
    facts : FusionFacts
        Depth, costs and judged shares of the retrievers.

    Examples
    --------
    >>> import sparserank as sr
    >>> good = {f"q{i}": {"a": 3.0, "b": 2.0, "c": 1.0} for i in range(20)}
    >>> bad = {f"q{i}": {"c": 3.0, "b": 2.0, "d": 1.0} for i in range(20)}
    >>> qrels = {f"q{i}": {"a": 1} for i in range(20)}
    >>> result = sr.fuse({"good": good, "bad": bad}, qrels, penalties="l1", half_samples=0)
    >>> result.weights
    {'good': 1.0}
    """

    selection: SelectionResult
    facts: FusionFacts

    def __repr__(self) -> str:
        return f"FusionResult({self.headline})"

    def __str__(self) -> str:
        """The text that the command line prints."""
        from sparserank.report.fusion import fusion_lines

        return "\n".join(fusion_lines(self))

    @cached_property
    def formula(self) -> FusionFormula:
        """The chosen formula."""
        return formula_of(self.selection.model)

    @property
    def retrievers(self) -> tuple[str, ...]:
        """The kept retrievers, largest weight first."""
        return tuple(self.weights)

    @property
    def weights(self) -> dict[str, float]:
        """{kept retriever: weight}, the largest first; absolute weights have the sum 1."""
        return {term.retriever: term.weight for term in self.formula.terms}

    @property
    def dropped(self) -> tuple[str, ...]:
        """The retrievers that can be switched off."""
        return tuple(r for r in self.facts.retrievers if r not in self.weights)

    @property
    def headline(self) -> str:
        """The retrievers to keep, the bound on the loss, and a formula with a higher mean, if any, in one line."""
        selection = self.selection
        said = headline(selection.choice, selection.metric, selection.n_all, selection.noun)
        weights = ", ".join(f"{name} {shown_weight(weight, 2)}" for name, weight in self.weights.items())
        kept, rest = said.split("; ", 1)
        return "; ".join(
            filter(None, [kept, self.doubt, f"{rest} ({weights})", self.fewer, selection.rivals.headline()])
        )

    @property
    def doubt(self) -> str:
        """That the queries cannot tell the choice from what it is measured against, or that formula from others; '' if
        they can."""
        choice, chosen, full = self.selection.choice, self.selection.chosen, self.selection.dense
        others = [c for c in choice.sparse if c is not full]
        if chosen is full:
            known, name = all(choice.shows_difference(c, full) for c in others), "others"
        else:
            known, name = bool(self.selection.against_all.shown), reference_name(full)
        return "" if known else f"these {choice.bounds.n_queries} queries cannot tell it from {name}"

    @property
    def fewer(self) -> str:
        """Where all retrievers are the answer: fewer of them that are not shown to be worse, with the interval and the
        option that chooses them; of these sets the smallest with a loss within the margin, or else the best."""
        selection, choice, full = self.selection, self.selection.choice, self.selection.against_all
        if selection.chosen is not choice.named:
            return ""
        sets = zip(selection.by_size, full.sizes, strict=True)  # a larger set has a higher mean
        found = [(c, d) for c, d in sets if c.n_features < selection.chosen.n_features and d.high >= 0]
        within = [(c, d) for c, d in found if choice.rule.small_enough(-d.difference, abs(full.mean) or 1.0)]
        if not found:
            return ""
        c, d = within[0] if within else found[-1]
        asked = option("budget", c.cost) if choice.by_cost else option("k", c.n_features)
        against = relative(d.difference, d.low, d.high, full.mean, shown=False)
        return f"{c.n_features} of {counted(selection.n_all, selection.noun)}: {against} against {full.name}; {asked}"

    def norm_of(self, c: Candidate) -> str:
        """The norm of a candidate: that of its task or, for a single retriever, of its own."""
        if c.formula:
            used = next(used for own, used in zip(self.selection.by_size, self.selection.used, strict=True) if own is c)
            return used[0].rpartition(":")[2]
        return c.penalty.rpartition(" on ")[2]

    def _repr_html_(self) -> str:
        """HTML for notebooks: that of a selection, with the retrievers in place of the features."""
        from sparserank.report.fusion import retriever_table
        from sparserank.report.page import selection_fragment

        return selection_fragment(self.selection, retriever_table(self))

    @property
    def cost(self) -> float | None:
        """Cost of the kept retrievers; None if no costs were given."""
        return None if self.selection.plan.feature_groups is None else self.selection.chosen.cost

    @property
    def full_cost(self) -> float | None:
        """Cost of all retrievers."""
        groups = self.selection.plan.feature_groups
        return None if groups is None else groups.cost(np.arange(self.selection.model.n_features))

    @property
    def judged_gap(self) -> tuple[float, float] | None:
        """Judged shares of the kept and of the other retrievers, if they differ by more than MAX_GAP."""
        shares = self.facts.judged_share
        if not shares or not self.dropped or self.facts.unjudged != "zero":
            return None
        kept, dropped = (sum(shares[name] for name in names) / len(names) for names in (self.retrievers, self.dropped))
        return (kept, dropped) if abs(kept - dropped) > MAX_GAP else None

    def rows(self) -> list[dict[str, Any]]:
        """One row per retriever: kept ones first, largest weight first."""
        means = {r.name: r.mean for r in self.selection.rivals.compared}
        losses, unknown = self._losses(), dict.fromkeys(("cost", "low", "high"))
        out = []
        for name in (*self.retrievers, *self.dropped):
            loss = losses.get(name, unknown)
            out.append(
                {
                    "retriever": name,
                    "kept": name in self.weights,
                    "weight": self.weights.get(name, 0.0),
                    "cost": self.facts.costs.get(name),
                    "alone": means.get(alone(name)),
                    "loss": loss["cost"],
                    "loss_low": loss["low"],
                    "loss_high": loss["high"],
                    "judged": self.facts.judged_share.get(name),
                    "queries": self.facts.n_lists[name],
                }
            )
        return out

    def _losses(self) -> dict[str, Any]:
        """{kept retriever: loss, with its interval, if it is switched off and the others are refitted}"""
        worth, metric = self.selection.worth, self.selection.metric
        costs = {row["group"]: row["cost"] for row in worth.feature_groups}
        costs = costs or {row["feature"].rpartition(":")[0]: row["cost"] for row in worth.features}
        return {name: cost[metric] for name, cost in costs.items() if cost}

    def table(self) -> Any:
        """The retrievers.

        Columns: retriever, kept, weight (absolute weights have the sum 1), cost, alone (mean metric of the retriever
        alone), loss (of the mean metric if the retriever is switched off and the others are refitted, out of fold),
        loss_low and loss_high (its interval), judged (share of its first documents that are judged), queries (for which
        it returned documents).
        """
        return frame_of(self.rows())

    def to_json(self) -> dict[str, Any]:
        """Everything on the screen, for programs: result.json of the selection, and the retrievers under 'fusion'."""
        facts = {key: dict(value) if isinstance(value, Mapping) else value for key, value in vars(self.facts).items()}
        return {
            **self.selection.to_json(),
            "fusion": {
                **facts,
                "norm": str(self.formula.norm),
                "doubt": self.doubt,
                "fewer": self.fewer,
                "retrievers": self.rows(),
                "terms": [{"retriever": term.retriever, "weight": term.weight} for term in self.formula.terms],
            },
        }

    def export(self, to: str, name: str = "sparserank") -> dict[str, str | bytes]:
        """{file name: text} of the formula for one of the engines of `fuse`, such as 'elasticsearch' or 'python'."""
        from sparserank.export.fusion import export_fusion

        check_arguments(FusionResult.export, locals())

        return export_fusion(self.formula, to, name)

    def explain(self, runs: Any, query: str) -> QueryExplanation:
        """Explain the fused list of a query.

        Parameters
        ----------
        runs : mapping or sequence of paths
            Runs of the kept retrievers, as in `FusionFormula.apply`.
        query : str
            Id of the query.

        Returns
        -------
        QueryExplanation
            Contribution of each retriever to the score of each document; the values are ranks in the retrievers' lists,
            nan if a retriever did not return the document.

        Raises
        ------
        DataError
            No kept retriever returned anything for the query, or a run is missing or cannot be read.
        """
        from sparserank.export.fusion import explain_fused

        check_arguments(FusionResult.explain, locals())

        return explain_fused(self.formula, runs, query)

    def report(self, path: str | os.PathLike) -> Path:
        """Write the report, one self-contained HTML page; needs the extra `sparserank[report]`."""
        from sparserank.report.fusion import render_fusion

        check_arguments(FusionResult.report, locals())

        with atomic_write(path) as out:
            out.write(render_fusion(self))
        return Path(path)

    def save(self, folder: str | os.PathLike) -> list[Path]:
        """Write the files of a run into a new or empty folder, or one that this method made.

        Raises
        ------
        RunDirectoryError
            The folder contains other files, or cannot be written.
        """
        check_arguments(FusionResult.save, locals())
        with WorkDirectory(folder, "result") as directory:
            return write_results(self.selection, directory.path, self)
