"""Sentences about a choice; each is true of the data as they are."""

from __future__ import annotations

import math
from collections.abc import Mapping

from sparserank.crossval.choice import FEATURE, LEAD, LEAD_ALONE, MIN_NEW, Candidate, Choice, Rule, reference_name
from sparserank.crossval.stability import Stability
from sparserank.evaluation.loss_bounds import MIN_DIFFERENT, MIN_QUERIES
from sparserank.evaluation.statistics import as_percent
from sparserank.options import option
from sparserank.text import many, percent

MIN_FREQUENCY = 0.8  # share of half-samples from which the selection of a feature is called stable
COARSE = 0.05  # resolution, relative to the best mean, from which its sentence comes first
NEEDED = 0.02  # loss, relative to the best mean, that users would want to rule out


def headline(choice: Choice, metric: str, n_features: int, noun: str = FEATURE) -> str:
    """What to keep, and its loss, in one line: 'Keep 13 of 46 features; ndcg@10 is an estimated 0.4% below the best, at
    most 2.1%'."""
    c, bounds = choice.chosen, choice.bounds
    kept = f"Keep {answers(choice)} of {counted(n_features, noun)}"
    if c is choice.named:
        kept = f"Keep {reference_name(c)} {counted(n_features, noun)}"
    kept += f" at a cost of {c.cost:g}" if choice.by_cost else ""
    if not math.isfinite(choice.bound(c)):
        return f"{kept}; there are too few queries to bound the loss"
    if all_equal(choice):
        return f"{kept}; these queries cannot tell any models apart"
    at_most = share(choice.bound(c), choice)
    if choice.best is c:
        lost = f"the highest estimated {metric} of all models tried; true loss at most {at_most}"
    else:
        lost = f"{metric} is an estimated {estimated(c, choice)} below the best, at most {at_most}"
    if coarse(choice):
        ruled_out = share(bounds.resolution, choice)
        return f"{kept}; {bounds.n_queries} queries cannot rule out a loss below {ruled_out}; {lost}"
    return f"{kept}; {lost}"


def coarse(choice: Choice) -> bool:
    """Whether the chosen size is a guess: it rests on the estimate, and the queries cannot rule out a loss that
    matters."""
    if choice.margin_kind == "limit" or (choice.margin_kind == "bound" and choice.within_margin(choice.chosen)):
        return False
    return choice.resolution > COARSE


def all_equal(choice: Choice) -> bool:
    """Whether no candidate differs from another on any query."""
    return choice.bounds.resolution == 0.0 and not choice.bounds.upper.any()


def all_equal_sentence(choice: Choice) -> str:
    return (
        f"All {len(choice.candidates)} candidates do equally well on each of these {choice.bounds.n_queries} queries, "
        "which cannot tell them apart."
    )


def choice_sentences(choice: Choice, metric: str, n_features: int, noun: str = FEATURE) -> list[str]:
    """If the queries are too few to tell sizes apart, that first; then what is kept, its estimated loss and its bound,
    what these queries can show, and how stable the choice is."""
    c, bounds = choice.chosen, choice.bounds
    kept = _kept(choice, n_features, noun)
    if not math.isfinite(choice.bound(c)):
        return [few_sentence(choice), kept]
    if all_equal(choice):
        return [kept, all_equal_sentence(choice)]
    if choice.best is c:
        loses = f"It has the highest mean {metric} of the {len(choice.candidates)} models tried"
    else:
        loses = (
            f"Its {metric} is an estimated {estimated(c, choice)} below the best of the "
            f"{len(choice.candidates)} models tried"
        )
    loss = (
        f"{loses}; with {as_percent(bounds.confidence)} confidence such models lose at most "
        f"{share(choice.bound(c), choice)}."
    )
    first = [coarse_sentence(choice, noun), kept, loss] if coarse(choice) else [kept, loss, _resolution(choice)]
    first += [preference_sentence(choice, metric)] if choice.preference else []
    return [*first, *rare_sentences(choice), *_resampled(choice, noun)]


def few_sentence(choice: Choice) -> str:
    """Says that there are too few queries for any bound."""
    n = choice.bounds.n_queries
    few = f"{n} {'query is' if n == 1 else 'queries are'}"
    return f"{few} too few to bound the loss of a model; at least {MIN_QUERIES} are needed."


def rare_sentences(choice: Choice) -> list[str]:
    """Says, if so, that some models differ from the best on so few queries that the bounds may be too small."""
    n = choice.bounds.n_rare
    if n == 0:
        return []
    return [
        f"{n} of the {len(choice.candidates)} models {'differs' if n == 1 else 'differ'} from the best on fewer than "
        f"{MIN_DIFFERENT} queries: others of this kind may be missing by chance, and a loss may exceed its bound."
    ]


