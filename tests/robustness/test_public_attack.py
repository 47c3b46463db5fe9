"""Every public function, called with every kind of wrong argument, ends well or in one sentence that names it.

Each parameter of each signature receives each of VALUES while the other arguments are right; a call may succeed. What
options cannot be is tested in `tests/cli/test_options.py`.
"""

import dataclasses
import datetime
import inspect
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import sparserank as sr
from sparserank import losses, penalties, solvers
from sparserank.errors import ParameterError, SparserankError
from sparserank.model.training_record import with_training_record
from sparserank.options import arguments
from sparserank.options.arguments import Typed

sys.path.insert(0, str(Path(__file__).parents[2] / "docs"))
from site_pages import api

pytestmark = [
    pytest.mark.filterwarnings("ignore::sparserank.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::sparserank.errors.DataWarning"),
]

DATA = sr.datasets.make_ranking(12, (4, 6), 5, n_informative=2, n_redundant=0).data
X, Y, QID = np.array(DATA.X), np.array(DATA.relevance), np.array(DATA.qid)
N, OBJECT = len(Y), object()
VALUES = [None, OBJECT, -1, 0, 3, 10**400, 2.5, np.nan, np.inf, True, np.float32(1), 1j, "x", "", b"x", "\0", "\udcff"]
VALUES += [[1], [], [OBJECT], (1, "a"), {"a": 1}, {}, {1}, iter(()), lambda *a, **k: None, Exception, np.zeros(0)]
VALUES += [datetime.date(2020, 1, 1), np.zeros((2, 2, 2)), np.array(1.0), np.zeros((N, 1)), np.full(N, np.nan)]
VALUES += [np.array([OBJECT] * N), np.array(["x"] * N), np.array([1j] * N), np.full(N, "2020-01-01", dtype="M8[D]")]
VALUES += [sp.csr_matrix((N, 2)), pd.DataFrame({"z": [1.0]}), Path("absent/file"), Path("."), DATA]
# What messages call a parameter, where that is not its name.
CALLED = {"given": "loss", "spec": "penalty", "lams": "lam", "like": "store", "coef": "weight", "pipeline": "Pipeline"}
CALLED |= {
    "name": "metric|name|convention",
    "measure": "metric|similarity",
    "metrics": "metric",
    "n_queries": "queries",
}
CALLED |= {"path": "manifest|model|formula", "paths": "files?|paths?", "source": "run|judgments|files?|frame"}
CALLED |= {"scores": "system|scores|run|documents?", "systems": "systems?|scores", "X": "X|features?", "y": "relevance"}
CALLED |= {"data": "data|relevance|qid|second argument|frame|judgments|files?|document", "out": "output|folder"}
CALLED |= {"feature_names": "feature.names?", "fill_values": "arrays", "medians": "arrays", "center": "arrays"}
CALLED |= {"scale": "arrays", "scaling": "center", "datasets": "data sets?", "docs_per_query": "numbers|list"}
CALLED |= {"feature_groups": "groups?", "k": "models|feature"}
RANKER = sr.SparseRanker(n_alphas=3, n_threads=1).fit(X, Y, qid=QID)
MODEL = RANKER.to_model()
(RECORDED,) = with_training_record([MODEL], DATA)
COMPARED = sr.compare_systems({"a": Y, "b": X[:, 0]}, DATA)
SCALING = sr.FeatureScaling("standard", np.zeros(5), np.ones(5))
METHODS = [
    (DATA, "take_features take_queries rename_features replace_features to_input_order from_input_order"),
    (MODEL, "contributions predict score_dataset selected_values export save with_missing from_pipeline from_arrays"),
    (RANKER, "fit fit_dataset predict score transform save"),
    (sr.fit_path(DATA, n_alphas=3, n_threads=1), "support scaled_coef truncate"),
    (SCALING, "apply transform"),
    (sr.FusionFormula, "load"),
    (COMPARED, "rows judge_rows judge_next most_changed gate save against"),
]
# The right arguments of calls: by the names of parameters, and of one function.
RIGHT: dict[str, Any] = {"data": DATA, "X": X, "y": Y, "qid": QID, "relevance": Y, "scores": Y, "datasets": [DATA]}
RIGHT |= {"path": "model.json", "paths": ["train.txt"], "source": "train.txt", "out": "new.json", "n_queries": 10}
RIGHT |= {"old": MODEL, "new": "model.json"}
RIGHT |= {"to": "python", "j": 1, "index": 1, "k": 2, "query": DATA.query_ids[0], "model": MODEL, "lams": [1.0]}
RIGHT |= {"systems": {"a": Y, "b": X[:, 0]}, "per_query": {"map": np.ones(3)}, "name": "map", "spec": "l1"}
RIGHT |= {"coef": np.ones(5), "feature_names": tuple("abcde"), "scaling": SCALING, "known": penalties.PENALTIES}
RIGHT |= {"solver": solvers.ProxNewton(), "objective": solvers.PairwiseObjective(DATA), "penalty": penalties.L1(0.01)}
RIGHT |= {"support": np.array([0, 1]), "loss": losses.SquaredHinge(), "given": "squared_hinge"}
MADE = {"n_queries": 5, "docs_per_query": 5, "n_features": 5}
OWN: dict[str, dict[str, Any]] = {
    **{f"write_{what}": {"path": "new.txt"} for what in ("letor", "run", "qrels")},
    **{f"{owner}.save": {"path": "new.json"} for owner in ("RankingModel", "SparseRanker")},
    "RankingModel": {name: getattr(MODEL, name) for name in ("features", "feature_names", "scaling")},
    "Comparison.save": {"path": "new.json"},
    "Comparison.against": {"path": "earlier.json"},
    "Comparison.most_changed": {"system": "b"},
    "Comparison.gate": {"fail_if_worse": "1%"},
    "drift": {"model": RECORDED},
    "convert": {"out": "new-store", "restart": True},
    "read_run": {"source": "a.run"},
    "read_qrels": {"source": "q.qrels"},
    "fit_path": {"n_alphas": 3, "n_threads": 1},
    "make_ranking": {**MADE, "n_informative": 2, "n_redundant": 0},
    "make_curved_ranking": {**MADE, "n_curved": 2},
    "PairwiseObjective": {"relevance": Y, "query_ptr": np.array(DATA.query_ptr), "n_threads": 1},
}
# What has declared options alone; returned records, an enumeration, and bases of penalties and losses.
NOT_ATTACKED = (
    "select fuse SparseRanker SparseRankerCV RankSVM Comparison FeatureRules FeatureScaling FusionFormula FusionResult "
    "PairwiseLoss PathResult Penalty SelectionResult Solution Status SyntheticRanking ComparisonResult TreesSelection"
)


