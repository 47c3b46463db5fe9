"""Tables: Parquet, CSV, Arrow files, data frames, collections of Dask."""
