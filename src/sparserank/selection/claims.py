"""The claims of a result: each claim that its data support is worded here, once. The screen, the page, result.json and
the sentences in Python show columns of these rows."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sparserank.crossval.choice import FEATURE, LEAD, LEAD_ALONE, MIN_NEW, Candidate, Choice, Rule, reference_name
from sparserank.crossval.current_model import LABEL
from sparserank.crossval.judged_queries import JudgeWorth
from sparserank.crossval.tasks import PEOPLE_ALONE
from sparserank.crossval.tree_rivals import WITHOUT
from sparserank.evaluation import Comparison
from sparserank.evaluation.judge_rows import times_as_many
from sparserank.evaluation.judges import LEAST_APART
from sparserank.evaluation.loss_bounds import MIN_DIFFERENT, MIN_QUERIES
from sparserank.evaluation.statistics import as_percent
from sparserank.options import option
from sparserank.selection.rivals import ComparedRival, RivalReport
from sparserank.text import change, figure, many, percent, relative, visible

if TYPE_CHECKING:
    from sparserank.selection.result import ChoiceResult

MIN_FREQUENCY = 0.8  # share of half-samples from which the selection of a feature is called stable
COARSE = 0.05  # from this resolution on, relative to the best mean, the chosen size counts as a guess (`coarse`)
NEEDED = 0.02  # loss, relative to the best mean, that users would want to rule out
MAX_HEADING = 60  # characters
MAX_SUBSTITUTES = 3  # named in a sentence
FIRST, BELOW, REST = 1, 2, 3  # the screen shows a claim in its first lines, below the table of rankers, or not at all
KEEP, JUDGED, LOSS = "keep", "queries", "estimated loss"
QUALITY, EXPECTED = "mean of the chosen model", "expected on new queries"
CONSTANT = "constant within every query"
NOT_COMPARED, STABILITY = "not compared", "selected on at least"


@dataclass(frozen=True)
class Claim:
    """A claim about a result.

    key      the subject
    figure   '': the claim is only a sentence, which tables leave out
    meaning  the meaning of the figure
    rank     FIRST, BELOW or REST
    said     the sentence, if it is not 'key: figure; meaning.'
    """

    key: str
    figure: str = ""
    meaning: str = ""
    rank: int = REST
    said: str = ""

    @property
    def text(self) -> str:
        """The claim as a sentence; '' if there is none."""
        if self.said or not self.figure:
            return self.said
        meaning = f"; {self.meaning}" if self.meaning else ""
        return f"{self.key[0].upper()}{self.key[1:]}: {self.figure}{meaning}."


def headline(rows: Sequence[Claim]) -> str:
    """The figures that come first, and the estimated loss, in one line."""
    line = "; ".join(f"{c.key} {c.figure}" for c in rows if c.figure and (c.rank == FIRST or c.key == LOSS))
    return f"{line[0].upper()}{line[1:]}"


def claims(result: ChoiceResult, of_pairs: str = "") -> list[Claim]:
    """The claims about a selection, by rank; of_pairs: a further clause about the intervals."""
    choice = result.choice
    rivals = result.rivals
    confidence = as_percent(result.plan.confidence)
    metric = result.plan.metric
    gain = f" Gain of {metric!r}: {metric.convention.shown_gain}." if metric.uses_gain else ""
    stars = f"for all sizes at once{', and for all rivals' if rivals.compared else ''} ('at most': one-sided{of_pairs})"
    intervals = Claim("* intervals", confidence, stars, BELOW, f"* {confidence}, {stars}.")
    judge = _believed(result)
    graded = f" of people, {times_as_many(visible(judge.name), judge.n_human, judge.n_all)}" if judge else ""
    rows = [
        Claim("options", rank=FIRST, said="" if result.origin is None else result.origin.start),
        _keep(result),
        Claim("suspicion", rank=FIRST, said=result.suspicion or ""),
        *([] if result.judge is None else [_judge(result.judge, choice.chosen.penalty.endswith(PEOPLE_ALONE))]),
        *([] if result.test is None else [_tested(result, result.test)]),
        *_of_means(result),
        *claims_of_choice(choice, repr(metric), result.n_all, gain, graded),
        *(_against(r, rivals) for r in rivals.compared),
        *_limits_of_rivals(rivals),
        *_of_today(result),
        *([intervals] if math.isfinite(choice.bound(choice.chosen)) else []),
        *_repeated(result),
    ]
    return sorted((c for c in rows if c.text), key=lambda c: c.rank)


def claims_of_choice(choice: Choice, metric: str, n_all: int, gain: str = "", graded: str = "") -> Iterator[Claim]:
    """What the queries show about the choice; gain: the gain of the metric, as a sentence; graded: what is said after a
    number of queries that would be needed."""
    bounds = choice.bounds
    yield Claim("features of an earlier run", rank=FIRST, said=_preferred(choice, metric))
    yield _resolution(choice, graded)
    yield Claim("two answers", rank=FIRST, said=_two_answers(choice))
    yield _rule(choice, n_all, gain)
    if bounds.n_rare:
        few = f"fewer than {MIN_DIFFERENT} queries"
        differ = f"{bounds.n_rare} of the {len(choice.candidates)} models {_verb(bounds.n_rare, 'differs', 'differ')}"
        why = "others of this kind may be missing by chance, and a loss may exceed its bound"
        yield Claim("rare differences", "", "", BELOW, f"{differ} from the best on {few}: {why}.")
    sizes = choice.resampled_sizes
    if len(sizes):
        low, high = choice.size_range()
        size = counted(low if low == high else f"{low} to {high}", choice.rule.noun)
        share = "every time" if sizes.min() == sizes.max() else f"in 90% of {len(sizes):,} resamples"
        yield Claim("size on resampled queries", size, f"by the same rule, {share}")


# -- the choice -------------------------------------------------------------------------------------------------------


def _keep(result: ChoiceResult) -> Claim:
    """The claim that names the choice, and the queries that it was evaluated on."""
    choice = result.choice
    c = choice.chosen
    judged = _judged(result)
    number = reference_name(c) if c is choice.named else f"{answers(choice)} of"
    choice_in_words = f"{number} {counted(result.n_all, choice.rule.noun)}"
    if result.plan.costs is not None or choice.by_cost:
        choice_in_words += f" at a {choice.rule.cost} of {c.cost:g}"
    name = f": {c.formula}" if c.formula and c is not choice.named else ""
    return Claim(KEEP, choice_in_words, judged, FIRST, f"Keep {choice_in_words}{name}.  {judged}.")


def _judged(result: ChoiceResult) -> str:
    """The number of queries, and how they were held out."""
    out_of_fold = result.plan.protocol == "cv"
    parts = {} if result.origin is None else {p.part: p for p in result.origin.data}
    used = [parts[name] for name in (("train", "validation") if out_of_fold else ("validation",)) if name in parts]
    documents = f" ({sum(p.documents for p in used):,} documents)" if used and result.judge is None else ""
    how = "each scored by models not trained on it" if out_of_fold else "held out for validation"
    which = " of train and valid" if out_of_fold and "validation" in parts else documents
    today = "" if result.change is None else "; today's ranker may have been trained on them"
    graded = "" if result.judge is None else " that people graded"
    return f"{queries(result.n_queries)}{which}{graded}, {how}{today}"


def _believed(result: ChoiceResult) -> JudgeWorth | None:
    """The judge, if the means contain what it says of its other queries."""
    judge = result.judge
    return judge if judge is not None and judge.worth > judge.n_human else None


def _judge(judge: JudgeWorth, of_people: bool) -> Claim:
    """What a judge is worth that graded other queries; of_people: whether the chosen model learned from people
    alone."""
    n = judge.n_human
    name = visible(judge.name)
    others = f"{name} graded {judge.n_all - n:,} other queries, from which models learned too"
    others += ", but not the chosen one" if of_people else ""
    worth = f"worth {queries(judge.worth - n, 'more human ')} (n = {n} -> {judge.worth})"
    said = f"For the choice, it is {worth}."
    if judge.worth == n:
        worth = "worth nothing for the choice"
        if judge.n_apart < LEAST_APART:
            apart = f"differs from people on {judge.n_apart} of their queries"
            worth = f"{worth}: it {apart}, too few to show how wrong it is elsewhere"
        said = f"It is {worth}."
    return Claim("judge", worth, others, FIRST, f"Judge: {others}. {said}")


def answers(choice: Choice) -> str:
    """The number of features, '13'; or both answers if the queries cannot decide, the smaller first: '3 or 29'."""
    sizes = {choice.chosen.n_features}
    if coarse(choice) and choice.other is not None:
        sizes.add(choice.other.n_features)
    return " or ".join(map(str, sorted(sizes)))


def heading(choice: Choice, n_all: int, better: str = "") -> str:
    """The choice in one line of at most MAX_HEADING characters: '2 of 6 retrievers are enough'; better: the ranker that
    is shown to be better, or ''."""
    c = choice.chosen
    n = c.n_features
    of_all = counted(n_all, choice.rule.noun)
    size = f"All {of_all}" if n == n_all else f"{n} of {of_all}"
    if better:
        line = f"{size}; {visible(better)} is better"
        return line if len(line) <= MAX_HEADING else f"{size}; a rival is better"
    if c is choice.named:
        return f"{size}, fused by {c.formula}"
    if choice.named is None and c.formula:
        return f"{size}: {c.formula}"
    if coarse(choice) and choice.other is not None:
        return f"{answers(choice)} of {of_all}: the queries cannot tell"
    if coarse(choice) or all_equal(choice) or not math.isfinite(choice.bound(c)):
        return f"{size}: a best guess"
    if choice.rule.limit is not None:
        return f"{size}, the best within the limit"
    if not choice.within_margin(c):
        return f"{size}: fewer lose more"
    return f"{size} {_verb(n, 'is', 'are')} {'kept' if n == n_all else 'enough'}"


def _rule(choice: Choice, n_all: int, gain: str) -> Claim:
    """The estimated loss, and the rule that allows it."""
    c = choice.chosen
    rule = choice.rule
    bound = choice.bound(c)
    lost = estimated(c, choice)
    star = ""
    if math.isfinite(bound):
        lost = f"{lost}, at most {share(bound, choice)}"
        star = "*"
    best = "" if choice.best is c else f" ({counted(choice.best.n_features, rule.noun)})"
    against = f"against the best of {len(choice.candidates)} models{best}"
    if c is choice.named and rule.limit is None:
        why = _defence(choice, n_all)
        return Claim(LOSS, lost, f"{against}. {why}", BELOW, f"{why}.")
    if rule.limit is not None:
        why = f"the best model{rule.whose} with {rule.limit}. Its loss"
    elif choice.within_margin(c):
        why = f"{smallest(choice.by_cost)} model{rule.whose} {enough(rule)}"
    else:
        larger = option("margin" if rule.guarantee is None else "guarantee")
        why = f"the best sparse model{rule.whose}, because none {enough(rule, verb=True)} (try a larger {larger}). Loss"
    meaning = f"{why} {against}"
    return Claim(LOSS, lost, meaning, BELOW, f"Rule: {meaning}: {lost}{star}.{gain}")


def smallest(by_cost: bool) -> str:
    """The word for the model that is chosen among those with a small enough loss: 'cheapest' or 'smallest'."""
    return "cheapest" if by_cost else "smallest"


def enough(rule: Rule, verb: bool = False) -> str:
    """The condition of the rule in words: 'with an estimated loss of at most 1%'; or with a verb, 'has an ...'."""
    if rule.guarantee is None:
        how = f"{'has' if verb else 'with'} an estimated loss of"
    else:
        how = f"{'is ' if verb else ''}shown to lose"
    return f"{how} at most {100 * rule.largest_loss:.3g}%"


def _defence(choice: Choice, n_all: int) -> str:
    """The reason why the named formula is chosen, the best other choice, and how many queries could show that it is
    better."""
    named = choice.named
    c = choice.contender
    noun = choice.rule.noun
    assert named is not None
    assert c is not None
    text = f"{reference_name(named)} {counted(n_all, noun)}: "
    if c is named:
        return f"{text}it is within the margin of the best formula, and none with fewer {noun}s is"
    lead = choice.mean(c) - choice.mean(named)
    unit = abs(choice.mean(named)) or 1.0
    asked = choice.asked(c)
    errors = LEAD_ALONE if c.n_features == 1 else LEAD
    text += f"the best other choice, {counted(c.n_features, noun)} ({c.label}), is {percent(lead / unit)} against it"
    if lead <= 0:
        return text
    error = f"standard error{'' if errors == 1 else 's'} of the difference ({percent(asked / unit).lstrip('+')})"
    would_show = f"{_rounded(choice.bounds.n_queries * (asked / lead) ** 2)} queries would show it"
    return f"{text}, less than {errors:g} {error}. If that lead is real, {would_show}"


def _preferred(choice: Choice, metric: str) -> str:
    """Whether the features of an earlier run are preferred, and why; '' if none were given."""
    p = choice.preference
    if p is None:
        return ""
    beginning = (
        f"Only features of {p.run} are used" if p.kept else f"The choice is not restricted to the features of {p.run}"
    )
    if p.loss is None:
        return f"{beginning}: none of their models is within the limits, or there are fewer than two queries."
    on = f"{queries(p.n_queries)}{' that it has not learned from' if p.new else ''}"
    loss, error = (100.0 * v / (p.unit or 1.0) for v in p.loss)
    below = "the best" if choice.rule.limit is None else "the choice of the rule alone"
    how = f"{abs(loss):.1f} +- {1.96 * error:.1f}% {'above' if loss < 0 else 'below'} {below}"
    margin = f"(margin {100 * choice.rule.largest_loss:.3g}%)"
    text = f"{beginning}: on {on}, {metric} is an estimated {how} {margin}."
    if p.new:
        return text
    few = "which queries it has learned from is not known" if p.new is None else f"fewer than {MIN_NEW} queries are new"
    return f"{text} These features may have been chosen with these labels, which flatters them: {few}."


# -- what the queries can tell ----------------------------------------------------------------------------------------


def _resolution(choice: Choice, graded: str) -> Claim:
    """The claim about the smallest loss that the queries can rule out, and the number of queries for a smaller one."""
    n = choice.bounds.n_queries
    n_zero = choice.bounds.n_zero
    n_models = len(choice.candidates)
    these = f"{'these ' if n > 1 else ''}{queries(n)}"
    wanted = NEEDED if choice.rule.guarantee is None else choice.rule.guarantee
    rank = FIRST
    meaning = f"all {n_models} models do equally well on each of them"
    if not math.isfinite(choice.bound(choice.chosen)):
        finding = f"{_verb(n, 'is', 'are')} too few to bound the loss of a model"
        meaning = f"at least {MIN_QUERIES} are needed"
    elif all_equal(choice):
        finding = "cannot tell any models apart"
    else:
        finding = f"cannot rule out a loss below {share(choice.bounds.resolution, choice)}"
        is_unsure = choice.resolution > wanted
        rank = FIRST if coarse(choice) else REST
        meaning = (
            f"to rule out {100 * wanted:.3g}%, you would need {needed(choice, wanted)} queries{graded}"
            if is_unsure
            else ""
        )
    zero = f", {n_zero} of them with the value 0 for every model," if n_zero else ""
    sentence = "; ".join(filter(None, [f"{these[0].upper()}{these[1:]}{zero} {finding}", meaning]))
    return Claim(these, finding, meaning, rank, f"{sentence}.")


def coarse(choice: Choice) -> bool:
    """Whether the chosen size is a guess: it rests on the estimate, and the queries cannot rule out a loss that
    matters."""
    if choice.margin_kind == "limit" or (choice.margin_kind == "bound" and choice.within_margin(choice.chosen)):
        return False
    return math.isfinite(choice.resolution) and choice.resolution > COARSE


def all_equal(choice: Choice) -> bool:
    """Whether no candidate differs from another on any query."""
    return choice.bounds.resolution == 0.0 and not choice.bounds.upper.any()


def _two_answers(choice: Choice) -> str:
    """The smaller model and the larger one between which the queries cannot decide; '' where there is one answer, or a
    named formula is chosen."""
    c = choice.chosen
    other = choice.other
    if not coarse(choice) or other is None or c is choice.named:
        return ""
    noun = choice.rule.noun
    full = choice.reference
    reference = "the best model" if full is choice.best else reference_name(full)
    both = sorted([c, other], key=lambda one: one.size(choice.by_cost))
    first, second = (
        f"{counted(one.n_features, noun)} ({change(choice.mean(one), choice.mean(full))} against {reference})"
        for one in both
    )
    no_difference = "" if choice.shows_difference(*both) else "; no difference between them is shown"
    again = option("budget", other.cost) if choice.by_cost else option("k", other.n_features)
    return (
        f"Two answers: {first} or {second}{no_difference}. The model is that of {c.n_features}, the choice of the "
        f"rule; {again} gives the other."
    )


def needed(choice: Choice, wanted: float) -> str:
    """Approximate number of queries that could rule out a loss of this share of the best mean: 'roughly 1,200'."""
    return _rounded(choice.bounds.queries_needed(wanted * choice.unit))


def _rounded(n: float) -> str:
    """Rounded up to two significant digits, because no more are known."""
    digits = max(len(f"{n:.0f}") - 2, 0)
    return many(math.ceil(n / 10**digits) * 10**digits if math.isfinite(n) else n, "roughly ")


# -- comparisons ------------------------------------------------------------------------------------------------------


def _against(r: ComparedRival, rivals: RivalReport) -> Claim:
    """The chosen model compared with a rival; the best rival above it comes first."""
    meaning = [f"the rival is shown to be {r.shown}" if r.shown else "no difference is shown"]
    if r is rivals.better and r.for_model:
        if rivals.straight and (r.on_chosen is None or r.chosen_mean is None or r.on_chosen > r.chosen_mean):
            meaning.append(f"{option('penalties', 'steps')} may close the gap")
        meaning.append(f"to choose features for it, use {option('for_model', r.for_model)}")
    if r.on_chosen is not None and r.chosen_mean is not None:
        on_chosen = f"{r.on_chosen:.4f} and the model itself {r.chosen_mean:.4f}"
        meaning.append(f"on the features of the chosen model, such trees reach {on_chosen}")
    rank = FIRST if r is (rivals.better or rivals.above) else REST
    key = f"chosen against {visible(r.title)} ({figure(r.mean)})"
    return Claim(key, r.against(shown=False), "; ".join(meaning), rank)


def _limits_of_rivals(rivals: RivalReport) -> Iterator[Claim]:
    """A rival that lacks features, and those that were not compared."""
    r = next((r for r in rivals.compared if r.lacks), None)
    if r is not None:
        trees, _, lacking = r.name.rpartition(WITHOUT)
        lacks = f"is handicapped: it is trained without {lacking}, which the table does not have."
        yield Claim("handicap", rank=FIRST, said=f"{visible(trees)} {lacks}")
    for reason in dict.fromkeys(left_out.reason for left_out in rivals.left_out):
        names = ", ".join(left_out.name for left_out in rivals.left_out if left_out.reason == reason)
        yield Claim(NOT_COMPARED, said=f"{names}: not compared, {reason}.")


def _of_today(result: ChoiceResult) -> Iterator[Claim]:
    """The effect of replacing the ranker in use, and a warning if the model is not shown to be better."""
    today = result.change
    if today is None:
        return
    if today.difference < 0:
        is_shown = today.high < 0
        shown = "is shown to be better: do not switch" if is_shown else "has the higher mean, perhaps by chance"
        yield Claim("warning", rank=FIRST, said=f"Today's ranker {shown}.")
    elif today.low < 0 < today.difference:
        sentence = "These queries do not show that it ranks better than today's ranker."
        yield Claim("warning", rank=FIRST, said=sentence)
    yield Claim("change", said=today.sentence(result.metric, as_percent(result.plan.confidence)))


def _of_means(result: ChoiceResult) -> Iterator[Claim]:
    """The quality of the chosen model, what to expect of it, and how it compares with all features."""
    choice = result.choice
    c = result.chosen
    reference = result.reference
    n = result.n_queries
    mean = f"{result.metric} is {figure(c.mean)} with {counted(c.n_features, result.noun)}"
    with_judge = " and those of the judge" if _believed(result) else ""
    mean += f" and {figure(reference.mean)} with {reference.name} ({change(c.mean, reference.mean)})"
    yield Claim(QUALITY, figure(c.mean), f"{result.metric}, {c.label}", said=f"On {queries(n)}{with_judge}, {mean}.")
    if math.isfinite(choice.corrected_chosen):
        expected = f"{choice.corrected_chosen:.4f}"
        low, high = choice.corrected_interval(result.plan.confidence)
        leads = ", ".join(f"{percent(lead)} against {name}" for name, lead in result.leads.items())
        interval = f"{as_percent(result.plan.confidence)}: {low:.4f} to {high:.4f}"
        same = f"these {queries(n)} also chose the model"
        if not math.isfinite(low):
            interval = f"no interval: all but {choice.n_unequal} values are equal"
            same = ""
        why = "; ".join(filter(None, [interval, leads, same]))
        yield Claim(EXPECTED, expected, why, BELOW, f"Expected on new queries: {expected} ({why}).")
    if result.change is not None or c is not result.dense:
        valid = f"{as_percent(result.plan.confidence)} interval, valid for all sizes at once"
        yield Claim(f"chosen against {reference.name}", reference.against(), valid)
    if result.change is not None:
        yield Claim(f"chosen against {result.against_all.name}", result.against_all.against())


def _tested(result: ChoiceResult, test: Comparison) -> Claim:
    """The chosen model on the test queries, compared with today's ranker or with all features, and with trees."""
    chosen, full, *others = [r for r in test.rows(result.plan.confidence) if r["metric"] == result.metric]
    pairs = [(reference_name(result.dense), full)]
    if result.change is not None:
        pairs = [("today", r) for r in others if r["system"].startswith(LABEL)]
    trees = [r.name for r in result.rivals.compared if r.for_model]
    pairs += [(visible(r["system"]), r) for r in others if r["system"] in trees]
    text = f"Your {queries(len(test.query_ids), 'test ')}: chosen {figure(chosen['mean'])}"
    for name, r in pairs:  # whose differences are from the chosen model
        lead = relative(-r["difference"], -r["difference_high"], -r["difference_low"], r["mean"])
        text += f", against {name} ({figure(r['mean'])}) {lead}"
    return Claim("test", rank=BELOW, said=f"{text}; each pair alone.")


