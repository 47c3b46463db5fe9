"""Sections of tables and pictures, and how they become text, CSV, Markdown and HTML; nothing of ranking."""
