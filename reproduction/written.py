"""Tables and pictures of an experiment as files: Markdown, CSV and SVG."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sparserank.files import atomic_write
from sparserank.report.document import Section

DRAWN_HERE = "<!-- drawn by sparserank -->\n"


def to_markdown(title: str, intro: str, sections: Sequence[Section], pictures: str, preface: str = "") -> str:
    """Render Markdown; pictures are links to files in the folder `pictures`, and `preface` precedes the tables."""
    parts = [f"# {title}", "", intro, "", *([preface.strip(), ""] if preface else [])]
    for s in sections:
        parts += [f"## {s.title}", "", *([s.text, ""] if s.text else [])]
        for t in s.tables:
            parts += [f"### {t.title}", "", *([t.note, ""] if t.note else [])]
            if t.rows:
                lines = [t.columns, *t.rows]
                head, *rows = ["| " + " | ".join(map(_cell, line)) + " |" for line in lines]
                parts += [head, "|---" + "|---:" * (len(t.columns) - 1) + "|", *rows, ""]
        for p in s.pictures:
            parts += [f"![{p.caption}]({pictures}/{p.name}.svg)", "", f"*{p.caption}*", ""]
    return "\n".join(parts)


def _cell(text: str) -> str:
    return text.replace(" | ", " / ").replace("|", "\\|").replace("~", "\\~").replace("*", "\\*")


def write_text(path: Path, text: str) -> Path:
    with atomic_write(path) as out:
        out.write(text)
    return path


def write_picture(path: Path, svg: str) -> Path:
    """Write a picture as a separate SVG file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return write_text(path, DRAWN_HERE + svg)


def write_csv(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    return write_text(path, csv_text(rows))


def csv_text(rows: Sequence[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, list(dict.fromkeys(key for row in rows for key in row)), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()
