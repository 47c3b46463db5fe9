"""Features with costs: the best model within a budget, where features that are computed together are paid for once.

Forty features come in ten groups of four, like the fields and models of a search engine: group_1 costs 1, group_10
costs 10. A group enters as a whole and its cost is paid once. The paths are fitted once: with the same `out`, another
budget chooses among the existing models.
"""

from tempfile import TemporaryDirectory

import sparserank as sr

data = sr.datasets.make_ranking(
    n_queries=200, n_features=40, n_informative=6, n_redundant=4, noise=0.4, random_state=5
).data
feature_groups = {name: f"group_{j // 4 + 1}" for j, name in enumerate(data.feature_names)}
costs = {f"group_{g}": float(g) for g in range(1, 11)}

with TemporaryDirectory() as out:
    for budget in (5, 15, 30):
        result = sr.select(
            data,
            feature_groups=feature_groups,
            costs=costs,
            budget=budget,
            penalties="mcp",
            feature_transform="none",
            half_samples=0,
            out=out,
        )
        bought = sorted({feature_groups[name] for name in result.table()["feature"]}, key=costs.get)
        print(
            f"budget {budget}: cost {result.chosen.cost:g}, NDCG@10 {result.chosen.mean:.3f} out of fold: "
            f"{', '.join(bought)}"
        )
