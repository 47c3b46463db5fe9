"""The documents that any retriever returned, with a feature for each retriever and form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from sparserank.data.dataset import RankingDataset
from sparserank.data.fusion.forms import FORMS
from sparserank.data.fusion.returned import Ids, Returned


@dataclass(frozen=True, eq=False)
class FusionTable:
    """Documents of judged queries that some retriever returned, and what was judged.

    data        features named 'retriever:form', CSR; relevance 0 where nothing was judged
    judged      (n_docs,) bool
    unreturned  {query id: grades above 0 of the judged documents that no retriever returned}; a query that is not in
                `data` has all its grades here
    """

    data: RankingDataset
    judged: np.ndarray
    unreturned: dict[str, list[float]]


def feature_name(retriever: str, form: str) -> str:
    return f"{retriever}:{form}"


def fusion_table(
    runs: Sequence[Returned],
    forms: Sequence[str],
    depth: int,
    qrels: Mapping[tuple[str, str], float],
    query_ids: Sequence[str],
    documents: Ids,
) -> FusionTable:
    """Cut every run at `depth`, then normalise each list.

    Parameters
        query_ids   ids of the judged queries, by number
        documents   numbers of the documents of all runs
    """
    cut = [run.cut(depth) for run in runs]
    keys = [np.repeat(run.query, run.depths) * len(documents) + run.document for run in cut]
    rows, place = np.unique(np.concatenate(keys), return_inverse=True)
    ends = np.cumsum([0, *map(len, keys)])
    at, columns, values = [], [], []
    for r, run in enumerate(cut):
        for f, form in enumerate(forms):
            at.append(place[ends[r] : ends[r + 1]])
            columns.append(np.full(len(run.document), r * len(forms) + f))
            values.append(FORMS[form](run, depth))
    shape = len(rows), len(runs) * len(forms)
    X = sp.csr_matrix((np.concatenate(values), (np.concatenate(at), np.concatenate(columns))), shape=shape)
    query, document = np.divmod(rows, len(documents))
    names = list(documents)
    docids = np.array([names[d] for d in document.tolist()], dtype=object)
    qids = np.array([query_ids[q] for q in query.tolist()], dtype=object)
    pairs = list(zip(qids.tolist(), docids.tolist(), strict=True))
    grades = [qrels.get(pair) for pair in pairs]
    data = RankingDataset(
        X,
        np.array([0.0 if g is None else g for g in grades]),
        qids,
        docids,
        [feature_name(run.name, form) for run in runs for form in forms],
    )
    shown = set(pairs)
    unreturned: dict[str, list[float]] = {}
    for (qid, docno), grade in qrels.items():
        if grade > 0 and (qid, docno) not in shown:
            unreturned.setdefault(qid, []).append(grade)
    return FusionTable(data, np.array([g is not None for g in grades]), unreturned)
