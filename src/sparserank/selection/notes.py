"""Notes of a selection or fusion, about what appears nowhere else on the screen."""

from __future__ import annotations

from sparserank.crossval.choice import Choice
from sparserank.crossval.judged_queries import JudgeWorth
from sparserank.crossval.teachers import Teacher
from sparserank.data.dataset import RankingDataset
from sparserank.data.fusion.fusion_table import FusionTable
from sparserank.data.fusion.judged_runs import JudgedRuns
from sparserank.errors import warn_caller
from sparserank.export.fusion import FUSION_ENGINES
from sparserank.losses import loss_name
from sparserank.model import RankingModel
from sparserank.model.fusion import FusionFormula
from sparserank.number_checks import kept_in_vain
from sparserank.options import option
from sparserank.options.selection import SELECT
from sparserank.selection.claims import counted
from sparserank.selection.fusion import FusionFacts
from sparserank.selection.plan import SelectionPlan
from sparserank.text import Caution, brief

MAX_NAMED = 3


def notes_of_choice(plan: SelectionPlan, choice: Choice) -> list[str]:
    """Notes on a margin, which had another meaning before version 0.3, and on a model of steps that is almost as
    small."""
    notes = []
    if plan.guarantee is None and plan.rule.limit is None and plan.margin not in (0, SELECT["margin"].default):
        notes.append(
            f"{option('margin', plan.margin)} limits the estimated loss; before version 0.3 it limited the bound, as "
            f"{option('guarantee', plan.margin)} does now."
        )
    steps = choice.passed_over
    if steps is not None:
        size = option("budget", steps.cost) if choice.by_cost else option("k", steps.n_features)
        notes.append(
            f"{counted(steps.n_features, plan.noun)} as steps are within the margin too ({plan.metric!r} "
            f"{steps.mean:.4f}, weights {choice.chosen.mean:.4f}), but are not a fifth fewer; "
            f"{option('penalties', steps.penalty)} with {size} gives that model."
        )
    return notes


def notes_of_keep(plan: SelectionPlan, model: RankingModel) -> list[str]:
    """Notes on features that the user asked to keep, but whose weight their sign rule holds at 0."""
    at_0 = set(range(model.n_features)) - set(model.support.tolist())
    names = sorted(
        {
            model.feature_names[j]
            for p in plan.penalties
            for j in p.keep
            if j in at_0 and p.monotone is not None and p.monotone[j] != 0
        }
    )
    if not names:
        return []
    listed = ", ".join(map(brief, names))
    many = len(names) > 1
    return [
        Caution(
            f"{listed} {'were' if many else 'was'} to be kept, but {'their weights are' if many else 'its weight is'} "
            f"0: the data favour the direction that {option('monotone')} forbids."
        )
    ]


def note_of_teacher(teacher: Teacher, *, chosen: bool) -> str:
    """A note that names the teacher of distilled weights; chosen: the model has such weights."""
    if chosen:
        return f"the weights (distilled) were evaluated on the labels, but learned the order of {teacher}."
    return f"distilled weights were tried too; they learned the order of {teacher}."


def notes_of_loss(plan: SelectionPlan, data: RankingDataset, weighted_queries: bool, on_steps: bool) -> list[str]:
    """A note that names the loss, unless it is the default one without weights; on_steps: steps are tried."""
    loss = loss_name(plan.path_plan.loss)
    weighted = ["queries"] if weighted_queries else []
    if data.doc_weight is not None:
        weighted.append("preferred documents")
    out = []
    if loss != SELECT["loss"].default or weighted:
        by = f", with its pairs weighted by {' and '.join(weighted)}" if weighted else ""
        out.append(f"the loss is {loss}{by}.")
    if on_steps and (loss != SELECT["loss"].default or plan.path_plan.pair_weights != SELECT["pair_weights"].default):
        out.append(f"steps have their own loss: neither another loss nor {option('pair_weights')} changes it.")
    return out


def notes_of_round(plan: SelectionPlan) -> list[str]:
    """A note on rounded weights."""
    digits = plan.path_plan.round
    if digits is None:
        return []
    return [f"all figures use weights of {digits} significant digits; certificates are those before rounding."]


