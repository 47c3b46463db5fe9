"""Competitors, one package per file; a new one is one file and one line here."""

from benchmarks.competitors.base import Competitor, Fit, Problem, unavailable
from benchmarks.competitors.explicit_fista import ExplicitFista
from benchmarks.competitors.lightgbm_lambdarank import Lambdarank
from benchmarks.competitors.linear_svc import LinearSvc
from benchmarks.competitors.null import Null
from benchmarks.competitors.ours import Ours
from benchmarks.competitors.skglm_pairs import SkglmPairs
from benchmarks.competitors.xgboost_gblinear import Gblinear

COMPETITORS: dict[str, Competitor] = {
    "ours": Ours(),
    "ours, 2 threads": Ours(),
    "null": Null(),
    "liblinear": LinearSvc(),
    "fista published": ExplicitFista("published"),
    "fista tight": ExplicitFista("tight"),
    "skglm anderson": SkglmPairs("AndersonCD"),
    "skglm newton": SkglmPairs("ProxNewton"),
    "gblinear": Gblinear(),
    "lambdarank": Lambdarank(),
}

__all__ = ["COMPETITORS", "Competitor", "Fit", "Problem", "unavailable"]
