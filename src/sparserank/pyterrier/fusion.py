"""Fused retrievers as a step of PyTerrier pipelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

from sparserank.errors import DataError
from sparserank.model.fusion import FusionFormula
from sparserank.text import brief

try:
    import pandas as pd
    import pyterrier as pt
except ImportError as error:
    raise ImportError("SparseFusion needs PyTerrier; install it with: pip install 'sparserank[pyterrier]'") from error

if TYPE_CHECKING:
    from sparserank.selection.fusion import FusionResult


class SparseFusion(pt.Estimator):
    """The retrievers that are worth running, and their weighted sum: `SparseFusion([bm25, dense, splade])`.

    `fit` runs every retriever on the training topics and chooses a formula as `fuse` does. `transform` runs only the
    retrievers that the formula keeps.

    Parameters
        retrievers  steps that turn topics into results with `qid`, `docno` and `score`: {name: step}, or a list, whose
                    steps are called '1', '2', ...
        formula     a formula of `fuse` for retrievers of these names, to rank without `fit`
        options     options of `sr.fuse`, such as metric='ndcg@10', k=2 or norm='minmax'
    Attributes
        result_     the FusionResult of the fit
        formula_    its formula, or the one that was passed
    Raises
        DataError   there are fewer than two retrievers
    """

    def __init__(
        self, retrievers: Mapping[str, Any] | Sequence[Any], formula: FusionFormula | None = None, **options: Any
    ) -> None:
        super().__init__()
        named = retrievers if isinstance(retrievers, Mapping) else {str(i): r for i, r in enumerate(retrievers, 1)}
        if len(named) < 2:
            raise DataError(f"SparseFusion: retrievers must be at least two steps; got {brief(retrievers)}.")
        self.retrievers: dict[str, Any] = dict(named)
        self.options = options
        self.result_: FusionResult | None = None
        self.formula_ = formula

    def fit(self, topics: Any, qrels: Any, topics_va: Any = None, qrels_va: Any = None) -> Self:
        """Choose the formula on topics and qrels; validation topics, if any, are used like the others, because weights
        and size are chosen out of fold.

        Raises
            DataError   as `sr.fuse`
        """
        from sparserank.selection.fuse import fuse

        if topics_va is not None and qrels_va is not None:
            topics = pd.concat([topics, topics_va])
            qrels = pd.concat([qrels, qrels_va])
        judged = qrels[qrels["qid"].isin(set(topics["qid"]))].drop_duplicates(["qid", "docno"])
        if not len(judged):
            raise DataError("SparseFusion.fit: qrels judges none of the topics; the query ids must be the same text.")
        self.result_ = fuse({name: r(topics) for name, r in self.retrievers.items()}, judged, **self.options)
        self.formula_ = self.result_.formula
        return self

    def transform(self, topics: Any) -> Any:
        """Results of the kept retrievers with the fused `score` and `rank` (from 0 within a query), and the columns of
        the topics.

        Raises
            DataError   there is no formula yet, or it names an unknown retriever
        """
        if self.formula_ is None:
            raise DataError("SparseFusion has no formula yet; call fit, or pass formula=.")
        kept = {name: r(topics) for name, r in self.retrievers.items() if name in self.formula_.retrievers}
        fused = self.formula_.apply(kept)
        rows = [(qid, docno, score) for (qid, docno), score in fused.items()]
        results = pd.DataFrame(rows, columns=["qid", "docno", "score"]).merge(topics, on="qid", how="left")
        results = results.sort_values(["qid", "score", "docno"], ascending=[True, False, True], kind="stable")
        return pt.model.add_ranks(results.reset_index(drop=True))

    def transform_inputs(self) -> list[list[str]]:
        """The columns that `transform` needs; PyTerrier uses them to check and draw pipelines."""
        return [["qid", "query"]]

    def transform_outputs(self, inp_cols: list[str]) -> list[str]:
        """The columns of `transform`'s results."""
        pt.validate.columns(inp_cols, includes=["qid"])
        return [*dict.fromkeys(["qid", "docno", "score", *inp_cols, "rank"])]

    def __repr__(self) -> str:
        return f"SparseFusion({', '.join(self.retrievers)})"
