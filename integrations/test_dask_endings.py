"""A scheduler that ends or starts again while it is used, and workers of another version:
one sentence, and nothing is lost."""

from __future__ import annotations

import importlib.metadata
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client, LocalCluster

import sparserank as sr
from sparserank.errors import DataError

PATIENCE_S = 120.0
DATA = sr.datasets.make_ranking(300, (5, 60), 30, n_informative=6, noise=0.5, random_state=8).data


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")
    sr.write_letor(DATA, folder / "train.txt")
    sr.convert([folder / "train.txt"], folder / "store", shard_bytes=300_000)
    return folder / "store"


def _of_another_version(name: str) -> str:
    return "0.0.1"


def _absent(name: str) -> str:
    raise importlib.metadata.PackageNotFoundError(name)


@pytest.mark.parametrize(("fake", "said"), [(_of_another_version, "sparserank 0.0.1"), (_absent, "no sparserank")])
def test_a_worker_of_another_version_is_refused_by_name(fake: Any, said: str, store: Path, tmp_path: Path) -> None:
    def put(function: Any) -> None:
        importlib.metadata.version = function

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as fresh, Client(fresh) as client:
        client.wait_for_workers(2, timeout=60)
        other = sorted(client.nthreads())[1]
        import cloudpickle

        cloudpickle.register_pickle_by_value(sys.modules[__name__])
        client.run(put, fake, workers=[other])
        own = importlib.metadata.version("sparserank")
        expected = f"worker {other} has {said}; install sparserank {own}, the version on this machine"
        data = sr.read(store)
        with pytest.raises(DataError, match=expected):
            sr.select(data, client=client, penalties="l1", n_alphas=4, cv=2, out=tmp_path / "run")
        assert not (tmp_path / "run").exists()
        with pytest.raises(DataError, match=expected):
            sr.SparseRanker().fit_dataset(data, client=client)
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "sparserank",
                "fit",
                str(store),
                "--out",
                str(tmp_path / "m.json"),
                "--scheduler",
                fresh.scheduler_address,
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 1
        assert f"error: {expected}" in done.stderr
        assert "Traceback" not in done.stderr


@contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-m", *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def free_port() -> int:
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_workers(address: str) -> None:
    with Client(address, timeout=PATIENCE_S) as client:
        client.wait_for_workers(1, timeout=PATIENCE_S)


@pytest.mark.parametrize("comes_back", [True, False])
def test_a_scheduler_that_ends_in_the_middle(comes_back: bool, store: Path, tmp_path: Path) -> None:
    """Recovery or one sentence within a minute; finished work is kept,
    and the same command goes on on a new scheduler."""
    port = free_port()
    address = f"tcp://127.0.0.1:{port}"
    scheduler = ("distributed.cli.dask_scheduler", "--port", str(port), "--no-dashboard")
    worker = ("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard", "--death-timeout", "60")
    options = [
        "--penalty",
        "l1",
        "--penalty",
        "mcp",
        "--n-alphas",
        "30",
        "--folds",
        "3",
        "--half-samples",
        "0",
        "--transform",
        "none",
    ]
    command = [sys.executable, "-m", "sparserank", "select", str(store), *options, "--out", str(tmp_path / "run")]
    with running(*scheduler) as first, running(*worker):
        wait_for_workers(address)
        select = subprocess.Popen(
            [*command, "--scheduler", address], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        deadline = time.monotonic() + PATIENCE_S
        while not list((tmp_path / "run").glob("arrays/f*")) and select.poll() is None and time.monotonic() < deadline:
            time.sleep(0.05)
        assert select.poll() is None
        first.send_signal(signal.SIGKILL)
        first.wait()
        if comes_back:
            with running(*scheduler), running(*worker):
                _, err = select.communicate(timeout=PATIENCE_S)
        else:
            _, err = select.communicate(timeout=PATIENCE_S)
    assert select.returncode in (0, 1), err
    assert "Traceback" not in err
    if select.returncode:
        assert err.splitlines()[-1].startswith("error: the cluster ")
        assert "finished work is kept" in err.splitlines()[-1]
    kept = len(list((tmp_path / "run").glob("arrays/f*")))
    assert kept > 0
    with running(*scheduler), running(*worker):
        wait_for_workers(address)
        again = subprocess.run([*command, "--scheduler", address], capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert "reused from an earlier run" in again.stderr
    here = sr.select(
        sr.read(store), penalties=["l1", "mcp"], n_alphas=30, cv=3, half_samples=0, feature_transform="none"
    )
    np.testing.assert_allclose(sr.load_model(tmp_path / "run/model.json").coef, here.model.coef, rtol=1e-12, atol=1e-12)
