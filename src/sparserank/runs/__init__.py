"""Resumable work: a marked and locked directory, named and checksummed pieces, workers that leave with their parent."""
