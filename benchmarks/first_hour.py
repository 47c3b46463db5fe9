"""`python -m benchmarks.first_hour MARKDOWN`: the tasks of docs/tutorials/parquet-log.md, timed, in a new virtual
environment with the built wheel.

The commands are read from its last section; the data are made by the package under the names that they have there.
Nothing else is typed.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.environment import describe

ROOT = Path(__file__).parents[1]
SECTION = "\n## Other data, other jobs\n"
ENGINES = {"Elasticsearch": "elasticsearch", "Solr": "solr", "Vespa": "vespa", "ONNX": "onnx"}
EXTRAS = ("tables", "report", "trees", "onnx")
FRAMES = ("pandas", "polars")
INTRO = (
    "Written by `python -m benchmarks.first_hour docs/first-hour-transcript.md`: the wheel is built and installed into "
    "a new virtual environment, and the commands of "
    "[the first model](tutorials/parquet-log.md#other-data-other-jobs) are read from that page and run, each task in a "
    "folder of its own. The data are made by the package: 300 queries of 20 documents, 30 features of which 5 matter. "
    "Times are wall-clock, with everything that a first run compiles."
)
BYTE_CODE = """
import compileall, sysconfig
from pathlib import Path
site = Path(sysconfig.get_paths()["purelib"])
before = sum(f.stat().st_size for f in site.rglob("*.pyc"))
compileall.compile_dir(site, quiet=2)
print(sum(f.stat().st_size for f in site.rglob("*.pyc")) - before)
"""
SIZES = """
import importlib.metadata as metadata, json, pathlib
sizes = {}
for found in metadata.distributions():
    files = [pathlib.Path(found.locate_file(f)) for f in found.files or ()]
    sizes[found.metadata["Name"]] = [
        found.version, sum(f.stat().st_size for f in files if f.is_file() and f.suffix != ".pyc")
    ]
print(json.dumps(sizes))
"""
DATA = """
import json, sys, pathlib, numpy as np, pandas as pd, sparserank as sr
made = sr.datasets.make_ranking(300, 20, 30, n_informative=5, n_redundant=5, noise=0.5, random_state=1).data
parts = {"train": range(0, 150), "vali": range(150, 200), "test": range(200, 300)}
for name, queries in parts.items():
    sr.write_letor(made.take_queries(np.array(queries)), f"{name}.txt")
train = made.take_queries(np.array(parts["train"]))
frame = pd.DataFrame(np.array(train.X), columns=list(train.feature_names)).assign(
    grade=train.relevance.astype(int), query=train.qid
)
frame.to_parquet("train.parquet", index=False)
sr.SparseRanker(k=2).fit(np.array(train.X), train.relevance, qid=train.qid).save("now.json")
sr.SparseRanker(k=5).fit(np.array(train.X), train.relevance, qid=train.qid).save("new.json")
pathlib.Path("vespa-features.json").write_text(json.dumps({
    name: f"attribute({name})" for name in [*train.feature_names, *(f"f{j + 1}" for j in range(train.n_features))]
}))
"""
# a block as a notebook runs it: what a line is worth is shown
CELLS = """
import ast, sys
space = {}
for source in sys.argv[1:]:
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Expr):
            value = eval(compile(ast.Expression(statement.value), "parquet-log.md", "eval"), space)
            if value is not None:
                print(repr(value))
        else:
            exec(compile(ast.Module([statement], []), "parquet-log.md", "exec"), space)
"""


@dataclass(frozen=True)
class Task:
    """A row of the page's table: its name and the commands in it; a block of Python where it says 'below'."""

    name: str
    commands: tuple[str, ...]
    python: str | None = None


def tasks() -> list[Task]:
    """The tasks of the page, in its order."""
    text = (ROOT / "docs/tutorials/parquet-log.md").read_text(encoding="utf-8").partition(SECTION)[2]
    (block,) = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    found = []
    for row in re.findall(r"(?m)^\| (?!task|---)(.+?) \| (.+) \|$", text):
        name, by = row
        commands = tuple(code for code in re.findall(r"`([^`]+)`", by) if code.startswith("sparserank "))
        found.append(Task(name, commands, None if commands else block))
    return found


