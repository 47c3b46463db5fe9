"""Is the new system better than what runs now? Two TREC runs and the judgments, no features.

Both runs are read from files as trec_eval reads them: a query that is missing from a run counts 0. The difference has
a 95% interval and the p value of the paired t test, corrected for the number of systems (Holm).
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import sparserank as sr

data = sr.datasets.make_ranking(n_queries=300, n_features=30, noise=0.5, random_state=6).data
train, test = data.take_queries(np.arange(200)), data.take_queries(np.arange(200, 300))
now = sr.SparseRanker(k=1).fit_dataset(train).to_model()
new = sr.SparseRanker(k=5).fit_dataset(train).to_model()

with TemporaryDirectory() as folder:  # a search engine would have written these files
    files = {name: Path(folder) / f"{name}.run" for name in ("now", "new")}
    sr.write_run(test, now.score_dataset(test), files["now"])
    sr.write_run(test, new.score_dataset(test), files["new"])
    sr.write_qrels(test, Path(folder) / "test.qrels")

    found = sr.compare_systems(files, Path(folder) / "test.qrels", ["ndcg@10", "map"], baseline="now")

for row in found.rows():
    print(f"{row['metric']:<12} {row['system']}  {row['mean']:.4f}", end="")
    if "difference" in row:
        print(
            f"  {row['difference']:+.4f} [{row['difference_low']:+.4f}, {row['difference_high']:+.4f}]  p = "
            f"{row['p_holm']:.1e}",
            end="",
        )
    print()
