"""Models in the words of search engines, databases and runtimes:
one sum of terms, written by one function per format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparserank.data.tables.frames import QID
from sparserank.errors import DataError
from sparserank.export import elasticsearch, lucene, onnx_graph, python_code, ranklib, solr, sql, vespa
from sparserank.export.engine import Engine
from sparserank.export.offsets import offset_of
from sparserank.export.options import Files, Options
from sparserank.export.terms import sum_of
from sparserank.model.ranking_model import RankingModel
from sparserank.options import option
from sparserank.quoting import brief

ENGINES: dict[str, Engine] = {
    engine.name: engine
    for engine in (
        solr.ENGINE,
        elasticsearch.ENGINE,
        elasticsearch.OPENSEARCH,
        vespa.ENGINE,
        lucene.ENGINE,
        ranklib.ENGINE,
        onnx_graph.ENGINE,
        python_code.ENGINE,
        sql.ENGINE,
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
    qid: str = QID,
) -> Files:
    """The files of a model for an engine.

    Parameters
    ----------
    model : RankingModel
        The model.
    to : str
        One of ENGINES.
    name : str, default 'sparserank'
        Of the model in the engine, and of its feature store or set.
    features : mapping, optional
        {our name of a feature: what it is in the engine}: for solr {class, params}; for elasticsearch and opensearch
        {params, template}; for vespa, lucene and sql an expression. vespa needs one of every selected feature.
    normalizers : bool, default False
        Of solr, elasticsearch, opensearch: write the scaling as the engine's normalisers instead of folding it into the
        weights.
    offset : float or 'auto', default 0.0
        Added to every score, where an engine refuses or clamps negative ones. 'auto': what keeps every training
        document above 0.
    sigmoid : bool, default False
        Scores through 1 / (1 + e^-x) instead: positive; in single precision equal above about 17, and 0 below about
        -100.
    filled : bool, default False
        The engine's own features give the values that the model takes for missing ones. vespa, sql, onnx and python
        express these values; solr, elasticsearch, opensearch, ranklib and lucene, which take 0, are refused without
        this option where another value was learned.
    wide : bool, default False
        Of onnx: one input X (n_docs, n_features) of all features of the training data in their order, instead of an
        input (n_docs, 1) of its name for each selected feature.
    qid : str, default 'qid'
        Of sql: the column of the query, where scores depend on the other documents of the query.

    Returns
    -------
    dict
        {file name: text, or bytes}.

    Raises
    ------
    DataError
        An unknown format, or a model or an option that the format cannot express; the message has the remedy.

    Notes
    -----
    A value is missing where it is NULL, NaN, infinite, or at least 1.79e308 in size. The value that the model knows
    takes its place. Without one there is no score: python raises, sql gives NULL (order by score DESC NULLS LAST),
    onnx, vespa and lucene give NaN. Only selected features are written. Scores are those of `predict`, except for the
    intercept in solr, elasticsearch, opensearch and ranklib, which have none, and for the precision in which engines
    compute (mostly float32).
    """
    if not isinstance(to, str) or to not in ENGINES:
        raise DataError(f"there is no export to {brief(str(to))}; known: {', '.join(ENGINES)}.")
    if features is not None and not isinstance(features, Mapping):
        raise DataError(f"features must map our names to the engine's; got {brief(str(features))}.")
    added, shifted = offset_of(model, offset), bool(offset)
    if shifted and sigmoid:
        raise DataError(f"{option('offset')} and {option('sigmoid')} exclude each other; set one of them.")
    if wide and to != "onnx":
        raise DataError(f"wide inputs are those of onnx; leave {option('wide')} out for {to}.")
    if qid != QID and to != "sql":
        raise DataError(f"a column of queries is that of sql; leave {option('qid')} out for {to}.")
    if not qid or not isinstance(qid, str):
        raise DataError("qid must be a text that is not empty.")
    if not name or not isinstance(name, str):
        raise DataError("name must be a text that is not empty.")
    engine, of = ENGINES[to], sum_of(model)
    options = Options(name, features, normalizers, added, sigmoid, filled, wide, shifted, qid)
    engine.check(of, options)
    return engine.write(of, options)


__all__ = ["ENGINES", "Engine", "export", "offset_of"]
