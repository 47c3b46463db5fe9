"""The five papers: their algorithms, rankers, measures, protocol and published tables."""
