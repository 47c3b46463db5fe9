"""Presentation of results: terminal output, HTML pages, and their tables and pictures."""
