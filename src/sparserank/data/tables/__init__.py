"""Tables: Parquet, CSV, Arrow files, data frames."""
