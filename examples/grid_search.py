"""A grid search over a scikit-learn pipeline: query ids reach every fit, every score and the folds by metadata routing.

The features are heavy-tailed, like counts and link scores. The grid varies whether their logarithms are taken, and how
sparse the ranker is. Folds contain whole queries, and each fold is scored by the mean NDCG@10 of its queries.
"""

import numpy as np
import sklearn
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

import sparserank as sr

sklearn.set_config(enable_metadata_routing=True)

problem = sr.datasets.make_ranking(
    n_queries=180, n_features=40, n_informative=5, n_redundant=5, noise=0.4, random_state=1
)
X, y, qid = np.exp(problem.data.X), problem.data.relevance, problem.data.qid
train, test = qid <= 120, qid > 120

logarithm = FunctionTransformer(np.log, feature_names_out="one-to-one")
search = GridSearchCV(
    Pipeline([("shape", "passthrough"), ("ranker", sr.SparseRanker())]),
    {"shape": ["passthrough", logarithm], "ranker__alpha_ratio": [0.02, 0.1, 0.4]},
    cv=GroupKFold(5).set_split_request(groups="qid"),  # so that one name, qid, serves fit, score and folds
    error_score="raise",
)
search.fit(X[train], y[train], qid=qid[train])

for shape in ("passthrough", logarithm):
    tried = search.cv_results_["param_shape"] == shape
    best = search.cv_results_["mean_test_score"][tried].max()
    print(f"{'as they are' if shape == 'passthrough' else 'logarithms':<12} best NDCG@10 of the folds {best:.3f}")
ranker = search.best_estimator_["ranker"]
found = np.intersect1d(ranker.support_, problem.support)
print(
    f"chosen: {'logarithms' if search.best_params_['shape'] != 'passthrough' else 'as they are'}, alpha_ratio "
    f"{ranker.alpha_ratio}"
)
print(f"it keeps {len(ranker.support_)} of 40 features, {len(found)} of the 5 true ones among them")
print(f"NDCG@10 of 60 other queries {search.score(X[test], y[test], qid=qid[test]):.3f}")
