"""A sparse ranker at the end of a PyTerrier pipeline: retrieve, compute features, rank.

The retriever and its features are synthetic, so the script needs no index and no Java. With an index, the first step
would be pt.terrier.Retriever and the features (bm25 ** pl2 ** ...). Query ids stay text as in PyTerrier, and documents
that were not judged have relevance 0.
"""

import numpy as np
import pandas as pd
import pyterrier as pt

import sparserank as sr
from sparserank.pyterrier import SparseLTR

data = sr.datasets.make_ranking(
    n_queries=180, n_features=20, n_informative=4, n_redundant=4, noise=0.5, random_state=8
).data
retrieved = pd.DataFrame({"qid": [f"topic-{q}" for q in data.qid], "docno": data.docid.astype(str)})
retrieved = retrieved.assign(query="any", score=0.0, rank=0, features=list(np.array(data.X)))
qrels = retrieved[["qid", "docno"]].assign(label=data.relevance.astype(int))
qrels = qrels[qrels["label"] > 0]
topics = retrieved[["qid", "query"]].drop_duplicates()
train, valid, test = topics[:80], topics[80:120], topics[120:]

features = pt.Transformer.from_df(retrieved)
ltr = SparseLTR(sr.SparseRankerCV(penalty="mcp"), feature_names=data.feature_names)
pipeline = features >> ltr
pipeline.fit(train, qrels, valid, qrels)
print(f"keeps {len(ltr.ranker.support_)} of 20 features: {', '.join(ltr.ranker.get_feature_names_out())}")

strongest = features >> pt.ltr.feature_to_score(int(np.argmax(ltr.ranker.feature_importances_)))
table = pt.Experiment(
    [strongest(test), pipeline], test, qrels, ["ndcg_cut_10", "map"], names=["strongest feature", "sparse ranker"]
)
for row in table.to_dict(orient="records"):
    print(f"{row['name']}: nDCG@10 {row['ndcg_cut_10']:.3f}, MAP {row['map']:.3f}")
