"""The comparison of reference runs: any bit that changed is told."""

from pathlib import Path

import numpy as np

from tests.frozen.__main__ import compare, differences
from tests.frozen.runs import RUNS


def test_there_are_as_many_runs_as_before() -> None:
    assert len(RUNS) == 31


def test_one_bit_is_told() -> None:
    before = {"a": np.array([1.0, np.nan, 3.0]), "names": np.array(["x", "y"]), "n": np.array([1, 2])}
    assert differences(before, {k: v.copy() for k, v in before.items()}) == []
    for wrong, said in (
        ({"a": np.array([np.nextafter(1.0, 2.0), np.nan, 3.0])}, "a: "),
        ({"a": np.array([1.0, 2.0, 3.0])}, "a: "),
        ({"a": np.array([1.0, np.nan])}, "a: float64(3,) became float64(2,)"),
        ({"a": np.array([1.0, np.nan, 3.0]), "n": np.array([1, 2], dtype=np.int32)}, "n: "),
        ({"names": np.array(["x", "z"])}, "names: "),
        ({"n": np.array([1.0, 2.0])}, "n: "),
    ):
        (found,) = differences(before, before | wrong)
        assert found.startswith(said)
    assert differences({"a": np.zeros(1)}, {"a": -np.zeros(1)}) == ["a: 0 of 1 values differ, by 0 at most"]
    assert differences(before, {**before, "b": np.zeros(1)}) == ["b: new"]
    assert differences(before, {"a": before["a"], "n": before["n"]}) == ["names: missing"]


def test_runs_are_compared_file_by_file(tmp_path: Path) -> None:
    for side, value in (("before", 1.0), ("after", 1.0)):
        (tmp_path / side).mkdir()
        np.savez(tmp_path / side / "one.npz", a=np.array([value]))
    np.savez(tmp_path / "before/two.npz", a=np.array([2.0]))
    assert compare(tmp_path / "before", tmp_path / "after") == 1  # `two` is missing
    np.savez(tmp_path / "after/two.npz", a=np.array([2.0]))
    assert compare(tmp_path / "before", tmp_path / "after") == 0
