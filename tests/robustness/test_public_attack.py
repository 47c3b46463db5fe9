"""Every public function, called with every kind of wrong argument, ends well or in one sentence that names it.

The attack is generated from signatures: each parameter of each function receives each of VALUES while the other
arguments are right. A call may succeed, because many of these values are right somewhere.
"""

import dataclasses
import datetime
import functools
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import sparserank as sr
from sparserank import losses, papers, penalties, solvers
from sparserank.errors import ParameterError, SparserankError
from sparserank.options import Count, Number, Option, arguments
from sparserank.options.arguments import Typed
from sparserank.options.fusion import FUSE
from sparserank.options.jobs import FOR_MODEL_TAKES, SELECT
from sparserank.options.paths import FIT_PATH

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
from site_pages import api

pytestmark = [
    pytest.mark.filterwarnings("ignore::sparserank.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning"),
    pytest.mark.usefixtures("no_processes"),
]

DATA = sr.datasets.make_ranking(12, (4, 6), 5, n_informative=2, n_redundant=0).data
X, Y, QID = np.array(DATA.X), np.array(DATA.relevance), np.array(DATA.qid)
N = len(Y)
OBJECT = object()
VALUES: dict[str, Any] = {
    "None": None,
    "object": OBJECT,
    "-1": -1,
    "0": 0,
    "3": 3,
    "10**400": 10**400,
    "2.5": 2.5,
    "nan": float("nan"),
    "inf": float("inf"),
    "True": True,
    "float32": np.float32(1),
    "complex": 1j,
    "text": "x",
    "empty text": "",
    "bytes": b"x",
    "NUL": "\0",
    "surrogate": "\udcff",
    "list": [1],
    "empty list": [],
    "list of objects": [OBJECT],
    "mixed tuple": (1, "a"),
    "dict": {"a": 1},
    "empty dict": {},
    "set": {1},
    "iterator": iter(()),
    "function": lambda *a, **k: None,
    "class": Exception,
    "date": datetime.date(2020, 1, 1),
    "empty array": np.zeros(0),
    "cube": np.zeros((2, 2, 2)),
    "array of no dimension": np.array(1.0),
    "column": np.zeros((N, 1)),
    "nans": np.full(N, np.nan),
    "objects": np.array([OBJECT] * N),
    "texts": np.array(["x"] * N),
    "complex array": np.array([1j] * N),
    "dates": np.array(["2020-01-01"] * N, dtype="M8[D]"),
    "sparse": sp.csr_matrix((N, 2)),
    "frame": pd.DataFrame({"z": [1.0]}),
    "absent path": Path("absent/file"),
    "folder": Path("."),
    "data": DATA,
}
# What messages call a parameter, where that is not its name.
CALLED = {
    "y": "relevance|y",
    "given": "loss",
    "spec": "penalty",
    "name": "metric|name|convention",
    "measure": "metric|measure|similarity",
    "metrics": "metric",
    "lams": "lam",
    "path": "path|manifest|model|formula",
    "paths": "files?|paths?",
    "source": "read_data|run|files?|frame",
    "scores": "system|scores|run|documents?",
    "data": "data|relevance|qid|second argument|frame|judgments|files?|document",
    "qrels": "qrels|files?|judgments",
    "pipeline": "Pipeline",
    "feature_names": "feature.names?",
    "runs": "runs?|retrievers?",
    "systems": "systems?|scores",
    "k": "k|models|feature",
    "valid": "valid|validation",
    "feature_groups": "feature_groups|groups?",
    "n_queries": "queries",
    "coef": "weight",
    "fill_values": "arrays",
    "medians": "arrays",
    "center": "arrays|center",
    "scale": "arrays|scale",
    "scaling": "scaling|center",
    "X": "X|features?",
    "datasets": "data sets?|datasets",
    "like": "store",
    "out": "output|folder",
    "docs_per_query": "docs_per_query|numbers|list",
}