def targets() -> Iterator[tuple[str, Any]]:
    for name in api.public_names():
        value = api.value_of(name)
        if name not in NOT_ATTACKED.split() and not (inspect.isclass(value) and issubclass(value, Exception)):
            yield name, value
    for owner, methods in METHODS:
        yield from (
            (f"{getattr(owner, '__name__', type(owner).__name__)}.{name}", getattr(owner, name))
            for name in methods.split()
        )


TARGETS = dict(targets())


def attacks() -> Iterator[Any]:
    for name, function in TARGETS.items():
        for p in inspect.signature(function).parameters.values():
            if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL):
                yield pytest.param(name, p.name, id=f"{name}-{p.name}")


def call(name: str, function: Any, given: Mapping[str, Any]) -> None:
    """Penalties are checked by a path at the latest, rankers by their fit."""
    own = inspect.signature(function).parameters.values()
    needed = {p.name: RIGHT[p.name] for p in own if p.default is p.empty and p.name in RIGHT}
    if function in penalties.PENALTIES.values():
        sr.fit_path(DATA, function(**given), n_alphas=3, n_threads=1)
    elif hasattr(function, "fit"):
        quick = {"n_threads": 1, "n_alphas": 3, "cv": 2}
        ranker = function(**{k: v for k, v in quick.items() if any(p.name == k for p in own)} | given)
        assert np.isfinite(ranker.fit(X, Y, qid=QID).coef_).all()
    else:
        function(**needed | OWN.get(name, {}) | given)


def fault(name: str, function: Any, parameter: str, value: Any) -> str:
    """What is wrong with how a call ends; "" if nothing is."""
    try:
        call(name, function, {parameter: value})
    except Exception as error:
        return fault_of(error, function, parameter, value)
    return ""


