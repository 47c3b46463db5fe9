"""Resumable work: nothing is done again, what is finished is kept before it is reported, and the time left."""

import numpy as np
import pytest

from sparserank.workdir.time_left import TimeLeft
from sparserank.workdir.work import Work


class Shelf:
    """A keeper in memory."""

    def __init__(self, **held: int) -> None:
        self.held: dict[str, int] = dict(held)

    def load(self, name: str) -> int | None:
        return self.held.get(name)

    def save(self, name: str, result: int) -> None:
        self.held[name] = result


def square(x: int) -> int:
    if x < 0:
        raise ValueError("below 0")
    return x * x


def test_what_is_there_is_not_done_again() -> None:
    reported: list[tuple[int, int, str]] = []
    shelf = Shelf(a=100)
    work = Work(
        dict.fromkeys("abc", "square"),
        keeper=shelf,
        progress=lambda done, n, what, left: reported.append((done, n, what)),
    )
    work.begin()
    work.run(square, {"a": (1,), "b": (2,), "c": (3,)}, dict(zip("abc", "ABC", strict=True)), processes=False)
    assert work.results == shelf.held == {"a": 100, "b": 4, "c": 9}
    assert reported[0] == (1, 3, "resumed")
    assert [t[:2] for t in reported[1:]] == [(2, 3), (3, 3)]


def test_a_piece_is_kept_before_it_is_reported() -> None:
    """The wrong variant reports first: what raises there loses the piece."""
    shelf = Shelf()

    def stop(done: int, n: int, what: str, left: float | None) -> None:
        if done:
            raise KeyboardInterrupt

    work = Work({"a": "square"}, keeper=shelf, progress=stop)
    with pytest.raises(KeyboardInterrupt):
        work.finish("a", "A", 1, 0.1)
    assert shelf.held == {"a": 1}


def test_an_error_ends_the_others_or_is_noted() -> None:
    arguments, what = {"a": (-1,), "b": (2,)}, {"a": "A", "b": "B"}
    with pytest.raises(ValueError, match="below 0"):
        Work(dict.fromkeys("ab", "square")).run(square, arguments, what, processes=False)
    failed: dict[str, Exception] = {}
    reported: list[int] = []
    work = Work(dict.fromkeys("ab", "square"), progress=lambda done, n, what, left: reported.append(done))
    work.run(square, arguments, what, processes=False, failed=failed.__setitem__)
    assert list(failed) == ["a"]
    assert work.results == {"b": 4}
    assert reported == [1, 2]


def test_results_may_be_in_the_keeper_alone() -> None:
    shelf = Shelf(a=1)
    work = Work(dict.fromkeys("ab", "square"), keeper=shelf, in_memory=False)
    work.finish("b", "B", 4, 0.1)
    assert work.done == {"a", "b"}
    assert work.results == {}
    assert shelf.held == {"a": 1, "b": 4}


def test_the_last_piece_takes_its_whole_time() -> None:
    """Five equal pieces on four workers; the wrong variant divides seconds among the workers."""
    left = TimeLeft(["piece"] * 5, 4)
    wrong = TimeLeft(["piece"] * 5, 1)
    seen, divided = [], []
    for _ in range(5):
        left.finished("piece", 0.8)
        wrong.finished("piece", 0.8 / 4)
        seen.append(left.seconds())
        divided.append(wrong.seconds())
    assert seen == pytest.approx([0.8, 0.8, 0.8, 0.8, 0.0])
    assert divided != pytest.approx(seen)


def test_time_left_is_right_within_a_fifth_for_kinds_a_hundredfold_apart() -> None:
    rng = np.random.default_rng(0)
    seconds_of = {"slow": 50.0, "fast": 0.5, "medium": 5.0}
    kinds = [k for k in seconds_of for _ in range(10)]
    order = rng.permutation(len(kinds))
    left = TimeLeft(kinds, n_workers=1)
    assert left.seconds() is None
    naive = []
    for n, index in enumerate(order[:-1], start=1):
        left.finished(kinds[index], seconds_of[kinds[index]])
        truth = sum(seconds_of[kinds[i]] for i in order[n:])
        if {kinds[i] for i in order[:n]} == set(seconds_of):
            assert left.seconds() == pytest.approx(truth, rel=0.2)
            naive.append(sum(seconds_of[kinds[i]] for i in order[:n]) / n * (len(order) - n) / truth)
    assert max(max(naive), 1 / min(naive)) > 3  # the wrong variant: the mean of all finished pieces for all others


def test_kinds_that_have_not_begun_are_expected_by_their_effort() -> None:
    """Two kinds are measured, and what a third takes is known from its effort; the wrong variant expects their mean."""
    kinds = ["l1"] * 3 + ["ridge"] * 2 + ["steps"] * 4
    left, wrong = TimeLeft(kinds, 1, {"l1": 1.0, "ridge": 0.25, "steps": 6.0}), TimeLeft(kinds, 1)
    for kind, seconds in (("l1", 2.2), ("l1", 1.8), ("ridge", 0.5)):
        left.finished(kind, seconds)
        wrong.finished(kind, seconds)
    assert left.seconds() == pytest.approx(2.0 + 0.5 + 4 * 12.0)
    assert wrong.seconds() == pytest.approx(2.0 + 0.5 + 4 * 1.5)
    left.finished("steps", 20.0)
    assert left.seconds() == pytest.approx(2.0 + 0.5 + 3 * 20.0)


def test_the_time_left_counts_the_work_that_follows() -> None:
    """Four units of effort follow the pieces. Two workers share the pieces and what follows; the wrong variant has
    nothing after the pieces."""
    kinds, efforts = ["l1"] * 2 + ["steps"] * 3, {"l1": 1.0, "steps": 5.0}
    left, wrong = TimeLeft(kinds, 2, efforts, 4.0), TimeLeft(kinds, 2, efforts)
    assert left.seconds() is None
    for of in (left, wrong):
        of.finished("l1", 4.0)
    assert left.seconds() == pytest.approx((4.0 + 3 * 20.0) / 2 + 4 * 4.0 / 2)
    assert wrong.seconds() == pytest.approx((4.0 + 3 * 20.0) / 2)
    left.finished("l1", 4.0)
    left.finished("steps", 34.0)
    assert left.seconds() == pytest.approx(34.0 + 4 * 6.0 / 2)  # 42 s for an effort of 7
