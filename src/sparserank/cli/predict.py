"""`sparserank predict`: scores or a TREC run."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparserank.cli.output import answer, give
from sparserank.cli.reading import documents_for, model_of, require, require_no_reading
from sparserank.cli.screen import warn

if TYPE_CHECKING:
    import numpy as np

    from sparserank.data.dataset import RankingDataset
    from sparserank.model.ranking_model import RankingModel

HELP = """Score documents with a saved model. The output is one score per line in file order; a table of query, \
document and score, if OUT ends in .csv or .parquet; or a TREC run.

[bold]Examples[/bold]

  sparserank predict run/model.json test.txt > scores.txt

  sparserank predict run/model.json test.txt --run test.run --qrels test.qrels

  sparserank predict run test.txt --k 5

  sparserank predict run new.parquet --docid-column sku --out scores.parquet

With a model of sparserank fuse, the files are runs of its retrievers, and the output is the fused run:

  sparserank predict run new/*.run --run fused.run
"""

NUMBERS = {"score", "rank", "rel"}  # names of the fields that must be numbers
TABLES = (".csv", ".parquet")
COLUMNS = "qid,docno,score"  # columns of a table of scores


def run(
    *,
    model: Path,
    data: list[Path],
    k: int | None = None,
    out: Path | None = None,
    run: Path | None = None,
    qrels: Path | None = None,
    missing: str | None = None,
    **options: Any,
) -> None:
    """Options are those of `Reading`."""
    from sparserank.data.fusion.lists import file_of
    from sparserank.data.runs import write_qrels, write_run
    from sparserank.data.trec import QRELS, RUN
    from sparserank.files import refuse_foreign, refuse_inputs
    from sparserank.model.fusion import is_fusion

    unjudged = options.get("unjudged", "zero")
    require(unjudged in ("error", "zero"), "--unjudged", f"must be error or zero here; got {unjudged!r}.")
    require(run is None or out is None, "--run", "cannot be combined with --out.")
    targets = [path for path in (run or out, qrels) if path is not None]
    same = len(set(map(os.path.realpath, targets))) < len(targets)
    require(not same, "--qrels", "names the same file as the scores.")
    of_out = COLUMNS if out is not None and out.suffix in TABLES else "score"
    for target, layout in ((out, of_out), (run, RUN), (qrels, QRELS)):
        if target is not None:
            refuse_inputs(target, [model, *(file_of(str(path)) for path in data)])
            is_ours = partial(_is_table, target) if layout == COLUMNS else partial(_can_be, layout)
            refuse_foreign(target, is_ours, f"does not contain lines '{layout}'")
    loaded = model_of(model, missing, k)
    if is_fusion(loaded):
        require(qrels is None, "--qrels", "does not apply to fused retrievers.")
        require_no_reading(**options, missing=missing)
        _fuse(loaded, data, run or out)
        return
    with_queries = run is not None or qrels is not None or of_out == COLUMNS
    grouped = with_queries or loaded.per_query or "qid" in options
    fixed = {"grouped": grouped, "labelled": qrels is not None}
    documents = documents_for([loaded], [model], data, {"unjudged": "zero", **options}, missing=missing, **fixed)
    scores = loaded.score_dataset(documents)
    if run is not None or qrels is not None:
        _tell_of_numbers(documents, " ".join(f"--{name}" for name, path in (("run", run), ("qrels", qrels)) if path))
    if qrels is not None:
        write_qrels(documents, qrels)
    wrote = list(map(str, targets))
    give({"wrote": wrote, "n_docs": documents.n_docs}, [{"file": path} for path in wrote])
    if run is not None:
        write_run(documents, scores, run)
        return
    _put(out, (f"{float(s)!r}\n" for s in scores), lambda: scored_rows(documents, scores))


def _put(out: Path | None, lines: Iterable[str], rows: Callable[[], list[dict[str, Any]]]) -> None:
    """Write lines to a file or to standard output, where programs get the rows instead; a table contains the rows."""
    from sparserank.files import atomic_write

    if out is not None and out.suffix in TABLES:
        from sparserank.arrow import csv, pa, pq

        write = pq.write_table if out.suffix == ".parquet" else csv.write_csv
        with atomic_write(out, "wb") as stream:
            write(pa.Table.from_pylist(rows()), stream)
        return
    if out is None and not answer().is_text:
        give(rows())
        return
    text = "".join(lines)
    if out is None:
        print(text, end="")
        return
    with atomic_write(out) as stream:
        stream.write(text)


def _is_table(out: Path, head: bytes) -> bool:
    """Whether an existing file is empty or a table of scores; `head` is its beginning."""
    from sparserank.arrow import ds

    try:
        names = ds.dataset(out, format=out.suffix[1:]).schema.names
    except (OSError, ValueError):  # the file is not a table
        return not head
    return {*names} <= {*COLUMNS.split(",")}


def _fuse(model: RankingModel, runs: list[Path], out: Path | None) -> None:
    """Write the run that a model of `fuse` computes."""
    from sparserank.data.runs import ranked, run_lines
    from sparserank.model.fusion import formula_of

    fused = formula_of(model).apply(list(map(str, runs)))
    if out is not None:
        give({"wrote": [str(out)], "n_docs": len(fused)}, [{"file": str(out)}])
    _put(
        out,
        run_lines(fused),
        lambda: [{"qid": q, "docno": d, "score": s} for q, entries in ranked(fused).items() for d, s in entries],
    )


def _can_be(layout: str, head: bytes) -> bool:
    """Whether `predict` may have written a file in this layout, judged by the first line of `head`, its beginning."""
    fields = next((line.split() for line in head.splitlines() if line.strip()), [])
    names = layout.split()
    try:
        return not fields or (
            len(fields) == len(names)
            and all(math.isfinite(float(v)) for v, name in zip(fields, names, strict=True) if name in NUMBERS)
        )
    except ValueError:
        return False


def _tell_of_numbers(documents: RankingDataset, written: str) -> None:
    """Warn if documents have no id, because row numbers mean nothing to readers of the file."""
    docid = documents.docid
    without = documents.n_docs if docid is None else sum(not d for d in docid)
    if without:
        warn(
            f"{without} of {documents.n_docs} documents have no id, so {written} names them d1, d2, ... by row; "
            + (
                "use --docid-column to name the column with their ids (in ranking text, use the comment 'docid = ID')."
                if docid is None
                else "give each an id."
            )
        )


def scored_rows(documents: RankingDataset, scores: np.ndarray) -> list[dict[str, Any]]:
    """{qid, docno if there is one, score} of each document, in file order."""
    import numpy as np

    ids = {"qid": documents.qid, "docno": documents.docid}
    columns = {name: documents.to_input_order(np.asarray(of)) for name, of in ids.items() if of is not None}
    rows = zip(*columns.values(), scores.tolist(), strict=True)
    return [dict(zip([*columns, "score"], row, strict=True)) for row in rows]
