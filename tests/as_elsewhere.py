"""The core of the suite without what only POSIX has: `python -m tests.as_elsewhere`, then pytest's options.

Every process of the tests, workers and commands too, runs without fcntl, fork, the affinity of processes, pread and the
signals that Windows lacks (`elsewhere/sitecustomize.py`). This shows that nothing asks for them; it does not show that
the paths, locks and consoles of another system behave.
"""

import os
import subprocess
import sys
from pathlib import Path

CORE = "dataset export frames fuse main_job model resume runs select solvers store workdir"
HERE = Path(__file__).parent
WORDS = "kill signal fifo pipe full symlink umask fork one_process_at_a_time a_link"
NEEDS_POSIX = " and ".join(f"not {word}" for word in WORDS.split())


def core_tests(folder: Path) -> list[str]:
    """The test files whose names begin with a part of the core."""
    core = tuple(f"test_{word}" for word in CORE.split())
    return [str(p) for p in sorted(folder.rglob("test_*.py")) if p.stem.startswith(core)]


def main(*options: str) -> int:
    path = os.pathsep.join(filter(None, (str(HERE / "elsewhere"), os.environ.get("PYTHONPATH"))))
    command = [sys.executable, "-m", "pytest", "-k", NEEDS_POSIX, *options, *core_tests(HERE)]
    # Elsewhere joblib counts cores without the affinity of processes; on Linux it warns of its absence.
    cores = {"LOKY_MAX_CPU_COUNT": str(os.cpu_count())}
    return subprocess.run(command, env={**os.environ, **cores, "PYTHONPATH": path}, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
