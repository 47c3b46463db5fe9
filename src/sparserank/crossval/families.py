"""The families of paths that fit the trials: one for each maker, in an order in which they can be started."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from sparserank.crossval.feature_transforms import RAW, FeatureTransform
from sparserank.paths import PathMaker, PenaltyPath, RefitPath, RuledMaker
from sparserank.paths.result import n_used
from sparserank.paths.sizes import SizeOf
from sparserank.penalties import FeatureRules, Ridge


@dataclass(frozen=True)
class Trial:
    """A maker that is tried under a transform of the features, with a label."""

    label: str
    maker: RuledMaker
    transform: FeatureTransform = RAW


@dataclass(frozen=True)
class Family:
    """The paths of one maker, without each fold and on all queries.

    kind     class that its paths are named after: a penalty, or a maker by size
    start    label of the family whose paths they start from, or refit
    scored   False: its paths are only starts for others
    """

    label: str
    maker: PathMaker
    transform: FeatureTransform
    kind: type[FeatureRules]
    start: str | None = None
    scored: bool = True


def refit_label(label: str) -> str:
    """The label of the family of refits of a family."""
    return f"{label} relaxed"


def families(
    trials: Sequence[Trial],
    *,
    relaxed: bool = False,
    size_of: SizeOf = n_used,
) -> list[Family]:
    """The families to fit for these trials, transform by transform. Concave penalties start from the l1 path under the
    same rules, which is one of the trials or is added. They come after the paths that they start from, so no path
    depends on which other trials there are.

    size_of  function that gives sizes; one point of each size is refitted
    """
    if len({t.label for t in trials}) < len(trials):
        raise ValueError("labels of trials must differ.")
    out: list[Family] = []
    for transform in dict.fromkeys(t.transform for t in trials):
        own = [t for t in trials if t.transform == transform]
        out += _on_look(own, relaxed, size_of)
    return out


def _on_look(trials: Sequence[Trial], relaxed: bool, size_of: SizeOf) -> list[Family]:
    transform = trials[0].transform
    first: list[Family] = []
    second: list[Family] = []
    starts: dict[RuledMaker, str] = {}
    for t in trials:
        if t.maker.starts_from is None:
            first.append(Family(t.label, transform.on(t.maker), transform, type(t.maker.rules)))
            starts.setdefault(_of_any_strength(t.maker), t.label)
    for t in trials:
        source = t.maker.starts_from
        if source is not None:
            if source not in starts:
                starts[source] = transform.label(f"start {1 + sum(not f.scored for f in first)} (l1)")
                start = Family(starts[source], transform.on(source), transform, type(source.rules), scored=False)
                first.append(start)
            second.append(Family(t.label, transform.on(t.maker), transform, type(t.maker.rules), starts[source]))
    again = [
        Family(refit_label(t.label), RefitPath(transform.monotone(t.maker.rules), size_of), transform, Ridge, t.label)
        for t in trials
        if relaxed and t.maker.shrinks
    ]
    return first + second + again


def _of_any_strength(maker: RuledMaker) -> RuledMaker:
    """The maker with a fixed strength, because a path uses its own strengths, not that of its penalty."""
    return replace(maker, penalty=maker.penalty.with_alpha(1.0)) if isinstance(maker, PenaltyPath) else maker