@dataclass(frozen=True)
class Target:
    """A public function, the right arguments of a call, and the parameters that are attacked."""

    function: Callable[..., Any]
    right: Mapping[str, Any]
    parameters: tuple[str, ...]
    of_estimator: bool = False  # scikit-learn checks X and y in its own words
    described: Any = None  # where the annotations are, if not at the function
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # the kinds of its options


def target(function: Any, right: Mapping[str, Any], of: Any = None, more: Any = (), **rest: Any) -> Target:
    """Its parameters are those of `of`, by default of the function itself."""
    found = inspect.signature(function if of is None else of).parameters.values()
    own = [p.name for p in found if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL) and p.name != "self"]
    names = tuple(dict.fromkeys([*own, *(option.name for option in more)]))
    kinds = {option.name: option.kind for option in more if isinstance(option, Option)}
    return Target(function, right, names, described=of or function, options=kinds, **rest)


def fitting(cls: Any, **few: Any) -> Target:
    """A ranker, whose parameters are checked by its fit: it is refused, or its weights are finite."""
    if "n_threads" in inspect.signature(cls).parameters:
        few["n_threads"] = 1

    def fit(**given: Any) -> None:
        model = cls(**few | given).fit(X, Y, qid=QID)
        assert np.isfinite(model.coef_).all()

    return target(fit, {}, cls, getattr(cls, "_options", ()))


def following(cls: Any) -> Target:
    """A penalty, whose rules are checked by a path at the latest."""
    return target(lambda **given: sr.fit_path(DATA, cls(**given), n_alphas=3, n_threads=1), {}, cls)


def lazy(function: Callable[..., Any], right: Callable[[], Mapping[str, Any]]) -> Target:
    """A function whose right arguments are made when it is called."""
    return target(lambda **given: function(**{**right(), **given}), {}, function)


QUICK = {"half_samples": 0, "penalties": "l1", "cv": 2, "n_threads": 1}
FILES = {"a": "a.run", "b": "b.run"}


