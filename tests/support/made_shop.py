"""A small shop: documents, queries and true grades, for the text engine of the oracles."""

from typing import Any

import numpy as np

TYPES = ("lamp", "desk", "chair", "sofa", "rug", "kettle", "drill", "tent")
WORDS = ("red", "blue", "oak", "steel", "small", "folding", "smart", "outdoor")
BRANDS = ("nordex", "acmia", "velton", "lumvia")


def shop(n_docs: int = 160, n_queries: int = 60) -> tuple[list[dict[str, Any]], dict[str, str], dict[str, Any]]:
    """(documents, {query: keywords}, {query: {document: grade}}): popular documents of the right type are better than
    a request with small boosts of popularity ranks them."""
    rng = np.random.default_rng(7)
    documents = []
    for i in range(n_docs):
        kind, words = rng.choice(TYPES), list(rng.choice(WORDS, 2, replace=False))
        brand = str(rng.choice(BRANDS))
        body = [*rng.choice([*WORDS, *TYPES], 8), *([kind] if rng.random() < 0.7 else [])]
        documents.append(
            {
                "id": f"p{i}",
                "title": " ".join([*words, kind, *([brand] if rng.random() < 0.5 else [])]),
                "body": " ".join(body),
                "brand": brand,
                "popularity": round(float(np.exp(rng.normal(2.5, 1.2))), 3),
                "in_stock": bool(rng.random() < 0.8),
            }
        )
    queries, grades = {}, {}
    for q in range(n_queries):
        of = documents[int(rng.integers(n_docs))]
        kind = of["title"].split()[2]
        queries[f"q{q}"] = str(rng.choice([kind, f"{of['title'].split()[0]} {kind}", f"{of['brand']} {kind}"]))
        grades[f"q{q}"] = {}
        for d in documents:
            words = set(queries[f"q{q}"].split())
            share = len(words & {*d["title"].split(), d["brand"]}) / len(words)
            worth = 2 * share + 0.5 * np.log(d["popularity"]) + 0.8 * d["in_stock"] - 2.2 + rng.normal(0, 0.3)
            grades[f"q{q}"][d["id"]] = int(np.clip(np.floor(worth), 0, 3)) if kind in d["title"].split() else 0
    return documents, queries, grades
