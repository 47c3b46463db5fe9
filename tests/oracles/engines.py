"""Feature stores of engines, as far as their sources say what they do: derived features of the learning-to-rank plugin
of Elasticsearch and OpenSearch, function queries of Solr; nothing from the package."""

import json
import math
import re

import numpy as np

from tests.oracles import exported

ID = r"[A-Za-z_$][A-Za-z0-9_$]*"
VARIABLE = re.compile(rf"(?<![\w.$]){ID}(?:\.{ID})*(?![\w.$]|\s*\()")


def plugin_scores(features_text, model_text, rows, value):
    """Scores (n_docs,) of a model/linear on its feature set, after the plugin's checks.

    A set is a list: a derived feature sees, in single precision, what the features before it gave for the document, and
    0 for the others. value(feature, row): the score of the query that a feature is.
    """
    content = json.loads(features_text)
    features = content["featureset"]["features"] if "featureset" in content else content["features"]
    names = [f["name"] for f in features]
    assert len(set(names)) == len(names)
    derived = {}
    for f in features:
        if f["template_language"] == "derived_expression":
            assert isinstance(f["template"], str)
            assert f["params"] == []
            numbers = re.sub(r"\b\d[\d.]*(?:[eE][+-]?\d+)?", " ", f["template"])
            unknown = set(VARIABLE.findall(numbers)) - set(names)
            assert not unknown, f"derived feature refers to unknown feature {unknown}"
            derived[f["name"]] = f["template"]
    assert set(json.loads(json.loads(model_text)["model"]["model"]["definition"])) <= set(names)
    bound = {}  # names with dots are no Python names
    for i, name in enumerate(sorted(names, key=len, reverse=True)):
        if re.fullmatch(rf"{ID}(\.{ID})*", name):
            pattern = re.compile(rf"(?<![\w.$]){re.escape(name)}(?![\w$]|\s*\(|\.[A-Za-z_$])")
            changed = {of: pattern.sub(f"_v{i}_", text) for of, text in derived.items()}
            if changed != derived:
                derived, bound[f"_v{i}_"] = changed, name
    out = []
    for row in rows:
        vector = dict.fromkeys(names, 0.0)
        for f in features:
            name = f["name"]
            if name in derived:
                seen = {v: vector[of] for v, of in bound.items()}
                vector[name] = float(np.float32(exported.evaluated(derived[name], [seen])[0]))
            else:
                vector[name] = float(np.float32(value(f, row)))
        out.append(exported.elasticsearch_scores(model_text, [vector])[0])
    return out


def solr_scores(features_text, model_text, rows, field, query):
    """Scores (n_docs,) of a LinearModel on its feature store. field(name, row): the value of a field, None where the
    document has none; query(text, row): the score of a query, None where it does not match."""
    features = {f["name"]: f for f in json.loads(features_text)}
    assert len(features) == len(json.loads(features_text))
    model = json.loads(model_text)
    assert all(f["store"] == model["store"] for f in features.values())
    assert {f["name"] for f in model["features"]} <= set(features)
    out = []
    for row in rows:
        values = {name: _solr_value(f, row, field, query) for name, f in features.items()}
        out.append(exported.solr_scores(model_text, [values])[0])
    return out


def _solr_value(feature, row, field, query):
    kind, params = feature["class"].removeprefix("org.apache.solr.ltr.feature."), feature["params"]
    default = float(params.get("defaultValue", 0.0))
    if kind == "FieldValueFeature":
        found = field(params["field"], row)
        return default if found is None else found
    assert kind == "SolrFeature"
    if any(query(f, row) is None for f in params.get("fq", [])):
        return default
    found = _query_score(params["q"], row, field, query)
    return default if found is None else found


def _query_score(text, row, field, query):
    """Of {!func ...}: the value of the function, but 0 where that is below 0 or no number."""
    if not text.startswith("{!func"):
        return query(text, row)
    header = Parser(text[len("{!func") :], {}, row, field, query)
    local = header.local_params()
    body = Parser(header.text[header.at :], local, row, field, query)
    _, value = body.function()
    assert body.at == len(body.text), f"unexpected text after function: {body.text[body.at :]}"
    return float(value) if value >= 0 else 0.0


class Parser:
    """FunctionQParser: every function gives (whether the document has a value, the value in single precision)."""

    def __init__(self, text, local, row, field, query):
        self.text, self.at, self.local, self.row, self.field, self.query = text, 0, local, row, field, query

    def local_params(self):
        found = {}
        while self.text[self.at] != "}":
            assert self.text[self.at] == " "
            self.at += 1
            name = self.identifier()
            self.expect("=")
            found[name] = self.quoted()
        self.at += 1
        return found

    def function(self):
        ahead = self.text[self.at]
        if ahead.isdigit() or ahead in ".+-":
            number = re.match(r"[0-9.eE+-]+", self.text[self.at :]).group()
            self.at += len(number)
            return True, np.float32(float(number))
        name = self.identifier()
        self.expect("(")
        if name == "field":
            called = self.quoted() if self.text[self.at] in "'\"" else self.identifier()
            self.expect(")")
            found = self.field(called, self.row)
            return found is not None, np.float32(0.0 if found is None else found)
        if name == "query":
            self.expect("$")
            text = self.local[self.identifier()]
            self.expect(",")
            _, default = self.function()
            self.expect(")")
            found = _query_score(text, self.row, self.field, self.query)
            return found is not None, default if found is None else np.float32(found)
        given = [self.function()]
        while self.text[self.at] == ",":
            self.at += 1
            given.append(self.function())
        self.expect(")")
        with np.errstate(all="ignore"):
            return FUNCTIONS[name](given)

    def identifier(self):
        found = re.match(r"[A-Za-z_][A-Za-z0-9_]*", self.text[self.at :]).group()
        self.at += len(found)
        return found

    def quoted(self):
        mark, out = self.text[self.at], ""
        assert mark in "'\""
        self.at += 1
        while self.text[self.at] != mark:
            self.at += self.text[self.at] == "\\"
            out += self.text[self.at]
            self.at += 1
        self.at += 1
        return out

    def expect(self, letter):
        assert self.text[self.at] == letter, f"expected {letter!r} at {self.at} in {self.text!r}"
        self.at += 1


def _all(of):
    return lambda given: (all(e for e, _ in given), np.float32(of(*(v for _, v in given))))


def _of_existing(of):
    """max and min look only at what the document has; 0 where it has nothing."""

    def call(given):
        values = [v for e, v in given if e]
        return bool(values), np.float32(of(values) if values else 0.0)

    return call


FUNCTIONS = {
    "sum": _all(lambda *v: np.float32(np.add.reduce(np.array(v, dtype=np.float32)))),
    "sub": _all(lambda a, b: a - b),
    "product": _all(lambda *v: np.multiply.reduce(np.array(v, dtype=np.float32))),
    "div": _all(lambda a, b: a / b),
    "ln": _all(lambda a: math.log(a) if a > 0 else (-math.inf if a == 0 else math.nan)),
    "hypot": _all(lambda a, b: math.hypot(float(a), float(b))),
    "max": _of_existing(max),
    "min": _of_existing(min),
    "def": lambda given: next((g for g in given[:-1] if g[0]), given[-1]),
    "lt": _all(lambda a, b: float(a < b)),
    "if": lambda given: given[1] if given[0][1] else given[2],
}
