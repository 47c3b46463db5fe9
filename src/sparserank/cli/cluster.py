"""Connection to the cluster that --scheduler names."""

from __future__ import annotations

from typing import Any


def client_of(scheduler: str | None) -> Any:
    """A client of the cluster that --scheduler names, or None."""
    if scheduler is None:
        return None
    from sparserank.cli.screen import note
    from sparserank.shards.dask import connect

    client = connect(scheduler)
    _quieten("distributed")  # whose import sets the levels; what matters of it is said in one sentence
    note(f"{len(client.nthreads())} workers at {scheduler}; dashboard: {client.dashboard_link}")
    return client


def _quieten(package: str) -> None:
    """Silence every logger of a package, because each may have a separate level."""
    import logging

    for name in [package, *logging.root.manager.loggerDict]:
        if name.partition(".")[0] == package:
            logging.getLogger(name).setLevel(logging.CRITICAL)