class Place:
    """A new virtual environment, and the transcript of what ran in it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.bin = folder / "venv/bin"
        self.lines: list[str] = []
        self.seconds = 0.0
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "VIRTUAL_ENV", "SPARSERANK"))}
        self.env = {**kept, "PATH": f"{self.bin}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "100"}

    def run(self, *command: str | Path, cwd: Path | None = None) -> str:
        """What a command prints, on both streams."""
        began = time.perf_counter()
        done = subprocess.run(
            [str(c) for c in command],
            cwd=cwd or self.folder,
            env=self.env,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.seconds += time.perf_counter() - began
        if done.returncode:
            raise RuntimeError(f"{shlex.join(map(str, command))} ended with {done.returncode}:\n{done.stdout}")
        return done.stdout

    def took(self) -> float:
        """Seconds of the commands since this was asked last."""
        seconds, self.seconds = self.seconds, 0.0
        return seconds

    def show(self, prompt: str, output: str) -> None:
        body = [prompt, *(line.rstrip() for line in output.strip("\n").splitlines())]
        self.lines += ["", "```text", *body, "```"]


def _installed(place: Place, wheel: Path) -> tuple[float, dict[str, tuple[str, int]], int]:
    """(seconds, {distribution: (version, bytes)}, bytes of all their byte code) of the wheel and what it installs."""
    import json

    place.run(sys.executable, "-m", "venv", place.folder / "venv")
    before = json.loads(place.run(place.bin / "python", "-c", SIZES))
    place.took()
    place.run(place.bin / "pip", "install", "--quiet", "--no-compile", "--disable-pip-version-check", wheel)
    seconds = place.took()
    after = json.loads(place.run(place.bin / "python", "-c", SIZES))
    place.took()
    byte_code = int(place.run(place.bin / "python", "-c", BYTE_CODE))
    place.took()
    return seconds, {name: (version, size) for name, (version, size) in after.items() if name not in before}, byte_code


def run_task(place: Place, task: Task, data: Path, first: Path | None) -> Path:
    """One task in a folder of its own, beside the data (and what the first task left); the folder."""
    work = place.folder / f"task-{len(list(place.folder.glob('task-*'))) + 1}"
    work.mkdir()
    for source in [*data.iterdir(), *((first / "run",) if first is not None else ())]:
        (work / source.name).symlink_to(source)
    commands = list(task.commands)
    for name, engine in ENGINES.items():
        if name in task.name and commands and "--to solr" in commands[0] and engine != "solr":
            commands.append(commands[0].replace("solr", engine))
    shown: list[tuple[str, str]] = []
    if task.python is not None:
        before = 'import pandas as pd\n\nframe = pd.read_parquet("train.parquet")'
        output = place.run(place.bin / "python", "-c", CELLS, before, task.python, cwd=work)
        shown.append((f"{before}\n{task.python}", output))
    for command in commands:
        shown.append((f"$ {command}", place.run(*shlex.split(command), cwd=work)))
    place.lines += ["", f"## {task.name[0].upper()}{task.name[1:]} ({place.took():.0f} s)"]
    for prompt, output in shown:
        place.show(prompt, output)
    return work


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.first_hour", description=__doc__)
    parser.add_argument("markdown", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        place = Place(Path(folder))
        place.run(
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "--quiet",
            "--no-deps",
            "--disable-pip-version-check",
            "--wheel-dir",
            "dist",
            ROOT,
        )
        (wheel,) = (place.folder / "dist").glob("*.whl")
        seconds, sizes, byte_code = _installed(place, wheel)
        place.run(
            place.bin / "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            f"{wheel}[{','.join(EXTRAS)}]",
            *FRAMES,
        )
        more = place.took()
        data = place.folder / "data"
        data.mkdir()
        place.run(place.bin / "python", "-c", DATA, cwd=data)
        for run, model in (("new.run", "new.json"), ("now.run", "now.json")):
            place.run("sparserank", "predict", model, "test.txt", "--run", run, "--qrels", "test.qrels", cwd=data)
        place.took()
        first = None
        for task in tasks():
            work = run_task(place, task, data, first if "export" in "".join(task.commands) else None)
            first = first or work
        whole = sum(size for _, size in sizes.values())
        head = [
            "# The first hour, run",
            "",
            INTRO,
            "",
            "```text",
            describe().split("\npackages")[0],
            "```",
            "",
            "## Installing",
            "",
            (
                f"`pip install {wheel.name}`: {seconds:.0f} s, {(whole + byte_code) / 1e6:.0f} MB in all: "
                f"{whole / 1e6:.0f} MB of files, as below, and {byte_code / 1e6:.0f} MB of byte code that pip compiles."
            ),
            "",
            "| package | version | MB |",
            "|---|---|---:|",
            *(
                f"| {name} | {version} | {size / 1e6:.1f} |"
                for name, (version, size) in sorted(sizes.items(), key=lambda i: -i[1][1])
            ),
            "",
            (
                f"The extras of the tasks, `sparserank[{','.join(EXTRAS)}]`, and {' and '.join(FRAMES)}: {more:.0f} s "
                "more."
            ),
        ]
        given.markdown.write_text("\n".join([*head, *place.lines]) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
