"""Shared fixtures: real data by environment variable, small random problems."""

import gc
import os
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import reproduction.app as reproduction

from sparserank import read
from sparserank.cli.app import app, main
from sparserank.data.dataset import RankingDataset
from tests.support import shortcuts
from tests.support.command_line import Cli, Outcome

FUZZ_SECONDS = 2.0


def data_folder_or_skip() -> Path:
    folder = os.environ.get("SPARSERANK_DATA")
    if folder and Path(folder).is_dir():
        return Path(folder)
    reason = "real data: set SPARSERANK_DATA to the data folder (CONTRIBUTING.md says what it holds)"
    if os.environ.get("SPARSERANK_REQUIRE_DATA") == "1":
        pytest.fail(f"{reason}; SPARSERANK_REQUIRE_DATA=1 forbids skipping")
    pytest.skip(reason)


@pytest.fixture(scope="session")
def data_folder() -> Path:
    return data_folder_or_skip()


@pytest.fixture(scope="session")
def mq2008(data_folder: Path) -> list[RankingDataset]:
    """The five parts S1..S5 of MQ2008."""
    return [read(data_folder / f"mq2008/S{i}.txt.gz", n_features=46) for i in range(1, 6)]


@pytest.fixture(scope="session")
def mq2008_train(data_folder: Path) -> RankingDataset:
    """MQ2008 fold 1, training queries: S1, S2, S3."""
    return read([data_folder / f"mq2008/S{i}.txt.gz" for i in (1, 2, 3)], n_features=46)


@pytest.fixture(scope="session")
def ohsumed_train(data_folder: Path) -> RankingDataset:
    """OHSUMED fold 1, training queries, per-query normalised."""
    return read([data_folder / f"ohsumed/querylevelnorm/S{i}.txt.gz" for i in (1, 2, 3)])


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fuzz-seconds", type=float, default=FUZZ_SECONDS, help="how long each fuzz test runs")


@pytest.hookimpl(tryfirst=True)  # before -m deselects
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark as slow all variants of a test but those with one of the words of `slow_but` in their names."""
    quick: dict[str, bool] = {}
    for item in items:
        for mark in item.iter_markers("slow_but"):
            one = any(word in item.name for word in mark.args)
            test = item.nodeid.partition("[")[0]
            quick[test] = quick.get(test, False) or one
            if not one:
                item.add_marker("slow")
    none = [test for test, found in quick.items() if not found]
    if none and not any("::" in argument for argument in config.args):
        raise pytest.UsageError(f"no variant of {none[0]} has a word of its slow_but.")


def pytest_collection_finish() -> None:
    """All modules and tests stay to the end; looking through them for garbage took a tenth of the time."""
    gc.freeze()
    gc.set_threshold(5_000, 10, 10)


@pytest.fixture
def fuzz_seconds(request: pytest.FixtureRequest) -> float:
    """How long a fuzz test goes on making cases."""
    return float(request.config.getoption("--fuzz-seconds"))


@pytest.fixture
def fuzz_seed(request: pytest.FixtureRequest) -> int:
    """0, so that a failure is the change's own; a new one each time when --fuzz-seconds is given.
    Printed either way."""
    given = float(request.config.getoption("--fuzz-seconds")) != FUZZ_SECONDS
    seed = random.SystemRandom().randrange(2**32) if given else 0
    print(f"seed {seed}")
    return seed


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20240607)


def during(*made: Callable[[], AbstractContextManager[None]], **options: Any) -> Any:
    """A fixture: what these change is changed during a test, or as long as the scope in the options says."""

    @pytest.fixture(**options)
    def changed() -> Iterator[None]:
        with ExitStack() as stack:
            for change in made:
                stack.enter_context(change())
            yield

    return changed


# Selections in this process train no trees beside, unless a test asks for them; files are not
# synchronised.
no_rivals = during(shortcuts.no_rivals, shortcuts.no_syncs, autouse=True, scope="session")
# Modules that test the draws, or whose tests look at pictures, override these with fixtures that do nothing; a single
# test asks for `pictures`.
few_draws = during(shortcuts.few_draws, autouse=True, scope="module")
reports_without_pictures = during(shortcuts.no_pictures, autouse=True, scope="module")
pictures, no_processes = during(shortcuts.pictures), during(shortcuts.no_processes)
short_selections = during(shortcuts.short_selections)


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The command line in this process: the same `main` as the installed command calls; after the word "reproduction",
    that of `python -m reproduction`."""

    def run(*args: object) -> Outcome:
        application = reproduction.app if args[:1] == ("reproduction",) else app
        monkeypatch.setattr(sys, "argv", ["sparserank", *map(str, args[application is not app :])])
        capsys.readouterr()
        with warnings.catch_warnings():
            try:
                main(application)
                code = 0
            except SystemExit as stop:
                code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        return Outcome(code, *capsys.readouterr())

    return run


@pytest.fixture
def printed(cli: Cli) -> Callable[..., str]:
    """The standard output of a command line, which must end well."""
    return lambda *args: cli(*args).done.out


@pytest.fixture
def cli_here(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """The same in the folder of temporary files."""
    monkeypatch.chdir(tmp_path)
    return cli
