"""What users start: a plan, the engine, files."""
