"""The heading of a page, the sentences under it, and a table of the claims about the choice that the data support."""

from __future__ import annotations

import math
from collections.abc import Iterator

from sparserank.crossval.choice import FEATURE, Choice
from sparserank.evaluation.loss_bounds import MIN_QUERIES
from sparserank.evaluation.statistics import as_percent
from sparserank.report.document import Table
from sparserank.selection.result import SelectionResult
from sparserank.selection.statements import (
    MIN_FREQUENCY,
    NEEDED,
    all_equal,
    answers,
    coarse,
    counted,
    estimated,
    n_stable,
    needed,
    queries,
    said_leads,
    share,
)
from sparserank.text import change, figure, percent, visible

MAX_HEADING = 60  # characters


def heading(choice: Choice, n_all: int, noun: str = FEATURE, better: str = "") -> str:
    """The choice in one line: '2 of 6 retrievers are enough'.

    Parameters
        better   the ranker that is shown to be better, or ''
    """
    n = choice.chosen.n_features
    kept = f"All {counted(n, noun)}" if n == n_all else f"{n} of {counted(n_all, noun)}"
    if better:
        said = f"{kept}; {visible(better)} is better"
        return said if len(said) <= MAX_HEADING else f"{kept}; a rival is better"
    if choice.chosen is choice.named:
        return f"{kept}, fused by {choice.chosen.formula}"
    if choice.named is None and choice.chosen.formula:
        return f"{kept}: {choice.chosen.formula}"
    if coarse(choice) and choice.other is not None:
        return f"{answers(choice)} of {counted(n_all, noun)}: the queries cannot tell"
    if coarse(choice) or all_equal(choice) or not math.isfinite(choice.bound(choice.chosen)):
        return f"{kept}: a best guess"
    if choice.rule.limit is not None:
        return f"{kept}, the best within the limit"
    if not choice.within_margin(choice.chosen):
        return f"{kept}: fewer lose more"
    if n == n_all:
        return f"{kept} are needed" if n > 1 else f"{kept} is needed"
    return f"{kept} {'is' if n == 1 else 'are'} enough"


def lead(result: SelectionResult) -> list[str]:
    """The sentences under the heading: the quality of the chosen model, the expected quality, and the warnings."""
    reference, chosen = result.reference, result.chosen
    said = (
        f"On {queries(result.n_queries)}, {result.metric} is "
        f"{figure(chosen.mean)} with {counted(chosen.n_features, result.noun)} and {figure(reference.mean)} with "
        f"{reference.name} ({change(chosen.mean, reference.mean)})"
    )
    warnings = list(_warnings(result))
    if result.choice.is_corrected and len(warnings) < 2:  # otherwise only the table has it
        gain = f" ({percent(result.leads[reference.name])})" if reference.name in result.leads else ""
        said += f"; expect about {result.choice.corrected_chosen:.3f} on new queries{gain}"
    return [f"{said}.", *warnings]


def _warnings(result: SelectionResult) -> Iterator[str]:
    """A suspicion about the data, the limits of what the queries show, and a rival with a higher mean."""
    choice, mean, above = result.choice, result.reference.mean, result.rivals.above
    if result.suspicion is not None:
        yield result.suspicion
    if not math.isfinite(choice.bound(choice.chosen)):
        yield f"With fewer than {MIN_QUERIES} queries, no difference can be bounded."
    elif coarse(choice):
        text = (
            f"These queries cannot rule out losses below {share(choice.bounds.resolution, choice)} (for {NEEDED:.0%}, "
            f"you need {needed(choice, NEEDED, 'about ')})"
        )
        if choice.other is not None:
            shown = "" if choice.shows_difference(choice.chosen, choice.other) else ", no difference shown"
            other = f"{counted(choice.other.n_features, result.noun)} ({change(choice.other.mean, mean)}{shown})"
            text += f"; another answer is {other}"
        yield f"{text}."
    if result.rivals.handicap:
        yield visible(result.rivals.handicap)
    if above is not None:
        shown = "better" if above.shown == "better" else "no difference shown"
        yield f"{visible(above.name)} has {figure(above.mean)} ({change(above.mean, mean)}, {shown})."


