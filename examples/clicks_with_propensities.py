"""Learning from clicks: a click at a rank that few people look at counts for more.

A poor ranker has shown its lists. People look at rank r with probability 1 / r, and click what they look at and find
relevant. A model trained on raw clicks learns the habits of the poor ranker. With doc_weight = 1 / propensity, every
pair in which the clicked document is the preferred one has this weight. The model then learns what is relevant
(Joachims, Swaminathan and Schnabel 2017).
"""

import numpy as np

import sparserank as sr

data = sr.datasets.make_ranking(
    n_queries=1500,
    docs_per_query=15,
    n_features=15,
    n_informative=4,
    n_redundant=2,
    n_grades=2,
    noise=0.3,
    random_state=4,
).data
train, test = data.take_queries(np.arange(1200)), data.take_queries(np.arange(1200, 1500))
rng = np.random.default_rng(0)

poor = rng.standard_normal(data.n_features)
shown_by = train.X @ poor
place = np.concatenate(
    [np.argsort(np.argsort(-shown_by[a:b])) + 1 for a, b in zip(train.query_ptr[:-1], train.query_ptr[1:], strict=True)]
)
propensity = 1.0 / place
clicked = (rng.random(train.n_docs) < propensity) & (train.relevance > 0)
print(
    f"{clicked.sum()} clicks on {int(train.relevance.sum())} relevant documents; {np.mean(place[clicked] <= 3):.0%} of "
    "them at places 1 to 3"
)


def ndcg(labels: np.ndarray, doc_weight: np.ndarray | None = None) -> float:
    """NDCG@10 on test queries, by true relevance, of a model of four features fitted to these labels."""
    ranker = sr.SparseRanker(k=4).fit(train.X, labels, qid=train.qid, doc_weight=doc_weight)
    return float(sr.evaluate(ranker, test, "ndcg@10")["ndcg@10"])


print(f"poor ranker           {sr.evaluate(test.X @ poor, test, 'ndcg@10')['ndcg@10']:.3f}")
print(f"clicks as they are    {ndcg(clicked):.3f}")
print(f"clicks by propensity  {ndcg(clicked, 1.0 / propensity):.3f}")
print(f"true relevance        {ndcg(train.relevance):.3f}")
