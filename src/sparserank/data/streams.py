"""Rows of any input as a stream of blocks in bounded memory, which can resume where an earlier stream stopped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sparserank.data.dataset import numbers
from sparserank.data.faults import no_rows, nothing_left
from sparserank.data.filling import SAMPLE_VALUES, Filling, learn_filling
from sparserank.data.matrices import below, widened
from sparserank.data.missing import MissingPolicy
from sparserank.data.reading import UNJUDGED
from sparserank.errors import DataFormatError, SparserankError


class Position(NamedTuple):
    """A row of an input: file, block of the file, row of the block."""

    file: int
    block: int
    row: int


BEGIN = Position(0, 0, 0)


class RowBlock(NamedTuple):
    """Consecutive rows: X (n, d) dense or CSR, NaN where a value is missing; label (n,); qid (n,) int64 or text; docid
    (n,) or None; weight (n,) or None; where (n, 3) the position of each row; for text that is kept in memory also
    comment (n,) and line (n,) of the file, from 1."""

    X: Any
    label: np.ndarray
    qid: np.ndarray
    docid: np.ndarray | None
    weight: np.ndarray | None
    where: np.ndarray
    comment: np.ndarray | None = None
    line: np.ndarray | None = None

    def take(self, rows: Any) -> RowBlock:
        """Some of the rows, by a slice or their numbers."""
        docid, weight, comment, line = (
            None if v is None else v[rows] for v in (self.docid, self.weight, self.comment, self.line)
        )
        return RowBlock(self.X[rows], self.label[rows], self.qid[rows], docid, weight, self.where[rows], comment, line)


def one_below_the_other(blocks: Sequence[RowBlock]) -> RowBlock:
    """Concatenate blocks."""
    if len(blocks) == 1:
        return blocks[0]
    docid = weight = None
    if any(b.docid is not None for b in blocks):
        docid = np.concatenate(
            [np.full(len(b.label), "", dtype=object) if b.docid is None else b.docid for b in blocks]
        )
    if any(b.weight is not None for b in blocks):
        weight = np.concatenate([np.ones(len(b.label)) if b.weight is None else b.weight for b in blocks])
    label, qid, where = (np.concatenate([getattr(b, name) for b in blocks]) for name in ("label", "qid", "where"))
    return RowBlock(below([b.X for b in blocks]), label, qid, docid, weight, where)


def positions(file: int, block: int, n: int) -> np.ndarray:
    """(n, 3) positions of the rows of a block."""
    return np.column_stack([np.full(n, file), np.full(n, block), np.arange(n)])


class Stream:
    """The rows of one or several files of one kind; every reader is such a stream.

    n_features, sparse     of all blocks; set by `look`, or at the end of `pieces`
    dtype, feature_names   of all blocks; names are None if features have only numbers
    n_rows                 of all pieces together, None if known only at the end
    place                  name of the first file in messages; error: class of the exceptions about it
    """

    n_features: int
    dtype: np.dtype
    sparse: bool
    feature_names: tuple[str, ...] | None
    n_rows: int | None = None
    index_base = 1  # number of the first feature, where users number them
    text_base: int | None = None  # number of the first feature in the text that rows come from; None: not from text
    unjudged = "error"  # what becomes of a label of -1 in `blocks`: 'zero', 'drop', else it stays
    place = "the data"
    error: type[SparserankError] = DataFormatError

    def look(self) -> None:
        """Determine the attributes of all blocks; reads as much as necessary, and nothing if they are known."""

    def pieces(self, start: Position = BEGIN) -> Iterator[RowBlock]:
        """All rows, including unjudged ones, from the block of a position on. X of text is a CSR matrix, which is only
        as wide as its rows need until `look` has determined the width.

        Raises
            DataFormatError   an invalid value; the message names file and line, or row and column
        """
        raise NotImplementedError

    def blocks(self, start: Position = BEGIN) -> Iterator[RowBlock]:
        """All rows that are wanted, from a position on; call `look` first.

        Raises
            DataFormatError   as `pieces`, or there is no row
        """
        n_read = n_given = 0
        for piece in self.pieces(start):
            n_read += len(piece.label)
            block = judged(piece, self.unjudged)
            n_given += len(block.label)
            if len(block.label) == 0:
                continue
            first = int(np.searchsorted(block.where[:, 2], start.row)) if tuple(block.where[0, :2]) == start[:2] else 0
            if first < len(block.label):
                block = block.take(slice(first, None)) if first else block
                yield block._replace(X=widened(block.X, self.n_features, sparse=self.sparse), comment=None, line=None)
        if start == BEGIN and n_given == 0:
            raise self.error(nothing_left(self.place) if n_read else no_rows(self.place))

    def filling(self, policy: MissingPolicy | None) -> Filling | None:
        """Replacements for missing values; learning them reads everything once more. Call `look` first."""
        if policy is None:
            return None
        return learn_filling(
            policy,
            (block.X for block in self.blocks()),
            self.n_features,
            self.dtype,
            self.known_names,
            index_base=self.index_base,
            sample_values=SAMPLE_VALUES,
        )

    @property
    def known_names(self) -> tuple[str, ...] | None:
        """The names, and the numbers of text that begins at 0; None: f1, f2, ..."""
        return numbers(self.n_features, 0) if self.feature_names is None and self.text_base == 0 else self.feature_names

    def file(self, number: int) -> str:
        """Name of one of the files in messages."""
        return self.place


def judged(block: RowBlock, unjudged: str) -> RowBlock:
    """The block without rows of label -1, or with label 0 for these rows, as requested."""
    without = block.label == UNJUDGED
    if unjudged not in ("drop", "zero") or not without.any():
        return block
    if unjudged == "zero":
        return block._replace(label=np.where(without, 0.0, block.label))
    return block.take(np.flatnonzero(~without))
