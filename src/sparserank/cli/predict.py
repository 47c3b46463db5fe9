"""`sparserank predict`: scores or a TREC run."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparserank.cli import options as opt
from sparserank.cli.output import TEXT, answer, give
from sparserank.cli.screen import announce_compiling, warn

if TYPE_CHECKING:
    import numpy as np

    from sparserank.data.dataset import RankingDataset

HELP = """Score documents with a saved model: one score per line in file order, or a TREC run.

[bold]Examples[/bold]

  sparserank predict run/model.json test.txt > scores.txt

  sparserank predict run/model.json test.txt --run test.run --qrels test.qrels
"""


def predict(
    model: Annotated[Path, typer.Argument(help="Model file of select or fit.", show_default=False)],
    data: Annotated[list[Path], typer.Argument(help="Files to score: LETOR text or tables.", show_default=False)],
    out: Annotated[Path | None, typer.Option("--out", help="File for the scores; default standard output.")] = None,
    run: Annotated[
        Path | None, typer.Option("--run", help="Write a TREC run (qid Q0 docno rank score tag) instead.")
    ] = None,
    qrels: Annotated[
        Path | None,
        typer.Option("--qrels", help="Write the judgments of the documents as TREC qrels (qid 0 docno rel) too."),
    ] = None,
    missing: opt.MissingOfModel = None,
    index_base: opt.IndexBase = 1,
    unjudged: opt.Unjudged = "zero",
    label_column: opt.LabelColumn = None,
    qid_column: opt.QidColumn = None,
    docid_column: opt.DocidColumn = None,
    feature_columns: opt.FeatureColumns = None,
    ignore_columns: opt.IgnoreColumns = None,
) -> None:
    from sparserank.data.letor._line_kernels import parse_lines
    from sparserank.data.read import read_files
    from sparserank.data.trec import write_qrels, write_run
    from sparserank.files import atomic_write, refuse_inputs

    reading = opt.reading_of(
        missing=opt.of_reading(missing),
        index_base=index_base,
        unjudged=unjudged,
        label_column=label_column,
        qid_column=qid_column,
        docid_column=docid_column,
        feature_columns=feature_columns,
        ignore_columns=ignore_columns,
        labelled=qrels is not None,
    )
    opt.require(unjudged in ("error", "zero"), "--unjudged", f"must be error or zero here; got {unjudged!r}.")
    opt.require(run is None or out is None, "--run", "cannot be combined with --out.")
    both = [os.path.realpath(path) for path in (run or out, qrels) if path is not None]
    opt.require(len(set(both)) == len(both), "--qrels", "names the file of the scores.")
    for target in (run or out, qrels):
        if target is not None:
            refuse_inputs(target, [model, *data])
    loaded = opt.model_of(model, missing)
    announce_compiling(parse_lines)
    grouped = run is not None or qrels is not None or loaded.scaling.per_query or qid_column is not None
    reading = replace(reading, n_features=loaded.n_features, grouped=grouped)
    reading = opt.for_models(reading, [loaded], data)
    documents = read_files(data, reading)
    scores = loaded.score_dataset(documents)
    if run is not None or qrels is not None:
        _tell_of_numbers(documents, " ".join(f"--{name}" for name, path in (("run", run), ("qrels", qrels)) if path))
    if qrels is not None:
        write_qrels(documents, qrels)
    wrote = [str(path) for path in (run or out, qrels) if path is not None]
    give({"wrote": wrote, "n_docs": documents.n_docs}, [{"file": path} for path in wrote])
    if run is not None:
        write_run(documents, scores, run)
        return
    lines = "".join(f"{float(s)!r}\n" for s in scores)
    if out is None and answer.format != TEXT:
        rows = scored_rows(documents, scores)
        give(rows, rows)
    elif out is None:
        print(lines, end="")
    else:
        with atomic_write(out) as stream:
            stream.write(lines)


def _tell_of_numbers(documents: RankingDataset, written: str) -> None:
    """Warn where documents have no id, since their row numbers mean nothing to whoever reads the file."""
    held = documents.docid
    without = documents.n_docs if held is None else sum(not d for d in held)
    if without:
        warn(
            f"{without} of {documents.n_docs} documents have no id, so {written} calls them d1, d2, ... by their row; "
            + (
                "name the column of their ids with --docid-column (in ranking text: the comment 'docid = ID')."
                if held is None
                else "give each its id."
            )
        )


def scored_rows(documents: RankingDataset, scores: np.ndarray) -> list[dict[str, Any]]:
    """{qid, docno where there is one, score} of each document, in file order."""
    import numpy as np

    assert documents.qid is not None
    ids, held = documents.to_input_order(np.asarray(documents.qid)), documents.docid
    docno = None if held is None else documents.to_input_order(np.asarray(held))
    return [
        {"qid": ids[i], **({} if docno is None else {"docno": docno[i]}), "score": score}
        for i, score in enumerate(scores.tolist())
    ]
