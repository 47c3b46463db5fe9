"""What a review and a hostile test found in tables and stores, each once."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sparserank as sr
from sparserank.data.read_files import read_files
from sparserank.data.reading import Reading
from sparserank.data.store import convert as converting
from sparserank.data.store.convert import convert
from sparserank.data.store.opening import MANIFEST, PROGRESS, open_store
from sparserank.data.write_files import write_file
from sparserank.errors import DataWarning, SparserankError


def lines(first: int, last: int, *, docid: bool = False, features: int = 3) -> str:
    rng = np.random.default_rng(first)
    return "".join(
        f"{rng.integers(0, 3)} qid:{q} "
        + " ".join(f"{j}:{v:.3f}" for j, v in enumerate(rng.random(features), start=1))
        + (f" # docid = d{q}.{i}" if docid else "")
        + "\n"
        for q in range(first, last)
        for i in range(6)
    )


def write(path: Path, content: str) -> Path:
    path.write_text(content)
    return path


def test_a_query_that_goes_on_in_another_store_is_refused(tmp_path: Path) -> None:
    for name, (lo, hi) in {"a": (0, 5), "b": (4, 9)}.items():
        convert([write(tmp_path / f"{name}.txt", lines(lo, hi))], tmp_path / name)
    with pytest.raises(SparserankError, match="rows of a query are spread over several stored parts"):
        read_files([tmp_path / "a", tmp_path / "b"])
    convert([tmp_path / "a.txt", tmp_path / "b.txt"], tmp_path / "both")
    assert open_store(tmp_path / "both").n_queries == 9


def test_stores_of_other_features_are_not_put_below_each_other(tmp_path: Path) -> None:
    for name, columns in {"xy": ["x", "y"], "yx": ["y", "x"]}.items():
        frame = pd.DataFrame(
            {"qid": [1, 1] if name == "xy" else [2, 2], "label": [0, 1], **dict.fromkeys(columns, 1.0)}
        )
        frame.to_parquet(tmp_path / f"{name}.parquet")
        convert([tmp_path / f"{name}.parquet"], tmp_path / name)
    both = [tmp_path / "xy", tmp_path / "yx"]
    message = r"yx: its features, their order or their storage .* differ from those of .*xy"
    for attempt in (lambda: read_files(both), lambda: convert(both, tmp_path / "out")):
        with pytest.raises(SparserankError, match=message):
            attempt()


def test_document_ids_and_weights_stay_with_their_rows(tmp_path: Path) -> None:
    paths = [write(tmp_path / "a.txt", lines(0, 4)), write(tmp_path / "b.txt", lines(4, 8, docid=True))]
    convert(paths, tmp_path / "s", shard_bytes=100)
    ids = list(np.asarray(open_store(tmp_path / "s").docid))
    assert ids == [""] * 24 + [f"d{q}.{i}" for q in range(4, 8) for i in range(6)]
    write_file(paths, tmp_path / "c.parquet")
    assert list(np.asarray(read_files(tmp_path / "c.parquet").docid)) == ids
    frame = pd.DataFrame({"qid": [1, 1], "label": [0, 1], "x": [1.0, 2.0]})
    frame.assign(w=[3.0, 4.0]).to_parquet(tmp_path / "w.parquet")
    frame.assign(qid=2).to_parquet(tmp_path / "p.parquet")
    convert([tmp_path / "w.parquet"], tmp_path / "w", Reading(doc_weight="w"))
    convert([tmp_path / "p.parquet"], tmp_path / "p")
    for order in (["w", "p"], ["p", "w"]):
        convert([tmp_path / name for name in order], tmp_path / "".join(order))
        expected = {"w": [3.0, 4.0], "p": [1.0, 1.0]}
        assert list(open_store(tmp_path / "".join(order)).doc_weight) == expected[order[0]] + expected[order[1]]  # type: ignore[arg-type]


def test_a_resumed_conversion_knows_as_many_document_ids(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparserank.data.letor.chunks.CHUNK_BYTES", 2000)
    text = write(tmp_path / "a.txt", lines(0, 20, docid=True) + lines(20, 200))
    whole = convert([text], tmp_path / "whole", shard_bytes=700)
    for stop in range(1, len(whole["shards"]), 5):
        calls = 0

        def interrupt(n: int, what: str, stop: int = stop) -> None:
            nonlocal calls
            calls += 1
            if calls == stop:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            convert([text], tmp_path / f"s{stop}", shard_bytes=700, progress=interrupt)
        assert convert([text], tmp_path / f"s{stop}", shard_bytes=700)["identity"] == whole["identity"]


def interrupted(text: Path, out: Path) -> None:
    def stop(n: int, what: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert([text], out, shard_bytes=300, progress=stop)


def test_damage_between_two_starts_is_found(tmp_path: Path) -> None:
    text = write(tmp_path / "a.txt", lines(0, 50))
    whole = convert([text], tmp_path / "whole", shard_bytes=300)
    interrupted(text, tmp_path / "s")
    shard = tmp_path / "s/00000-X.npy"
    shard.write_bytes(shard.read_bytes()[:-4] + b"\0\0\x80\x7f")
    with pytest.warns(DataWarning, match=r"a damaged piece \(00000-X\.npy was changed\); it will be computed again"):
        again = convert([text], tmp_path / "s", shard_bytes=300)
    assert again["identity"] == whole["identity"]
    for damage in ("[]", "{}", '{"plan": 1}', "{"):
        interrupted(text, tmp_path / f"s{damage}")
        (tmp_path / f"s{damage}" / PROGRESS).write_text(damage)
        with pytest.warns(DataWarning, match=r"a damaged piece \(progress\.json does not match its checksum\)"):
            again = convert([text], tmp_path / f"s{damage}", shard_bytes=300)
        assert again["identity"] == whole["identity"]
    convert([text], tmp_path / "s", shard_bytes=300, restart=True)
    state = json.loads((tmp_path / "s" / MANIFEST).read_text())
    for change in ({"shards": []}, {"n_docs": 7}):
        (tmp_path / "s" / MANIFEST).write_text(json.dumps({**state, **change}))
        with pytest.raises(SparserankError, match="is damaged"):
            convert([text], tmp_path / "s", shard_bytes=300)


def test_what_is_read_is_never_written_over(tmp_path: Path) -> None:
    text = write(tmp_path / "a.txt", lines(0, 9))
    convert([text], tmp_path / "s")
    (tmp_path / "s/00000-mine.npy").write_text("mine")
    for restart in (False, True):
        with pytest.raises(SparserankError, match="is, contains or is inside an input"):
            convert([tmp_path / "s"], tmp_path / "s", restart=restart)
    convert([text], tmp_path / "s", restart=True)
    assert (tmp_path / "s/00000-mine.npy").exists()
    notes = write(tmp_path / "notes.txt", "mine")
    with pytest.raises(SparserankError, match=r"notes\.txt: already exists"):
        write_file([text], notes)
    with pytest.raises(SparserankError, match="is inside a store"):
        write_file([text], tmp_path / "s/x.txt")
    folder = tmp_path / "folder/part=1"
    folder.mkdir(parents=True)
    pd.DataFrame({"qid": [1, 1], "label": [0, 1], "x": [1.0, 2.0]}).to_parquet(folder / "a.parquet")
    with pytest.raises(SparserankError, match="is, contains or is inside an input"):
        convert([tmp_path / "folder"], tmp_path / "folder/store")
    assert notes.read_text() == "mine"


def test_side_files_belong_to_what_is_converted(tmp_path: Path) -> None:
    text = write(tmp_path / "a.txt", "".join(f"{i % 2} 1:{i}\n" for i in range(12)))
    write(tmp_path / "a.txt.query", "6\n6\n")
    names = write(tmp_path / "names", "alpha\n")
    reading = Reading(feature_names=names)
    assert convert([text], tmp_path / "s", reading)["n_queries"] == 2
    assert convert([text], tmp_path / "s", Reading(feature_names=names, n_threads=1))["n_queries"] == 2
    write(tmp_path / "a.txt.query", "4\n8\n ")
    with pytest.raises(SparserankError, match="files that have changed since"):
        convert([text], tmp_path / "s", reading)
    convert([text], tmp_path / "t", reading)
    write(names, "beta \n ")
    with pytest.raises(SparserankError, match="files that have changed since"):
        convert([text], tmp_path / "t", reading)
    second = write(tmp_path / "b.txt", text.read_text())
    write(tmp_path / "b.txt.query", "6\n6\n")
    assert read_files([text, second]).n_queries == 4


def test_a_file_is_written_without_missing_values(tmp_path: Path) -> None:
    (tmp_path / "m.csv").write_text("label,qid,f,g\n1,1,,2\n0,1,3,4\n")
    write_file([tmp_path / "m.csv"], tmp_path / "m.txt", Reading(missing="zero"))
    assert (tmp_path / "m.txt").read_text().startswith("1 qid:1 1:0.0 2:2.0")
    with pytest.raises(SparserankError, match="needs the rows of each query to be adjacent"):
        write_file([tmp_path / "m.csv"], tmp_path / "n.txt", Reading(missing="query-min"))
    (tmp_path / "u.csv").write_text("label,qid,f\n-1,1,2\n")
    with pytest.raises(SparserankError, match="no row is left after dropping"):
        write_file([tmp_path / "u.csv"], tmp_path / "u.parquet", Reading(unjudged="drop"))
    assert not (tmp_path / "u.parquet").exists()
    write(tmp_path / "a.txt", lines(0, 3, features=2))
    with pytest.raises(SparserankError, match="a feature and another column are both called 'qid'"):
        write_file([tmp_path / "a.txt"], tmp_path / "a.parquet", Reading(feature_names=["qid", "x"]))


def test_dropped_rows_fill_nothing(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("label,qid,f\n-1,1,1\n1,1,5\n0,1,\n-1,1,9\n")
    reading = Reading(missing="query-min", unjudged="drop", dtype="float64")
    convert([tmp_path / "a.csv"], tmp_path / "s", reading)
    for found in (read_files(tmp_path / "a.csv", reading), open_store(tmp_path / "s")):
        assert found.X[np.arange(2)].ravel().tolist() == [5.0, 5.0]


def test_a_query_may_be_a_number_here_and_text_there(tmp_path: Path) -> None:
    frame = pd.DataFrame({"qid": [1, 1, 2, 2], "label": [0, 1, 0, 1], "x": [1.0, 2.0, 3.0, 4.0]})
    frame.to_parquet(tmp_path / "a.parquet")
    frame.assign(qid=["1", "1", "3", "3"]).to_parquet(tmp_path / "b.parquet")
    paths = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    convert(paths, tmp_path / "s")
    for found in (open_store(tmp_path / "s"), read_files(paths)):
        assert list(found.query_ids) == [1, 2, 3]
    frame.assign(qid=np.array([2**63 + 1, 2**63 + 1, 2**63 + 2, 2**63 + 2], dtype=np.uint64)).to_parquet(paths[0])
    assert read_files(paths[0]).n_queries == 2


def test_the_index_of_a_frame_is_no_feature() -> None:
    frame = pd.DataFrame({"qid": [1, 1, 2, 2], "label": [0, 1, 0, 1], "x": [1.0, 2.0, 3.0, 4.0]})
    assert sr.read(frame[frame["qid"] > 1]).feature_names == ("x",)


ODD: dict[str, tuple[dict[str, Any], str]] = {
    "struct": ({"qid": [{"a": 1}, {"a": 2}]}, "the column of query ids, document ids or weights|expected"),
    "list": ({"qid": [[1], [2]]}, "the column of query ids, document ids or weights|expected"),
    "null among categories": ({"qid": pd.Categorical(["a", None])}, "a query id in every row"),
}


@pytest.mark.parametrize("case", list(ODD))
def test_odd_query_ids_end_in_one_sentence(case: str, tmp_path: Path) -> None:
    columns, message = ODD[case]
    pd.DataFrame({"label": [0, 1], "x": [1.0, 2.0], **columns}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(SparserankError, match=message):
        read_files(tmp_path / "a.parquet")


def test_what_a_gathering_left_behind_goes_with_the_next_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = lines(0, 40).splitlines(keepends=True)
    text = write(tmp_path / "a.txt", "".join(rows[i] for i in np.random.default_rng(0).permutation(len(rows))))
    monkeypatch.setattr(converting, "_drop_others", lambda *_: None)  # as if killed there
    convert([text], tmp_path / "s", shard_bytes=500)
    crowded = len(list((tmp_path / "s").glob("*.npy")))
    monkeypatch.undo()
    convert([text], tmp_path / "s", shard_bytes=500)
    assert len(list((tmp_path / "s").glob("*.npy"))) < crowded
    assert open_store(tmp_path / "s").n_docs == 240


@pytest.mark.parametrize("sparse", [False, True])
def test_rows_of_a_store_are_indexed_as_those_of_an_array(sparse: bool, tmp_path: Path) -> None:
    convert([write(tmp_path / "a.txt", lines(0, 9))], tmp_path / "s", Reading(sparse=sparse), shard_bytes=100)
    data = open_store(tmp_path / "s")
    every = data.X[:]
    whole = np.concatenate([p.toarray() for p in data.X.parts]) if sparse else np.concatenate(data.X.parts)
    mask = np.arange(54) % 5 == 0
    for rows in (mask, np.array([-1, 0, 7]), slice(3, 30, 4), np.array([], dtype=int)):
        found = data.X[rows]
        np.testing.assert_array_equal(found.toarray() if sparse else found, whole[rows])
    assert data.take_queries(np.array([], dtype=int)).n_docs == 0
    assert every.shape == whole.shape
