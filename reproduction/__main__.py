"""Entry point of `python -m reproduction`; interrupts are quiet from before the first import that takes time."""

from __future__ import annotations

from sparserank.cli.interrupts import leave_on_signals


def main() -> None:
    leave_on_signals()
    from reproduction.app import app
    from sparserank.cli.app import main as run

    run(app)


if __name__ == "__main__":
    main()
