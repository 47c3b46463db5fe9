"""Side files of data: sizes of queries, and weights of documents or queries."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

import sparserank as sr
from sparserank.data.read import read_sources
from sparserank.data.read_files import read_files
from sparserank.data.reading import Reading
from sparserank.data.write_files import write_file
from sparserank.errors import DataFormatError, DataWarning, ParameterError, SparserankError
from sparserank.selection.fit import fit_model
from tests.support.command_line import Cli

DATA = sr.datasets.make_ranking(12, (3, 5), 4, n_informative=2, n_redundant=1, random_state=3).data
SIZES = np.diff(DATA.query_ptr).tolist()
OF_ROWS = np.round(np.random.default_rng(1).uniform(0.1, 3, DATA.n_docs), 3).tolist()
OF_QUERIES = np.round(np.random.default_rng(2).uniform(0.1, 3, DATA.n_queries), 3).tolist()
BASE_0: dict[str, Any] = {"index_base": 0}
QUICK: dict[str, Any] = {
    "penalties": "l1",
    "n_alphas": 6,
    "half_samples": 0,
    "rival": "none",
    "feature_transform": "none",
    "cv": 2,
}


def text(separator: str = " ", *, ids: bool = False) -> str:
    rows = zip(DATA.X.tolist(), DATA.relevance.tolist(), DATA.qid.tolist(), strict=True)  # type: ignore[union-attr]
    return "".join(
        separator.join([f"{y:g}", *([f"qid:{q}"] if ids else []), *(f"{j}:{v!r}" for j, v in enumerate(x))]) + "\n"
        for x, y, q in rows
    )


def numbers(path: Path | str, values: Any) -> None:
    Path(path).write_text("".join(f"{v}\n" for v in values))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Ranking text with query ids."""
    path = tmp_path / "train.txt"
    path.write_text(text(ids=True))
    return path