# -- other samples, other features ------------------------------------------------------------------------------------


def _repeated(result: ChoiceResult) -> Iterator[Claim]:
    """Claims about the stability of the selected features, and about their substitutes."""
    stability = result.stability
    noun = result.noun
    if stability is not None:
        name, index = stability.index
        stable = sum(float(stability.frequency[j]) >= MIN_FREQUENCY for j in stability.chosen)
        yield Claim(
            f"{STABILITY} {MIN_FREQUENCY:.0%} of {stability.n_samples} half-samples",
            f"{stable} of {counted(len(stability.chosen), noun)}",
            f"{name} index {index:.2f}; 1: always the same {noun}s, 0: chance" if math.isfinite(index) else "",
        )
    best = sorted(result.facts.substitutes, key=lambda row: -row["difference"])[:MAX_SUBSTITUTES]
    if best:
        pair = "{feature} with {other} ({difference:+.4f}, correlation {correlation:.2f})"
        pairs = [pair.format_map(row) for row in best]
        you_can = f"According to the estimates of {result.metric}, you can replace"
        yield Claim("substitutes", said=f"{you_can} {', '.join(pairs)}.")


# -- phrases ----------------------------------------------------------------------------------------------------------


def never_used(constant: Sequence[str]) -> list[str]:
    """The sentence about features that cannot change a ranking, if there are any."""
    return [f"Never used, because {CONSTANT}: {', '.join(constant)}."] if constant else []


def counted(n: int | str, noun: str = FEATURE) -> str:
    """'1 feature', '2 features', '2 to 5 features'."""
    return f"{n} {noun}{'' if str(n) == '1' else 's'}"


def queries(n: int, kind: str = "") -> str:
    """'1 query', '1,200 test queries'."""
    return f"{n:,} {kind}{_verb(n, 'query', 'queries')}"


def _verb(n: int, one: str, several: str) -> str:
    return one if n == 1 else several


def estimated(c: Candidate, choice: Choice) -> str:
    """The estimated loss of a candidate, relative to the best mean: '0.9%'."""
    return f"{100.0 * choice.loss(c) / choice.unit:.1f}%"


def share(loss: float, choice: Choice) -> str:
    """A bound on a loss relative to the best mean: '1.6%'; never rounded down."""
    in_percent = 100.0 * loss / choice.unit
    tenths = math.ceil(in_percent * 10 - 1e-9)
    return f"{max(tenths, 0) / 10:.1f}%"
