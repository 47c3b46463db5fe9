"""The result of a selection: the model, the candidates, the loss of each choice; as tables, as a page, as files. Also
what every result with a choice among sizes has."""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar

from sparserank import __version__
from sparserank.arrow import frame_of
from sparserank.crossval.choice import Candidate, Choice, reference_name
from sparserank.crossval.current_model import Change
from sparserank.crossval.judged_queries import JudgeWorth
from sparserank.crossval.rivals import Rival, RivalDifference
from sparserank.crossval.stability import Stability
from sparserank.crossval.substitutes import RedundantFeatures
from sparserank.errors import ParameterError
from sparserank.evaluation import Comparison
from sparserank.export import export_command
from sparserank.files import atomic_write
from sparserank.lazy import cached_property
from sparserank.losses import loss_name
from sparserank.model.ranking_model import RankingModel
from sparserank.model.size_models import best_within
from sparserank.options import Count, option
from sparserank.options.arguments import check_arguments
from sparserank.paths import Certificate, PathResult
from sparserank.selection.claims import Claim, claims, counted, headline
from sparserank.selection.facts import FRAME, Facts, costed, model_row, without
from sparserank.selection.for_engine import ForEngine
from sparserank.selection.origin import Origin
from sparserank.selection.plan import SelectionPlan
from sparserank.selection.queries import Queries, QueryDifference
from sparserank.selection.result_files import write_results
from sparserank.selection.rivals import ComparedRival, RivalReport
from sparserank.selection.worth import Worth
from sparserank.strict_json import plain
from sparserank.text import brief, percent
from sparserank.workdir.directory import WorkDirectory

FORMAT, FORMAT_VERSION = "sparserank-result", 4
MODEL = ("penalty", "k", "relax", "index", "n_features", "cost", "mean")  # fields of a candidate in result.json
CERTIFICATE = ("status", "kkt_violation", "gap", "gap_condition")  # fields of the certificate of a path there


class Result(ABC):
    """A finished result: what it says, as text, as a page and as files."""

    kind: ClassVar[str] = "result"  # kind of the folder that `save` writes

    @property
    @abstractmethod
    def claims(self) -> list[Claim]:
        """What the data support, the most important first."""

    @abstractmethod
    def write(self, folder: Path) -> list[Path]:
        """Write the files of the result into a folder."""

    @abstractmethod
    def to_json(self) -> dict[str, Any]:
        """Everything on the screen in machine-readable form: the content of result.json (docs/result-json.md)."""

    @abstractmethod
    def render_screen(self) -> list[str]:
        """The lines that the command line prints."""

    @abstractmethod
    def render_page(self, place: str | None = None) -> str:
        """The report, one self-contained HTML page; place: the directory of the run, for commands."""

    @property
    def headline(self) -> str:
        """What to keep, and the loss of it, in one line."""
        return headline(self.claims)

    @property
    def sentences(self) -> list[str]:
        """The sentences of the claims, by rank: what to keep comes first, or after the options of an earlier run."""
        return [claim.text for claim in self.claims]

    @property
    def sentence(self) -> str:
        """The sentences in one text."""
        return " ".join(self.sentences)

    def opening(self, kind: str, version: int) -> dict[str, Any]:
        """The first entries of result.json: the format, and the result in words."""
        in_words = {"headline": self.headline, "sentence": self.sentence, "sentences": self.sentences}
        return {"format": kind, "version": version, "sparserank": __version__, **in_words}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.headline})"

    def __str__(self) -> str:
        return "\n".join(self.render_screen())

    def report(self, path: str | os.PathLike) -> Path:
        """Write the report, one self-contained HTML page; needs the extra `sparserank[report]`."""
        check_arguments(Result.report, locals())
        with atomic_write(path) as out:
            out.write(self.render_page())
        return Path(path)

    def save(self, folder: str | os.PathLike) -> list[Path]:
        """Write the files of the result, such as model.json, result.json and report.html.

        Parameters
        ----------
        folder : path
            A new or empty folder, or one that this method created. A folder of `out=` belongs to that run.

        Returns
        -------
        list of Path
            The files.

        Raises
        ------
        RunDirectoryError
            The folder contains other files, or cannot be written.
        """
        check_arguments(Result.save, locals())
        with WorkDirectory(folder, self.kind) as directory:
            return self.write(directory.path)