def targets() -> dict[str, Target]:
    """{name: target}; relative paths are in the folder of `world`."""
    ranker, prox = sr.SparseRanker(n_alphas=3, n_threads=1), solvers.ProxNewton()
    unscaled = sr.FeatureScaling("none", np.zeros(2), np.ones(2))
    made = {"n_queries": 5, "docs_per_query": 5, "n_features": 5}
    rows = {"X": X, "relevance": Y, "query_ptr": np.array(DATA.query_ptr)}
    out = {
        "Comparison.rows": target(sr.compare_systems({"a": Y, "b": X[:, 0]}, DATA).rows, {}),
        "Evaluation": target(sr.Evaluation, {"per_query": {"map": np.ones(3)}}),
        "FeatureScaling.apply": target(calling(scaling, "apply"), {}, sr.FeatureScaling.apply),
        "FeatureScaling.transform": target(lambda X: scaling().transform(X), {}),
        "FusionFormula.load": target(sr.FusionFormula.load, {"path": "model.json"}),
        "RankingDataset": target(sr.RankingDataset, {"X": X, "relevance": Y, "qid": QID}),
        "RankingModel": target(sr.RankingModel, {"coef": np.ones(2), "feature_names": ("a", "b"), "scaling": unscaled}),
        "RankingModel.from_pipeline": target(sr.RankingModel.from_pipeline, {}),
        "Reading": target(lambda **given: sr.read_data("train.txt", **vars(sr.Reading(**given))), {}, sr.Reading),
        "SparseRanker": fitting(sr.SparseRanker, n_alphas=3),
        "SparseRanker.fit": target(ranker.fit, {"X": X, "y": Y, "qid": QID}, of_estimator=True),
        "SparseRanker.fit_dataset": target(ranker.fit_dataset, {"data": DATA}),
        "SparseRankerCV": fitting(sr.SparseRankerCV, n_alphas=3, cv=2),
        "alpha_max": target(sr.alpha_max, {"X": X, "y": Y, "qid": QID}),
        "compare_systems": target(sr.compare_systems, {"systems": {"a": Y, "b": X[:, 0]}, "data": DATA}),
        "concatenate": target(sr.concatenate, {"datasets": [DATA, DATA]}),
        "convert": target(sr.convert, {"paths": ["train.txt"], "out": "store", "restart": True}),
        "evaluate": target(sr.evaluate, {"scores": Y, "data": DATA}),
        "evaluate of arrays": target(sr.evaluate, {"scores": Y, "data": Y, "qid": QID}),
        "evaluate of runs": lazy(
            sr.evaluate, lambda: {"scores": sr.read_run("a.run"), "data": sr.read_qrels("q.qrels")}
        ),
        "explain_query": lazy(sr.explain_query, lambda: {"model": model(), "data": DATA, "query": DATA.query_ids[0]}),
        "fit_path": target(sr.fit_path, {"data": DATA, "n_alphas": 3, "n_threads": 1}, more=FIT_PATH),
        "fuse": target(sr.fuse, {"runs": FILES, "qrels": "q.qrels", **QUICK}, more=FUSE),
        "load_model": target(sr.load_model, {"path": "model.json"}),
        "open_store": target(sr.open_store, {"path": "store"}),
        "parse_metric": target(sr.parse_metric, {"name": "map"}),
        "query_folds": target(sr.query_folds, {"n_queries": 10}),
        "read_data": target(sr.read_data, {"source": "train.txt"}, more=fields_of_reading()),
        "read_letor": target(sr.read_letor, {"paths": "train.txt"}),
        "refit_on_support": lazy(sr.refit_on_support, lambda: {"objective": objective(), "support": np.array([0, 1])}),
        "select": target(sr.select, {"train": DATA, "n_alphas": 3, **QUICK}, more=SELECT),
        "write_letor": target(sr.write_letor, {"data": DATA, "path": "new.txt"}),
        "write_qrels": target(sr.write_qrels, {"data": DATA, "path": "new.txt"}),
        "write_run": target(sr.write_run, {"data": DATA, "scores": Y, "path": "new.txt"}),
        "make_ranking": target(sr.datasets.make_ranking, {**made, "n_informative": 2, "n_redundant": 0}),
        "make_curved_ranking": target(sr.datasets.make_curved_ranking, {**made, "n_curved": 2}),
        "parse_among": target(penalties.parse_among, {"known": penalties.PENALTIES, "spec": "l1"}),
        "leave_query_out": target(papers.leave_query_out, {"data": DATA, "lams": [1.0]}),
        "PairwiseObjective": target(solvers.PairwiseObjective, {**rows, "n_threads": 1}),
        "solve": lazy(solvers.solve, lambda: {"solver": prox, "objective": objective(), "penalty": penalties.L1(0.01)}),
        "select_for_model": target(
            sr.select, {"train": DATA, "cv": 2, "for_model": "lightgbm", "sizes": (1, 2)}, more=FOR_MODEL_TAKES
        ),
    }
    data_methods = ("take_features", "take_queries", "rename_features", "replace_features")
    for method in (*data_methods, "to_input_order", "from_input_order"):
        out[f"RankingDataset.{method}"] = target(getattr(DATA, method), {})
    of_data = (sr.fit_scaling, papers.feature_importance, papers.feature_similarity)
    out |= {attacked.__name__: target(attacked, {"data": DATA}) for attacked in of_data}
    of_solvers = (solvers.Fista, solvers.ProxNewton, solvers.Reweighted, solvers.Stop)
    of_losses = (losses.SquaredHinge, losses.ModifiedHuber, losses.loss_identity, losses.loss_name, losses.parse_loss)
    readers = (sr.read_qrels, sr.read_run, penalties.parse_penalty)
    out |= {attacked.__name__: target(attacked, {}) for attacked in (*of_solvers, *of_losses, *readers)}
    of_model = {"contributions": DATA, "predict": X, "score_dataset": DATA, "selected_values": DATA}
    for method in (*of_model, "export", "save", "transform_of", "with_missing"):
        out[f"RankingModel.{method}"] = target(calling(model, method), {}, getattr(sr.RankingModel, method))
    for method in ("predict", "score", "transform", "save"):
        lists = {"qid": QID} if method == "score" else {}
        found = target(calling(fitted, method), lists, getattr(sr.SparseRanker, method), of_estimator=True)
        out[f"SparseRanker.{method}"] = found
    for method in ("support", "scaled_coef", "truncate"):
        out[f"PathResult.{method}"] = target(calling(path, method), {}, getattr(sr.PathResult, method))
    out |= {cls.__name__: following(cls) for cls in penalties.PENALTIES.values()}
    classes = [getattr(papers, name) for name in papers.__all__ if inspect.isclass(getattr(papers, name))]
    return out | {cls.__name__: fitting(cls) for cls in classes}


