"""One whole job in a process of its own, with this version of the package or with an earlier one; prints what it cost.

`python -m benchmarks.jobs select 6000` runs it here; `cost` starts it, and may put the sources of an earlier commit
first.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.datasets import Ranking, mslr_shaped

BEFORE = "SPARSERANK_BEFORE"  # a checkout of an earlier commit, see `python -m benchmarks --before`
POLL_S = 0.2
N_THREADS = 2
N_PASSES = 60
RAW = 6.0  # features become exp(RAW x) - 1: many small values, few large ones, which logarithms undo


@dataclass(frozen=True)
class Cost:
    """Seconds and CPU seconds of the job; the peak of all its processes together, data included;
    what it says of its result."""

    time_s: float
    cpu_s: float
    peak_bytes: int
    result: str


def cost(job: str, *arguments: object, before: bool = False) -> Cost:
    """Run a job of this module in a fresh process and watch its memory (Linux)."""
    root = Path(__file__).parent.parent
    source = Path(os.environ[BEFORE]) / "src" if before else root / "src"
    environment = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{root}"}
    command = [sys.executable, "-m", "benchmarks.jobs", job, *map(str, arguments)]
    process = subprocess.Popen(command, env=environment, cwd=root, stdout=subprocess.PIPE, text=True)
    peak = 0
    while process.poll() is None:
        peak = max(peak, sum(map(_proportional_bytes, _tree(process.pid))))
        time.sleep(POLL_S)
    assert process.stdout is not None
    if process.returncode:
        raise RuntimeError(f"{' '.join(command)} ended with {process.returncode}")
    told = json.loads(process.stdout.read().splitlines()[-1])
    return Cost(told["time_s"], told["cpu_s"], peak, told["result"])


def _tree(pid: int) -> list[int]:
    """The process and all that it started."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [p for child in task.read_text().split() for p in _tree(int(child))]
        except OSError:
            continue
    return found


def _proportional_bytes(pid: int) -> int:
    """Memory of one process, what it shares counted once over those that share it."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def _cpu_s() -> float:
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in usages)


def _dataset(data: Ranking) -> Any:
    from sparserank.data.dataset import RankingDataset

    return RankingDataset(data.X, data.relevance, np.repeat(np.arange(len(data.lengths)), data.lengths))


def select(data: Ranking) -> str:
    """`select` with l1, log and MCP, 5 folds, 40 alphas, without transforms and refits."""
    from sparserank.metrics import parse_metric
    from sparserank.penalties import parse_penalty
    from sparserank.selection.plan import SelectionPlan

    penalties = tuple(parse_penalty(p) for p in ("l1", "log", "mcp"))
    plain = {
        "relaxed": False,
        "feature_transform": "none",
        "half_samples": 0,
        "margin": 0.01,
    }  # an earlier commit may not know them
    known: dict[str, Any] = {name: value for name, value in plain.items() if name in SelectionPlan.__dataclass_fields__}
    plan = SelectionPlan(penalties, parse_metric("ndcg@10"), (parse_metric("map"), parse_metric("ndcg@5")), **known)
    try:
        jobs: Any = import_module("sparserank.selection.job")
        problem = getattr(jobs, "SelectionProblem", None) or jobs.Problem  # as it was called before
        job: Any = jobs.SelectionJob(plan, problem(_dataset(data)), n_threads=N_THREADS)
    except ImportError:  # in earlier versions
        earlier = import_module("sparserank.jobs.selection_job").SelectionJob
        job = earlier(plan, _dataset(data), None, None, n_threads=N_THREADS)
    result = job.execute()
    chosen: Any = getattr(result.chosen, "candidate", result.chosen)
    return f"{chosen.n_features} features ({chosen.penalty}), best {result.best.mean:.4f}"


def select_default(data: Ranking, rival: str = "none") -> str:
    """`select` as it is by default, without trees, on features as raw as those of a web search engine."""
    import sparserank as sr

    raw = Ranking(np.expm1(RAW * data.X).astype(data.X.dtype), data.relevance, data.query_ptr)
    result = sr.select(_dataset(raw), rival=rival, n_threads=N_THREADS)
    chosen, n = result.chosen, len(result.choice.candidates)
    return f"{chosen.n_features} features ({chosen.penalty}) of {n} candidates, best {result.best.mean:.4f}"


def select_with_rival(data: Ranking) -> str:
    """The same with LightGBM."""
    return select_default(data, "lightgbm")


def path(data: Ranking) -> str:
    """100 l1 alphas to 0.001 alpha_max, KKT 1e-4."""
    try:
        from sparserank.paths import fit_path_on
    except ImportError:  # before paths had a room of their own
        from sparserank.path import fit_path_on  # type: ignore[no-redef, import-not-found]
    from sparserank.objective import PairwiseObjective
    from sparserank.penalties import L1

    objective = PairwiseObjective(data.X, data.relevance, data.query_ptr, n_threads=N_THREADS)
    found = fit_path_on(objective, L1(), n_alphas=100, alpha_min_ratio=1e-3, tol=1e-4)
    worst = float(found.kkt_violations.max()) / found.l1_alpha_max
    return f"kkt {worst:.0e}, sum of objectives {found.objectives.sum():.6f}"


def fused_pass(data: Ranking) -> str:
    """N_PASSES passes at points that move by 1%, as on a path."""
    from sparserank.objective import PairwiseObjective

    objective = PairwiseObjective(data.X, data.relevance, data.query_ptr, n_threads=N_THREADS)
    w = np.random.default_rng(0).standard_normal(data.X.shape[1]) / data.X.shape[1]
    values = [objective.value_and_gradient((1.0 + 0.01 * (i % 2)) * w)[0] for i in range(N_PASSES)]
    return f"{values[-1]:.12f}"


def main() -> None:
    jobs = (select, select_default, select_with_rival, path, fused_pass)
    job = next(job for job in jobs if job.__name__ == sys.argv[1])
    n_queries, dtype = int(sys.argv[2]), np.dtype(sys.argv[3]).type
    job(mslr_shaped(40, 20, dtype)[0])  # compilation, outside the clock
    data, _ = mslr_shaped(n_queries, dtype=dtype)
    began, cpu = time.perf_counter(), _cpu_s()
    result = job(data)
    print(json.dumps({"time_s": time.perf_counter() - began, "cpu_s": _cpu_s() - cpu, "result": result}))


if __name__ == "__main__":
    main()