@dataclass(frozen=True, repr=False, kw_only=True)
class ChoiceResult(Result):
    """A result with a choice among candidates of several sizes.

    n_all        number of features, or of other items such as retrievers, to choose from
    query_ids    of the queries on which candidates are evaluated
    judge        what a judge is worth that graded other queries, or None
    other fields   as in SelectionResult
    """

    plan: SelectionPlan
    choice: Choice
    dense: Candidate
    all_features: ComparedRival
    test: Comparison | None
    n_all: int
    query_ids: tuple[str, ...]
    notes: Sequence[str]
    rivals: RivalReport = field(default_factory=RivalReport)
    change: Change | None = None
    judge: JudgeWorth | None = None
    stability: Stability | None = None
    origin: Origin | None = None
    suspects: Mapping[str, str] = field(default_factory=dict)

    @property
    @abstractmethod
    def facts(self) -> Any:
        """Plain rows by subject, for screen, report, JSON and frames."""

    @property
    @abstractmethod
    def used(self) -> list[tuple[str, ...]]:
        """Names of the features of each of by_size."""

    @property
    def n_queries(self) -> int:
        return len(self.query_ids)

    @property
    def n_dense(self) -> int:
        """Number of features of the dense model; for retrievers, all of them, although some weights may be 0."""
        return self.dense.n_features if self.choice.named is None else self.n_all

    @property
    def noun(self) -> str:
        """Word for a feature in sentences."""
        return self.plan.noun

    @property
    def metric(self) -> str:
        """Name of the metric by which the choice is made, with its convention."""
        return repr(self.plan.metric)

    @cached_property
    def against_all(self) -> ComparedRival:
        """`all_features` under the name and the number that people read."""
        name = reference_name(self.dense) if self.dense.formula else f"all {counted(self.n_dense, self.noun)}"
        return replace(self.all_features, name=name, n_features=self.n_dense)

    @cached_property
    def reference(self) -> ComparedRival:
        """The ranker that every size is compared with: the one in use, or the model with all features."""
        change = self.change
        if change is None:
            return self.against_all
        known = (change.low, change.high)
        unknown = (-math.inf, math.inf)
        sizes = [(c.mean - change.mean, *(known if c is self.chosen else unknown)) for c in self.by_size]
        figures = (change.mean, change.difference, *known)
        compared = tuple(RivalDifference(*size) for size in sizes)
        return ComparedRival("today's ranker", change.n_features, *figures, for_model="", sizes=compared)

    @property
    def leads(self) -> dict[str, float]:
        """{reference: lead over it to expect of the chosen model on new queries, relative to its mean}, of the ranker
        in use or the formula that all are measured against, and of the strongest trees. The mean of the chosen model is
        optimistic; these leads are not."""
        strongest = self.rivals.strongest
        compared = [self.reference] if self.change is not None or self.dense.formula else []
        compared += [strongest] if strongest is not None and strongest.for_model else []
        expected = self.choice.corrected_chosen
        return {
            r.name: (expected - r.mean) / (abs(r.mean) or 1.0)
            for r in compared
            if r.difference and math.isfinite(expected)
        }

    @cached_property
    def claims(self) -> list[Claim]:
        return claims(self)

    @property
    def suspicion(self) -> str | None:
        """Why chosen features may not be known when documents are ranked; None if none is suspicious."""
        chosen = self.used[self.by_size.index(self.chosen)]
        used = [name for name in self.suspects if name in chosen]
        if not used:
            return None
        others = f"; also suspicious: {', '.join(map(brief, used[1:]))}" if len(used) > 1 else ""
        return f"Suspicious: {self.suspects[used[0]].removesuffix('.')}{others}."

    @property
    def chosen(self) -> Candidate:
        return self.choice.chosen

    @property
    def by_size(self) -> list[Candidate]:
        return self.choice.by_size

    @property
    def best(self) -> Candidate:
        """The candidate with the highest mean; dense models are included."""
        return self.choice.best

    def render_screen(self) -> list[str]:
        from sparserank.report.screen import screen_lines

        return screen_lines(self)

    def render_page(self, place: str | None = None) -> str:
        from sparserank.report.page import page_of

        return page_of(self, place)

    def moves(self) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """Features that enter and leave at each of by_size, compared with the previous size, in data order."""
        before: tuple[str, ...] = ()
        out = []
        for used in self.used:
            enter = set(used).difference(before)
            leave = set(before).difference(used)
            out.append((tuple(f for f in used if f in enter), tuple(f for f in before if f in leave)))
            before = used
        return out

    def opening(self, kind: str, version: int) -> dict[str, Any]:
        choice = self.choice
        low, high = choice.corrected_interval(self.plan.confidence)
        return {
            **super().opening(kind, version),
            "notes": self.notes,
            "suspects": [{"feature": name, "sentence": why} for name, why in self.suspects.items()],
            "metric": self.metric,
            "n_queries": self.n_queries,
            "judge": self.judge and asdict(self.judge),
            "seed": self.plan.random_state,
            "confidence": self.plan.confidence,
            "margin_kind": choice.margin_kind,
            "margin": {"relative": self.plan.rule.largest_loss, "absolute": choice.margin},
            "corrected": {
                "chosen": choice.corrected_chosen,
                "low": low,
                "high": high,
                "leads": self.leads,
            },
            "test": None if self.test is None else self.test.rows(self.plan.confidence),
        }


