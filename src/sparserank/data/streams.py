"""Rows of any input as a stream of blocks in bounded memory, which can resume where an earlier stream stopped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from sparserank.data.categories import Derived
from sparserank.data.dataset import RankingDataset, numbers
from sparserank.data.filling import SAMPLE_VALUES, Filling, learn_filling
from sparserank.data.letor.side_files import SideWeights
from sparserank.data.matrices import joined_rows, widened
from sparserank.data.missing import MissingPolicy
from sparserank.data.reading import UNJUDGED, no_rows, nothing_left
from sparserank.errors import DataFormatError, SparserankError


class StreamPosition(NamedTuple):
    """A row of an input: file, block of the file, row of the block."""

    file: int
    block: int
    row: int


BEGIN = StreamPosition(0, 0, 0)


class RowBlock(NamedTuple):
    """Consecutive rows: X (n, d) dense or CSR, NaN where a value is missing; label (n,); qid (n,) int64 or text; docid
    (n,) or None; weight (n,) or None; where (n, 3) the position of each row; for text that is kept in memory also
    comment (n,) and line (n,) of the file, from 1; table (n, m) as `RankingDataset.table`, or None."""

    X: Any
    label: np.ndarray
    qid: np.ndarray
    docid: np.ndarray | None
    weight: np.ndarray | None
    where: np.ndarray
    comment: np.ndarray | None = None
    line: np.ndarray | None = None
    table: np.ndarray | None = None

    @property
    def place(self) -> tuple[int, int]:
        """The file and the block of the rows."""
        file, block = self.where[0, :2].tolist()
        return file, block

    def take(self, rows: Any) -> RowBlock:
        """Some of the rows, by a slice or their numbers."""
        fields: Iterable[Any] = self
        return RowBlock._make(None if v is None else v[rows] for v in fields)


ABSENT: Mapping[str, Any] = {"docid": "", "weight": 1.0}  # values of rows in blocks without document ids or weights


def one_below_the_other(blocks: Sequence[RowBlock], absent: Mapping[str, Any] = ABSENT) -> RowBlock:
    """Concatenate blocks; a field that some block lacks is left out, unless `absent` has a value for it."""
    if len(blocks) == 1:
        return blocks[0]
    sizes = [len(b.label) for b in blocks]
    fields = zip(RowBlock._fields, zip(*blocks, strict=True), strict=True)
    return RowBlock._make(joined_rows(parts, sizes, absent.get(name)) for name, parts in fields)


def positions(file: int, block: int, n: int) -> np.ndarray:
    """(n, 3) position of each row: file, block, row within the block."""
    return np.column_stack([np.full(n, file), np.full(n, block), np.arange(n)])


def block_of(
    data: RankingDataset,
    X: Any,
    first: int,
    file: int,
    block: int,
) -> RowBlock:
    """The rows of a data set from `first` on, with the features X."""
    rows = slice(first, first + X.shape[0])
    qid = np.array(np.asarray(data.qid)[rows].tolist())
    docid, weight = (None if v is None else np.asarray(v[rows]) for v in (data.docid, data.doc_weight))
    return RowBlock(X, data.relevance[rows], qid, docid, weight, positions(file, block, X.shape[0]))


class Stream:
    """The rows of one or several files of one kind; every reader is such a stream.

    n_features, sparse     of all blocks; set by `look`, or at the end of `pieces`
    dtype, feature_names   of all blocks; names are None if features have only numbers
    n_rows                 of all pieces together, None if known only at the end
    places                 names of the files in messages; error: class of the exceptions about them
    """

    n_features: int
    dtype: np.dtype
    sparse: bool
    feature_names: tuple[str, ...] | None
    n_rows: int | None = None
    index_base = 1  # number of the first feature in options that number features
    text_base: int | None = None  # number of the first feature in the text that rows come from; None: not from text
    policy: MissingPolicy | None = None  # replacement for missing values; None: they are refused
    known: np.ndarray | None = None  # replacements that were learned from the training data, as in `policy_of`
    derived: Mapping[str, Derived] = MappingProxyType({})  # the features that are made from columns of tables
    kept_columns: Mapping[str, bool] = MappingProxyType(
        {}
    )  # the columns of `RowBlock.table`, and whether they are numbers
    booleans: Sequence[str] = ()  # the features that are boolean columns of tables
    also: Sequence[Derived] = ()  # features that are made in any case
    # whether features with missing values, and no others, have a replacement, and often missing ones a flag
    flags = False
    unjudged = "error"  # treatment of a label of -1 in `blocks`: 'zero', 'drop', otherwise unchanged
    places: Sequence[str] = ("the data",)
    error: type[SparserankError] = DataFormatError
    side_weights: Sequence[SideWeights | None] = ()  # the side file of weights of each file
    _spread = False  # whether the row of each of these weights is known

    def look(self) -> None:
        """Determine the attributes of all blocks; reads as much as necessary, and nothing if they are known. Text is
        read once to find the number of its features and whether they are kept sparse, unless both are given."""

    def pieces(self, start: StreamPosition = BEGIN) -> Iterator[RowBlock]:
        """All rows, including unjudged ones, starting at the block of a position. The X of text is a CSR matrix; until
        `look` has determined the width, it is only as wide as its rows require.

        Raises
            DataFormatError   an invalid value; the message names file and line, or row and column
        """
        raise NotImplementedError

    def as_dataset(self) -> RankingDataset | None:
        """The data set that the rows come from, if no reading is necessary; otherwise None."""
        return None

    def _spread_weights(self) -> None:
        """Determine the row of each weight in the side files. If there are side files, this reads all rows, to count
        them and their queries.

        Raises
            DataFormatError   as `pieces`, or the number of weights is neither that of the rows nor of the queries
        """
        if self._spread or not any(self.side_weights):
            return
        ids: list[dict[int, np.ndarray]] = [{} for _ in self.side_weights]  # {block: query id of each row}, per file
        for piece in self.pieces():
            f, b = piece.place
            ids[f][b] = piece.qid
        for weights, qids, place in zip(self.side_weights, ids, self.places, strict=True):
            if weights is not None:
                weights.spread(qids, place)
        self._spread = True

    @property
    def weighs_queries(self) -> bool:
        """Whether there are side files of weights, and all of them contain weights of queries."""
        self._spread_weights()
        return any(self.side_weights) and all(w.of_queries for w in self.side_weights if w is not None)

    def weighted_pieces(self, start: StreamPosition = BEGIN) -> Iterator[RowBlock]:
        """`pieces`, with the weights of the side files."""
        self._spread_weights()
        for piece in self.pieces(start):
            if any(self.side_weights) and piece.weight is None:
                f, b = piece.place
                weights = self.side_weights[f]
                piece = piece._replace(weight=np.ones(len(piece.label)) if weights is None else weights.rows[b])
            yield piece

    def blocks(self, start: StreamPosition = BEGIN) -> Iterator[RowBlock]:
        """The rows from a position on, with unjudged ones dropped or graded 0 as `unjudged` says.

        Raises
            DataFormatError   as `pieces`, or there is no row
        """
        self.look()
        n_read = n_left = 0
        for piece in self.weighted_pieces(start):
            n_read += len(piece.label)
            block = judged(piece, self.unjudged)
            n_left += len(block.label)
            if piece.place == start[:2] and start.row:
                block = block.take(block.where[:, 2] >= start.row)
            if len(block.label):
                X = widened(block.X, self.n_features, sparse=self.sparse)
                yield block._replace(X=X, comment=None, line=None, table=None)
        if start == BEGIN and n_left == 0:
            raise self.error(nothing_left(self.places[0]) if n_read else no_rows(self.places[0]))

    def filling(self, X: Any = None) -> Filling | None:
        """Replacements for missing values, learned from the features X of all rows. Without X, they are learned from a
        sample of the rows, for which everything is read once more. Call `look` first."""
        if self.policy is None:
            return None
        blocks, most = ([X], np.inf) if X is not None else ((block.X for block in self.blocks()), SAMPLE_VALUES)
        return learn_filling(
            self.policy,
            blocks,
            self.n_features,
            self.dtype,
            self.known_names,
            index_base=self.index_base,
            sample_values=most,
            known=self.known,
        )

    @property
    def known_names(self) -> tuple[str, ...] | None:
        """The feature names, or f0, f1, ... for text with indices from 0; None: f1, f2, ..."""
        return numbers(self.n_features, 0) if self.feature_names is None and self.text_base == 0 else self.feature_names


def judged(block: RowBlock, unjudged: str) -> RowBlock:
    """The block after the rule for rows of label -1: `drop` leaves them out, and `zero` gives them the label 0."""
    without = block.label == UNJUDGED
    if unjudged == "zero":
        return block._replace(label=np.where(without, 0.0, block.label))
    return block.take(~without) if unjudged == "drop" and without.any() else block
