"""`python -m sparserank`."""

from sparserank.cli.app import main

main()
