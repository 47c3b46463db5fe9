"""Plan files that are wrong or hostile: one sentence that names the file and the key, never a traceback."""

import copy
import json
import random
import time
from pathlib import Path
from typing import Any

import pytest
from reproduction.protocol.plan import MAX_SIZE, DatasetPlan, ExperimentPlan, read_plan

from sparserank.errors import DataError
from tests.model.test_model_fuzz import places

HUGE = "0x" + "f" * 10_000  # hexadecimal integers may have any number of digits


ENTRY = "[[datasets]]\nname='a'\npath='b'\n"
# Each check of a plan, and types and sizes that a value should not have; ENTRY follows where there is no data set.
WRONG = [
    ("choose_by=['map', 'map']", "choose_by names 'map' twice"),
    ("choose_by=['ndcg@10', 'letor4:ndcg@010']", "choose_by names 'ndcg@10' twice"),
    ("metrics=['map', 'err', 'MAP']", "metrics names 'map' twice"),
    ("folds=[1, 1]", "folds names 1 twice"),
    ("folds=[true]", "folds must contain fold numbers from 1 to 5; got True"),
    (f"folds=[{HUGE}]", "folds must contain fold numbers from 1 to 5"),
    ("folds=[1.0]", "folds must be a list of int values"),
    ("folds=3", "folds must be a list of int values; got 3"),
    ("max_size=1000000000", "max_size must be an integer from 0 to 10000; got 1000000000"),
    ("[max_size]\nx=1", "max_size must be an integer"),
    (f"seed={2**63}", "seed must be an integer from 0 to 9223372036854775807"),
    (f"seed={HUGE}", "seed must be an integer from 0 to 9223372036854775807"),
    ("seed=" + "1" * 5000, "cannot be read as TOML"),
    ("name=3", "name must be a string; got 3"),
    ("convention=['letor4']", "convention must be a string"),
    ("convention='letor5'", "unknown metric convention 'letor5'"),
    ("systems=[['log']]", "systems must be a list of str values"),
    ("systems=['nope']", "no system 'nope'"),
    ("systems=['log', 'log']", "the plan names the system 'log' twice"),
    ("metrics='map'", "metrics must be a list of str values; got 'map'"),
    ("choose_by=['pairwise_error']", "choose_by must be a metric for which higher is better"),
    (f"metrics=['p@{'1' * 5000}']", "cutoff must be a 64-bit integer"),
    (f"metrics=['{'x' * 10_000}']", "unknown metric 'xxx"),
    ("grids={log=[1]}", "grids must contain tables"),
    ("[grids.log]\nradius=[1]", "system log has no parameter 'radius'"),
    ("[grids.log]\nalpha_ratio=0.1", "system log: alpha_ratio must be a list of values; got 0.1"),
    ("[grids.log]\nalpha_ratio=[]", "system log: alpha_ratio must be a list of values"),
    ("[grids.log]\nalpha_ratio=['x']", "system log: alpha_ratio must contain finite numbers"),
    (f"[grids.log]\nalpha_ratio=[{HUGE}]", "system log: alpha_ratio must contain finite numbers"),
    ("[grids.log]\nalpha_ratio=[1e400]", "system log: alpha_ratio must contain finite numbers"),
    ("[grids.log]\n[[grids.log.alpha_ratio]]\nx=1", "system log: alpha_ratio must contain finite numbers"),
    (f"[grids.fenchel_rank]\nmax_iter=[{2**63}]", "system fenchel_rank: max_iter must contain integers"),
    ("[grids.fenchel_rank]\nmax_iter=[1, 2]", "system fenchel_rank: max_iter takes one value"),
    ("[grids.gas_e]\nimportance=[1]", "system gas_e: importance must contain names"),
    (f"[grids.log]\n{'x' * 10_000}=[1]", "system log has no parameter 'xxx"),
    (f"{'x' * 10_000}=1", "unknown key 'xxx"),
    ("systems=" + "[" * 90 + "]" * 90, "systems must be a list of str values"),
    ("systems=" + "[" * 100_000 + "]" * 100_000, "nested too deep"),
    ("grids=" + "{a=" * 100_000, "nested too deep"),
    ("seed=1\nseed=2", "cannot be read as TOML"),
    ("\udcff", "cannot be read as TOML"),
    ("x" * 10_000 + ".y=1\n" + "x" * 10_000 + ".y=1", "cannot be read as TOML"),
    ("datasets=[]", "names no data set"),
    ("datasets=[1]", "a data set must have a name and a path, and optionally missing and scaling; got 1"),
    ("[datasets]\nname='a'\npath='b'", "data sets must be [[datasets]] tables"),
    ("[[datasets]]\nname='a'", "a data set must have a name and a path"),
    ("[[datasets]]\nname='a'\npath=['b']", "must be strings; got 'a' and ['b']"),
    ("[[datasets]]\nname=''\npath='b'", "must be strings"),
    ('[[datasets]]\nname="a"\npath="b\\u0000"', "must be strings"),
    (f"{ENTRY}missing=3", "data set 'a': missing must be a string"),
    (f"{ENTRY}missing='banana'", "data set 'a': missing policy"),
    (f"{ENTRY}scaling='{'x' * 10_000}'", "data set 'a': scaling must be one of"),
    (f"{ENTRY}size='{'x' * 10_000}'", "a data set must have a name and a path"),
    (f"{ENTRY}[[datasets]]\nname='a'\npath='c'", "names the data set 'a' twice"),
]