@pytest.mark.parametrize("separator", ["\t", " \t ", "  ", " "])
def test_any_blanks_separate_the_label_from_the_features(separator: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("# no ids\n" + text(separator) + "\n")
    numbers(tmp_path / "a.txt.query", SIZES)
    found = read_files(tmp_path / "a.txt", Reading(**BASE_0))
    np.testing.assert_array_equal(found.X, DATA.X)
    assert np.diff(found.query_ptr).tolist() == SIZES


def test_a_comment_with_qid_is_no_query_id(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1\t1:2\t# from qid:7\n0# qid:7\n2\t1:1\r\n")
    numbers(tmp_path / "a.txt.query", [2, 1])
    found = read_files(tmp_path / "a.txt")
    assert (found.X.ravel().tolist(), found.query_ptr.tolist()) == ([2, 0, 1], [0, 2, 3])


def test_side_files_that_disagree_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(text())
    numbers(tmp_path / "a.txt.query", SIZES)
    numbers(tmp_path / "a.txt.group", SIZES)
    assert read_files(tmp_path / "a.txt", Reading(**BASE_0)).n_queries == DATA.n_queries
    numbers(tmp_path / "a.txt.group", [SIZES[0], SIZES[1] + SIZES[2], *SIZES[3:]])
    with pytest.raises(SparserankError, match=r"a\.txt\.query and .*a\.txt\.group: differ from line 2 on; remove"):
        read_files(tmp_path / "a.txt", Reading(**BASE_0))
    numbers(tmp_path / "a.txt.group", SIZES[:-1])
    with pytest.raises(SparserankError, match=f"differ from line {len(SIZES)} on"):
        read_files(tmp_path / "a.txt", Reading(**BASE_0))


@pytest.mark.parametrize("name", ["train.txt.gz.query", "train.txt.query", "train.txt.group"])
def test_a_compressed_file_has_the_side_files_of_either_name(name: str, tmp_path: Path) -> None:
    (tmp_path / "train.txt.gz").write_bytes(gzip.compress(text("\t").encode()))
    numbers(tmp_path / name, SIZES)
    numbers(tmp_path / "train.txt.weight", OF_ROWS)
    found = read_files(tmp_path / "train.txt.gz", Reading(**BASE_0))
    assert np.diff(found.query_ptr).tolist() == SIZES
    assert found.doc_weight is not None
    assert found.doc_weight.tolist() == OF_ROWS


def test_sizes_that_are_not_needed_are_warned_of(file: Path, tmp_path: Path) -> None:
    numbers(f"{file}.query", [1, 2])
    with pytest.warns(DataWarning, match=r"train\.txt\.query: is not used, because .*train\.txt contains query ids"):
        read_files(file, Reading(**BASE_0))
    (tmp_path / "a.csv").write_text("qid,label,x\n1,0,2\n1,1,3\n")
    numbers(tmp_path / "a.csv.query", [2])
    with pytest.warns(DataWarning, match=r"a\.csv\.query: is not used"):
        read_files(tmp_path / "a.csv")


@pytest.mark.parametrize("suffix", [".position", ".init", ".base_margin"])
def test_side_files_that_nothing_reads_are_warned_of(suffix: str, file: Path, cli: Cli) -> None:
    numbers(f"{file}{suffix}", OF_ROWS)
    with pytest.warns(DataWarning, match=rf"train\.txt\{suffix}: is not used; "):
        read_files(file, Reading(**BASE_0))
    assert f"train.txt{suffix}: is not used" in cli("inspect", file, "--index-base", "0").err


@pytest.mark.parametrize(("zero_based", "base"), [(True, 0), (False, 1)])
@pytest.mark.parametrize("first", [0.0, 0.5])
def test_the_header_of_scikit_learn_decides_where_indices_begin(
    zero_based: bool, base: int, first: float, tmp_path: Path, cli: Cli
) -> None:
    """Also where a first column of zeros, which the file leaves out, hides that they begin at 0."""
    X, path = np.array([[first, 0.1, 0.2], [first, 0.3, 0.4]]), tmp_path / "a.txt"
    dump_svmlight_file(X, [1, 0], str(path), zero_based=zero_based, query_id=[7, 7], comment="made")
    assert read_files(path, Reading(index_base=base)).X.tolist() == X.tolist()
    with pytest.raises(DataFormatError, match=f"column indices are {'zero' if base == 0 else 'one'}-based; use index"):
        read_files(path, Reading(index_base=1 - base))
    shown = cli("inspect", path, "--index-base", 1 - base).err
    assert f"use --index-base {base}" in shown


def test_weights_of_rows_belong_to_rows(file: Path) -> None:
    numbers(f"{file}.weight", OF_ROWS)
    for found in (read_files(file, Reading(**BASE_0)), sr.read(file, index_base=0)):
        assert found.doc_weight is not None
        assert found.doc_weight.tolist() == OF_ROWS
    file.write_text(text(ids=True).replace("\n0 ", "\n-1 ", 1))
    dropped = read_files(file, Reading(**BASE_0, unjudged="drop"))
    line = next(i for i, row in enumerate(file.read_text().splitlines()) if row.startswith("-1"))
    assert dropped.doc_weight is not None
    assert dropped.doc_weight.tolist() == [w for i, w in enumerate(OF_ROWS) if i != line]


@pytest.mark.parametrize("values", [OF_ROWS[:-1], [*OF_ROWS, 1], [1.0], []], ids=["fewer", "more", "one", "none"])
def test_another_number_of_weights_is_refused(values: list[float], file: Path) -> None:
    numbers(f"{file}.weight", values)
    counts = f"{len(values)} weights, but .*train.txt has {DATA.n_docs} rows and {DATA.n_queries} queries"
    with pytest.raises(SparserankError, match=rf"train\.txt\.weight: contains {counts}; give one"):
        read_files(file, Reading(**BASE_0))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        *[([v], ":1: a weight must be a finite number >= 0") for v in ("-1", "nan", "x")],
        ([1, 2], ": contains 2 weights, .*may be weights of either"),  # as many rows as queries
    ],
)
def test_what_is_no_weight_is_refused(values: list[Any], message: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1 qid:1 1:2\n0 qid:2 1:3\n")
    numbers(tmp_path / "a.txt.weight", values)
    with pytest.raises(SparserankError, match=rf"a\.txt\.weight{message}"):
        read_files(tmp_path / "a.txt")


def coefficients(result: Any) -> list[float]:
    return result.model.coef.tolist()


@pytest.mark.filterwarnings("ignore::sparserank.errors.ConvergenceWarning")
def test_select_uses_weights_beside_the_file_as_its_options(file: Path, tmp_path: Path) -> None:
    by_option = {str(q): w for q, w in zip(DATA.query_ids.tolist(), OF_QUERIES, strict=True)}
    plain = sr.select(str(file), **QUICK, index_base=0)
    of_queries = sr.select(str(file), **QUICK, index_base=0, query_weight=by_option)
    numbers(tmp_path / "rows.txt", OF_ROWS)
    of_rows = sr.select(str(file), **QUICK, index_base=0, doc_weight=str(tmp_path / "rows.txt"))
    assert coefficients(plain) != coefficients(of_queries) != coefficients(of_rows)

    numbers(f"{file}.weight", OF_QUERIES)
    with pytest.warns(DataWarning, match=r"train\.txt\.weight: these query weights are used in the loss") as warned:
        beside = sr.select(str(file), **QUICK, index_base=0)
    assert coefficients(beside) == coefficients(of_queries)
    assert len(warned) == 1
    assert sum("train.txt.weight" in note for note in beside.notes) == 1
    ones = dict.fromkeys(by_option, 1.0)
    with pytest.warns(DataWarning, match=r"train\.txt\.weight: not used, because query_weight replaces"):
        assert coefficients(sr.select(str(file), **QUICK, index_base=0, query_weight=ones)) == coefficients(plain)

    numbers(f"{file}.weight", OF_ROWS)
    with pytest.warns(DataWarning, match="these document weights are used in the loss"):
        assert coefficients(sr.select(str(file), **QUICK, index_base=0)) == coefficients(of_rows)
    numbers(tmp_path / "ones.txt", np.ones(DATA.n_docs))
    with pytest.warns(DataWarning, match="not used, because doc_weight replaces"):
        found = sr.select(str(file), **QUICK, index_base=0, doc_weight=str(tmp_path / "ones.txt"))
    assert coefficients(found) == coefficients(plain)


def test_fit_uses_weights_of_queries(file: Path) -> None:
    plain = fit_model(str(file), index_base=0).model.coef
    keep = np.arange(DATA.n_queries) % 2
    numbers(f"{file}.weight", keep)
    with pytest.warns(DataWarning, match="these query weights are used in the loss"):
        weighted = fit_model(str(file), index_base=0).model.coef
    half = fit_model(DATA.take_queries(np.flatnonzero(keep))).model.coef
    np.testing.assert_allclose(weighted, half, rtol=1e-12)
    assert (weighted != plain).any()


def test_weights_are_stored_and_shown_and_their_loss_is_warned_of(file: Path, tmp_path: Path, cli: Cli) -> None:
    numbers(f"{file}.weight", OF_ROWS)
    reading = Reading(**BASE_0)
    sr.convert([file], tmp_path / "store", reading)
    with pytest.warns(DataWarning, match=r"out\.txt: ranking text contains no weights, so they were left out"):
        write_file([file], tmp_path / "out.txt", reading)
    write_file([file], tmp_path / "out.parquet", reading)
    table = read_files(tmp_path / "out.parquet", Reading(doc_weight="weight"))
    for kept in (sr.read(tmp_path / "store").doc_weight, table.doc_weight):
        assert kept is not None
        assert kept.tolist() == OF_ROWS
    with pytest.warns(DataWarning, match=r"train\.txt\.weight: weights are not used here"):
        found = read_sources({"data": str(file)}, BASE_0)["data"]
    assert found is not None
    assert found.doc_weight is None
    assert f"{min(OF_ROWS):g} to {max(OF_ROWS):g}" in cli("inspect", file, "--index-base", "0").out
    numbers(f"{file}.weight", OF_QUERIES)
    with pytest.raises(SparserankError, match="files that have changed since"):
        sr.convert([file], tmp_path / "store", reading)


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_a_file_of_weights_must_have_a_possible_name(name: str) -> None:
    data = sr.datasets.make_ranking(4, 3, 3, n_informative=1, n_redundant=0).data
    with pytest.raises(ParameterError, match=r"doc_weight cannot be .*: no file has this name"):
        sr.select(data, doc_weight=name, **QUICK)
