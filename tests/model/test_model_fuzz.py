"""Model files that were changed at random: refused with one sentence, or a model whose scores are finite."""

import copy
import json
import random
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparserank.data.dataset import RankingDataset
from sparserank.errors import DataError, ModelFormatError
from sparserank.model.ranking_model import RankingModel
from sparserank.model.size_models import load_model
from sparserank.options.paths import SCALINGS
from sparserank.shards.scaling import fit_scaling
from tests.support.models import array_of, rebuilt
from tests.support.problems import small_problem

MAX_MEMORY = 8 * 2**20  # bytes; a valid file here has about 1,000

WORDS = r"""
null true false 0 -0 1 2 4 5 -1 3.9 1.0 -3 1e400 -1e400 1e308 -1.7976931348623157e308 5e-324 1e-310 NaN Infinity
-Infinity 300000000 9223372036854775807 "" "a" "e" "\ud800" "\udcff\ud800" "\ud83d\ude00" "\u0000" "\u001b[2J"
[] {} [1] {"a":1} {"a":1,"a":2} "none" "query-min-max" "log-standard" "standard" ["none"] 1, } ] " 0x10 01
"""
HOSTILE = WORDS.split()  # as they stand in the file
HOSTILE += ["1" + "0" * 299, "1" + "0" * 300, "9" * 5000, '"' + "x" * 100_000 + '"']
HOSTILE += ["[" * n + "]" * n for n in (18, 500, 100_000)] + ['{"a":' * 200 + "1" + "}" * 200]
BYTES = [bytes([c]) for c in b'\x00\xff\xc31e-.[}"\\,'] + [b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\r\n", b"99"]


def models() -> list[RankingModel]:
    data = small_problem(1)
    coef = np.array([0.1 + 0.2, 0.0, -1e-17, 0.0, 12345.678901234567])
    facts = {"penalty": "L1(alpha=0.1)", "values": [1, 2.5, None, True], "table": {"x": {"y": "z"}}}
    names, values = ("a", "b", "ü", "\x1b[2J", "e"), np.array([0.5, np.nan, np.nan, np.nan, -1.0])
    plain = [RankingModel.from_arrays(coef, names, fit_scaling(data, m), facts, facts) for m in SCALINGS]
    return [*plain, rebuilt(plain[0], fill_values=values, medians=np.full(5, 2.5))]


def places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Every (container, key) of a JSON tree."""
    for key in tree if isinstance(tree, dict) else range(len(tree)):
        yield tree, key
        if isinstance(tree[key], dict | list):
            yield from places(tree[key])


def changed_tree(tree: Any, rng: random.Random) -> str:
    """The tree with one to three values replaced, deleted, doubled, nested or swapped, as JSON."""
    tree = copy.deepcopy(tree)
    texts: dict[str, str] = {}
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        container, key = rng.choice(list(places(tree)))
        kind = rng.randrange(6)
        if kind <= 1:
            mark = f"@{len(texts)}@"
            texts[f'"{mark}"'] = rng.choice(HOSTILE)
            container[key] = mark
        elif kind == 2:
            del container[key]
        elif kind == 3 and isinstance(container, list):
            container.insert(rng.randrange(len(container) + 1), copy.deepcopy(container[key]))
        elif kind == 3:
            mark = f"@{len(texts)}@"  # the same key twice: not something that a dict can hold
            texts[f'"{mark}": '] = f"{json.dumps(key)}: "
            container[mark] = copy.deepcopy(container[key])
        elif kind == 4:
            container[key] = rng.choice(([container[key]], {"x": container[key]}, {"index": container[key]}))
        else:
            other, place = rng.choice(list(places(tree)))
            container[key] = copy.deepcopy(other[place])
    text = json.dumps(tree, ensure_ascii=rng.random() < 0.5)
    for mark, replacement in texts.items():
        text = text.replace(mark, replacement)
    return text


def changed_bytes(content: bytes, rng: random.Random) -> bytes:
    """The file with one to four bytes flipped, or parts removed, doubled, moved or put in."""
    for _ in range(rng.randint(1, 4)):
        i = rng.randrange(len(content) + 1)
        j = min(len(content), i + rng.choice((1, 2, 8, 100)))
        kind = rng.randrange(6)
        if kind == 0 and i < len(content):
            content = content[:i] + bytes([content[i] ^ (1 << rng.randrange(8))]) + content[i + 1 :]
        elif kind == 1:
            content = content[:i] + content[j:]
        elif kind == 2:
            content = content[:j] + content[i:]
        elif kind == 3:
            content = content[:i] + rng.choice(BYTES) + content[i:]
        elif kind == 4:
            content = content[:i] if rng.random() < 0.2 else content[:i] + rng.choice(HOSTILE).encode() + content[j:]
        else:
            content = content[j:i] if j < i else content[:i] + content[i:j][::-1] + content[j:]
    return content


def check(path: Path, content: bytes, rng: np.random.Generator) -> bool:
    """True when the file was taken for a model; every promise about it holds."""
    path.write_bytes(content)
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    try:
        model = load_model(path)
    except ModelFormatError as error:
        message = str(error)
        assert message.startswith(f"{path}: ")
        assert len(message) < len(str(path)) + 400
        assert "\n" not in message
        return False
    finally:
        assert tracemalloc.get_traced_memory()[1] - before < MAX_MEMORY + 20 * len(content)
    for X in (
        rng.standard_normal((8, model.n_features)),
        rng.choice([0.0, 1e300, -1e300, 5e-324], (8, model.n_features)),
    ):
        try:
            data = RankingDataset(X, np.zeros(8), np.arange(8) % 3)
            scores = model.score_dataset(data)
            again = model.predict(X, np.arange(8) % 3)
        except DataError:
            continue
        assert scores.shape == (8,)
        assert np.isfinite(scores).all()
        np.testing.assert_array_equal(again, scores)
    saved = path.with_name("saved.json")
    saved.write_text(json.dumps(model.to_json(), allow_nan=False))
    loaded, S = load_model(saved), model.support
    for ours, theirs in (
        (loaded.coef, model.coef),
        (array_of(loaded, "mean")[S], array_of(model, "mean")[S]),
        (array_of(loaded, "scale")[S], array_of(model, "scale")[S]),
    ):
        np.testing.assert_array_equal(ours, theirs)
    assert loaded.feature_names == model.feature_names
    assert loaded.scaling == model.scaling
    assert (loaded.parameters, loaded.metadata) == (model.parameters, model.metadata)
    return True


@pytest.mark.slow_but("values")
@pytest.mark.parametrize("what", ["values", "bytes"])
def test_a_changed_model_file_is_refused_or_gives_finite_scores(what, fuzz_seconds, fuzz_seed, tmp_path):
    rng, numbers = random.Random(fuzz_seed), np.random.default_rng(fuzz_seed)
    trees = [m.to_json() for m in models()]
    path = tmp_path / "m.json"
    taken = {True: 0, False: 0}
    tracemalloc.start()
    try:
        end = time.monotonic() + fuzz_seconds
        while time.monotonic() < end:
            tree = rng.choice(trees)
            if what == "values":
                content = changed_tree(tree, rng).encode("utf-8", "surrogatepass")
            else:
                content = changed_bytes(json.dumps(tree, ensure_ascii=False, indent=1).encode(), rng)
            try:
                taken[check(path, content, numbers)] += 1
            except BaseException:
                print(f"content {content!r}")
                raise
    finally:
        tracemalloc.stop()
    print(f"{taken[True]} taken, {taken[False]} refused")
    assert min(taken.values()) > 0
