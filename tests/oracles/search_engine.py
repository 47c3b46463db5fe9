"""A search engine in a few lines: the score of a document by the bool query of a request, as Lucene defines it.

A document is {leaf: score without a boost} of the leaves that match it. A leaf is {"leaf": {"id": name, ...}}.
"""

from typing import Any


def scored(query: dict[str, Any], document: dict[str, float]) -> float | None:
    """The score; None if the query does not match."""
    ((kind, content),) = query.items()
    boost = content.get("boost", 1.0)
    if kind != "bool":
        return boost * document[content["id"]] if content["id"] in document else None

    def some(part: str) -> list[dict[str, Any]]:
        given = content.get(part, [])
        return given if isinstance(given, list) else [given]

    required = [scored(q, document) for q in some("must")]
    optional = [s for q in some("should") if (s := scored(q, document)) is not None]
    if None in required or any(scored(q, document) is None for q in some("filter")):
        return None
    if any(scored(q, document) is not None for q in some("must_not")):
        return None
    least = int(content.get("minimum_should_match", 0 if some("must") or some("filter") else bool(some("should"))))
    if len(optional) < least:
        return None
    return boost * sum([*(s for s in required if s is not None), *optional])


def listed(query: dict[str, Any], document: dict[str, float]) -> dict[str, float]:
    """The scores of named leaves that match, with their own boosts alone, as `matched_queries` lists them."""
    ((kind, content),) = query.items()
    if kind != "bool":
        name = content.get("_name")
        return {name: scored(query, document)} if name and content["id"] in document else {}  # type: ignore[dict-item]
    out: dict[str, float] = {}
    for part in ("must", "should", "filter", "must_not"):
        given = content.get(part, [])
        for q in given if isinstance(given, list) else [given]:
            out |= listed(q, document)
    return out
