"""A running OpenSearch, with the plugin of hybrid queries, fuses lists by exported pipelines and queries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from integrations.matrix import ran
from servers import HYBRID, Server, opensearch
from tests.export.test_fusion_export import DEPTH, WEIGHTS, formula, made, ours, same_but_for_the_last, same_order

from sparserank.export.fusion import FUSION_ENGINES, export_fusion
from sparserank.model.fusion import FusionFormula, FusionTerm

N_QUERIES = 200
LISTS = dict(list(made().items())[:N_QUERIES])
FIELDS = {name: f"score_{i}" for i, name in enumerate(WEIGHTS)}
WEIGHTS_OF_RRF = "provided parameter for combination technique is not supported"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """An index of what each retriever returned for each query, in the order of the documents, which that of ties is."""
    with opensearch("2.19.6", tmp_path_factory.mktemp("opensearch"), HYBRID) as running:
        fields = {"query": {"type": "keyword"}, **{field: {"type": "double"} for field in FIELDS.values()}}
        settings = {"number_of_shards": 1, "number_of_replicas": 0}
        running.send("/returned", {"settings": settings, "mappings": {"properties": fields}}, "PUT")
        lines: list[dict[str, Any]] = []
        for q, own in LISTS.items():
            documents: dict[str, dict[str, Any]] = {}
            for name, entries in own.items():
                for d, score in entries:
                    documents.setdefault(d, {"query": q})[FIELDS[name]] = score
            for d in sorted(documents):
                lines += [{"index": {"_id": f"{q} {d}"}}, documents[d]]
        answer = running.send("/returned/_bulk?refresh=true", "\n".join(map(json.dumps, lines)) + "\n")
        assert not answer["errors"]
        yield running


def fused(server: Server, of: FusionFormula) -> dict[str, dict[str, float]]:
    """{query: {document: score}} of the exported pipeline, and of the hybrid query with the query of each retriever."""
    files = {name: json.loads(str(text)) for name, text in export_fusion(of, "opensearch").items()}
    if of.norm.name == "rrf" and of.norm.k != 60:
        (note,) = FUSION_ENGINES["opensearch"].notes(of)
        assert 'there, move it into "parameters"' in note
        for processor in files["pipeline.json"]["phase_results_processors"]:
            combination = processor["score-ranker-processor"]["combination"]
            combination.setdefault("parameters", {})["rank_constant"] = combination.pop("rank_constant")
    server.send("/_search/pipeline/fuse", files["pipeline.json"], "PUT")
    body = files["query.json"]
    found = {}
    for q in LISTS:
        retrievers = [(place["REPLACE"], FIELDS[term.retriever]) for place, term in _places(body, of)]
        assert all(term.retriever in what for (what, _), term in zip(retrievers, of.terms, strict=True))
        queries = [_of_retriever(q, field) for _, field in retrievers]
        hybrid = {"hybrid": {**body["query"]["hybrid"], "queries": queries}}
        answer = server.send("/returned/_search?search_pipeline=fuse", {**body, "query": hybrid})
        found[q] = {hit["_id"].split()[1]: hit["_score"] for hit in answer["hits"]["hits"]}
    return found


def _places(body: dict[str, Any], of: FusionFormula) -> list[tuple[dict[str, str], FusionTerm]]:
    return list(zip(body["query"]["hybrid"]["queries"], of.terms, strict=True))


def _of_retriever(q: str, field: str) -> dict[str, Any]:
    """A query with the scores that a retriever gave."""
    returned = {"bool": {"filter": [{"term": {"query": q}}, {"exists": {"field": field}}]}}
    return {
        "function_score": {"query": returned, "field_value_factor": {"field": field}, "boost_mode": "replace"},
    }


@pytest.mark.parametrize("norm", ["minmax", "l2", "rrf", "rrf(k=10)"])
def test_opensearch_fuses_as_the_formula(server: Server, norm: str) -> None:
    """Lists of one document, of equal scores, of zeros, and of more documents than the depth."""
    of = formula(norm, "opensearch")
    if "rrf" in norm:
        with pytest.raises(AssertionError, match=WEIGHTS_OF_RRF):  # before 3.1
            fused(server, of)
        of = replace(of, terms=tuple(FusionTerm(name, 1 / 3) for name in WEIGHTS))
    expected, units = ours(of, LISTS), 3.0 if "rrf" in norm else 1.0  # a sum without weights
    error = 2.0**-21
    longer = 0
    for q, found in fused(server, of).items():
        theirs = {d: score / units for d, score in found.items()}
        longer += len(expected[q]) == DEPTH
        if theirs.keys() != expected[q].keys():
            assert same_but_for_the_last(theirs, expected[q], error)
            continue
        assert theirs == pytest.approx(expected[q], abs=error)
        assert same_order(theirs, expected[q], 2 * error)
    assert longer > N_QUERIES / 2
    ran("opensearch", f"OpenSearch {server.version}", "fusion")
