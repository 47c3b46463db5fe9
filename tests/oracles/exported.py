"""What engines do with exported models, as far as their contracts say it: scores in float32, summed in feature order;
nothing from the package."""

import json
import math
import re

import numpy as np


def solr_scores(model_text, rows):
    """Scores (n_docs,) of a Solr LinearModel, after the checks that the server makes; rows: [{feature: value}]."""
    model = json.loads(model_text)
    assert model["class"] == "org.apache.solr.ltr.model.LinearModel"
    names = [f["name"] for f in model["features"]]
    assert names
    assert len(set(names)) == len(names)
    weights = model["params"]["weights"]
    assert all(isinstance(weights[n], int | float) for n in names)
    norms = {}
    for f in model["features"]:
        if "norm" in f:
            assert f["norm"]["class"].endswith("StandardNormalizer")
            params = f["norm"]["params"]
            assert all(isinstance(v, str) for v in params.values())
            assert float(params["std"]) > 0
            norms[f["name"]] = (np.float32(params["avg"]), np.float32(params["std"]))
    return [_float32_sum(names, weights, norms, row) for row in rows]


def elasticsearch_scores(model_text, rows):
    """Scores of the plugin's model/linear, after its checks."""
    model = json.loads(model_text)["model"]["model"]
    assert model["type"] == "model/linear"
    weights = json.loads(model["definition"])
    assert all(isinstance(v, int | float) for v in weights.values())
    norms = {}
    for name, norm in model.get("feature_normalizers", {}).items():
        assert name in weights
        ((kind, params),) = norm.items()
        assert kind == "standard"
        assert params["standard_deviation"] > 0
        norms[name] = (np.float32(params["mean"]), np.float32(params["standard_deviation"]))
    return [_float32_sum(list(weights), weights, norms, row) for row in rows]


def _float32_sum(names, weights, norms, row):
    total = np.float32(0.0)
    for name in names:
        value = np.float32(row[name])
        if name in norms:
            value = (value - norms[name][0]) / norms[name][1]
        total += np.float32(weights[name]) * value
    return float(total)


def ranklib_scores(text, X):
    """Scores of RankLib's text: ids from 1, a constant under 0."""
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("##")]
    assert text.startswith("## ")
    (model,) = lines
    pairs = [entry.split(":") for entry in model.split(" ")]
    constant = sum(float(v) for i, v in pairs if i == "0")
    return constant + sum(float(v) * X[:, int(i) - 1] for i, v in pairs if i != "0")


def evaluated(text, rows):
    """Scores of an expression of Lucene or Vespa: its words as Python functions, its conditionals rewritten."""
    words = {
        "ln": math.log,
        "log": math.log,
        "exp": math.exp,
        "sqrt": lambda x: math.sqrt(x) if x >= 0 else math.nan,
        "max": max,
        "min": min,
        "abs": abs,
        "fabs": abs,
        "_if": lambda condition, yes, no: yes if condition else no,
        "attribute": lambda value: value,
    }
    code = re.sub(r"\bif \(", "_lazy(", text.replace("\n", " ").replace("||", "or"))
    code = _lazy(_ternaries(code))
    compiled = compile(code.strip(), "expression", "eval")
    return [eval(compiled, {"__builtins__": {}}, {**words, **row}) for row in rows]


def _ternaries(code):
    """(condition ? yes : no) as a Python conditional, the innermost first."""
    out, stack = [], []
    for letter in code:
        if letter == "(":
            stack.append(len(out))
        out.append(letter)
        if letter == ")":
            start = stack.pop()
            inner = "".join(out[start + 1 : -1])
            depths = np.cumsum([(c == "(") - (c == ")") for c in inner]) if inner else []
            mark = next((i for i, c in enumerate(inner) if c == "?" and depths[i] == 0), None)
            if mark is not None:
                colon = next(i for i in range(mark, len(inner)) if inner[i] == ":" and depths[i] == 0)
                inner = f"{inner[mark + 1 : colon]} if {inner[:mark]} else {inner[colon + 1 :]}"
                out[start:] = ["(", inner, ")"]
                out = [*out[:start], "".join(out[start:])]
    return "".join(out)


def _lazy(code):
    """_lazy(condition, yes, no) as a Python conditional, so that only one side is computed."""
    while "_lazy(" in code:
        start = code.rindex("_lazy(")
        depth, parts, last = 0, [], start + 6
        for i in range(start + 6, len(code)):
            if code[i] == "(":
                depth += 1
            elif code[i] == ")" and depth:
                depth -= 1
            elif code[i] == "," and depth == 0:
                parts.append(code[last:i])
                last = i + 1
            elif code[i] == ")":
                parts.append(code[last:i])
                break
        condition, yes, no = parts
        code = f"{code[:start]}({yes} if {condition} else {no}){code[i + 1 :]}"
    return code
