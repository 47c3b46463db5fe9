"""Jobs that users start: a plan, the engine and the result files."""
