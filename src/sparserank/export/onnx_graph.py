"""A model as an ONNX graph."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from sparserank.errors import DataError
from sparserank.export.engine import Engine, Files, Options
from sparserank.export.expression import LARGE, SMALL
from sparserank.export.terms import MISSING_FROM, Sum, rise
from sparserank.model.feature import Feature, numbers
from sparserank.options import option
from sparserank.text import brief
from sparserank.transforms import ASINH, LOG

OPSET = 17
IR_VERSION = 9
OPSET_OF_TEXTS = 19  # the first opset that compares texts
LIMIT = np.array([float(MISSING_FROM)])
ONE = np.ones(1)
WIDE = "X"
SCORE = "score"
N_DOCS = "n_docs"


def onnx(of: Sum, options: Options) -> Files:
    """Write model.onnx. Inputs: for each selected feature a double (n_docs, 1) with its name; with `wide`, one double X
    (n_docs, n_features), all features of the training data in their order; a category is an input of text with the name
    of its column, "" where there is none. Output: double score (n_docs, 1).

    Raises
        DataError   the package onnx is not installed; a feature's name cannot be the name of an input
    """
    options.refuse(
        "the scaling is folded into the graph, and its inputs are named after the features", "normalizers", "features"
    )
    from sparserank import __version__  # here: options import the table of engines, and must not import this

    try:
        from onnx import TensorProto, checker, helper
    except ImportError as error:
        raise DataError("ONNX needs the package onnx; install it with: pip install 'sparserank[onnx]'") from error
    plain = []
    made: dict[str, list[Feature]] = {}  # {column: features that are made from it}
    texts = set()  # columns that are categories
    for t in of.terms:
        if t.derived is None or options.wide:
            plain.append(t)
            continue
        made.setdefault(t.source, []).append(t)
        if t.derived.level is not None:
            texts.add(t.source)
    names = list(dict.fromkeys([*(t.name for t in plain), *made]))
    graph = _Graph(names)
    if options.wide:
        inputs = {WIDE: of.n_features}
        x = graph.add("Gather", WIDE, np.array([t.index for t in of.terms]), axis=1)
    else:
        for name in names:
            if name in ("", SCORE) or "\0" in name:
                raise DataError(
                    f"an input of the graph cannot have the name {brief(name)}. Export a single input with all "
                    f"features ({option('wide', True)})."
                )
        inputs = dict.fromkeys(names, 1)
        x = graph.add("Concat", *(t.name for t in plain), axis=1) if plain else ""
    score = _of_numbers(graph, x, plain) if plain else graph.constant(np.zeros((1, 1)))
    for source, levels in made.items():
        if source in texts:
            known = [["" if t.derived is None else t.derived.level or "" for t in levels]]
            where = graph.add("Equal", source, np.array(known, dtype=object))
        else:
            where = graph.add("Not", graph.add("Less", graph.add("Abs", source), LIMIT))
        score = graph.add("Add", score, _sum_where(graph, where, np.array(list(map(rise, levels)))))
    score = graph.add("Add", score, np.array([of.constant + options.offset]))
    graph.add("Sigmoid" if options.sigmoid else "Identity", score, name=SCORE)
    kinds = {name: TensorProto.STRING if name in texts else TensorProto.DOUBLE for name in inputs}
    finished = helper.make_graph(
        graph.nodes,
        "sparserank",
        [helper.make_tensor_value_info(name, kinds[name], [N_DOCS, width]) for name, width in inputs.items()],
        [helper.make_tensor_value_info(SCORE, TensorProto.DOUBLE, [N_DOCS, 1])],
        graph.constants,
    )
    opset = helper.make_opsetid("", OPSET_OF_TEXTS if texts else OPSET)
    model = helper.make_model(finished, opset_imports=[opset], producer_name="sparserank")
    model.ir_version = IR_VERSION
    properties = {"sparserank": __version__, "features": json.dumps([[t.index, t.name] for t in of.terms])}
    helper.set_model_props(model, properties)
    checker.check_model(model, full_check=True)
    return {"model.onnx": model.SerializeToString()}


ENGINE = Engine("onnx", "ONNX", onnx, steps=True)


def _of_numbers(graph: _Graph, x: str, terms: Sequence[Feature]) -> str:
    """The sum of the terms of the columns of x, without their constants."""
    # Fill values replace missing values; NaN where there is none.
    is_known = graph.add("Less", graph.add("Abs", x), LIMIT)
    known = graph.add("Where", is_known, x, numbers(terms, "missing")[None])
    x = _shaped(graph, known, terms)
    weights = np.array([[0.0 if t.steps is not None else t.slope] for t in terms])
    score = graph.add("MatMul", x, weights)
    if any(t.missing is None for t in terms):  # a missing value must give NaN, even for steps, which accept NaN
        nothing = graph.add("MatMul", graph.add("Sub", known, known), np.ones((len(terms), 1)))
        score = graph.add("Add", score, nothing)
    for k, term in enumerate(terms):
        if (steps := term.heights) is not None:
            column = graph.add("Gather", x, np.array([k]), axis=1)
            beyond = graph.add("Greater", column, steps.edges[None])
            score = graph.add("Add", score, _sum_where(graph, beyond, np.diff(steps.values)))
    return score


def _sum_where(graph: _Graph, where: str, values: np.ndarray) -> str:
    """(n_docs, 1) sum of the values (m,) where a condition (n_docs, m) holds."""
    from onnx import TensorProto

    number = graph.add("Cast", where, to=TensorProto.DOUBLE)
    return graph.add("MatMul", number, values[:, None])


def _shaped(graph: _Graph, x: str, terms: Sequence[Feature]) -> str:
    """x after the transforms (log, asinh) of its columns."""
    for kind in (LOG, ASINH):
        where = np.array([t.kind == kind for t in terms])
        if not where.any():
            continue
        if kind == LOG:
            size = _log1p(graph, graph.add("Abs", x))
            bent = graph.add("Mul", graph.add("Sign", x), size)
        else:
            # Not every runtime has asinh for doubles. With z = x / c, it is asinh(min(z, LARGE)) plus the growth of
            # log(2 z) beyond LARGE, which is computed from log x and log c because z may overflow.
            c = numbers(terms, "constant")[None]
            z = graph.add("Div", x, c)
            size = graph.add("Abs", z)
            large = graph.constant(np.array([LARGE]))
            near = graph.add("Min", size, large)
            square = graph.add("Mul", near, near)
            root = graph.add("Sqrt", graph.add("Add", square, ONE))
            # asinh(z) = log1p(z + z^2 / (1 + sqrt(z^2 + 1)))
            rise = graph.add("Div", square, graph.add("Add", root, ONE))
            beyond = graph.add("Sub", graph.add("Log", graph.add("Abs", x)), np.log(c) + np.log(LARGE))
            far = graph.add("Where", graph.add("Greater", size, large), beyond, np.array([0.0]))
            bent = graph.add(
                "Mul", graph.add("Sign", z), graph.add("Add", _log1p(graph, graph.add("Add", near, rise)), far)
            )
        x = graph.add("Where", where[None], bent, x)
    return x


def _log1p(graph: _Graph, x: str) -> str:
    """log(1 + x) for x >= 0, from its series where 1 + x would lose digits."""
    square = graph.add("Mul", x, x)
    half = graph.add("Mul", square, np.array([0.5]))
    third = graph.add("Mul", graph.add("Mul", square, x), np.array([1.0 / 3.0]))
    series = graph.add("Add", graph.add("Sub", x, half), third)
    whole = graph.add("Log", graph.add("Add", x, ONE))
    return graph.add("Where", graph.add("Less", x, np.array([SMALL])), series, whole)


class _Graph:
    """Nodes and constants, with numbered names that differ from all `names`."""

    def __init__(self, names: Sequence[str]) -> None:
        self._prefix = "/"
        while any(name.startswith(self._prefix) for name in names):
            self._prefix += "/"
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, values: np.ndarray) -> str:
        from onnx import numpy_helper

        name = f"{self._prefix}c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def add(self, kind: str, *inputs: str | np.ndarray, name: str | None = None, **attributes: Any) -> str:
        from onnx import helper

        names = [one if isinstance(one, str) else self.constant(one) for one in inputs]
        output = name or f"{self._prefix}n{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, names, [output], **attributes))
        return output
