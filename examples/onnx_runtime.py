"""A model as an ONNX file: ONNX Runtime gives every document the score that `predict` gives.

The model has a step function for each of its five features. The file contains these steps and nothing about the other
25 features. ONNX Runtime computes in double precision as we do, so scores differ only in rounding and every list keeps
its order.
"""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import onnxruntime

import sparserank as sr

data = sr.datasets.make_curved_ranking(n_queries=150, n_features=30, n_curved=5, random_state=0).data
train, test = data.take_queries(np.arange(100)), data.take_queries(np.arange(100, 150))
model = sr.SparseRanker(penalty="steps", k=5).fit_dataset(train).to_model()

with TemporaryDirectory() as folder:
    file = Path(folder) / "model.onnx"
    file.write_bytes(model.export("onnx")["model.onnx"])
    print(f"model.onnx: {file.stat().st_size} bytes, {len(model.support)} of {model.n_features} features")
    session = onnxruntime.InferenceSession(file, providers=["CPUExecutionProvider"])

columns = {model.feature_names[j]: np.asarray(test.X[:, [j]], dtype=np.float64) for j in model.support}  # five inputs
(score,) = session.run(["score"], columns)
theirs, ours = score[:, 0], model.predict(test.X)
print(f"largest difference of {len(ours)} scores: {np.abs(theirs - ours).max():.0e}")
same = sum(
    np.array_equal(np.argsort(-theirs[a:b], kind="stable"), np.argsort(-ours[a:b], kind="stable"))
    for a, b in zip(test.query_ptr[:-1], test.query_ptr[1:], strict=True)
)
print(f"lists in the same order: {same} of {test.n_queries}")
print(f"NDCG@10 on test queries: {sr.evaluate(theirs, test, 'ndcg@10')['ndcg@10']:.3f}")
