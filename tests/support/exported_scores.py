"""Scores of exported models: in Python, SQLite, DuckDB and ONNX Runtime, and of expressions by the oracle."""

import sqlite3
from typing import Any

import duckdb
import numpy as np
import onnxruntime
import pyarrow as pa

from sparserank.model.ranking_model import RankingModel
from tests.oracles import exported as oracle


class _Closing(sqlite3.Connection):
    def __del__(self) -> None:
        self.close()


def sqlite() -> sqlite3.Connection:
    """An empty database. It closes itself once nobody refers to it: Python 3.13 warns of open ones."""
    return sqlite3.connect(":memory:", check_same_thread=False, factory=_Closing)


def rows_of(model: RankingModel, X: np.ndarray) -> list[dict[str, float]]:
    return [dict(zip(model.feature_names, map(float, row), strict=True)) for row in X]


def fed(model: RankingModel, X: np.ndarray) -> dict[str, np.ndarray]:
    """What ONNX Runtime is fed: a column for each selected feature."""
    return {model.feature_names[j]: X[:, [j]] for j in model.support}


def session_of(content: bytes) -> onnxruntime.InferenceSession:
    return onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])


def python_score(model: RankingModel, **options: Any) -> Any:
    """The function `score` of the exported Python code."""
    space: dict[str, Any] = {}
    exec(model.export("python", **options)["model.py"], space)
    return space["score"]


def everywhere(model: RankingModel, X: np.ndarray, **options: Any) -> dict[str, np.ndarray]:
    """Scores in Python, SQLite, DuckDB and ONNX Runtime."""
    score = python_score(model, **options)
    out = {"python": np.array([score(row) for row in rows_of(model, X)])}
    (text,) = model.export("sql", **options).values()
    quoted = ['"' + name.replace('"', '""') + '"' for name in model.feature_names]
    rows, duck = sqlite(), duckdb.connect()
    rows.execute(f"create table docs ({', '.join(f'{name} double' for name in quoted)})")
    rows.executemany(f"insert into docs values ({', '.join('?' * X.shape[1])})", X.tolist())
    duck.register("docs", pa.table(list(np.ascontiguousarray(X.T)), names=list(model.feature_names)))
    for name, base in (("sqlite", rows), ("duckdb", duck)):
        out[name] = np.array([s for (s,) in base.execute(f"select {text} from docs").fetchall()])  # type: ignore[attr-defined]
    session = session_of(model.export("onnx", **options)["model.onnx"])
    return out | {"onnx": session.run(None, fed(model, X))[0][:, 0]}


def expression_of(model: RankingModel, to: str, **options: Any) -> str:
    """The expression of Lucene or Vespa; Vespa's features are attributes of the same names."""
    if to == "lucene":
        return str(model.export("lucene", **options)["model.expression"])
    features = {name: f"attribute({name})" for name in model.feature_names}
    profile = str(model.export("vespa", features=features, **options)["sparserank.profile"])
    return profile[profile.index("expression {") + len("expression {") : profile.rindex("}\n    }\n}")]


def in_expressions(model: RankingModel, X: np.ndarray, **options: Any) -> dict[str, np.ndarray]:
    """Scores of the expressions of Lucene and Vespa."""
    rows = rows_of(model, X)
    return {to: np.array(oracle.evaluated(expression_of(model, to, **options), rows)) for to in ("lucene", "vespa")}
