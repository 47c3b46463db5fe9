"""When a choice may leave a formula that was named beforehand, the slow way: query by query, in plain Python."""

import math

Values = list[float]


def lead_and_error(values: Values, named: Values) -> tuple[float, float]:
    """Mean of the paired differences from the named formula, and its standard error."""
    differences = [v - n for v, n in zip(values, named, strict=True)]
    mean = sum(differences) / len(differences)
    variance = sum((d - mean) ** 2 for d in differences) / (len(differences) - 1)
    return mean, math.sqrt(variance / len(differences))


def chosen(
    candidates: list[tuple[int, Values]], named: int, margin: float, of_one: float = 1.5, of_more: float = 1.0
) -> int:
    """The number of the chosen candidate among (size, values of each query).

    Who may be chosen: the named formula, and every candidate whose mean leads it by `of_one` standard errors if it has
    the size 1, and by `of_more` if it is larger. Of these, the best of the smallest size within the margin of the best
    of all candidates; if none is within it, the best.
    """
    allowed = []
    for i, (size, values) in enumerate(candidates):
        lead, error = lead_and_error(values, candidates[named][1])
        if i == named or (lead > 0 and lead >= (of_one if size == 1 else of_more) * error):
            allowed.append(i)
    means = [sum(values) / len(values) for _, values in candidates]
    within = [i for i in allowed if max(means) - means[i] <= margin * max(means)]
    if within:
        smallest = min(candidates[i][0] for i in within)
        allowed = [i for i in within if candidates[i][0] == smallest]
    return max(allowed, key=lambda i: means[i])
