"""Without pyarrow: ranking text, arrays and runs as usual; one sentence where a table is needed."""

import subprocess
import sys
from pathlib import Path

import pytest

import sparserank as sr

BLOCKED = "import sys; sys.modules['pyarrow'] = None\n"
REMEDY = "pip install 'sparserank[tables]'"


def run(code: str, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", BLOCKED + code, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.fixture(scope="module")
def letor(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "train.txt"
    sr.write_letor(sr.datasets.make_ranking(40, 8, 6, n_informative=2, n_redundant=1, random_state=0).data, path)
    return path


def test_the_main_job_on_ranking_text(letor: Path, tmp_path: Path) -> None:
    code = """
import numpy as np, sparserank as sr
from sparserank.export import export
path, out = sys.argv[1:]
few = {"penalties": "l1", "n_alphas": 8, "cv": 2, "half_samples": 0, "rival": "none", "feature_transform": "none"}
result = sr.select(path, out=out, **few)
assert any("path.parquet and per_query.parquet were not written" in note for note in result.notes), result.notes
data = sr.read(path)
assert np.isfinite(result.model.score_dataset(data)).all()
sr.SparseRanker(k=2).fit(np.asarray(data.X), data.relevance, qid=data.qid)
sr.evaluate(result.model, data, ["ndcg@10"])
assert "def score" in "".join(map(str, export(result.model, "python").values()))
"""
    (tmp_path / "run").mkdir()
    for name in (".sparserank-run", "path.parquet", "per_query.parquet"):  # left by an installation with pyarrow
        (tmp_path / "run" / name).write_text("select\n")
    done = run(code, letor, tmp_path / "run")
    assert done.returncode == 0, done.stderr
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"model.json", "result.json", "report.html"} <= names
    assert not [name for name in names if name.endswith(".parquet")]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_table_ends_with_the_remedy(kind: str, letor: Path, tmp_path: Path) -> None:
    path = tmp_path / f"train.{kind}"
    if kind == "csv":
        path.write_text("label,qid,a\n1,1,0.5\n0,1,0.25\n")
    else:
        path.write_bytes(b"PAR1" + bytes(20) + b"PAR1")
    main = "from sparserank.__main__ import main; sys.exit(main())"
    done = run(main, "select", path, "--out", tmp_path / "run")
    assert done.returncode == 1
    assert [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert REMEDY in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


def test_a_frame_ends_with_the_remedy() -> None:
    code = """
import pandas as pd, sparserank as sr
from sparserank.errors import SparserankError
frame = pd.DataFrame({"label": [1, 0], "qid": [1, 1], "a": [0.5, 0.25]})
try:
    sr.select(frame, label="label", qid="qid")
except SparserankError as error:
    print(error)
"""
    assert REMEDY in run(code).stdout
