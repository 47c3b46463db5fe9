"""Run the reference runs by this version and by an earlier one, and compare bit by bit."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

REFERENCE = "tests/frozen/reference"  # a file: the commit whose results are kept


def record(out: Path, names: Sequence[str]) -> None:
    """Write the arrays of these runs (all by default) of the package that can be imported here, a file each."""
    from tests.frozen.runs import RUNS

    out.mkdir(parents=True, exist_ok=True)
    for name in names or RUNS:
        began = time.perf_counter()
        with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            arrays = RUNS[name](Path(os.environ["SPARSERANK_DATA"]), Path(folder))
        assert all(a.dtype.kind != "O" for a in arrays.values()), name  # which cannot be compared bit by bit
        np.savez(out / f"{name}.npz", **arrays)  # type: ignore[arg-type]
        print(f"{name}: {len(arrays)} arrays, {time.perf_counter() - began:.1f} s", flush=True)


def differences(before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray]) -> list[str]:
    """Which arrays are missing, new, or differ in type, shape or any bit; NaN equals NaN."""
    out = [f"{name}: missing" for name in before if name not in after]
    out += [f"{name}: new" for name in after if name not in before]
    for name in before:
        if name in after:
            a, b = before[name], after[name]
            if (a.dtype != b.dtype and a.dtype.kind != "U") or a.shape != b.shape:
                out.append(f"{name}: {a.dtype}{a.shape} became {b.dtype}{b.shape}")
            elif _bits(a) != _bits(b):
                out.append(f"{name}: {int((a != b).sum())} of {a.size} values differ{_most(a, b)}")
    return out


def _bits(a: np.ndarray) -> bytes:
    """What is compared: any NaN equals any other, 0 does not equal -0; widths of texts do not matter."""
    if a.dtype.kind == "f":
        return np.where(np.isnan(a), np.nan, a).tobytes()
    return "\0".join(a.ravel().tolist()).encode() if a.dtype.kind == "U" else a.tobytes()


def _most(a: np.ndarray, b: np.ndarray) -> str:
    return f", by {np.nanmax(np.abs(a - b)):.3g} at most" if a.dtype.kind == "f" else ""


def recorded_by(commit: str, out: Path, names: Sequence[str], root: Path) -> None:
    """The runs by the code of a commit, which brings its own way to ask for them."""
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        subprocess.run(
            ["git", "-C", str(root), "worktree", "add", "--quiet", "--detach", str(tree), commit], check=True
        )
        try:
            _by_the_code_in(tree, out, names)
        finally:
            subprocess.run(["git", "-C", str(root), "worktree", "remove", "--force", str(tree)], check=True)


def _by_the_code_in(tree: Path, out: Path, names: Sequence[str]) -> None:
    paths = os.pathsep.join([str(tree / "src"), str(tree)])
    command = [sys.executable, "-m", "tests.frozen", "--record", str(out.resolve()), *names]
    subprocess.run(command, check=True, cwd=tree, env={**os.environ, "PYTHONPATH": paths})


def compare(before: Path, after: Path) -> int:
    """How many runs differ; says which arrays."""
    n_different, files = 0, sorted(p.name for p in before.glob("*.npz"))
    for file in files:
        if not (after / file).exists():
            found = ["the run is missing"]
        else:
            with np.load(before / file) as a, np.load(after / file) as b:
                found = differences(a, b)
        n_different += bool(found)
        print(f"{file.removesuffix('.npz')}: {'the same bits' if not found else f'{len(found)} arrays differ'}")
        for line in found[:10]:
            print(f"    {line}")
    print(f"{len(files) - n_different} of {len(files)} runs give the same bits")
    return n_different


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.frozen", description=__doc__)
    parser.add_argument("names", nargs="*", help="runs; all by default")
    parser.add_argument("--record", type=Path, metavar="DIR", help="write the arrays of this version there")
    parser.add_argument(
        "--before", type=Path, metavar="DIR", help="compare with arrays that were recorded earlier on this machine"
    )
    parser.add_argument(
        "--against", metavar="COMMIT", help=f"compare with the code of a commit; by default that of {REFERENCE}"
    )
    given = parser.parse_args()
    if given.record is not None:
        record(given.record, given.names)
        return 0
    root = Path(__file__).parents[2]
    with tempfile.TemporaryDirectory() as folder:
        before, after = given.before or Path(folder) / "before", Path(folder) / "after"
        if given.before is None:
            recorded_by(given.against or (root / REFERENCE).read_text().strip(), before, given.names, root)
        _by_the_code_in(root, after, given.names)
        return int(compare(before, after) > 0)


if __name__ == "__main__":
    sys.exit(main())
