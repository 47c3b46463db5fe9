"""SQL databases of the tests: PostgreSQL, ClickHouse, DuckDB and SQLite, each with tables of the same rows."""

from __future__ import annotations

import os
import pwd
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from servers import unavailable

# {kind of a column: type of Arrow, of most databases, of ClickHouse}
TYPES = {
    "number": (pa.float64(), "DOUBLE PRECISION", "Float64"),
    "whole": (pa.int64(), "BIGINT", "Int64"),
    "small": (pa.int16(), "SMALLINT", "Int16"),
    "decimal": (pa.decimal128(20, 3), "DECIMAL(20, 3)", "Decimal(20, 3)"),
    "boolean": (pa.bool_(), "BOOLEAN", "Bool"),
    "text": (pa.string(), "TEXT", "String"),
}
NAMES = ("PostgreSQL", "ClickHouse", "DuckDB", "SQLite")


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


class Database:
    """A database with a connection of Python's database interface."""

    name = "SQLite"
    place = "?"  # of a value in a query

    def __init__(self, connection: Any, version: str) -> None:
        self.connection, self.version = connection, version

    def run(self, query: str) -> list[tuple[Any, ...]]:
        """The rows of a query."""
        return list(self.connection.execute(query).fetchall())

    def table(self, name: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> None:
        """Make a table, in place of the one that has the name: {column: its kind}."""
        listed = ", ".join(f"{quoted(column)} {TYPES[kind][1]}" for column, kind in columns.items())
        self.connection.execute(f"DROP TABLE IF EXISTS {name}")
        self.connection.execute(f"CREATE TABLE {name} ({listed})")
        self.insert(name, columns, rows)

    def insert(self, name: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> None:
        holders = ", ".join([self.place] * len(columns))
        cursor = self.connection.cursor()
        cursor.executemany(f"INSERT INTO {name} VALUES ({holders})", list(map(tuple, rows)))


class PostgreSQL(Database):
    name = "PostgreSQL"
    place = "%s"


class DuckDB(Database):
    """DuckDB, which reads tables from Parquet files; row by row is slow there."""

    name = "DuckDB"

    def __init__(self, connection: Any, version: str, folder: Path) -> None:
        super().__init__(connection, version)
        self.file = folder / "rows.parquet"

    def write(self, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> None:
        values = list(zip(*rows, strict=True))
        kinds = [TYPES[kind][0] for kind in columns.values()]
        arrays = [pa.array(list(v), kind) for v, kind in zip(values, kinds, strict=True)]
        pq.write_table(pa.Table.from_arrays(arrays, names=list(columns)), self.file)

    def insert(self, name: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> None:
        self.write(columns, rows)
        self.run(f"INSERT INTO {name} SELECT * FROM '{self.file}'")


class ClickHouse(DuckDB):
    """ClickHouse in this process."""

    name = "ClickHouse"

    def run(self, query: str) -> list[tuple[Any, ...]]:
        answer = self.connection.query(query, "Arrow").bytes()
        return [tuple(row.values()) for row in pa.ipc.open_file(answer).read_all().to_pylist()] if answer else []

    def table(self, name: str, columns: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> None:
        listed = ", ".join(f"{quoted(column)} Nullable({TYPES[kind][2]})" for column, kind in columns.items())
        self.write(columns, rows)
        self.connection.query(f"DROP TABLE IF EXISTS {name}")
        self.connection.query(f"CREATE TABLE {name} ({listed}) ENGINE = MergeTree ORDER BY tuple()")
        self.connection.query(f"INSERT INTO {name} SELECT * FROM file('{self.file}', 'Parquet')")


def programs() -> Path:
    """The folder of PostgreSQL's programs, of Debian's package or on the path."""
    debian = [*Path("/usr/lib/postgresql").glob("*/bin")]
    newest = sorted(debian, key=lambda folder: int(folder.parent.name))
    on_path = shutil.which("initdb")
    folders = [*([Path(on_path).parent] if on_path else []), *newest[::-1]]
    found = next((folder for folder in folders if (folder / "initdb").exists()), None)
    return found or unavailable("PostgreSQL is not installed (apt-get install postgresql)")


@contextmanager
def postgresql() -> Iterator[Database]:
    """A server in a folder of its own, on a socket in this folder, which is ended in the end. It refuses to run as
    root, and then runs as nobody."""
    try:
        import psycopg
    except ImportError:
        unavailable("psycopg is not installed (pip install 'psycopg[binary]')")
    bin_folder, folder = programs(), Path(tempfile.mkdtemp(prefix="sr-pg-"))
    unprivileged: dict[str, Any] = {"cwd": folder}
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        unprivileged |= {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    made = [bin_folder / "initdb", "-D", folder / "data", "-U", "tests", "-A", "trust", "-E", "UTF8", "--no-sync"]
    served = [
        bin_folder / "postgres",
        "-D",
        folder / "data",
        "-k",
        folder,
        "-c",
        "listen_addresses=",
        "-c",
        "fsync=off",
    ]
    log = folder / "server.log"
    try:
        subprocess.run([*made, "--locale=C.UTF-8"], check=True, capture_output=True, **unprivileged)
        with log.open("w") as told, subprocess.Popen(served, stdout=told, stderr=told, **unprivileged) as process:
            try:
                yield from _connected(psycopg, folder, process)
            finally:
                process.terminate()
    finally:
        shutil.rmtree(folder)


def _connected(psycopg: Any, folder: Path, process: subprocess.Popen) -> Iterator[Database]:
    """The server, once it answers; within half a minute."""
    until = time.monotonic() + 30
    while True:
        try:
            connection = psycopg.connect(host=str(folder), user="tests", dbname="postgres", autocommit=True)
            break
        except psycopg.OperationalError:
            assert process.poll() is None, (folder / "server.log").read_text()[-4000:]
            assert time.monotonic() < until, (folder / "server.log").read_text()[-4000:]
            time.sleep(0.05)
    with closing(connection):
        ((version,),) = connection.execute("SHOW server_version").fetchall()
        yield PostgreSQL(connection, version.split()[0])


@contextmanager
def clickhouse(folder: Path) -> Iterator[Database]:
    try:
        from chdb.session import Session
    except ImportError:
        unavailable("chdb is not installed (pip install chdb)")
    with closing(Session()) as session:
        session.query("CREATE DATABASE tests")
        session.query("USE tests")
        ((version,),) = ClickHouse(session, "", folder).run("SELECT version()")
        yield ClickHouse(session, version.decode() if isinstance(version, bytes) else version, folder)


@contextmanager
def duckdb(folder: Path) -> Iterator[Database]:
    import duckdb

    with closing(duckdb.connect()) as connection:
        yield DuckDB(connection, duckdb.__version__, folder)


@contextmanager
def sqlite() -> Iterator[Database]:
    with closing(sqlite3.connect(":memory:")) as connection:
        yield Database(connection, sqlite3.sqlite_version)


@contextmanager
def database(name: str, folder: Path) -> Iterator[Database]:
    """One of NAMES; a folder for its files."""
    opened = {"PostgreSQL": postgresql, "SQLite": sqlite}.get(name)
    with opened() if opened else {"ClickHouse": clickhouse, "DuckDB": duckdb}[name](folder) as running:
        yield running