def _kept(choice: Choice, n_features: int, noun: str) -> str:
    """What is kept, and by which rule."""
    c, rule = choice.chosen, choice.rule
    if c is choice.named and rule.limit is None:
        return defence_sentence(choice, n_features, noun)
    text = f"Keep {c.n_features} of {counted(n_features, noun)} ({c.label})"
    if choice.by_cost:
        text += f" at a {rule.cost} of {c.cost:g}"
    if rule.limit is not None:
        return f"{text}, the best model{rule.whose} with {rule.limit}."
    if choice.within_margin(c):
        return f"{text}, the {smallest(choice.by_cost)} model{rule.whose} {enough(rule)}."
    return f"{text}, the sparse model{rule.whose} with the highest mean: none {enough(rule, verb=True)}."


def preference_sentence(choice: Choice, metric: str) -> str:
    """Whether the features of an earlier run are preferred, and why; '' if none were given."""
    p = choice.preference
    if p is None:
        return ""
    kept = f"Only features of {p.run} are used" if p.kept else f"The features of {p.run} are not kept"
    if p.loss is None:
        return f"{kept}: none of their models is within the limits, or there are fewer than two queries."
    on = f"{queries(p.n_queries)}{' that it has not learned from' if p.new else ''}"
    loss, error = (100.0 * v / (p.unit or 1.0) for v in p.loss)
    below = "the best" if choice.rule.limit is None else "the choice of the rule alone"
    how = f"{abs(loss):.1f} +- {1.96 * error:.1f}% {'above' if loss < 0 else 'below'} {below}"
    text = f"{kept}: on {on}, {metric} is an estimated {how}"
    text += f" (margin {100 * choice.rule.largest_loss:.3g}%)."
    if p.new:
        return text
    few = "which queries it has learned from is not known" if p.new is None else f"fewer than {MIN_NEW} queries are new"
    return f"{text} These features may have been chosen with these labels, which flatters them: {few}."


def smallest(by_cost: bool) -> str:
    """Which of the good enough models is chosen: the 'cheapest' or the 'smallest'."""
    return "cheapest" if by_cost else "smallest"


def enough(rule: Rule, verb: bool = False) -> str:
    """What the rule asks of a model: 'with an estimated loss of at most 1%'; or with a verb, 'has an ...'."""
    if rule.guarantee is None:
        how = f"{'has' if verb else 'with'} an estimated loss of"
    else:
        how = f"{'is ' if verb else ''}shown to lose"
    return f"{how} at most {100 * rule.largest_loss:.3g}%"


def defence_sentence(choice: Choice, n_features: int, noun: str) -> str:
    """Says that the named formula is the choice, what was compared with it, and how many queries could change that."""
    named, c = choice.named, choice.contender
    assert named is not None
    assert c is not None
    text = f"{reference_name(named)} {counted(n_features, noun)}: "
    if c is named:
        return f"{text}it is within the margin of the best formula, and none with fewer {noun}s is."
    lead, unit = choice.mean(c) - choice.mean(named), abs(choice.mean(named)) or 1.0
    asked, errors = choice.asked(c), LEAD_ALONE if c.n_features == 1 else LEAD
    text += f"the best other choice, {counted(c.n_features, noun)} ({c.label}), is {percent(lead / unit)} against it"
    if lead <= 0:
        return f"{text}."
    many = "" if errors == 1 else "s"
    text += f", less than {errors:g} standard error{many} of the difference ({percent(asked / unit).lstrip('+')})"
    enough_queries = _rounded(choice.bounds.n_queries * (asked / lead) ** 2)
    return f"{text}. If that lead is real, {enough_queries} queries would show it."


def quality_sentence(choice: Choice, dense: Candidate, metric: str, n_all: int, noun: str = FEATURE) -> str:
    """The mean of the chosen model and of the dense one."""
    c, full = choice.chosen, dense.mean
    against = f" ({percent((c.mean - full) / abs(full))})" if full else ""
    text = f"{metric} is {c.mean:.4f} with {counted(c.n_features, noun)}"
    if c is not dense:
        text += f" and {full:.4f} with {reference_name(dense) if dense.formula else 'all'} {n_all}{against}"
    return f"{text}."


def expected_sentence(choice: Choice, leads: Mapping[str, float]) -> str:
    """The mean of the chosen model, corrected for the choice, and its leads {reference: relative to its mean}; '' where
    it cannot be corrected."""
    if not choice.is_corrected:
        return ""
    chose = f"these {choice.bounds.n_queries} queries also chose the model"
    said = "; ".join(filter(None, [said_leads(leads), chose]))
    return f"Expected on new queries: {choice.corrected_chosen:.4f} ({said})."


def said_leads(leads: Mapping[str, float]) -> str:
    """'+4.3% against today, -0.2% against LightGBM'"""
    return ", ".join(f"{percent(lead)} against {name}" for name, lead in leads.items())


def answers(choice: Choice) -> str:
    """The number of features, '13'; or both answers if the queries cannot decide, the smaller first: '3 or 29'."""
    sizes = {choice.chosen.n_features}
    if coarse(choice) and choice.other is not None:
        sizes.add(choice.other.n_features)
    return " or ".join(map(str, sorted(sizes)))