class ModelResult(Result):
    """A result with models of every size.

    EXPRESSIONS   of the chosen model, and of the selection with the models of all sizes, in Python
    """

    EXPRESSIONS = ("result.model", "result")

    @property
    @abstractmethod
    def selected(self) -> SelectionResult:
        """The models of every size, and what is known about them."""

    @abstractmethod
    def export_command(self, model: RankingModel, place: str) -> str:
        """The command that exports a model of the run in this directory, quoted; '' if there is none."""

    def write(self, folder: Path) -> list[Path]:
        return write_results(self, folder)


@dataclass(frozen=True, repr=False, kw_only=True)
class SelectionResult(ChoiceResult, ModelResult):
    """The result of `select`: everything that the screen, the report and the files show.

    Attributes
    ----------
    model : RankingModel
        The chosen model, fitted to all queries.
    choice : Choice
        The candidates, the chosen one, the best one, and a bound on the loss of each.
    paths : dict
        {label of the penalty: path on all queries}; `scaling` of a path is that of its features.
    dense : Candidate
        The best model that uses all features.
    all_features : ComparedRival
        The model that uses all features, compared with the chosen model and each of `by_size`.
    certificate : Certificate
        Certificate of optimality of the chosen model.
    by_penalty : dict
        For each penalty, the smallest candidate within the margin, or None.
    by_size : list of Candidate
        For each number of features (each cost, if groups were given), smallest first, the best candidate of at most
        that size. A size without a better candidate than a smaller one is left out; the chosen candidate alone
        represents its own size.
    models : list of RankingModel
        The final model of each of `by_size`.
    size_costs : list of dict or None
        For each of `by_size`, {feature: ablation cost by metric}; None if it was not computed.
    worth : Worth
        The ablation cost of each selected feature or group, and the possible substitutes.
    stability : Stability or None
        Selection frequencies over random half-samples of the queries.
    redundant : RedundantFeatures
        Features that were not selected and correlate strongly with a selected one.
    change : Change or None
        The chosen model compared with the ranker in use.
    references : tuple of Rival
        The model with all features, the strongest rival and the ranker in use: their metric on each query. Models of
        every size are compared with them.
    rivals : RivalReport
        Rankers that are compared with all candidates but never chosen.
    queries : Queries
        Queries on which the chosen model loses and gains most, compared with the ranker in use or, without one, with
        the dense model.
    test : Comparison or None
        The chosen model and others on the test queries.
    origin : Origin or None
        Origin of the data.
    engine : ForEngine or None
        The engine that will run the model, and the transforms that were excluded because of it.
    n_all : int
        Number of features, or of other items such as retrievers, to choose from.
    facts : Facts
        Plain rows about `features`, `feature_groups`, `sizes`, `stability` and `substitutes`, from which screen,
        report, JSON and frames pick columns.
    suspects : dict
        {feature: why it may not be known when documents are ranked}, as a sentence.

    Examples
    --------
    >>> import sparserank as sr
    >>> data = sr.datasets.make_ranking(40, 8, 10, n_informative=3, n_redundant=2).data
    >>> result = sr.select(data, k=3, penalties="l1", half_samples=0, rival="none", feature_transform="none")
    >>> result.chosen.k, len(result.model.support), len(result.model_of(1).support)
    (3, 3, 1)
    """

    model: RankingModel
    by_penalty: dict[str, Candidate | None]
    certificate: Certificate
    models: list[RankingModel]
    size_costs: list[dict[str, Any] | None]
    paths: dict[str, PathResult]
    worth: Worth
    redundant: RedundantFeatures
    references: tuple[Rival, ...]
    queries: Queries
    constant_features: tuple[str, ...]
    engine: ForEngine | None = None
    teacher: Mapping[str, Any] | None = None

    @cached_property
    def facts(self) -> Facts:
        """Facts on features, groups, sizes and half-samples as plain rows, for screen, report, JSON and frames."""
        return Facts(self)

    @property
    def selected(self) -> SelectionResult:
        return self

    def export_command(self, model: RankingModel, place: str) -> str:
        request = self.origin and self.origin.options.get("query")
        return export_command(model, place, self.plan.engine or "sql", request)

    def _repr_html_(self) -> str:
        """HTML for notebooks: the sentences, the selected features, every size and, with the extra `report`, the
        picture."""
        from sparserank.report.page import selection_fragment
        from sparserank.report.tables import feature_table

        return selection_fragment(self, feature_table(self))

    def table(self) -> Any:
        """The selected features, largest weight first.

        Columns: feature, weight (of the scaled feature; for steps half their range), transform (such as 'log'),
        selection_frequency (share of half-samples that select it), folds (number of folds whose model uses it),
        substitute, substitute_difference (mean metric after the exchange minus before) and substitute_correlation
        (within queries). For each metric: the ablation cost out of fold, with the others refitted, and its interval.
        """
        return frame_of(costed(self.facts.features, self.plan.metrics, FRAME))

    def sizes(self) -> Any:
        """The best model of at most each number of features, or each cost if groups were given.

        A size without a better model than a smaller one has no row; the chosen model always has one.

        Columns: n_features, penalty, relax, cost, mean (of the metric), loss (estimated against the best of all), bound
        (on that loss, simultaneous), chosen, enter and leave (features, compared with the previous size).
        """
        return frame_of(without(self.facts.sizes, "label", "ablation"))

    @property
    def smaller(self) -> str:
        """Says that without one feature, which may be left out, the others would do by the rule, and why they were not
        chosen; '' if there is none."""
        choice = self.choice
        required = {j for p in self.plan.penalties for j in p.keep}
        known = [row for row in self.facts.features if row["loss"] is not None]
        rows = [row for row in known if required.isdisjoint(self.model.columns[row["feature"]])]
        if not rows or choice.by_cost or choice.chosen.formula or len(self.model.columns) < 2:
            return ""
        best = min(rows, key=lambda row: row["loss"])
        name = best["feature"]
        loss = best["cost"][self.metric]["cost"]
        within = choice.rule.small_enough(choice.loss(choice.chosen) + loss, choice.unit)
        if not {"estimate": within, "limit": loss < 0}.get(choice.margin_kind):
            return ""
        return (
            f"Without {name} ({percent(-best['loss'] / 100.0)}) the others would do by this rule, but that model was "
            f"learned only after the choice. To choose without it, add {option('drop', [name])} and another "
            f"{option('out')}. Each such step may lose as much."
        )

    @property
    def used(self) -> list[tuple[str, ...]]:
        """Names of the features of each of by_size."""
        return [tuple(m.columns) for m in self.models]

    def model_of(self, k: int) -> RankingModel:
        """The model with k features; if there is none, the best one with fewer.

        Parameters
        ----------
        k : int
            Number of features.

        Returns
        -------
        RankingModel
            Fitted to all queries.

        Raises
        ------
        ParameterError
            k is not a size, or no model of `by_size` has at most k features.
        """
        check_arguments(SelectionResult.model_of, {"k": k}, k=Count())
        sizes = [c.n_features for c in self.by_size]
        best = best_within(sizes, [self.choice.mean(c) for c in self.by_size], k)
        if best is None:
            raise ParameterError("k", f"must be at least {min(sizes)}; got {k}.")
        return self.models[best]

    def feature_groups(self) -> Any:
        """The groups in use, the most expensive first.

        Columns: group, group_cost, features (those in use), and for each metric the ablation cost of the group out of
        fold, with the others refitted, and its interval. Empty if no groups were given.
        """
        return frame_of(costed(self.facts.feature_groups, self.plan.metrics, ("group", "group_cost", "features")))

    def to_json(self) -> dict[str, Any]:
        plan = self.plan
        facts = self.facts
        full = self.all_features
        content = {
            **self.opening(FORMAT, FORMAT_VERSION),
            "loss": loss_name(plan.path_plan.loss),
            "metrics": [repr(m) for m in plan.metrics],
            "protocol": plan.protocol,
            "n_features": self.plan.count(range(self.model.n_features)),
            "shown": {
                "candidates": len(self.choice.candidates),
                **{name: getattr(self.choice.bounds, name) for name in ("resolution", "n_queries", "n_zero")},
            },
            "preference": self.choice.preference and asdict(self.choice.preference),
            "resampled": {"n_features": self.choice.resampled_sizes.tolist()},
            "chosen": {
                **self._compared(self.chosen),
                "certificate": asdict(self.certificate),
                "parameters": {**self.model.parameters, "scaling": self.model.scaling},
            },
            "best": {name: getattr(self.best, name) for name in MODEL},
            "dense": self._compared(self.dense),
            "all_features": {
                **{name: getattr(full, name) for name in ("n_features", "mean")},
                "chosen": {name: getattr(full, name) for name in ("difference", "low", "high")},
                "sizes": [asdict(d) for d in full.sizes],
            },
            "penalties": [self._penalty(label, path) for label, path in self.paths.items()],
            "sizes": without(facts.sizes, "label"),
            "features": without(facts.features, "name", "loss"),
            "feature_groups": without(facts.feature_groups, "loss"),
            "stability": None
            if self.stability is None
            else {
                "half_samples": self.stability.n_samples,
                "index": self.stability.index[1],
                "index_name": self.stability.index[0],
                "features": without(facts.stability, "in_model"),
            },
            "substitutes": facts.substitutes,
            "redundant": asdict(self.redundant),
            "change": None
            if self.change is None
            else {**vars(self.change), "worst": [{"query": q, "difference": d} for q, d in self.change.worst]},
            "rivals": [{**asdict(r), "shown": r.shown or None} for r in self.rivals.compared],
            "left_out_rivals": [asdict(r) for r in self.rivals.left_out],
            "queries": {
                **asdict(self.queries),
                "lost": [_query(q) for q in self.queries.lost],
                "won": [_query(q) for q in self.queries.won],
            },
            "constant_features": list(self.constant_features),
            "engine": None if self.engine is None else asdict(self.engine),
            "teacher": self.teacher,
            "origin": None if self.origin is None else asdict(self.origin),
            "fusion": None,
        }
        out: dict[str, Any] = plain(content)
        return out

    def _compared(self, c: Candidate) -> dict[str, Any]:
        return {**model_row(self.choice, c, MODEL), "within_margin": self.choice.within_margin(c)}

    def _penalty(self, label: str, path: PathResult) -> dict[str, Any]:
        c = path.certificate()
        within = self.by_penalty.get(label)
        return {
            "penalty": label,
            "resolved": repr(path.penalty),
            "within_margin": None if within is None else self._compared(within),
            "certificate": {**{name: getattr(c, name) for name in CERTIFICATE}, "seconds": c.time_s},
        }

    def plot(self, axes: Any = None) -> Any:
        """Plot the loss of the best model of each size, with its bound.

        Parameters
        ----------
        axes : matplotlib Axes, optional
            Default: new axes.

        Returns
        -------
        matplotlib Axes
            The axes.
        """
        from sparserank.report.size_picture import plot_sizes

        return plot_sizes(self, axes)


def _query(q: QueryDifference) -> dict[str, Any]:
    return {**asdict(q), "difference": q.difference}
