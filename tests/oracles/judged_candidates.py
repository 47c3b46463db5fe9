"""Values of candidates from grades of people for a few queries and of a judge for many, the slow way: one loop per sum
of (12) in docs/theory.md, section 10. Imports nothing from the package."""

import math

Table = list[list[float]]  # one row for each candidate, one value for each query


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def apart(values: Table) -> Table:
    """Each value less the mean of all candidates on its query."""
    return [[row[q] - mean([other[q] for other in values]) for q in range(len(row))] for row in values]


def lambda_of(human: Table, judge: Table, queries: list[int]) -> float:
    """(6) for all candidates together, from some queries of people."""
    human, judge = apart(human), apart(judge)
    if len(queries) < 3:
        return 0.0
    gh = dict.fromkeys(queries, 0.0)
    gg = dict.fromkeys(queries, 0.0)
    for h, g in zip(human, judge, strict=True):
        mean_h = mean([h[q] for q in queries])
        mean_g = mean([g[q] for q in queries])
        for q in queries:
            gh[q] += (g[q] - mean_g) * (h[q] - mean_h)
            gg[q] += (g[q] - mean_g) ** 2
    all_gh = sum(gh.values())
    all_gg = sum(gg.values())
    if all_gh <= 0.0:
        return 0.0
    slope = all_gh / all_gg
    n = len(queries)
    error = sum((gh[q] - slope * gg[q]) ** 2 for q in queries) / all_gg**2 * n / (n - 2)
    return min(max(slope - error / slope, 0.0), 2.0)


def values_of_people(
    human: Table, judge: Table, rest: Table, folds: list[int], partners: list[int], *, by_folds: bool = True
) -> Table:
    """(12) for each candidate and query of people. by_folds=False is the wrong variant: one lambda from all of them."""
    n = len(folds)
    r = len(rest[0])
    c = r / (n + r)
    lambdas = []
    for fold in folds:
        others = [q for q in range(n) if folds[q] != fold or not by_folds]
        lambdas.append(lambda_of(human, judge, others))
    scale = c * mean(lambdas) * math.sqrt(n / r)
    out = []
    for h, g, others in zip(human, judge, rest, strict=True):
        noise = [others[p] for p in partners]
        out.append([h[q] - lambdas[q] * c * (g[q] - mean(others)) + scale * (noise[q] - mean(noise)) for q in range(n)])
    return out
