"""Models of pipelines rank as the pipelines do; what they cannot hold is refused."""

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest, VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, PowerTransformer, RobustScaler, StandardScaler

import sparserank as sr
from sparserank.datasets import make_ranking
from sparserank.errors import DataError, DataWarning
from sparserank.model.ranking_model import RankingModel

NAMES = [f"c{j}" for j in range(6)]
CLIPPED = [(MaxAbsScaler(clip=True), "MaxAbsScaler")] if "clip" in MaxAbsScaler().get_params() else []


@pytest.fixture(scope="module")
def problem() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    data = make_ranking(40, (6, 10), 6, n_informative=3, n_redundant=1, noise=0.5, random_state=3).data
    X = np.array(data.X) * 10.0 ** np.arange(-2, 4) + 5.0
    return pd.DataFrame(X, columns=NAMES), data.relevance, np.asarray(data.qid)


def fitted(pipeline, X, y, qid):
    with sklearn.config_context(enable_metadata_routing=True):
        return pipeline.fit(X, y, qid=qid)


STEPS = [["passthrough"], [StandardScaler()], [StandardScaler(with_mean=False)], [MinMaxScaler((-1, 3))]]
STEPS += [[MaxAbsScaler()], [RobustScaler(with_centering=False, with_scaling=False)]]
STEPS += [[VarianceThreshold(), StandardScaler(), SelectKBest(k=4), MinMaxScaler()]]
STEPS += [[SimpleImputer(strategy="median"), RobustScaler(), VarianceThreshold(1e-9)]]


@pytest.mark.parametrize("steps", STEPS, ids=str)
@pytest.mark.parametrize(
    "ranker", [sr.SparseRanker(), sr.SparseRanker(scaling="none", alpha_ratio=0.01), sr.papers.RankSVM()]
)
def test_models_rank_as_their_pipelines(problem, steps, ranker, tmp_path):
    X, y, qid = problem
    X = X.copy()
    if any(isinstance(s, SimpleImputer) for s in steps):
        X.iloc[::7, 1] = np.nan
        X.iloc[::5, 3] = np.nan
    pipeline = fitted(make_pipeline(*steps, sklearn.clone(ranker)), X, y, qid)
    model = RankingModel.from_pipeline(pipeline)
    model.save(tmp_path / "m.json")
    loaded = sr.load_model(tmp_path / "m.json")
    assert loaded.feature_names == tuple(NAMES)
    expected = pipeline.predict(X)
    for form in (X, X[NAMES[::-1]], X.to_numpy()):
        np.testing.assert_allclose(loaded.predict(form), expected, atol=1e-9 * np.abs(expected).max())
    if any(isinstance(s, MinMaxScaler) or (isinstance(s, RobustScaler) and s.with_scaling) for s in steps):
        last = pipeline.steps[-1][1]  # alone, on raw features
        shift = last.to_model().predict(np.nan_to_num(X.to_numpy())[:, : last.n_features_in_]) - expected
        assert not np.allclose(shift, np.median(shift), rtol=1e-3)


def test_transforms_and_curves_go_along_where_nothing_is_scaled_before(problem):
    X, y, qid = problem
    curved = sr.SparseRanker(penalty="mcp", feature_transform="curves", k=3)
    for ranker in (sr.SparseRanker(feature_transform="log"), curved):
        pipeline = fitted(make_pipeline(SelectKBest(k=5), ranker), X, y, qid)
        np.testing.assert_allclose(RankingModel.from_pipeline(pipeline).predict(X), pipeline.predict(X), rtol=1e-9)
        scaled = fitted(make_pipeline(StandardScaler(), sklearn.clone(ranker)), X, y, qid)
        with pytest.raises(DataError, match="leave the scaler out"):
            RankingModel.from_pipeline(scaled)


def test_what_cannot_be_folded_is_refused_with_the_remedy(problem):
    X, y, qid = problem
    for step, name in (
        (PCA(3), "PCA"),
        (PowerTransformer(), "PowerTransformer"),
        (MinMaxScaler(clip=True), "MinMaxScaler"),
        *CLIPPED,
        (ColumnTransformer([("a", StandardScaler(), NAMES[:3])]), "ColumnTransformer"),
        (SimpleImputer(add_indicator=True), "SimpleImputer"),
    ):
        with pytest.raises(DataError, match=rf"\({name}\) cannot be folded into a model\. .*scaling="):
            RankingModel.from_pipeline(fitted(make_pipeline(step, sr.SparseRanker()), X, y, qid))
    with pytest.raises(DataError, match="SimpleImputer replaces -1"):
        RankingModel.from_pipeline(
            fitted(make_pipeline(SimpleImputer(missing_values=-1), sr.SparseRanker()), X, y, qid)
        )
    with pytest.raises(DataError, match="put a SimpleImputer first"):
        RankingModel.from_pipeline(
            fitted(make_pipeline(StandardScaler(), sr.SparseRanker(missing="median")), X, y, qid)
        )
    half = make_pipeline(StandardScaler(), sr.SparseRanker())
    half.steps[-1][1].fit(X, y, qid=qid)
    with pytest.raises(DataError, match="is not fitted"):
        RankingModel.from_pipeline(half)
    with pytest.warns(DataWarning, match="qid is missing"):  # what the scaler makes of it has no names
        with_ids = make_pipeline(StandardScaler(), sr.SparseRanker()).fit(X.assign(qid=qid), y)
    with pytest.raises(
        DataError, match=r"column 'qid', which its steps treat as a feature. Drop the column and route the ids"
    ):
        RankingModel.from_pipeline(with_ids)
    with pytest.raises(DataError, match="is not fitted"):
        RankingModel.from_pipeline(make_pipeline(StandardScaler(), sr.SparseRanker()))
    for other in (sr.SparseRanker(), make_pipeline(StandardScaler(), LinearRegression()), 3):
        with pytest.raises(DataError, match="whose last step is a ranker"):
            RankingModel.from_pipeline(other)
