"""The papers' tables and figures, next to our results."""
