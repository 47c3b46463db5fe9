"""Which features should my LightGBM ranker keep? Lists of every size are evaluated by trees trained on them.

Ten of forty features matter here, each through a different curve. Lists come from the trees' gain, always without the
queries that evaluate them. The result printed at the end is measured on queries that no list has seen.
"""

import numpy as np

import sparserank as sr

problem = sr.datasets.make_curved_ranking(n_queries=240, n_features=40, n_curved=10, random_state=0)
train, test = problem.data.take_queries(np.arange(160)), problem.data.take_queries(np.arange(160, 240))

result = sr.select(train, test=test, for_model="lightgbm", k=10, sizes=(5, 10), cv=3, report_metrics=())

print(result.sentences[0])
found = [name for name in result.features if not name.startswith("noise")]
print(f"of the ten true features it keeps {len(found)}: {', '.join(found)}")
for row in result.test.rows():
    print(f"{row['system']}: {row['metric']} {row['mean']:.3f} on test queries")
