"""Steps of PyTerrier pipelines: `SparseLTR`, a ranker, and `SparseFusion`, a weighted sum of retrievers."""

from __future__ import annotations

from sparserank.pyterrier.fusion import SparseFusion
from sparserank.pyterrier.ltr import SparseLTR

__all__ = ["SparseFusion", "SparseLTR"]
