"""What a run leaves in its directory, read for comparisons: two runs of one plan must leave the same."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

# In results: when, how fast and from how much earlier work they were made.
MADE_WHEN = {"origin", "time_s", "seconds", "date", "command", "costs", "environment", "pieces"}

NO_RESULTS = ("plan.json", "stamps.json")


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            k: _timeless(v)
            for k, v in value.items()
            if k not in MADE_WHEN or (k == "costs" and not isinstance(v, dict))
        }
    return [_timeless(v) for v in value] if isinstance(value, list) else value


def results_of(folder: Path, which: str = "**/*") -> dict[str, Any]:
    """{file: its content} of what a run leaves for people and programs, exactly; times, dates and logs apart."""
    found: dict[str, Any] = {}
    for file in sorted(folder.glob(which)):
        name = str(file.relative_to(folder))
        if file.suffix == ".csv":
            with open(file, newline="") as text:
                found[name] = [{k: v for k, v in row.items() if k != "time_s"} for row in csv.DictReader(text)]
        elif file.suffix == ".parquet":
            columns = pq.read_table(file).to_pydict()
            found[name] = repr({k: v for k, v in columns.items() if k != "time_s"})  # repr is exact
        elif file.suffix == ".txt" or file.name == "model.json":
            found[name] = file.read_bytes()
        elif file.suffix == ".json" and file.name not in NO_RESULTS and file.parent.name != "pieces":
            found[name] = repr(_timeless(json.loads(file.read_text())))
    return found


def differences(a: Path, b: Path) -> list[str]:
    """The results that differ between two finished runs."""
    left, right = results_of(a), results_of(b)
    return sorted(name for name in left.keys() | right.keys() if left.get(name) != right.get(name))


def assert_whole(folder: Path) -> None:
    """Everything under a final name can be read to its end."""
    for file in folder.rglob("*") if folder.exists() else ():
        if file.suffix == ".json":
            json.loads(file.read_text())
        elif file.suffix == ".parquet":
            assert pq.read_table(file).num_columns > 0
        elif file.suffix == ".npz":
            with np.load(file) as content:
                assert all(content[key].size for key in content.files)
        elif file.suffix == ".html":
            assert file.read_text().rstrip().endswith("</html>")
