"""An Optuna study that stops hopeless trials after a few folds.

Each trial is a way to make a model of at most eight features: a penalty, a transform of the features, a size. It
reports the mean NDCG@10 after every fold of queries. The median pruner stops a trial if earlier trials were better at
the same fold. Folds are made once, by query.
"""

import numpy as np
import optuna

import sparserank as sr

problem = sr.datasets.make_ranking(
    n_queries=180, n_features=40, n_informative=6, n_redundant=4, noise=0.4, random_state=7
)
X, y, qid = np.exp(1.5 * problem.data.X), problem.data.relevance, problem.data.qid  # heavy tails, as counts have
train, test = qid <= 120, qid > 120
N_FOLDS, N_TRIALS = 5, 25
fold = sr.query_folds(120, N_FOLDS, random_state=0)[qid[train] - 1]
fitted = 0


def ranker_of(trial: optuna.trial.BaseTrial) -> sr.SparseRanker:
    """The ranker of a trial's parameters."""
    return sr.SparseRanker(
        penalty=trial.suggest_categorical("penalty", ["l1", "log", "mcp", "scad"]),
        feature_transform=trial.suggest_categorical("feature_transform", ["none", "log", "asinh"]),
        k=trial.suggest_int("k", 1, 8),
        n_alphas=40,
    )


def objective(trial: optuna.Trial) -> float:
    """Mean NDCG@10 of queries that the models have not seen."""
    global fitted
    ranker, values = ranker_of(trial), []
    for k in range(N_FOLDS):
        fitting, judging = fold != k, fold == k
        ranker.fit(X[train][fitting], y[train][fitting], qid=qid[train][fitting])
        fitted += 1
        values.append(ranker.score(X[train][judging], y[train][judging], qid=qid[train][judging]))
        trial.report(float(np.mean(values)), step=k)
        if trial.should_prune():
            raise optuna.TrialPruned
    return float(np.mean(values))


optuna.logging.set_verbosity(optuna.logging.WARNING)
study = optuna.create_study(
    direction="maximize",
    sampler=optuna.samplers.TPESampler(seed=0),
    pruner=optuna.pruners.MedianPruner(n_startup_trials=5, n_warmup_steps=1),
)
study.optimize(objective, n_trials=N_TRIALS)

pruned = sum(t.state == optuna.trial.TrialState.PRUNED for t in study.trials)
print(f"{N_TRIALS} trials, {pruned} pruned: {fitted} of {N_TRIALS * N_FOLDS} fits")
print(
    f"best: {', '.join(f'{name} {value}' for name, value in study.best_params.items())}; NDCG@10 "
    f"{study.best_value:.3f} out of fold"
)
for name, ranker in {
    "tuned": ranker_of(study.best_trial),
    "as it comes": sr.SparseRanker(k=8),
}.items():
    ranker.fit(X[train], y[train], qid=qid[train])
    print(f"{name}: NDCG@10 {ranker.score(X[test], y[test], qid=qid[test]):.3f} on test queries")
