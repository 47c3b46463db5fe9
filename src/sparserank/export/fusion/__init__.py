"""Exports of fusion formulas to search engines and libraries: one function per format writes a formula."""

from __future__ import annotations

from sparserank.errors import DataError
from sparserank.export.fusion import elasticsearch, opensearch, pyterrier_code, python_code, qdrant, ranx, sql, vespa
from sparserank.export.fusion.engine import FusionEngine
from sparserank.export.options import Files
from sparserank.model.fusion import FusionFormula
from sparserank.quoting import brief

FUSION_ENGINES: dict[str, FusionEngine] = {
    engine.name: engine
    for engine in (
        elasticsearch.ENGINE,
        opensearch.ENGINE,
        vespa.ENGINE,
        qdrant.ENGINE,
        ranx.ENGINE,
        pyterrier_code.ENGINE,
        python_code.ENGINE,
        sql.ENGINE,
    )
}


def export_fusion(formula: FusionFormula, to: str, name: str = "sparserank") -> Files:
    """{file name: text} of a formula in the format of an engine.

    Raises
        DataError   the format is unknown, or it cannot express the formula; the message has the remedy
    """
    if not isinstance(to, str) or to not in FUSION_ENGINES:
        raise DataError(
            f"there is no export of fused retrievers to {brief(str(to))}; known formats: {', '.join(FUSION_ENGINES)}."
        )
    engine = FUSION_ENGINES[to]
    engine.check(formula)
    return engine.write(formula, name)


def fusion_command(formula: FusionFormula, place: str) -> str:
    """The command that exports the formula at a place, which is quoted, for the first engine that runs it."""
    engine = next(name for name, e in FUSION_ENGINES.items() if e.runs(formula))
    several = " --out engine" if engine == "opensearch" else ""  # which has two files
    return f"sparserank export {place} --to {engine}{several}"


__all__ = ["FUSION_ENGINES", "FusionEngine", "export_fusion", "fusion_command"]
