"""Values quoted in messages: short, on one line, whatever they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparserank.quoting import LONGEST, brief


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError


def test_small_values_are_quoted_as_they_are() -> None:
    for value in ("map", 3, -1.5, None, True, [1, "a"], ("x",), {"a": 1}, 2**63):
        assert brief(value) == repr(value)
    assert brief(np.float64(1.5)) == "1.5"
    assert brief(np.int64(3)) == "3"


def test_any_value_is_quoted_on_one_short_line() -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    cyclic: dict[str, Any] = {}
    cyclic["x"] = cyclic
    for value in (
        "x" * 10**6,
        "a\nb\x1b[2J\u2028",
        "\ud800",
        10**6000,
        -(10**6000),
        [10**6000],
        deep,
        cyclic,
        {"a": ["y" * 10**6] * 50},
        Broken(),
        [Broken()],
        np.zeros(10**5),
        b"\xff" * 1000,
        set(range(1000)),
        float("nan"),
        object(),
    ):
        text = brief(value)
        assert 0 < len(text) <= LONGEST
        assert text.isprintable()
