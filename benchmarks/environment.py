"""What a figure depends on besides the code: the machine, the versions, the threads."""

from __future__ import annotations

import os
import platform
import resource
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("sparserank", "numpy", "scipy", "numba", "scikit-learn", "skglm", "xgboost", "lightgbm")
OTHER_NAMES = {"xgboost": "xgboost-cpu"}  # the same library without its GPU part
THREAD_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def pin_threads(n: int) -> None:
    """Limit the thread pools of processes started from now on; a library that is loaded already does not look again."""
    for name in THREAD_VARIABLES:
        os.environ[name] = str(n)


def describe() -> str:
    """One line per fact, for the head of a report."""
    load = ", ".join(f"{x:.2f}" for x in os.getloadavg())
    lines = [
        f"cpu      {_cpu_model()}, {os.cpu_count()} cores, load average {load}",
        f"system   {platform.system()} {platform.machine()}, Python {platform.python_version()}",
        "packages " + ", ".join(f"{p} {_version(p)}" for p in PACKAGES),
    ]
    return "\n".join(lines)


class Neighbours:
    """How much of the machine other processes take meanwhile:
    figures of a shared machine need that beside them (Linux)."""

    def __init__(self) -> None:
        self._start = time.perf_counter(), _busy_s(), _own_s()

    def cores(self) -> float:
        """Cores that were busy since construction, on average, with something else than this program."""
        began, busy, own = self._start
        foreign = (_busy_s() - busy) - (_own_s() - own)
        return max(foreign, 0.0) / (time.perf_counter() - began)


def _busy_s() -> float:
    """CPU seconds spent by all processes since boot; idle and waiting for input are left out."""
    user, nice, system, _, _, irq, softirq = (int(x) for x in Path("/proc/stat").read_text().split()[1:8])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def _own_s() -> float:
    """CPU seconds of this process and of its finished children."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in usages)


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def _version(package: str) -> str:
    for name in (package, OTHER_NAMES.get(package, package)):
        try:
            return version(name)
        except PackageNotFoundError:
            continue
    return "absent"
