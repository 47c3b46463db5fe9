"""The paths to fit: one task for each maker under a transform, its starts and its refits, in an order in which they can
be started."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from sparserank.crossval.feature_transforms import RAW, FeatureTransform
from sparserank.paths import PathStarts, PenaltyPath, RefitPath, RuledMaker
from sparserank.paths.result import n_used
from sparserank.paths.sizes import SizeOf
from sparserank.penalties.rules import SIZE

# Roughly measured time of a path, relative to an l1 path; DISTILLED: relative to the same path without a teacher.
OF_STEPS, OF_SIZES, OF_CONCAVE, OF_REFITS, OF_RIDGE, DISTILLED = 5.0, 6.0, 1.5, 0.5, 0.3, 1.5
FINAL = -1  # fold number of the final path, which is fitted to all training queries


PEOPLE_ALONE = ", people alone"  # the end of labels of tasks that learn from no judge


@dataclass(frozen=True)
class PathTask:
    """A maker that is tried under a transform of the features, with a label; or one of its paths, which omits `fold`.

    start    label of the task whose paths are the starts of these, or are refitted by them
    scored   False: its paths are only starts for others
    fold     for one path: the fold that is left out; starts: the path that it starts from, or refits; tell: as in
             `PathPlan`
    """

    label: str
    maker: RuledMaker
    transform: FeatureTransform = RAW
    start: str | None = None
    scored: bool = True
    fold: int = FINAL
    starts: PathStarts | None = None
    tell: Callable[[int], None] | None = None

    @property
    def key(self) -> str:
        """The label, and the teacher that the paths depend on: part of the names of their pieces."""
        teacher = self.transform.teacher
        return self.label if teacher is None else f"{self.label} {teacher.key}".rstrip()

    @property
    def effort(self) -> float:
        """Expected time of a path, relative to one of l1 on the same data; for the time left."""
        rules = self.maker.rules
        if rules.along == SIZE:
            effort = OF_STEPS if rules.on_steps else OF_SIZES
        elif self.maker.selects:
            effort = 1.0 if self.maker.starts_from is None else OF_CONCAVE
        else:
            effort = OF_RIDGE if self.start is None else OF_REFITS
        return effort * (1.0 if self.transform.teacher is None else DISTILLED)


def refit_label(label: str) -> str:
    """The label of the refits of a task."""
    return f"{label} relaxed"


def with_starts_and_refits(
    tasks: Sequence[PathTask], *, relaxed: bool = False, size_of: SizeOf = n_used
) -> list[PathTask]:
    """These tasks and those that they need, transform by transform. Concave penalties start from the l1 path under the
    same rules, which is one of the tasks or is added. They come after the paths that they start from, so no path
    depends on the presence of other tasks.

    relaxed  models of each size are also refitted, except those of an l1 path from which a concave penalty starts: the
             concave penalty already shrinks them less, and its models are refitted (figures in benchmarks/nested.md)
    size_of  function that gives sizes; one point per size is refitted
    """
    if len({t.label for t in tasks}) < len(tasks):
        raise ValueError("labels of tasks must differ.")
    out: list[PathTask] = []
    for transform in dict.fromkeys(t.transform for t in tasks):
        tasks_of_transform = [t for t in tasks if t.transform == transform]
        # Paths that start from nothing, and the l1 paths that others start from.
        first = [t for t in tasks_of_transform if t.maker.starts_from is None]
        starts: dict[RuledMaker, str] = {}
        for t in reversed(first):
            maker = t.maker
            if isinstance(maker, PenaltyPath):  # a path uses its own strengths, not that of its penalty
                maker = replace(maker, penalty=maker.penalty.with_alpha(1.0))
            starts[maker] = t.label
        second: list[PathTask] = []
        for t in tasks_of_transform:
            source = t.maker.starts_from
            if source is not None:
                if source not in starts:
                    # Named after the task that starts from it: a number would depend on the other tasks.
                    starts[source] = f"start of {t.label} (l1)"
                    first.append(PathTask(starts[source], source, transform, scored=False))
                second.append(replace(t, start=starts[source]))
        shrunk_less = {t.start for t in second if t.maker.shrinks}
        refits = [
            PathTask(refit_label(t.label), RefitPath(t.maker.rules.monotone, size_of), transform, t.label)
            for t in tasks_of_transform
            if relaxed and t.maker.shrinks and t.label not in shrunk_less
        ]
        out += first + second + refits
    return out
