"""The papers' tables and figures, with our results beside them."""
