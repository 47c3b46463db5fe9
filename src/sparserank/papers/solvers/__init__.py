"""The papers' own algorithms."""