def fault_of(error: Exception, function: Any, parameter: str, value: Any) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    shown = f"{type(error).__name__}: {str(error)[:200]!r}"
    if "sklearn" in frame.filename and isinstance(error, ValueError | TypeError | Warning):
        return ""  # scikit-learn checks X and y in its own words
    ours = Path(sr.__file__).parent in Path(frame.filename).parents and (frame.line or "").startswith("raise ")
    if not isinstance(error, SparserankError) and not (isinstance(error, TypeError | ValueError) and ours):
        return f"not a refusal: {shown} at {frame.filename}:{frame.lineno}"
    sentence = str(error)
    if "\n" in sentence or not sentence.endswith(".") or len(sentence) > 600:
        return f"not one sentence: {shown}"
    quoted = isinstance(value, str | Path) and str(value) and {repr(str(value))[1:-1], str(value)}
    if (quoted and any(text in sentence for text in quoted)) or is_of_its_type(function, parameter, value):
        return ""
    named = re.search(rf"\b({parameter}|{CALLED.get(parameter, parameter)})\b", sentence)
    return "" if named else f"does not name {parameter}: {shown}"


def is_of_its_type(function: Any, parameter: str, value: Any) -> bool:
    """Whether an argument is what the annotation asks for: it may be refused for what follows from it alone."""
    described = getattr(function, "__func__", function)
    if isinstance(described, type) and "__init__" in vars(described) and not dataclasses.is_dataclass(described):
        described = described.__init__
    kind = arguments._typed(described).get(parameter) if hasattr(described, "__annotations__") else None
    return kind is not None and kind.annotation is not Any and kind.problem(value) == ""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("attack")
    sr.write_letor(DATA, made / "train.txt")
    sr.write_run(DATA, Y, made / "a.run")
    sr.write_qrels(DATA, made / "q.qrels")
    MODEL.save(made / "model.json")
    COMPARED.save(made / "earlier.json")
    sr.convert([made / "train.txt"], made / "store")
    return made


# One function of each room; the others are among the slow tests.
QUICKLY = (
    "write_ concatenate explain_query fit_scaling read_run read_qrels query_folds load_model evaluate convert-paths "
    "fit_path-query RankingDataset-filled Evaluation RankRLS-lam RSRank-metric RandomRanker-random_state "
    "FSMRank-importance PairwiseObjective-query_weight"
)


@pytest.mark.slow_but(*QUICKLY.split())
@pytest.mark.parametrize(("name", "parameter"), list(attacks()))
def test_a_wrong_argument_is_refused_in_one_sentence_that_names_it(name, parameter, folder, monkeypatch):
    monkeypatch.chdir(folder)
    # the errors of a caller's function are the caller's
    values = [v for v in VALUES if not (callable(v) and parameter in ("progress", "inner"))]
    faults = {repr(value)[:60]: fault(name, TARGETS[name], parameter, value) for value in values}
    assert {value: wrong for value, wrong in faults.items() if wrong} == {}


def test_the_attack_finds_errors_of_the_inside() -> None:
    def inside(x: Any) -> Any:
        return x.absent

    def vague(x: Any) -> Any:
        raise ParameterError("other", "must be something else.")

    for function, found in ((inside, "not a refusal: AttributeError"), (vague, "does not name x")):
        assert fault("", function, "x", 3).startswith(found)


@pytest.mark.parametrize(
    ("hint", "fits", "not_fits"),
    [
        *[(int, 3, True), (float, 2, 10**400), (bool, np.True_, 1), (int | None, None, "3"), (str | Path, "x", b"x")],
        *[(list[str], ["a"], ["a", 1]), (Mapping[str, np.ndarray], {"a": np.zeros(2)}, {"a": 1})],
        *[(np.ndarray, [1, 2], np.array(1)), (Callable[[int], None], len, 3)],
    ],
)
def test_values_of_an_annotation_pass_and_others_are_described(hint: Any, fits: Any, not_fits: Any) -> None:
    assert Typed(hint).problem(fits) == ""
    assert re.fullmatch(r"must be .+; got .+\.", Typed(hint).problem(not_fits))
