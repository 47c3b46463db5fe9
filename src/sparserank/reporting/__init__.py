"""Sections of tables and pictures, rendered as text, CSV, Markdown and HTML; independent of ranking."""
