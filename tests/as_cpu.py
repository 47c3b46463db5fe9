"""The numerical tests as another processor would run them: `python -m tests.as_cpu haswell` (or generic), then pytest's
options.

Other processors round otherwise: they fuse multiplications and additions, or do not, and sum in vectors of other
lengths. Numba compiles for the processor that is asked for, into a cache of its own; OpenBLAS takes its kernels for it.
A tolerance that only holds on one machine fails here.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

OPENBLAS = {"haswell": "Haswell", "generic": "Prescott"}  # Prescott: the oldest that wheels hold kernels for
NEWER_THAN_HASWELL = "avx2"  # in the instructions of the host: whatever can run Haswell's code
COMPARES = re.compile(r"assert_allclose|approx\(")  # with a tolerance


def numerical_tests(folder: Path) -> list[str]:
    """The test files that compare numbers with a tolerance."""
    return [str(path) for path in sorted(folder.rglob("test_*.py")) if COMPARES.search(path.read_text())]


def reason_to_skip(cpu: str) -> str | None:
    """Why the tests cannot run as this processor, or would run as they do anyway."""
    import llvmlite.binding as llvm

    if not llvm.get_default_triple().startswith("x86_64"):
        return "this machine is no x86-64"
    if cpu == "haswell" and not llvm.get_host_cpu_features().get(NEWER_THAN_HASWELL):
        return "this machine is older"
    return "this machine is one" if llvm.get_host_cpu_name() == cpu else None


def main(cpu: str, *options: str) -> int:
    reason = reason_to_skip(cpu)
    if reason is not None:
        print(f"The tests are not run as {cpu}: {reason}.")
        return 0
    with tempfile.TemporaryDirectory() as cache:
        as_other = {
            "OPENBLAS_CORETYPE": OPENBLAS[cpu],
            "NUMBA_CPU_NAME": cpu,
            "NUMBA_CPU_FEATURES": "",  # of that processor, not of the host
            "NUMBA_CACHE_DIR": cache,
        }
        files = numerical_tests(Path(__file__).parent)
        print(f"{len(files)} files of tests as {cpu}:", " ".join(f"{k}={v}" for k, v in as_other.items()), flush=True)
        return subprocess.run(
            [sys.executable, "-m", "pytest", *options, *files], env=os.environ | as_other, check=False
        ).returncode


if __name__ == "__main__":
    if len(sys.argv) < 2 or sys.argv[1] not in OPENBLAS:
        sys.exit(f"python -m tests.as_cpu {'|'.join(OPENBLAS)} [pytest's options]")
    sys.exit(main(*sys.argv[1:]))
