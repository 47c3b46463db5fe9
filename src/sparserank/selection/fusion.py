"""The result of `fuse`: the selection of retrievers, and facts on them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sparserank.arrow import frame_of
from sparserank.crossval.choice import Candidate, reference_name
from sparserank.export.fusion import fusion_command
from sparserank.lazy import cached_property
from sparserank.model.feature import Feature
from sparserank.model.fusion import FusionFormula, formula_of
from sparserank.model.ranking_model import RankingModel
from sparserank.options import option
from sparserank.options.arguments import check_arguments
from sparserank.selection.claims import FIRST, JUDGED, Claim, claims, counted, queries
from sparserank.selection.fusion_plan import MAX_RETRIEVER, alone, shown_weight
from sparserank.selection.queries import FeatureContribution, QueryDifference
from sparserank.selection.result import FORMAT, FORMAT_VERSION, ModelResult, SelectionResult
from sparserank.selection.rivals import ComparedRival
from sparserank.text import relative, shortened
from sparserank.transforms import NONE

if TYPE_CHECKING:
    from sparserank.export.explanation import QueryExplanation

MAX_NAMED = 4  # retrievers in the first line
MAX_GAP = 0.05  # larger differences between the judged shares of kept and other retrievers are noted


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

    def judged_gap(self, chosen: Sequence[str]) -> tuple[float, float] | None:
        """Judged shares of the kept and of the other retrievers, if they differ by more than MAX_GAP."""
        shares = self.judged_share
        dropped = [r for r in self.retrievers if r not in chosen]
        if not shares or not dropped or self.unjudged != "zero":
            return None
        of_chosen, of_dropped = (sum(shares[name] for name in names) / len(names) for names in (chosen, dropped))
        return (of_chosen, of_dropped) if abs(of_chosen - of_dropped) > MAX_GAP else None


@dataclass(frozen=True, repr=False)
class FusionResult(ModelResult):
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

    EXPRESSIONS = ("result.formula", "result.selection")

    selection: SelectionResult
    facts: FusionFacts

    @property
    def selected(self) -> SelectionResult:
        return self.selection

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

    @cached_property
    def claims(self) -> list[Claim]:
        """The claims of the selection, the first with the weights, and a claim that fewer retrievers may be as good."""
        alone = "" if self.best_alone is None else "; 'best alone': expect less"
        first, *rest = claims(self.by_retriever, f"; 'if switched off': each pair alone{alone}")
        weights = [f"{shortened(r, MAX_RETRIEVER)} {shown_weight(w, 2)}" for r, w in self.weights.items()]
        named = f": {', '.join(weights[:MAX_NAMED])}{', ...' if len(weights) > MAX_NAMED else ''}"
        figure = first.figure + ("" if self.selection.chosen is self.selection.choice.named else named)
        figure += f"; {self.doubt}" if self.doubt else ""
        cut = f"lists cut at rank {self.facts.depth}, norm {self.formula.norm}"
        graded = "" if self.selection.judge is None else " that people graded"
        judged = f"{queries(self.selection.n_queries)}{graded}, each scored by weights not learned from it; {cut}"
        first = replace(first, figure=figure, meaning=judged, said=f"Keep {figure}.")
        return [first, *self._fewer(), Claim(JUDGED, rank=FIRST, said=f"{judged}."), *rest]

    @property
    def best_alone(self) -> ComparedRival | None:
        """The best single retriever among the rivals, unless it is the chosen formula or the reference."""
        selection = self.selection
        singles = [r for r in selection.rivals.compared if r.n_features == 1]
        best = max(singles, key=lambda r: r.mean, default=None)
        shown = (selection.chosen.formula, selection.dense.formula)
        return None if best is None or best.name in shown else best

    @property
    def doubt(self) -> str:
        """A clause if the queries cannot distinguish the choice from its reference, or the named formula, if that is
        chosen, from others; '' if they can."""
        choice = self.selection.choice
        chosen = self.selection.chosen
        full = self.selection.dense
        others = [c for c in choice.sparse if c is not full]
        if chosen is full:
            known = all(choice.shows_difference(c, full) for c in others)
            name = "others"
        else:
            known = bool(self.selection.against_all.shown)
            name = reference_name(full)
        return "" if known else f"these {choice.bounds.n_queries} queries cannot tell it from {name}"

    @property
    def fewer(self) -> str:
        """If all retrievers are chosen: fewer retrievers that are not shown to be worse, with the interval and the
        option that chooses them; '' if there are none."""
        return " ".join(claim.text.removesuffix(".") for claim in self._fewer())

    def _fewer(self) -> Iterator[Claim]:
        """Among the smaller sets that are not shown to be worse, the smallest with a loss within the margin, or else
        the best."""
        selection = self.selection
        choice = self.selection.choice
        full = self.selection.against_all
        if selection.chosen is not choice.named:
            return
        sets = zip(selection.by_size, full.sizes, strict=True)  # a larger set has a higher mean
        not_worse = [(c, d) for c, d in sets if c.n_features < selection.chosen.n_features and d.high >= 0]
        within = [(c, d) for c, d in not_worse if choice.rule.small_enough(-d.difference, abs(full.mean) or 1.0)]
        for c, d in [*within[:1], *not_worse[-1:]][:1]:
            asked = option("budget", c.cost) if choice.by_cost else option("k", c.n_features)
            against = f"{relative(d.difference, d.low, d.high, full.mean, shown=False)} against {full.name}"
            yield Claim(f"{c.n_features} of {counted(selection.n_all, selection.noun)}", against, asked, FIRST)

    @cached_property
    def by_retriever(self) -> SelectionResult:
        """The selection with retrievers as features, instead of one column per retriever and norm."""
        selection = self.selection
        names = self.facts.retrievers
        n_norms = selection.model.n_features // len(names)

        def named(feature: str) -> str:
            return feature.rpartition(":")[0]

        def model(m: RankingModel) -> RankingModel:
            features = [
                Feature(f.index // n_norms, named(f.name), f.coef) for f in m.features
            ]  # a formula has one norm
            return RankingModel(tuple(features), names, NONE, m.parameters, m.metadata)

        chosen = model(selection.model)
        worth = selection.worth
        stability = selection.stability
        if stability is not None:
            selected = np.asarray(stability.kept.reshape(len(stability.kept), len(names), n_norms).any(axis=2))
            stability = replace(stability, kept=selected, chosen=chosen.support, n_varying=len(names))
        constant = list(map(named, selection.constant_features))
        exchanges = [replace(s, feature=named(s.feature), other=named(s.other)) for s in worth.substitutes]
        left = [replace(r, feature=named(r.feature), selected=named(r.selected)) for r in selection.redundant.left]
        apart = {r.feature: r for r in reversed(left) if r.feature not in self.weights}
        return replace(
            selection,
            model=chosen,
            models=[model(m) for m in selection.models],
            size_costs=[of and {named(feature): cost for feature, cost in of.items()} for of in selection.size_costs],
            worth=replace(
                worth,
                features=[{**row, "feature": named(row["feature"])} for row in worth.features],
                substitutes=tuple(s for s in exchanges if s.feature != s.other),
            ),
            stability=stability,
            redundant=replace(selection.redundant, left=tuple(apart.values())),
            queries=replace(
                selection.queries,
                lost=tuple(_of_retrievers(q, named) for q in selection.queries.lost),
                won=tuple(_of_retrievers(q, named) for q in selection.queries.won),
            ),
            paths={
                label: replace(p, feature_names=tuple(map(named, p.feature_names)))
                for label, p in selection.paths.items()
            },
            constant_features=tuple(name for name in names if constant.count(name) == n_norms),
        )

    def norm_of(self, c: Candidate) -> str:
        """The norm of a candidate: the norm of its task, or the norm of its only retriever."""
        if c.formula:
            (used, *_) = self.selection.used[self.selection.by_size.index(c)]
            return used.rpartition(":")[2]
        return c.penalty.rpartition(" on ")[2]

    def export_command(self, model: RankingModel, place: str) -> str:
        return fusion_command(formula_of(model), place)

    def render_screen(self) -> list[str]:
        from sparserank.report.fusion import fusion_lines

        return fusion_lines(self)

    def render_page(self, place: str | None = None) -> str:
        from sparserank.report.fusion import render_fusion

        return render_fusion(self, place)

    def _repr_html_(self) -> str:
        """HTML for notebooks: that of a selection, with the retrievers in place of the features."""
        from sparserank.report.fusion import retriever_table
        from sparserank.report.page import selection_fragment

        return selection_fragment(self, retriever_table(self))

    @property
    def cost(self) -> float | None:
        """Cost of the kept retrievers; None if no costs were given."""
        return None if self.selection.plan.feature_groups is None else self.selection.chosen.cost

    @property
    def full_cost(self) -> float | None:
        """Cost of all retrievers."""
        groups = self.selection.plan.feature_groups
        return None if groups is None else groups.cost(np.arange(self.selection.model.n_features))

    def rows(self) -> list[dict[str, Any]]:
        """One row per retriever: kept ones first, largest weight first."""
        means = {r.name: r.mean for r in self.selection.rivals.compared}
        # The loss of a kept retriever that is switched off, with the others refitted, and its interval.
        worth = self.selection.worth
        costs = {row["group"]: row["cost"] for row in worth.feature_groups}
        costs = costs or {name.rpartition(":")[0]: cost for name, cost in worth.costs.items()}
        losses = {name: cost[self.selection.metric] for name, cost in costs.items() if cost}
        unknown = dict.fromkeys(("cost", "low", "high"))
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

    def table(self) -> Any:
        """The retrievers.

        Columns: retriever, kept, weight (absolute weights have the sum 1), cost, alone (mean metric of the retriever
        alone), loss (of the mean metric if the retriever is switched off and the others are refitted, out of fold),
        loss_low and loss_high (its interval), judged (share of its first documents that are judged), queries (for which
        it returned documents).
        """
        return frame_of(self.rows())

    def to_json(self) -> dict[str, Any]:
        """result.json of the selection, with the claims of the fusion, and the retrievers under 'fusion'."""
        fields = {key: dict(value) if isinstance(value, Mapping) else value for key, value in vars(self.facts).items()}
        return {
            **self.selection.to_json(),
            **self.opening(FORMAT, FORMAT_VERSION),
            "fusion": {
                **fields,
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


def _of_retrievers(q: QueryDifference, named: Callable[[str], str]) -> QueryDifference:
    """A query whose pair of documents is explained by retrievers. If the two rankers use a retriever under different
    norms, its value under the norm of the chosen formula is shown."""
    if q.pair is None:
        return q
    merged: dict[str, FeatureContribution] = {}
    for row in q.pair.features:
        first = merged.get(named(row.feature))
        if first is None:
            merged[named(row.feature)] = replace(row, feature=named(row.feature))
        else:
            rivals = [r.rival for r in (first, row) if r.rival is not None]
            merged[first.feature] = replace(first, rival=sum(rivals) if rivals else None)
    return replace(q, pair=replace(q.pair, features=tuple(merged.values())))
