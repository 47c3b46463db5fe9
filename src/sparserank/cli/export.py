"""`sparserank export`: a model in the format of a search engine, a database or a runtime."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparserank.cli.output import answer, give
from sparserank.cli.reading import model_of, require
from sparserank.cli.screen import note, say

if TYPE_CHECKING:
    from sparserank.export import Engine
    from sparserank.model import RankingModel

HELP = """Write a model for a search engine, a database or a runtime.

[bold]Formats[/bold]

solr, elasticsearch, opensearch: a linear model, with logarithms and steps as derived features. ranklib: weights of \
raw features. vespa, lucene, sql: an expression. onnx: a graph with one input per selected feature. python: a \
module without dependencies.

[bold]Examples[/bold]

  sparserank export run --to sql

  sparserank export run --k 7 --to vespa

  sparserank export run --to solr --features solr-features.json --out solr/

  sparserank export run --to lucene --offset 100 --out lucene/

  sparserank export run --to onnx --out model.onnx

A feature file is a JSON object that defines each feature of the model in the engine, e.g.
{"bm25_title": {"class": "org.apache.solr.ltr.feature.SolrFeature", "params": {"q": "{!field f=title}${text}"}}} for \
Solr,
{"bm25_title": "bm25(title)"} for Vespa.

Fused retrievers (a run of sparserank fuse): elasticsearch (a linear or rrf retriever), opensearch (a search \
pipeline), ranx, sql, python.
"""


def run(
    *,
    model: Path,
    to: str,
    out: Path | None = None,
    k: int | None = None,
    features: Path | None = None,
    offset: str = "0",
    missing: str | None = None,
    **options: Any,
) -> None:
    """Options are those of `export`."""
    from sparserank.export import ENGINES, offset_of
    from sparserank.export import export as write
    from sparserank.export.engine import EXPECTED
    from sparserank.export.fusion import FUSION_ENGINES, export_fusion
    from sparserank.model.fusion import formula_of, is_fusion
    from sparserank.strict_json import read_json
    from sparserank.workdir.directory import refuse_uncreatable

    if out is not None and (out.is_dir() or not os.path.lexists(out)):
        refuse_uncreatable(out)
    known = None if features is None else read_json(features, EXPECTED)
    exported = model_of(model, None, k).with_missing(missing)
    shift: float | str = offset
    with suppress(ValueError):  # the word auto, or what `export` refuses
        shift = float(offset)
    if is_fusion(exported):
        name = options.pop("name", "sparserank")
        inapplicable = {"features": known, **options, "offset": shift}
        for flag, value in inapplicable.items():
            require(not value, f"--{flag}", "does not apply to fused retrievers.")
        formula = formula_of(exported)
        _write(out, export_fusion(formula, to, name), to)
        for text in filter(None, [FUSION_ENGINES[to].to_replace, *FUSION_ENGINES[to].notes(formula)]):
            note(f"note: {text}")
        return
    files = write(exported, to, features=known, offset=shift, **options)
    _write(out, files, to)
    positive = bool(shift) or options.get("sigmoid", False)
    _notes(ENGINES[to], files, exported, offset_of(exported, shift), positive=positive)


def _write(out: Path | None, files: Mapping[str, str | bytes], to: str) -> None:
    """Write the files to `out`, or a single text to standard output."""
    if out is None:
        texts = [content for content in files.values() if isinstance(content, str)]
        several = not answer().is_text and len(texts) == len(files)
        require(several or len(texts) == len(files) == 1, "--out", f"must be a folder: {to} has {' and '.join(files)}.")
        if not answer().is_text:
            give({"files": files}, [{"file": name, "content": text} for name, text in files.items()], exact=True)
            return
        sys.stdout.flush()
        sys.stdout.buffer.write(texts[0].encode())  # feature names unchanged, regardless of the terminal's encoding
    else:
        wrote = _write_files(out, files)
        give({"wrote": wrote}, [{"file": file} for file in wrote])
        say("wrote " + ", ".join(wrote))


def _notes(
    engine: Engine, files: Mapping[str, str | bytes], model: RankingModel, offset: float, *, positive: bool
) -> None:
    """Print notes on the export that the written files do not show."""
    from sparserank.export import ranklib
    from sparserank.model.training_record import lowest_score
    from sparserank.options.selection import TREES

    if "derived.json" in files:
        note(
            "note: derived.json adds the derived features to a feature set, which must contain the selected features "
            "under their names. With --features, both are written as one set."
        )
    elif engine.name in ("solr", "elasticsearch", "opensearch") and len(files) == 1:
        note(
            "note: only the model was written. The feature store of the engine must contain its features under these "
            "names. With --features, the features are written too."
        )
    lowest = lowest_score(model)
    if offset:
        known = "" if lowest is None else f"; the lowest training score becomes {lowest + offset:.3g}"
        note(f"note: every score is raised by {offset:g}, which does not change the ranking{known}.")
    elif engine.negative and not positive:
        lowest_text = "" if lowest is None else f" (the lowest training document scores {lowest:.3g})"
        note(f"note: {engine.negative} --offset auto keeps scores positive{lowest_text}.")
    texts = "".join(content for content in files.values() if isinstance(content, str))
    if engine.name in TREES:
        note("note: trees take an infinite value as a large number, and predict takes it as missing; give NaN instead.")
    if engine.name == "ranklib" and model.index_base == 0:
        note(f"note: {ranklib.FROM_0} Add 1 to the numbers of the files that RankLib reads.")
    if engine.name == "solr" and "{!func x=" in texts and "${" in texts:
        note('note: Solr interprets " and \\ in the text of a parameter (efi) as syntax; put a \\ before each of them.')


def _write_files(out: Path, files: Mapping[str, str | bytes]) -> list[str]:
    """Write the only file of a format to `out`, or the files into the folder `out`."""
    from sparserank.errors import RunDirectoryError
    from sparserank.files import atomic_write
    from sparserank.workdir.directory import WorkDirectory

    # If --out has the suffix of the first file, it names that file and not a folder; columns.json is put beside it.
    first = next(iter(files))
    is_file = out.suffix in {Path(file).suffix for file in files} and not out.is_dir()
    several = is_file and not {first, "columns.json"}.issuperset(files)
    require(not several, "--out", f"must be a folder for {' and '.join(files)}; got {str(out)!r}.")
    file_of = {file: out.with_name(f"{out.stem}.{file}") for file in files} | {first: out}
    places = {file_of[name] if is_file else out / name: content for name, content in files.items()}
    with nullcontext() if is_file else WorkDirectory(out, "export"):
        for place in places:
            if os.path.lexists(place):
                raise RunDirectoryError(f"{place}: already exists; choose another --out.")
        for place, content in places.items():
            with atomic_write(place, "wb" if isinstance(content, bytes) else "w") as target:
                target.write(content)
    return list(map(str, places))