def how_sure(result: SelectionResult) -> Table:
    """Claims about the choice, each with its figure and its meaning."""
    rows = [list(row) for row in [*_claims(result), *_repeated(result)]]
    return Table("How sure", ["claim", "figure", "what it means"], rows, words=(2,), folded=True)


def _claims(result: SelectionResult) -> Iterator[tuple[str, str, str]]:
    choice, noun, metric = result.choice, result.noun, result.metric
    confidence = as_percent(result.plan.confidence)
    c, best, bound = choice.chosen, choice.best, choice.bound(choice.chosen)
    trained = "not trained on it" if result.plan.protocol == "cv" else "trained on other queries"
    by = f"mean over {result.n_queries:,} queries, each scored by models {trained}"
    yield f"{metric} of the chosen model", figure(c.mean), by
    if choice.is_corrected:
        corrected = "the same mean, corrected because these queries also chose the model"
        corrected += f"; the lead to quote: {said_leads(result.leads)}" if result.leads else ""
        yield "expected on new queries", figure(choice.corrected_chosen), corrected
    for r in (result.reference, *([] if result.change is None else [result.against_all])):
        valid = f"{confidence} interval, valid for all sizes at once" if r is result.reference else ""
        yield f"compared with {r.name}", r.against(), valid
    at_most = f", at most {share(bound, choice)}" if math.isfinite(bound) else ""
    of_best = f"the best has {counted(best.n_features, noun)}" if best is not c else "this is the best"
    yield (
        f"loss against the best of {len(choice.candidates):,} models",
        f"{estimated(c, choice)}{at_most}",
        f"{of_best}; the bound holds for all of them at once ({confidence}, one-sided)",
    )
    yield "rule", _rule(choice), "decides the size"
    for r in result.rivals.compared:
        shown = f"the rival is shown {r.shown}" if r.shown else "no difference is shown"
        yield f"compared with {r.title} ({figure(r.mean)})", r.against(shown=False), shown
    if math.isfinite(bound):
        more = f"to rule out {NEEDED:.0%}, you need {needed(choice, NEEDED, 'about ')} queries"
        resolution = share(choice.bounds.resolution, choice)
        for_any = more if choice.resolution > NEEDED else "for any model"
        yield "smallest loss that these queries can rule out", resolution, for_any


def _rule(choice: Choice) -> str:
    rule = choice.rule
    if rule.limit is not None:
        return f"best{rule.whose} with {rule.limit}"
    smallest, most = ("cheapest" if choice.by_cost else "smallest"), f"{100 * rule.largest_loss:.3g}%"
    return (
        f"{smallest}{rule.whose} with {'an estimated' if rule.guarantee is None else 'a proven'} loss of at most {most}"
    )


def _repeated(result: SelectionResult) -> Iterator[tuple[str, str, str]]:
    """Rows on stability: sizes chosen on resampled queries, and features selected on half-samples."""
    choice, noun, stability = result.choice, result.noun, result.stability
    n = len(choice.resampled_sizes)
    if n:
        low, high = choice.size_range()
        sizes = counted(low if low == high else f"{low} to {high}", noun)
        yield "size on resampled queries", sizes, f"by the same rule, in 90% of {n:,} resamples"
    if stability is not None:
        name, index = stability.index
        yield (
            f"selected on at least {MIN_FREQUENCY:.0%} of {stability.n_samples} half-samples",
            f"{n_stable(stability)} of {counted(len(stability.chosen), noun)}",
            f"{name} index {index:.2f}; 1: always the same {noun}s, 0: chance" if math.isfinite(index) else "",
        )
