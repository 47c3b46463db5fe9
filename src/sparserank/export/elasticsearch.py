"""Elasticsearch and OpenSearch: a model of the Learning to Rank plugin; fused retrievers."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from sparserank.data.fusion.norms import L2, MINMAX, RRF
from sparserank.errors import DataError
from sparserank.export.engine import Engine, Files, Options
from sparserank.export.expression import shape
from sparserank.export.fusion_engine import LARGEST_K, FusionEngine, as_json, equal_weights, query_placeholder
from sparserank.export.linear_weights import Names, definition_of, json_text, single_precision
from sparserank.export.lucene import LUCENE
from sparserank.export.terms import Sum
from sparserank.model.feature import Feature
from sparserank.model.fusion import FusionFormula, FusionTerm
from sparserank.options import option
from sparserank.strict_json import Json
from sparserank.text import brief
from sparserank.transforms import NONE

MUSTACHE = "mustache"
DERIVED = "derived_expression"
VARIABLE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)  # a variable of an expression: a feature name
ONE = "1"  # the derived feature whose weight is the constant
NORMALIZERS = {MINMAX: "minmax", L2: "l2_norm"}
TECHNIQUES = {MINMAX: "min_max", L2: "l2"}
MAX_QUERIES = 5  # largest number of clauses of a hybrid query
MAX_RANK_CONSTANT = 10_000
# matches names of retrievers that search by vectors
OF_VECTORS = re.compile(r"(?<![a-z])(knn|ann|hnsw|dense|vectors?|embeddings?)(?![a-z])", re.IGNORECASE)
CANDIDATES = 100  # candidates that knn examines in each shard


def elasticsearch(of: Sum, options: Options) -> Files:
    """Write model.json for _ltr/_featureset/NAME/_createmodel and, with `features`, featureset.json for
    _ltr/_featureset/NAME: {feature name: {params, template}}.

    A transform or step function is a derived feature: an expression of another feature of the set, which has no
    weight of its own. Without `features`, derived.json adds the derived features to a set, for
    _ltr/_featureset/NAME/_addfeatures.
    """
    options.refuse(
        f"the plugin's model/linear has no link function; {option('offset')} keeps scores positive", "sigmoid"
    )
    names = Names(t.name for t in of.terms)
    definitions = []
    derived = []
    weights = {}
    norms = {}
    for t in of.terms:
        base = weighed = _base(t, names, options)
        if t.kind != NONE:
            weighed = names.derived(t, t.name)
            derived.append(_derived(weighed, shape(t, LUCENE, base)))
        if options.features is not None:
            definition = definition_of(options.features, t, "template", _of_field)
            definitions.append({"params": [], "template_language": MUSTACHE, **definition, "name": base})
        weights[weighed] = t.coef if options.normalizers else t.slope
        norms[weighed] = {"standard": {"mean": t.mean, "standard_deviation": t.scale}}
    constant = _constant(of, options)
    if constant:
        name = names.fresh("constant")
        derived.append(_derived(name, ONE))
        weights[name] = constant
    weights = single_precision(weights, of.terms if options.normalizers else ())
    model: Json = {"type": "model/linear", "definition": json.dumps(weights)}
    if options.normalizers:
        model["feature_normalizers"] = norms
    files: Files = {}
    if options.features is not None:
        files["featureset.json"] = json_text({"featureset": {"features": [*definitions, *derived]}})
    elif derived:
        files["derived.json"] = json_text({"features": derived})
    return {**files, "model.json": json_text({"model": {"name": options.name, "model": model}})}


def _of_field(field: str, level: str | None) -> Json:
    """The definition of a feature that is 1 where a field has a level, or no value, else 0."""
    if "{{" in (level or ""):
        raise DataError(
            f"the level {brief(level or '')} cannot be in a template; define its feature in {option('features')}."
        )
    none: Json = {"bool": {"must_not": {"exists": {"field": field}}}}
    if level == "":
        none = {"bool": {"should": [none, {"term": {field: ""}}]}}
    return {"template": {"constant_score": {"filter": {"term": {field: level}} if level else none}}}


def _base(term: Feature, names: Names, options: Options) -> str:
    """Name of the untransformed feature in the set: the feature's name, or a valid variable if an expression cannot use
    that name."""
    if term.kind == NONE or VARIABLE.fullmatch(term.name):
        return term.name
    if options.features is None:
        raise DataError(
            f"{brief(term.name)} cannot be a variable of the plugin's derived features. Define all selected features "
            f"in {option('features')}; the feature is then stored under another name."
        )
    return names.fresh(f"feature_{term.index}")


def _derived(name: str, text: str) -> Json:
    return {"name": name, "params": [], "template_language": DERIVED, "template": text}


def _constant(of: Sum, options: Options) -> float:
    """The part of score + offset that the weighted features do not contribute; 0 if no offset was requested, because a
    constant changes no order. Derived steps begin at 0, and normalisers subtract the centres themselves."""
    if not options.shifted:
        return 0.0
    return options.offset + of.constant - (of.intercept if options.normalizers else 0.0)


ENGINE = Engine(
    "elasticsearch",
    "the plugin",
    elasticsearch,
    steps=True,
    takes_zero=True,
    trees="xgboost-dump",
    defined=True,
    negative="after a rescore, documents with negative scores rank behind those that were not rescored, and scoring "
    "scripts reject negative scores;",
)
OPENSEARCH = replace(ENGINE, name="opensearch")


def elasticsearch_fusion(formula: FusionFormula, name: str) -> Files:
    """The body of a search request, with placeholders for the queries of the retrievers. Equal weights are not written,
    because older versions do not accept weights for rrf. A single retriever is written without rrf, which needs two."""
    norm = formula.norm
    children = [_retriever(term, formula.depth) for term in formula.terms]
    plain = norm.name == RRF and equal_weights(formula)
    kind: Json = {"retrievers": children, "rank_window_size": formula.depth}
    if not plain:
        normalizer = {} if norm.name == RRF else {"normalizer": NORMALIZERS[norm.name]}
        kind["retrievers"] = [
            {"retriever": child, **normalizer, "weight": term.weight}
            for child, term in zip(children, formula.terms, strict=True)
        ]
    if norm.name == RRF:
        kind["rank_constant"] = norm.k
    fused = children[0] if plain and len(children) == 1 else {"rrf" if norm.name == RRF else "linear": kind}
    return {"retriever.json": as_json({"retriever": fused, "size": formula.depth})}


def _retriever(term: FusionTerm, depth: int) -> Json:
    """A retriever with placeholders; it searches by vectors if its name says so."""
    if not OF_VECTORS.search(term.retriever):
        return {"standard": {"query": query_placeholder(term)}}
    limits = {"k": depth, "num_candidates": max(depth, CANDIDATES)}
    return {"knn": {"field": "REPLACE: the field of the vectors", "query_vector": query_placeholder(term), **limits}}


FUSION = FusionEngine(
    "elasticsearch",
    "Elasticsearch",
    elasticsearch_fusion,
    norms=(MINMAX, L2, RRF),
    rrf_k=(1, LARGEST_K),
    positive=True,
    of_positive=(MINMAX, L2),
    single=True,
    to_replace='replace every "REPLACE" by what it says, and "standard" by "knn" (field, query_vector, k, '
    "num_candidates) for a retriever of vectors; those with knn, dense or vector in their names are written so.",
)


def opensearch_fusion(formula: FusionFormula, name: str) -> Files:
    """pipeline.json for `PUT /_search/pipeline/NAME`, and query.json with a placeholder for each query."""
    pipeline = {
        "description": f"{name}: {', '.join(formula.retrievers)}, in this order",
        "phase_results_processors": [_processor(formula)],
    }
    hybrid = {"pagination_depth": formula.depth, "queries": [query_placeholder(term) for term in formula.terms]}
    query = {"query": {"hybrid": hybrid}, "size": formula.depth}
    return {"pipeline.json": as_json(pipeline), "query.json": as_json(query)}


def _processor(formula: FusionFormula) -> Json:
    """The processor of the pipeline: score ranker for rrf, normalization for norms of scores."""
    parameters = {"weights": formula.weights}
    if formula.norm.name == RRF:
        ranked: Json = {"technique": "rrf", "rank_constant": formula.norm.k}
        if not equal_weights(formula):
            ranked["parameters"] = parameters
        return {"score-ranker-processor": {"combination": ranked}}
    return {
        "normalization-processor": {
            "normalization": {"technique": TECHNIQUES[formula.norm.name]},
            "combination": {"technique": "arithmetic_mean", "parameters": parameters},
        }
    }


OPENSEARCH_FUSION = FusionEngine(
    "opensearch",
    "OpenSearch",
    opensearch_fusion,
    norms=(MINMAX, L2, RRF),
    rrf_k=(1, MAX_RANK_CONSTANT),
    positive=True,
    of_positive=(MINMAX, L2),
    single=True,
    most=MAX_QUERIES,
    constant='OpenSearch 2.19 ignores "rank_constant" where pipeline.json has it, and computes with 60; there, move it '
    'into "parameters": {"rank_constant": ...}. Later versions take it as it is.',
)
