"""Entry point of `sparserank` and `python -m sparserank`; interrupts end it quietly even during slow imports."""

from __future__ import annotations

from sparserank.cli.interrupts import leave_on_signals


def main() -> None:
    leave_on_signals()
    from sparserank.cli.app import main as run

    run()


if __name__ == "__main__":
    main()
