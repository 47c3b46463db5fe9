"""Tables: Parquet, CSV, Arrow files, data frames, Dask collections."""
