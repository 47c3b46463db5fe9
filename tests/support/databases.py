"""SQLite in memory."""

import sqlite3


class _Closing(sqlite3.Connection):
    def __del__(self) -> None:
        self.close()


def sqlite() -> sqlite3.Connection:
    """An empty database. It closes itself once nobody refers to it: Python 3.13 warns of open ones."""
    return sqlite3.connect(":memory:", check_same_thread=False, factory=_Closing)