@pytest.mark.parametrize(("text", "words"), WRONG, ids=lambda v: v[:40].encode("ascii", "backslashreplace").decode())
def test_a_wrong_plan_is_one_short_sentence_naming_file_and_key(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "plan.toml"
    file.write_bytes((text if "datasets" in text else f"{text}\n{ENTRY}").encode("utf-8", "surrogateescape"))
    with pytest.raises(DataError) as error:
        read_plan(file)
    message = str(error.value)
    assert message.startswith(f"{file}: ")
    assert words in message
    assert "\n" not in message
    assert len(message) < len(str(file)) + 500


def test_metrics_have_one_spelling_in_results(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(
        "choose_by=['NDCG@10', 'letor4:map']\nmetrics=['ndcg@010', 'MAP', 'default:ndcg@10']\nwatch=[' map', 'p@5']\n"
        + ENTRY
    )
    plan = read_plan(file)
    assert plan.choose_by == ("ndcg@10", "map")
    assert plan.valid_names == ["ndcg@10", "map", "p@5"]
    assert plan.metric_names == ["ndcg@10", "map", "default:ndcg@10", "p@5"]
    assert [repr(m) for m in plan.all_metrics] == ["letor4:ndcg@10", "letor4:map", "ndcg@10", "letor4:p@5"]
    assert ExperimentPlan(plan.datasets).choose_by == ("map", "ndcg@10")


def test_the_largest_values_are_taken(tmp_path: Path) -> None:
    file = tmp_path / "plan.toml"
    file.write_text(
        f"seed={2**63 - 1}\nmax_size=10000\nfolds=[5, 1]\n[grids.fenchel_rank]\nmax_iter=[{2**63 - 1}]\n{ENTRY}"
    )
    plan = read_plan(file)
    assert (plan.seed, plan.max_size, plan.folds) == (2**63 - 1, 10_000, (5, 1))
    assert ExperimentPlan(plan.datasets).max_size == MAX_SIZE


def test_a_place_without_a_plan_is_refused(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "absent.toml", "a\0b", tmp_path / ("x" * 300)):
        with pytest.raises(DataError, match="cannot be read"):
            read_plan(place)


def test_a_plan_made_in_python_is_held_to_the_same_rules() -> None:
    data = (DatasetPlan("a", "b"),)
    for wrong in ({"datasets": ["a"]}, {"name": None}, {"seed": 10**5000}, {"grids": {"log": {5: [1]}}}):
        with pytest.raises(DataError) as error:
            ExperimentPlan(**{"datasets": data, **wrong})  # type: ignore[arg-type]
        assert len(str(error.value)) < 11_000


# -- plans changed at random -------------------------------------------------------------------------------------------

PLAN: dict[str, Any] = {"name": "x", "systems": ["log", "gas_e"], "choose_by": ["map"], "watch": ["p@5"]}
PLAN |= {"metrics": ["map", "ndcg@5"], "convention": "letor4", "max_size": 3, "folds": [1, 2], "seed": 4}
PLAN |= {"grids": {"log": {"alpha_ratio": [0.5, 0.1]}, "gas_e": {"importance": ["map"], "c": [0.0, 1]}}}
PLAN |= {"datasets": [{"name": "a", "path": "b", "missing": "zero", "scaling": "none"}, {"name": "c", "path": "d"}]}
HOSTILE = ["true", "1", "10001", "1e400", "-nan", "9" * 5000, HUGE, str(2**63), '""', '"map"', '"log"', '"\\u0000"']
HOSTILE += ['"\\U0001F600\\n"', '"' + "x" * 50_000 + '"', "[]", "{}", '["map", "map"]', "{a = {b = [1]}}"]
HOSTILE += ["1979-05-27", "1979-05-27T07:32:00+01:00", "[" * 90 + "]" * 90, "[" * 5000 + "]" * 5000]
HOSTILE += ["{a=" * 3000 + "1" + "}" * 3000, '"letor4"', '"none"', "[1, [", '"p@' + "1" * 5000 + '"']
HOSTILE += ['"pairwise_error"', '"$HOME"', '"~root"']


def toml_value(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{toml_key(k)} = {toml_value(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, _Text):
        return value.text
    return json.dumps(value)


def toml_key(key: str) -> str:
    return json.dumps(key)


class _Text:
    """TOML that is written as it is."""

    def __init__(self, text: str) -> None:
        self.text = text


def test_a_changed_plan_is_refused_or_taken_and_never_ends_otherwise(fuzz_seconds, fuzz_seed, tmp_path):
    rng, file = random.Random(fuzz_seed), tmp_path / "plan.toml"
    taken = {True: 0, False: 0}
    end = time.monotonic() + fuzz_seconds
    while time.monotonic() < end:
        plan = copy.deepcopy(PLAN)
        for _ in range(rng.choice((1, 1, 2, 3))):
            container, key = rng.choice(list(places(plan)))
            kind = rng.randrange(5)
            if kind <= 1:
                container[key] = _Text(rng.choice(HOSTILE))
            elif kind == 2:
                del container[key]
            elif kind == 3 and isinstance(container, list):
                container.append(copy.deepcopy(container[key]))
            elif kind == 3:
                name = rng.choice(["log", "path", "seed", "x", "grids", "alpha_ratio"])
                container[name] = copy.deepcopy(container[key])
            else:
                other, place = rng.choice(list(places(plan)))
                container[key] = copy.deepcopy(other[place])
        content = "".join(f"{toml_key(k)} = {toml_value(v)}\n" for k, v in plan.items()).encode()
        if rng.random() < 0.3:
            i = rng.randrange(len(content) + 1)
            inserted = rng.choice([b"", b"\xff", b"[", b"=", b'"', b"\n[[x]]\n", b"\x00"])
            content = content[:i] + inserted + content[i + rng.randrange(3) :]
        file.write_bytes(content)
        try:
            read = read_plan(file)
        except DataError as error:
            message = str(error)
            assert message.startswith(f"{file}: "), content
            assert "\n" not in message, content
            taken[False] += 1
        except BaseException:
            print(f"content {content!r}")
            raise
        else:
            assert len(set(map(repr, read.choice_metrics))) == len(read.choose_by) > 0, content
            assert len({repr(m) for m in read.all_metrics}) == len(read.metric_names), content
            taken[True] += 1
    print(f"{taken[True]} taken, {taken[False]} refused")
    assert min(taken.values()) > 0
