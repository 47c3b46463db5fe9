"""The experiments of the five papers: `python -m reproduction published DATA --out DIR`, and `letor`, `run`, `systems`.

`datasets` finds folds in LETOR folders, `systems` has what is compared, each with its grid, `protocol` chooses on the
validation queries and judges on the test queries, and `published` holds the papers' tables beside ours.
"""
