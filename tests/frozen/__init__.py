"""Thirty reference runs whose coefficients, out-of-fold values and bounds two versions of the package must share.

`python -m tests.frozen --against COMMIT` runs them by the code of both versions on this machine, for bits are those of
a processor and of its libraries, and names every array that differs. They need $SPARSERANK_DATA, LightGBM and Dask (the
environment of `make test-integrations`).
"""
