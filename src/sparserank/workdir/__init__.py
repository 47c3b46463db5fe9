"""Resumable work: a marked and locked directory, named pieces with checksums, workers that end with their parent."""
