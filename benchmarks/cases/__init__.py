"""Cases, one per file: `run()` prints its tables and returns a verdict per target."""
