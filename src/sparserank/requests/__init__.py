"""Search requests whose boosts are learned: `sparserank select responses.jsonl --engine elasticsearch-query`.

The score of a request is the sum of its named clauses, so its clauses are features and its boosts are weights:

    query_types   the query types of Elasticsearch and OpenSearch: where names and boosts are, and which are sums
    edismax       a request to Solr as a sum of clauses
    search_query  any request as a model: its clauses with their boosts, and the request with other boosts
    responses     responses to a request as documents: the score of each clause is a feature
    selection     what `select` does with a request: its rules, the ranker in use, notes on the new request

All but the last only read and write JSON, and are used by `data`. `selection` belongs to the package `selection`.
The engine that writes a model as a request is in `export/boosts.py`, like every other engine.
"""
