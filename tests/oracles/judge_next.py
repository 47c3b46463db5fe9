"""What to judge next, the slow way: each grade of each document by a new evaluation of its query, all allocations of
queries, and all random parts that people could have judged. Imports nothing from the package."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, product

Grades = Mapping[tuple[str, str], float]


def shown(run: Grades, query: str, cutoff: int) -> list[str]:
    """The documents on the first ranks; equal scores by descending id, as in trec_eval."""
    own = [(score, document) for (q, document), score in run.items() if q == query]
    return [document for _, document in sorted(own, reverse=True)][:cutoff]


def ndcg(grades: Grades, run: Grades, query: str, cutoff: int) -> float:
    """As trec_eval: the gain is the grade, and documents without one gain nothing."""

    def dcg(labels: Sequence[float]) -> float:
        return sum(max(label, 0.0) / math.log2(rank + 1) for rank, label in enumerate(labels[:cutoff], 1))

    ideal = dcg(sorted((grade for (q, _), grade in grades.items() if q == query), reverse=True))
    if ideal == 0:
        return 0.0
    return dcg([grades.get((query, document), 0.0) for document in shown(run, query, cutoff)]) / ideal


def precision(grades: Grades, run: Grades, query: str, cutoff: int) -> float:
    return sum(grades.get((query, d), 0.0) >= 1 for d in shown(run, query, cutoff)) / cutoff


def average_precision(grades: Grades, run: Grades, query: str, cutoff: int) -> float:
    """Of the whole list; the cutoff is only that of the documents that may get another grade."""
    relevant = [grades.get((query, d), 0.0) >= 1 for d in shown(run, query, len(run))]
    total = sum(grade >= 1 for (q, _), grade in grades.items() if q == query)
    hits = [sum(relevant[: rank + 1]) / (rank + 1) for rank, is_relevant in enumerate(relevant) if is_relevant]
    return sum(hits) / total if total else 0.0


METRICS = {"ndcg": ndcg, "p": precision, "map": average_precision}


def largest_moves(
    grades: Grades, runs: Sequence[Grades], metric: str, cutoff: int, tried: Sequence[float]
) -> dict[tuple[str, str], float]:
    """{(query, document): the largest change of the difference of the second run from the first (of one run, of its
    value), by any of the grades that are tried} for each document that one of them shows."""
    value = METRICS[metric]

    def difference(judged: Grades, query: str) -> float:
        values = [value(judged, run, query, cutoff) for run in runs]
        return values[-1] - values[0] if len(values) > 1 else values[0]

    found = {}
    for query in {q for q, _ in grades}:
        now = difference(grades, query)
        for document in {d for run in runs for d in shown(run, query, cutoff)}:
            changes = [difference({**grades, (query, document): g}, query) - now for g in tried]
            found[query, document] = max(map(abs, changes))
    return found


def room_for_favour(grades: Grades, runs: Sequence[Grades], metric: str, cutoff: int) -> dict[str, float]:
    """{query: the absolute difference of two runs if its grades followed the one, plus that if they followed the
    other}; documents that a run does not rank come last, by descending id, and have the lowest of the grades."""
    value = METRICS[metric]
    found = dict.fromkeys((q for q, _ in grades), 0.0)
    for query in found:
        documents = {d for pairs in (grades, *runs) for q, d in pairs if q == query}
        labels = sorted((grades.get((query, d), 0.0) for d in documents), reverse=True)
        for run in runs:
            first = shown(run, query, len(documents))
            ranking = [*first, *sorted(documents.difference(first), reverse=True)]
            following = {(query, d): label for d, label in zip(ranking, labels, strict=True)}
            a, b = (value(following, one, query, cutoff) for one in runs)
            found[query] += abs(b - a)
    return found


def smallest_variance(sizes: Sequence[int], before: Sequence[int], spread: Sequence[float], n: int) -> float:
    """Of the mean over strata with these spreads, without that of a census, over all ways to judge n more queries, of
    which each stratum has two."""
    ranges = [range(max(b, 2), size + 1) for b, size in zip(before, sizes, strict=True)]
    allocations = [after for after in product(*ranges) if sum(after) == sum(before) + n]
    return min(
        sum((size * s) ** 2 / count for size, s, count in zip(sizes, spread, after, strict=True))
        for after in allocations
    )


def first_parts(n_all: int, n: int) -> Iterator[tuple[int, ...]]:
    """All sets of queries that people could have judged first, each as likely as another."""
    return combinations(range(n_all), n)


def mean_over_draws(
    values: Sequence[float], strata: Sequence[str], first: Sequence[int], after: Mapping[str, int]
) -> float:
    """The mean, over all draws from the rest of each stratum, of the estimate with the weights of the strata. A mean
    over a random part of the rest has the mean of the rest, so that no draw need be made. after: queries of people in
    each stratum."""
    estimate = 0.0
    for stratum in {*strata}:
        members = [i for i, name in enumerate(strata) if name == stratum]
        own = [values[i] for i in members if i in first]
        rest = [values[i] for i in members if i not in first]
        more = after[stratum] - len(own)
        of_rest = more * sum(rest) / len(rest) if more else 0.0
        estimate += len(members) / len(values) * (sum(own) + of_rest) / after[stratum]
    return estimate
