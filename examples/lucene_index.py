"""A model inside Lucene: the exported expression ranks the documents of an index as `predict` does.

The Java program of integrations/lucene indexes documents with one doc-values field per feature and ranks them by the
expression. Lucene raises negative scores to 0, so their order would be lost. An offset keeps all scores positive.
The script needs a JDK and, in LUCENE_CLASSPATH, the jars of lucene-core, lucene-expressions and lucene-queries (9.5 or
later) and of what they need, as Maven's dependency:build-classpath writes them.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import sparserank as sr

PROGRAM = Path(__file__).parents[1] / "integrations/lucene/RankByExpression.java"
jars = os.environ.get("LUCENE_CLASSPATH")
if shutil.which("java") is None or not jars:
    print("skipped: install a JDK, and set LUCENE_CLASSPATH to the jars of Lucene.")
    sys.exit()

data = sr.datasets.make_ranking(
    n_queries=100, n_features=12, n_informative=4, n_redundant=2, noise=0.4, random_state=9
).data
model = sr.SparseRanker(penalty="mcp", k=4).fit_dataset(data).to_model()
scores = model.predict(data.X)
offset = float(np.ceil(1.0 - scores.min()))
(expression,) = model.export("lucene", offset=offset).values()
print(expression.strip())

with TemporaryDirectory() as folder:
    Path(folder, "model.expression").write_text(expression)
    rows = ["\t".join(data.feature_names), *("\t".join(map(repr, map(float, row))) for row in data.X)]
    Path(folder, "documents.tsv").write_text("\n".join(rows) + "\n")
    command = ["java", "-cp", jars, PROGRAM, "model.expression", "documents.tsv"]
    lines = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout.splitlines()

ranked = np.array([line.split()[0] for line in lines], dtype=int)
theirs = np.array([line.split()[1] for line in lines], dtype=float)
print(f"first five of {len(ranked)} documents: {ranked[:5].tolist()}; by predict: {np.argsort(-scores)[:5].tolist()}")
print(f"largest relative difference of a score: {np.abs(theirs / (scores[ranked] + offset) - 1).max():.0e}")
