"""A cluster of two processes, for every test that needs one; the folder of real data."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from distributed import Client, LocalCluster
from tests.conftest import data_folder, no_rivals  # noqa: F401


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as running:
        yield running


@pytest.fixture
def client(cluster: LocalCluster) -> Iterator[Client]:
    with Client(cluster) as connected:
        connected.wait_for_workers(2, timeout=60)
        yield connected
