"""`python -m integrations.release [FOLDER]`: the files of a release, checked, and run in clean environments.

FOLDER (dist/ by default) holds the source distribution and the wheel at the end. The wheel is installed with all extras
of the first hour: with the oldest Python and the lowest versions that pyproject.toml names, and with the newest Python
that is here and the newest versions. In each environment the demo, the Python of README.md and the commands of
docs/tutorials/parquet-log.md run.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Collection
from pathlib import Path

import sparserank as sr

ROOT = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
EXTRAS = ("tables", "report", "trees", "onnx")
LARGEST = 1_500_000  # bytes of each file
OF_WHEEL = re.compile(r"sparserank/.*\.(py|pyi|typed|j2|css|js)|sparserank-[^/]+\.dist-info/.*")
OF_SOURCE = {".gitignore", "CHANGELOG.md", "CITATION.cff", "LICENSE", "PKG-INFO", "README.md", "pyproject.toml", "src"}


def told(*command: str | Path, cwd: Path | None = None) -> str:
    """What a command prints; nothing of this environment reaches it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    done = subprocess.run([str(c) for c in command], cwd=cwd, env=kept, text=True, capture_output=True, check=False)
    assert done.returncode == 0, f"{command}:\n{done.stdout}\n{done.stderr}"
    return done.stdout


def interpreter(version: str) -> str | None:
    """A Python of this version that runs: of this environment, of the path, of pyenv."""
    places = [sys.executable, shutil.which(f"python{version}") or ""]
    places += [str(p) for p in sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python"))]
    for place in filter(None, places):
        answer = subprocess.run([place, "--version"], capture_output=True, text=True, check=False)
        if answer.returncode == 0 and answer.stdout.startswith(f"Python {version}."):
            return place
    return None


def lowest(requirement: str) -> str:
    """'numpy>=1.26' -> 'numpy==1.26'; a requirement without a lower bound has no lowest version."""
    found = re.fullmatch(r"([A-Za-z0-9_.-]+)>=([0-9.]+)", requirement)
    assert found is not None, f"{requirement}: a lower bound that is run"
    return f"{found[1]}=={found[2]}"


def direct() -> list[str]:
    """The requirements of the package and of EXTRAS."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return [*project["dependencies"], *(r for extra in EXTRAS for r in project["optional-dependencies"][extra])]


def build(out: Path) -> list[Path]:
    """The source distribution, and the wheel made of it, in a folder that has neither."""
    told(sys.executable, "-m", "build", "--outdir", out, ROOT)
    return sorted(p for p in out.iterdir() if p.is_file())


def faults(
    names: Collection[str], sizes: Collection[int], files: Collection[str], sources: Collection[str]
) -> list[str]:
    """What forbids an upload.

    names, sizes     of the two distributions
    files, sources   names in the wheel, and in the folder of the source distribution
    """
    expected = {f"sparserank-{sr.__version__}-py3-none-any.whl", f"sparserank-{sr.__version__}.tar.gz"}
    out = [] if {*names} == expected else [f"{sorted(names)} in place of {sorted(expected)}"]
    out += [f"a file of {size:,} bytes, where {LARGEST:,} are allowed" for size in sizes if size > LARGEST]
    out += [f"the wheel contains {f}" for f in files if not OF_WHEEL.fullmatch(f)]
    out += [f"the source distribution contains {f}" for f in sources if f.partition("/")[0] not in OF_SOURCE]
    ends = ("sparserank/py.typed", ".dist-info/licenses/LICENSE", ".dist-info/entry_points.txt")
    out += [f"the wheel lacks {end}" for end in ends if not any(f.endswith(end) for f in files)]
    return out


def check(built: Collection[Path]) -> str:
    """Names, sizes, metadata and contents of what was built, as a table; an assertion tells what is wrong."""
    (wheel,) = (p for p in built if p.suffix == ".whl")
    (source,) = (p for p in built if p.suffix == ".gz")
    with zipfile.ZipFile(wheel) as archive:
        files = archive.namelist()
    with tarfile.open(source) as packed:
        sources = [member.name.partition("/")[2] for member in packed.getmembers() if member.isfile()]
    wrong = faults([p.name for p in built], [p.stat().st_size for p in built], files, sources)
    assert not wrong, "; ".join(wrong)
    assert told(sys.executable, "-m", "twine", "--no-color", "check", "--strict", *built).count("PASSED") == 2
    rows = [(source, len(sources)), (wheel, len(files))]
    return "\n".join(f"{p.name:<45}{p.stat().st_size:>10,} bytes {n:>5} files" for p, n in rows)


def run_in(python: str, wheel: Path, *, oldest: bool) -> list[str]:
    """Install the wheel with this Python, and run what a new user runs; what took how long."""
    from benchmarks.first_hour import DATA, FRAMES, Place, Task, run_task, tasks

    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL)
    out = []
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        place.run(python, "-m", "venv", place.folder / "venv")
        wanted = [f"{wheel}[{','.join(EXTRAS)}]", *FRAMES, *(map(lowest, direct()) if oldest else ())]
        place.run(place.bin / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *wanted)
        out.append(f"installed in {place.took():.0f} s")
        place.run("sparserank", "demo", "--out", "demo-run")
        out.append(f"demo: {place.took():.0f} s")
        data = place.folder / "data"
        data.mkdir()
        place.run(place.bin / "python", "-c", DATA, cwd=data)
        for run, model in (("new.run", "new.json"), ("now.run", "now.json")):
            place.run("sparserank", "predict", model, "test.txt", "--run", run, "--qrels", "test.qrels", cwd=data)
        first = None
        for task in [*tasks(), Task("the Python of README.md", (), block)]:
            began = time.perf_counter()
            work = run_task(place, task, data, first if "export" in "".join(task.commands) else None)
            first = first or work
            out.append(f"{task.name}: {time.perf_counter() - began:.0f} s")
    return out


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m integrations.release", description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=ROOT / "dist")
    folder = parser.parse_args().folder
    if folder.exists() and any(p.suffix not in (".whl", ".gz") for p in folder.iterdir()):
        parser.error(f"{folder} contains other files than distributions; name a new folder.")
    shutil.rmtree(folder, ignore_errors=True)
    built = build(folder)
    print(check(built), flush=True)
    here = [(version, python) for version in PYTHONS if (python := interpreter(version))]
    (wheel,) = folder.glob("*.whl")
    for (version, python), oldest in ((here[0], True), (here[-1], False)):
        print(f"Python {version}, {'lowest' if oldest else 'newest'} versions of the requirements", flush=True)
        for line in run_in(python, wheel.resolve(), oldest=oldest):
            print(f"    {line}", flush=True)
    missing = sorted({*PYTHONS} - {version for version, _ in here})
    if missing:
        print(f"not here, and not run: Python {', '.join(missing)}")
    print(f"{folder} is ready; a tag v{sr.__version__} publishes it (CONTRIBUTING.md, Making a release).")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
