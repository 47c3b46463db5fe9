"""Exports of models to search engines, databases and runtimes:
a model is a sum of terms, and one function per format writes it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from sparserank.errors import DataError, ParameterError
from sparserank.export import boosts, elasticsearch, lucene, onnx_graph, python_code, ranklib, solr, sql, trees, vespa
from sparserank.export.engine import Engine, Files, NeedsDefinitions, Options
from sparserank.export.terms import offset_of, sum_of
from sparserank.model.ranking_model import RankingModel
from sparserank.model.table_columns import REQUEST
from sparserank.options import Choice, option
from sparserank.options.arguments import LATER, check_arguments
from sparserank.options.selection import REQUESTS
from sparserank.requests.search_query import read_search_query

ENGINES: dict[str, Engine] = {
    engine.name: engine
    for engine in (
        solr.ENGINE,
        elasticsearch.ENGINE,
        elasticsearch.OPENSEARCH,
        boosts.ENGINE,
        boosts.OPENSEARCH,
        boosts.SOLR,
        vespa.ENGINE,
        lucene.ENGINE,
        ranklib.ENGINE,
        onnx_graph.ENGINE,
        python_code.ENGINE,
        sql.ENGINE,
        sql.OF_SPARK,
        trees.LIGHTGBM,
        trees.XGBOOST,
        trees.XGBOOST_DUMP,
        trees.SOLR_TREES,
    )
}


def export(
    model: RankingModel,
    to: str,
    *,
    name: str = "sparserank",
    features: Mapping[str, Any] | None = None,
    normalizers: bool = False,
    offset: float | str = 0.0,
    sigmoid: bool = False,
    filled: bool = False,
    wide: bool = False,
    query: Any = None,
) -> Files:
    """Write a model in the format of an engine.

    Parameters
    ----------
    model : RankingModel
        The model.
    to : str
        The format, one of ENGINES.
    name : str, default 'sparserank'
        Name of the model in the engine, and of its feature store or feature set.
    features : mapping, optional
        {feature name: its definition in the engine}. The definition is {class, params} for solr, {params, template} for
        elasticsearch and opensearch, and an expression for vespa, lucene, sql and spark. vespa needs one for every
        selected feature.
    normalizers : bool, default False
        For solr, elasticsearch and opensearch: write the scaling as the engine's normalisers instead of folding it into
        the weights.
    offset : float or 'auto', default 0.0
        Constant added to every score, for engines that refuse or clamp negative scores. 'auto' keeps the score of every
        training document above 0.
    sigmoid : bool, default False
        Pass scores through 1 / (1 + e^-x), which makes them positive. In single precision, scores above about 17 become
        equal, and scores below about -100 become 0.
    filled : bool, default False
        Declare that the engine's features return the model's fill values where a value is missing. vespa, sql, onnx and
        python express fill values themselves. solr, elasticsearch, opensearch, ranklib and lucene take 0: if the model
        learned another fill value, they are refused without this option.
    wide : bool, default False
        For onnx: one input X (n_docs, n_features) with all features of the training data in their order, instead of an
        input (n_docs, 1) for each selected feature, with the name of the feature.
    query : path or mapping, optional
        For elasticsearch-query, opensearch-query and solr-query: the search request that gets the boosts. The model
        must have been trained with it (`select(query=...)`).

    Returns
    -------
    dict
        {file name: text, or bytes}.

    Raises
    ------
    ParameterError
        The format is unknown or has no such option, or the value of an option cannot be used.
    DataError
        The format cannot express the model; the message contains the remedy.

    Notes
    -----
    A value is missing if it is NULL, NaN, infinite, or at least 1.79e308 in absolute value (trees take the last two as
    numbers). The model's fill value takes its place. Without a fill value there is no score: python raises an error,
    sql returns NULL (order by score DESC NULLS LAST), and onnx, vespa and lucene return NaN. Only selected features are
    written; the files of lightgbm and xgboost name all of them, with _ for characters that these do not allow, and
    columns.json then has the column of the table, and its level, behind each name. Scores equal those of `predict`,
    with two exceptions: solr, elasticsearch, opensearch and ranklib have no intercept, and the precision is that of the
    engine (mostly float32).
    """
    check_arguments(export, locals(), to=Choice(tuple(ENGINES)), offset=LATER)
    added = offset_of(model, offset)
    shifted = bool(offset)
    engine = ENGINES[to]
    of_request = engine.boosts and REQUEST in model.parameters
    if shifted and sigmoid:
        raise ParameterError("sigmoid", f"cannot be combined with {option('offset')}; leave one of them out.")
    if wide and to != "onnx":
        raise ParameterError("wide", f"applies only to onnx; leave it out for {to}.")
    if query is not None and not of_request:
        known = ", ".join(REQUESTS)
        raise ParameterError("query", f"applies to the boosts of a request ({known}) that was given to select, too.")
    if query is None and of_request:
        raise ParameterError("query", "is needed: weights are boosts of the request that was given to select.")
    if not name:
        raise ParameterError("name", "must be a non-empty string.")
    of = sum_of(model)
    request = None
    if query is not None:
        request = read_search_query(query)
        request.check_engine(to)
        if _boosts(request.listed) != _boosts(model.parameters[REQUEST]):
            raise DataError(f"{request.place}: has other clauses or boosts than the request that select had.")
    options = Options(name, features, normalizers, added, sigmoid, filled, wide, shifted, request)
    engine.check(of, options)
    return engine.write(of, options)


def _boosts(clauses: Any) -> dict[str, list[str] | None]:
    """For exports of boosts: how the scores of the clauses are read, see `SearchQuery.listed`."""
    return {name: None if of is None else [f"{value:.6g}" for value in of[:2]] for name, of in clauses.items()}


def export_command(model: RankingModel, place: str, to: str, request: Any = None) -> str:
    """The command that exports the model at `place`, a quoted path; "" if the format cannot express the model.

    request   the file of the search request that select had
    """
    engine = ENGINES[to]
    file = shlex.quote(request) if isinstance(request, str) else "FILE"
    defined = f" --query {file}" if engine.boosts and REQUEST in model.parameters else ""
    try:
        of = sum_of(model)
        engine.check(of, Options())
        files = {} if defined else engine.write(of, Options())
    except NeedsDefinitions:
        files = {}
        defined = " --features FILE"
    except DataError:
        return ""
    printed = len(files) == 1 and all(isinstance(content, str) for content in files.values())
    return f"sparserank export {place} --to {to}{defined}{'' if printed else f' --out {to}/'}"


__all__ = ["ENGINES", "Engine", "export", "export_command", "offset_of"]
