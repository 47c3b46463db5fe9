"""Selections, fits and fusions: front ends, plans, jobs, results and the sentences about them."""
