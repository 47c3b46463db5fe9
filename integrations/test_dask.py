"""A real cluster of two processes: the path of one process, to the last digits; lost workers cost time alone."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client, LocalCluster

import sparserank as sr
from sparserank.data.reading import Reading
from sparserank.errors import DataError
from sparserank.shards.dask import DaskShards, connect

DATA = sr.datasets.make_ranking(300, (5, 60), 30, n_informative=6, noise=0.5, random_state=8).data
KINDS = {"dense": Reading(dtype="float64"), "float32": Reading(), "csr": Reading(dtype="float64", sparse=True)}
OPTIONS: dict[str, Any] = {"n_alphas": 15, "tol": 1e-7}


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("stores")
    sr.write_letor(DATA, folder / "train.txt")
    for name, reading in KINDS.items():
        sr.convert([folder / "train.txt"], folder / name, reading, shard_bytes=500_000)
    return {name: folder / name for name in KINDS}


def assert_equal(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found.scaled_coefs, expected.scaled_coefs, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(found.losses, expected.losses, rtol=1e-12)
    assert found.statuses == expected.statuses


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("penalty", ["l1", "mcp", "steps(rounds=10)"])
def test_a_path_on_the_cluster_is_the_path_here(
    kind: str, penalty: str, client: Client, stores: dict[str, Path]
) -> None:
    data = sr.read(stores[kind])
    assert len(data.X.parts) > 2
    assert_equal(sr.fit_path(data, penalty, client=client, **OPTIONS), sr.fit_path(data, penalty, **OPTIONS))


def test_the_number_of_workers_changes_no_bit(client: Client, stores: dict[str, Path]) -> None:
    data = sr.read(stores["dense"])
    two = sr.fit_path(data, "l1", client=client, **OPTIONS)
    with LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address=None) as small, Client(small) as one:
        np.testing.assert_array_equal(sr.fit_path(data, "l1", client=one, **OPTIONS).coefs, two.coefs)
    with LocalCluster(n_workers=7, threads_per_worker=1, dashboard_address=None) as large, Client(large) as many:
        many.wait_for_workers(7, timeout=120)
        assert len(data.X.parts) < 7  # workers without data
        np.testing.assert_array_equal(sr.fit_path(data, "l1", client=many, **OPTIONS).coefs, two.coefs)


SELECT: dict[str, Any] = {"penalties": ["l1", "log"], "n_alphas": 8, "cv": 3, "half_samples": 4}


@pytest.mark.parametrize("kind", ["dense", "csr"])
def test_selection_on_the_cluster(kind: str, client: Client, stores: dict[str, Path], tmp_path: Path) -> None:
    data = sr.read(stores[kind])
    options = {**SELECT, "penalties": ["l1", "steps(rounds=10, draws=1)"], "feature_transform": ["none", "distilled"]}
    there = sr.select(data, client=client, out=tmp_path / "run", **options)
    here = sr.select(data, **options)
    for kind_of in ("steps", "distilled"):
        means = [{c.mean for c in r.choice.candidates if c.penalty.startswith(kind_of)} for r in (there, here)]
        assert means[0]
        np.testing.assert_allclose(*map(sorted, means), rtol=1e-9)
    assert there.sentence == here.sentence
    np.testing.assert_allclose(there.model.coef, here.model.coef, rtol=1e-12, atol=1e-12)
    assert (tmp_path / "run/model.json").exists()


def test_fits_on_the_cluster(client: Client, cluster: LocalCluster, stores: dict[str, Path], tmp_path: Path) -> None:
    data = sr.read(stores["dense"])
    there, here = (sr.SparseRanker(alpha_ratio=0.1).fit_dataset(data, client=c) for c in (client, None))
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-12, atol=1e-12)
    assert not hasattr(there, "_client")
    for name, more in (("a", ["--scheduler", cluster.scheduler_address]), ("b", [])):
        command = [
            sys.executable,
            "-m",
            "sparserank",
            "fit",
            str(stores["dense"]),
            "--out",
            str(tmp_path / name),
            *more,
        ]
        subprocess.run(command, check=True, capture_output=True)
    first, second = (sr.load_model(tmp_path / name) for name in "ab")
    np.testing.assert_allclose(first.coef, second.coef, rtol=1e-12, atol=1e-12)


def killing(cluster: LocalCluster, after_s: float) -> threading.Thread:
    """kill -9 of a worker in a while."""
    victim = next(iter(cluster.workers.values())).process.process.pid

    def strike() -> None:
        time.sleep(after_s)
        os.kill(victim, signal.SIGKILL)

    thread = threading.Thread(target=strike)
    thread.start()
    return thread


@pytest.mark.parametrize("after_s", [0.1, 0.6, 1.5])
@pytest.mark.parametrize("what", ["path", "select"])
def test_a_killed_worker_changes_nothing(what: str, after_s: float, stores: dict[str, Path]) -> None:
    data = sr.read(stores["dense"])
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as fresh, Client(fresh) as client:
        client.wait_for_workers(2, timeout=60)
        thread = killing(fresh, after_s)
        if what == "path":
            found = sr.fit_path(data, "mcp", client=client, n_alphas=60, tol=1e-8)
            thread.join()
            assert_equal(found, sr.fit_path(data, "mcp", n_alphas=60, tol=1e-8))
        else:
            there = sr.select(data, client=client, **SELECT)
            thread.join()
            here = sr.select(data, **SELECT)
            assert there.sentence == here.sentence
            np.testing.assert_allclose(there.model.coef, here.model.coef, rtol=1e-12, atol=1e-12)


def test_a_shard_that_was_made_again_is_told_its_weights_again(stores: dict[str, Path]) -> None:
    data = sr.read(stores["dense"])
    weight = np.random.default_rng(1).uniform(0.5, 2.0, data.n_queries)
    w = np.random.default_rng(0).standard_normal(30)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as fresh, Client(fresh) as client:
        client.wait_for_workers(2, timeout=60)
        objective = sr.solvers.PairwiseObjective(data, query_weight=weight, client=client)
        before = objective.value_and_gradient(w)
        rounds = objective.shards.n_rounds
        workers = client.nthreads().keys()
        killing(fresh, 0.0).join()
        deadline = time.monotonic() + 60
        while workers <= client.nthreads().keys() and time.monotonic() < deadline:
            time.sleep(0.05)  # until the scheduler knows
        again = objective.value_and_gradient(w)
        assert isinstance(objective.shards, DaskShards)
        assert objective.shards.n_rounds == rounds + 2  # one that found them untold
    expected = sr.solvers.PairwiseObjective(data, query_weight=weight).value_and_gradient(w)
    for value, gradient in (before, again):
        assert value == pytest.approx(expected[0], rel=1e-12)
        np.testing.assert_allclose(gradient, expected[1], rtol=1e-12, atol=1e-15)


def test_labels_may_differ_from_the_store_and_weights_are_refused(client: Client, stores: dict[str, Path]) -> None:
    data = sr.read(stores["dense"])
    other = dataclasses.replace(data, relevance=data.relevance[::-1])
    w = np.ones(data.n_features)
    there, here, same = (
        sr.solvers.PairwiseObjective(d, client=c).value_and_gradient(w)
        for d, c in ((other, client), (other, None), (data, client))
    )
    np.testing.assert_allclose(there[1], here[1], rtol=1e-12, atol=1e-15)
    assert there[0] != same[0]
    with pytest.raises(DataError, match="document weights must be those of the store"):
        sr.solvers.PairwiseObjective(data, doc_weight=np.full(data.n_docs, 2.0), client=client)


def test_ties_are_broken_by_document_ids_there_too(client: Client, tmp_path: Path) -> None:
    X = np.round(np.array(DATA.X))
    ids = np.random.default_rng(0).permutation(DATA.n_docs)
    tied = sr.RankingDataset(X, DATA.relevance, DATA.qid, [f"d{i:05d}" for i in ids])
    sr.write_letor(tied, tmp_path / "a.txt")
    sr.convert([tmp_path / "a.txt"], tmp_path / "s", Reading(dtype="float64"), shard_bytes=500_000)
    data = sr.read(tmp_path / "s")
    there, here = (sr.select(data, client=c, convention="trec", metric="ndcg@3", **SELECT) for c in (client, None))
    assert there.sentence == here.sentence


def test_a_store_that_is_written_anew_is_not_mixed_with_the_old_one(client: Client, tmp_path: Path) -> None:
    w = np.random.default_rng(0).standard_normal(30)
    values = []
    for seed in (1, 2):
        sr.write_letor(
            sr.datasets.make_ranking(40, (5, 20), 30, n_informative=6, noise=0.5, random_state=seed).data,
            tmp_path / "a.txt",
        )
        sr.convert([tmp_path / "a.txt"], tmp_path / "s", Reading(dtype="float64"), restart=True)
        data = sr.read(tmp_path / "s")
        kept = sr.solvers.PairwiseObjective(data, client=client)
        values.append((kept.value_and_gradient(w)[0], sr.solvers.PairwiseObjective(data).value_and_gradient(w)[0]))
    for there, here in values:
        assert there == pytest.approx(here, rel=1e-12)
    assert values[0][0] != values[1][0]


def test_an_objective_may_outlive_its_client(cluster: LocalCluster, stores: dict[str, Path]) -> None:
    code = (
        "import sys, sparserank as sr; from distributed import Client\n"
        "with Client(sys.argv[1]) as c: o = sr.solvers.PairwiseObjective(sr.read(sys.argv[2]), client=c); "
        "o.value_and_gradient([0.0] * 30)\n"
        "del o"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, cluster.scheduler_address, str(stores["dense"])],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "Traceback" not in done.stderr


def test_the_command_line_finds_its_scheduler(cluster: LocalCluster, stores: dict[str, Path], tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "sparserank",
        "select",
        str(stores["dense"]),
        "--penalty",
        "l1",
        "--n-alphas",
        "6",
        "--folds",
        "2",
        "--half-samples",
        "0",
    ]
    there = subprocess.run(
        [*command, "--out", str(tmp_path / "a"), "--scheduler", cluster.scheduler_address],
        capture_output=True,
        text=True,
        check=False,
    )
    assert there.returncode == 0, there.stderr
    here = subprocess.run([*command, "--out", str(tmp_path / "b")], capture_output=True, text=True, check=False)
    assert here.returncode == 0, here.stderr
    first, second = (sr.load_model(tmp_path / name / "model.json") for name in "ab")
    np.testing.assert_allclose(first.coef, second.coef, rtol=1e-12, atol=1e-12)
    nowhere = subprocess.run(
        [*command, "--out", str(tmp_path / "c"), "--scheduler", "tcp://127.0.0.1:1"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert nowhere.returncode == 1
    assert "no scheduler answers at tcp://127.0.0.1:1" in nowhere.stderr
    assert "Traceback" not in nowhere.stderr


def test_a_killed_client_goes_on(cluster: LocalCluster, stores: dict[str, Path], tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "sparserank",
        "select",
        str(stores["dense"]),
        "--penalty",
        "l1",
        "--penalty",
        "mcp",
        "--n-alphas",
        "30",
        "--folds",
        "3",
        "--out",
        str(tmp_path / "run"),
        "--scheduler",
        cluster.scheduler_address,
    ]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while not list((tmp_path / "run").glob("arrays/*")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.05)
    process.kill()
    process.wait()
    again = subprocess.run(command, capture_output=True, text=True, check=False)
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "run/model.json").exists()


def test_a_web_server_is_no_scheduler() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen(8)

        def greet() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection:
                        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
                        time.sleep(0.2)

        threading.Thread(target=greet, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with pytest.raises(DataError, match=f"no scheduler answers at {address}"):
            connect(address)