def fields_of_reading() -> list[Any]:
    return list(sr.Reading.__dataclass_fields__.values())


def scaling() -> sr.FeatureScaling:
    return sr.FeatureScaling("standard", np.zeros(5), np.ones(5))


def objective() -> solvers.PairwiseObjective:
    return solvers.PairwiseObjective(DATA)


@functools.cache
def fitted() -> sr.SparseRanker:
    return sr.SparseRanker(n_alphas=3, n_threads=1).fit(X, Y, qid=QID)


def model() -> sr.RankingModel:
    return fitted().to_model()


@functools.cache
def path() -> sr.PathResult:
    return sr.fit_path(DATA, n_alphas=3, n_threads=1)


RIGHT = {"data": DATA, "X": X, "y": Y, "qid": QID, "to": "python", "path": "new.json", "j": 1, "index": 1, "k": 2}


def calling(of: Callable[[], Any], method: str) -> Callable[..., Any]:
    """A call of a method of an object, with right values of the arguments that are not given."""

    def call(**given: Any) -> Any:
        function = getattr(of(), method)
        needed = [p.name for p in inspect.signature(function).parameters.values() if p.default is p.empty]
        return function(**{name: RIGHT[name] for name in needed if name in RIGHT} | given)

    return call


TARGETS = targets()
# Returned records, an enumeration, and bases of penalties and losses.
NOT_ATTACKED = (
    "Comparison FeatureRules FeatureScaling FusionFormula FusionResult PairwiseLoss PathResult Penalty SelectionResult "
    "Solution Status SyntheticRanking ComparisonResult TreesSelection"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("attack")
    sr.write_letor(DATA, made / "train.txt")
    sr.write_run(DATA, Y, made / "a.run")
    sr.write_run(DATA, X[:, 0], made / "b.run")
    sr.write_qrels(DATA, made / "q.qrels")
    fitted().save(made / "model.json")
    sr.convert([made / "train.txt"], made / "store")
    return made


class Reached(Exception):
    """The arguments of a job are accepted, and its computation would begin."""


@pytest.fixture
def world(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which relative paths are; jobs end where their computation would begin."""

    def reach(*args: Any, **options: Any) -> None:
        raise Reached

    for job in ("select", "fuse", "for_model"):
        monkeypatch.setattr(f"sparserank.jobs.{job}.work_store_in", reach)
    monkeypatch.chdir(folder)
    return folder


def fault(made: Target, parameter: str, value: Any) -> str:
    """What is wrong with how a call ends; "" if nothing is."""
    try:
        made.function(**{**made.right, parameter: value})
    except Reached:
        return ""
    except Exception as error:
        return fault_of(error, parameter, value, made)
    return ""


def is_of_its_type(made: Target, parameter: str, value: Any) -> bool:
    """Whether an argument is what the annotation asks for: it may be refused for what follows from it alone."""
    if isinstance(made.options.get(parameter), Number | Count):
        return made.options[parameter].problem(value) == ""
    described = getattr(made.described, "__func__", made.described)
    if isinstance(described, type) and "__init__" in vars(described) and not dataclasses.is_dataclass(described):
        described = described.__init__
    kind = None if described is None else arguments._typed(described).get(parameter)
    return kind is not None and kind.annotation is not Any and kind.problem(value) == ""


def fault_of(error: Exception, parameter: str, value: Any, made: Target) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    shown = f"{type(error).__name__}: {str(error)[:200]!r}"
    if made.of_estimator and "sklearn" in frame.filename and isinstance(error, ValueError | TypeError | Warning):
        return ""
    ours = Path(sr.__file__).parent in Path(frame.filename).parents
    raised = (frame.line or "").startswith("raise ")
    if not isinstance(error, SparserankError) and not (isinstance(error, TypeError | ValueError) and ours and raised):
        return f"not a refusal: {shown} at {frame.filename}:{frame.lineno}"
    sentence = str(error)
    if "\n" in sentence or not sentence.endswith(".") or len(sentence) > 600:
        return f"not one sentence: {shown}"
    if is_of_its_type(made, parameter, value):
        return ""
    quoted = (
        isinstance(value, str | Path)
        and str(value) != ""
        and (repr(str(value))[1:-1] in sentence or str(value) in sentence)
    )
    if not re.search(rf"\b({parameter}|{CALLED.get(parameter, parameter)})\b", sentence) and not quoted:
        return f"does not name {parameter}: {shown}"
    return ""


def attacks() -> Iterator[Any]:
    for name, made in TARGETS.items():
        for parameter in made.parameters:
            yield pytest.param(name, parameter, id=f"{name}-{parameter}")


# One function of each room; the others are among the slow tests.
QUICKLY = (
    "write_ concatenate explain_query fit_scaling read_run read_qrels query_folds load_model evaluate convert-paths "
    "fit_path-query RankingDataset-filled Evaluation RankRLS-lam RSRank-metric RandomRanker-random_state "
    "FSMRank-importance PairwiseObjective-query_weight"
)


@pytest.mark.slow_but(*QUICKLY.split())
@pytest.mark.parametrize(("name", "parameter"), list(attacks()))
def test_a_wrong_argument_is_refused_in_one_sentence_that_names_it(name: str, parameter: str, world: Path) -> None:
    made = TARGETS[name]
    found = {}
    for what, value in VALUES.items():
        if callable(value) and parameter in ("progress", "inner"):
            continue  # the errors of a caller's function are the caller's
        wrong = fault(made, parameter, value)
        if wrong:
            found[what] = wrong
    assert found == {}


def test_every_public_function_is_attacked() -> None:
    left = set(api.public_names()) - {name.partition(".")[0] for name in TARGETS} - set(NOT_ATTACKED.split())
    assert left == {
        name for name in left if inspect.isclass(api.value_of(name)) and issubclass(api.value_of(name), Exception)
    }


def test_the_attack_finds_errors_of_the_inside() -> None:
    def inside(x: Any) -> Any:
        return x.absent

    def vague(x: Any) -> Any:
        raise ParameterError("other", "must be something else.")

    assert fault(Target(inside, {}, ("x",)), "x", 3).startswith("not a refusal: AttributeError")
    assert fault(Target(vague, {}, ("x",)), "x", 3).startswith("does not name x")
    assert fault(Target(np.sqrt, {}, ("x",)), "x", 3).startswith("not a refusal: TypeError")


@pytest.mark.parametrize(
    ("hint", "fits", "not_fits"),
    [
        (int, 3, True),
        (float, 2, 10**400),
        (bool, np.True_, 1),
        (int | None, None, "3"),
        (str | Path, "x", b"x"),
        (list[str], ["a"], ["a", 1]),
        (Mapping[str, np.ndarray], {"a": np.zeros(2)}, {"a": 1}),
        (np.ndarray, [1, 2], np.array(1)),
        (Callable[[int], None], len, 3),
    ],
)
def test_values_of_an_annotation_pass_and_others_are_described(hint: Any, fits: Any, not_fits: Any) -> None:
    assert Typed(hint).problem(fits) == ""
    assert re.fullmatch(r"must be .+; got .+\.", Typed(hint).problem(not_fits))