def coarse_sentence(choice: Choice, noun: str = FEATURE) -> str:
    """Says that the queries cannot show how small a model can be, how many could, and what the possible answers are."""
    return (
        f"These {choice.bounds.n_queries} queries{_zero(choice)} cannot show how small a model can be: they cannot "
        f"rule out a loss below {share(choice.bounds.resolution, choice)} for any model. To rule out a loss of "
        f"{NEEDED:.0%}, you would need {needed(choice, NEEDED)} queries.{_two_answers(choice, noun)}"
    )


def _two_answers(choice: Choice, noun: str) -> str:
    """The smaller model and the larger one between which the queries cannot decide; '' where there is one answer, or a
    named formula is chosen."""
    c, other = choice.chosen, choice.other
    if other is None or c is choice.named:
        return ""
    full = choice.reference
    what = "the best model" if full is choice.best else reference_name(full)
    unit = abs(choice.mean(full)) or 1.0
    both = sorted([c, other], key=lambda one: one.size(choice.by_cost))
    first, second = (
        f"{counted(one.n_features, noun)} ({percent((choice.mean(one) - choice.mean(full)) / unit)} against {what})"
        for one in both
    )
    no_difference = "" if choice.shows_difference(*both) else "; no difference between them is shown"
    again = option("budget", other.cost) if choice.by_cost else option("k", other.n_features)
    return (
        f" Two answers: {first} or {second}{no_difference}. The model is that of {c.n_features}, the choice of the "
        f"rule; {again} gives the other."
    )


def _resolution(choice: Choice) -> str:
    bounds, rule = choice.bounds, choice.rule
    text = (
        f"These {bounds.n_queries} queries{_zero(choice)} cannot rule out a loss below "
        f"{share(bounds.resolution, choice)} for any model"
    )
    wanted = NEEDED if rule.guarantee is None else rule.guarantee
    if choice.resolution > wanted:
        text += f"; to rule out a loss of {wanted * 100:.3g}%, you would need {needed(choice, wanted)} queries"
    return f"{text}."


def _zero(choice: Choice) -> str:
    n = choice.bounds.n_zero
    return f", {n} of them with the value 0 for every model," if n else ""


def needed(choice: Choice, wanted: float, about: str = "roughly ") -> str:
    """Approximate number of queries that could rule out a loss of this share of the best mean: 'roughly 1,200'."""
    return _rounded(choice.bounds.queries_needed(wanted * choice.unit), about)


def _resampled(choice: Choice, noun: str) -> list[str]:
    sizes = choice.resampled_sizes
    if len(sizes) == 0:
        return []
    low, high = choice.size_range()
    kept = counted(low, noun) if low == high else f"between {low} and {counted(high, noun)}"
    how = "every time" if sizes.min() == sizes.max() else f"90% of {len(sizes)} times"
    return [f"On resampled queries the same rule selects {kept} ({how})."]


def n_stable(stability: Stability) -> int:
    """Number of selected features that at least MIN_FREQUENCY of the half-samples select."""
    return sum(float(stability.frequency[j]) >= MIN_FREQUENCY for j in stability.chosen)


def stability_sentence(stability: Stability, noun: str = FEATURE) -> str:
    """How stable the selection is."""
    name, value = stability.index
    stable, selected = n_stable(stability), counted(len(stability.chosen), noun)
    text = (
        f"On {stability.n_samples} half-samples of the queries, {stable} of the {selected} "
        f"{'is' if stable == 1 else 'are'} selected at least {MIN_FREQUENCY:.0%} of the time"
    )
    if math.isfinite(value):
        text += f" ({name} index {value:.2f}; 1: always the same {noun}s, 0: chance)"
    return f"{text}."


def counted(n: int | str, noun: str = FEATURE) -> str:
    """'1 feature', '2 features', '2 to 5 features'."""
    return f"{n} {noun}{'' if str(n) == '1' else 's'}"


def queries(n: int, kind: str = "") -> str:
    """'1 query', '1,200 test queries'."""
    return f"{n:,} {kind}{'query' if n == 1 else 'queries'}"


def estimated(c: Candidate, choice: Choice) -> str:
    """The estimated loss of a candidate, relative to the best mean: '0.9%'."""
    return f"{100.0 * choice.loss(c) / choice.unit:.1f}%"


def share(loss: float, choice: Choice) -> str:
    """A bound on a loss relative to the best mean: '1.6%'; never rounded down."""
    percent = 100.0 * loss / choice.unit
    return f"{max(math.ceil(percent * 10 - 1e-9), 0) / 10:.1f}%"


def _rounded(n: float, about: str = "roughly ") -> str:
    """Rounded up to two significant digits, because no more are known."""
    digits = max(len(f"{n:.0f}") - 2, 0)
    return many(math.ceil(n / 10**digits) * 10**digits if math.isfinite(n) else n, about)