def notes_of_rules(plan: SelectionPlan, data: RankingDataset) -> list[str]:
    """Notes on features to be kept although no weight of theirs changes a ranking; also issued as a warning."""
    to_keep = {int(j) for p in plan.penalties for j in p.keep}
    sentence = kept_in_vain(sorted(to_keep), data.sources, ~data.constant_features())
    if not sentence:
        return []
    warn_caller(sentence)
    return [Caution(sentence)]


def note_of_folds(plan: SelectionPlan, n_folds: int) -> list[str]:
    """A note if there are fewer folds than the plan names; n_folds: 0 for another protocol."""
    why = f"because there are fewer queries than {plan.cv}"
    return [f"the queries make {n_folds} folds, {why}."] if 0 < n_folds < plan.cv else []


def note_of_judge(judge: JudgeWorth | None) -> list[str]:
    """A note if people graded other queries than a random part."""
    if judge is None or not judge.is_selection:
        return []
    return [
        Caution(
            f"by the grades of {judge.name}, the queries of people differ from its others beyond noise (as 5 in "
            "100 random draws do). If people graded a selection, all figures are those of such queries; draw them at "
            "random."
        )
    ]


def notes_of_runs(judged: JudgedRuns, tests: JudgedRuns | None, table: FusionTable) -> list[str]:
    """Notes on the runs, independent of the choice; tests: the runs on the test queries."""
    out = []
    if table.learned_to is not None:
        out.append(
            f"weights were learned from {table.learned.n_docs:,} of {table.judged.n_docs:,} documents: the relevant "
            f"ones, and those within rank {table.learned_to} of some retriever. All documents are judged."
        )
    usual = judged.usual_depths.items()
    if short := [f"{brief(name)} (median {median:g})" for name, median in usual if median < judged.depth]:
        out.append(f"shorter than the depth of {judged.depth}, and used as they are: {', '.join(short)}.")
    out += _lacking(judged, "queries") + ([] if tests is None else _lacking(tests, "test queries"))
    other = sum(run.n_other for run in judged.lists)
    if other:
        out.append(f"{other:,} entries of queries without judgments were left out.")
    if flat := [brief(run.name) for run in judged.lists if run.unordered]:
        out.append(f"{_first(flat)}: no scores or ranks that differ, so the documents are in the order of their ids.")
    contrary = [f"{brief(run.name)} ({run.n_contrary} lists)" for run in judged.lists if run.n_contrary]
    if contrary:
        out.append(f"ranks contradict scores in {_first(contrary)}; lists are ordered by score.")
    return out


def _lacking(judged: JudgedRuns, queries: str) -> list[str]:
    """Notes on retrievers that returned nothing for some queries, or no judged document."""
    n = len(judged.query_ids)
    out = []
    without = [f"{brief(run.name)} for {n - len(run.query)}" for run in judged.lists if len(run.query) < n]
    if without:
        out.append(f"no document was returned for some of the {n} {queries}: {_first(without)}.")
    shares = {} if judged.is_table else judged.judged_at(judged.depth)
    unjudged = [brief(run.name) for run in judged.lists if len(run.query) and not shares.get(run.name, 1.0)]
    if unjudged:
        out.append(
            Caution(
                f"no document that {_first(unjudged)} returned for the {n} {queries} is judged; do the document ids "
                "agree with those of the judgments?"
            )
        )
    return out


def notes_of_judged(formula: FusionFormula, facts: FusionFacts) -> list[str]:
    """The notes of the engine, and a note if kept and other retrievers differ in their judged shares."""
    notes = [] if facts.engine is None else FUSION_ENGINES[facts.engine].notes(formula)
    gap = facts.judged_gap([term.retriever for term in formula.terms])
    if gap is None:
        return notes
    of_chosen, of_dropped = gap
    return [
        *notes,
        Caution(
            f"{100 * of_chosen:.0f}% of the first {facts.judged_depth} documents of the kept retrievers are judged, "
            f"and {100 * of_dropped:.0f}% of those of the others: unjudged documents count as not relevant, which "
            f"favours the better judged ones. Compare with {option('unjudged', 'skip')}."
        ),
    ]


def _first(listed: list[str]) -> str:
    return ", ".join(listed[:MAX_NAMED]) + (", ..." if len(listed) > MAX_NAMED else "")
