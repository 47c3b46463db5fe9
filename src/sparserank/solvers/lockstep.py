"""Requests that solvers yield, and the driver that answers them: similar requests of several solves share one pass over
the data."""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from sparserank.execution import one_blas_thread
from sparserank.metrics import Metric
from sparserank.objective import PairwiseObjective
from sparserank.weighting import Weighting

T = TypeVar("T")


@dataclass(frozen=True, eq=False)
class Evaluate:
    """Request the LossEvaluation of an objective at w (n_features,), or one for each of the rows of w (m, n_features).
    The objective caches the last one."""

    objective: PairwiseObjective
    w: np.ndarray

    @staticmethod
    def answer(weighting: Weighting, asked: Sequence[Evaluate]) -> list[Any]:
        # All requested points of all solves are evaluated in one pass; the results are then split by request.
        places = [(a.objective, a.objective.checked(w)) for a in asked for w in np.atleast_2d(a.w)]
        results = weighting.evaluate([o.k for o, _ in places], np.array([w for _, w in places]))
        evaluations = iter([o.remember(w, r) for (o, w), r in zip(places, results, strict=True)])
        return [next(evaluations) if a.w.ndim == 1 else [next(evaluations) for _ in a.w] for a in asked]


@dataclass(frozen=True, eq=False)
class Hessian:
    """Request the Hessian of an objective at w on some columns. With n_docs, it comes from a sample of about that many
    documents; a different `turn` selects different queries."""

    objective: PairwiseObjective
    w: np.ndarray
    columns: np.ndarray
    n_docs: int | None
    turn: int = 0

    @staticmethod
    def answer(weighting: Weighting, asked: Sequence[Hessian]) -> list[Any]:
        return weighting.hessians([(a.w, a.columns, a.objective.k, a.n_docs, a.turn) for a in asked])


@dataclass(frozen=True, eq=False)
class HessianTimes:
    """Request the product of an objective's Hessian at w and v (n_features,)."""

    objective: PairwiseObjective
    w: np.ndarray
    v: np.ndarray

    @staticmethod
    def answer(weighting: Weighting, asked: Sequence[HessianTimes]) -> list[Any]:
        return [a.objective.hessian_matvec(a.w, a.v) for a in asked]


@dataclass(frozen=True, eq=False)
class BinSums:
    """Request the sums by bin of a boosting round for some features at w, whose columns are steps; `Shard.bin_sums`."""

    objective: PairwiseObjective
    w: np.ndarray
    features: np.ndarray
    seeds: np.ndarray
    cutoff: int

    @staticmethod
    def answer(weighting: Weighting, asked: Sequence[BinSums]) -> list[Any]:
        asks = [(a.w, a.features, a.objective.k, a.cutoff) for a in asked]
        return weighting.bin_sums(asks, np.array([a.seeds for a in asked]))


@dataclass(frozen=True, eq=False)
class Measure:
    """Request the means of a metric (m,) for the models at the rows of w (m, n_features), on the queries of the
    objective."""

    objective: PairwiseObjective
    w: np.ndarray
    metric: Metric

    @staticmethod
    def answer(weighting: Weighting, asked: Sequence[Measure]) -> list[Any]:
        return [weighting.measure(a.w, a.metric, a.objective.k) for a in asked]


@dataclass(frozen=True)
class Seconds:
    """Request the seconds that this solve has used so far, including its share of the passes that it shared with other
    solves."""


Request = Evaluate | Hessian | HessianTimes | BinSums | Measure | Seconds
Steps = Generator[Request, Any, T]  # a computation that yields requests, receives the replies, and returns T
# The first kind with a waiting request is answered, so that evaluations accumulate and share a pass.
ORDER = (Hessian, HessianTimes, BinSums, Measure, Evaluate)


def run(steps: Steps[T]) -> T:
    """Drive one computation to its end."""
    return run_all([steps])[0]


def run_all(computations: Sequence[Steps[T]]) -> list[T]:
    """Drive several computations to their ends, in lockstep: requests to one weighting are answered together.

    No computation waits for the iterations of another: each continues as soon as its request is answered, and gets the
    same results as alone, to the last bit.
    """
    results: list[Any] = [None] * len(computations)
    spent = [0.0] * len(computations)
    waiting: dict[int, Request] = {}

    # Resume computation i with a reply, and record its next request or its result. Requests for the time are answered
    # at once; the time until the next request is charged to i.
    def go_on(i: int, reply: Any) -> None:
        began = time.perf_counter()
        try:
            request = computations[i].send(reply)
            while isinstance(request, Seconds):
                request = computations[i].send(spent[i] + time.perf_counter() - began)
            waiting[i] = request
        except StopIteration as finished:
            results[i] = finished.value
            waiting.pop(i, None)
        spent[i] += time.perf_counter() - began

    with one_blas_thread():
        # Run every computation up to its first request for data.
        for i in range(len(computations)):
            go_on(i, None)
        while waiting:
            # One kind of request is answered at a time, Hessians first: those solves then catch up, so that more
            # evaluations are waiting when a pass over all data begins.
            kind: Any = next(kind for kind in ORDER if any(isinstance(r, kind) for r in waiting.values()))
            # Requests to the same weighting share a pass; each solve is charged an equal part of its time.
            groups: dict[int, list[int]] = {}
            for i, request in waiting.items():
                if isinstance(request, kind):
                    groups.setdefault(id(request.objective.weighting), []).append(i)
            for members in groups.values():
                began = time.perf_counter()
                asked: list[Any] = [waiting[i] for i in members]
                replies = kind.answer(asked[0].objective.weighting, asked)
                for i in members:
                    spent[i] += (time.perf_counter() - began) / len(members)
                for i, reply in zip(members, replies, strict=True):
                    go_on(i, reply)
    return results
