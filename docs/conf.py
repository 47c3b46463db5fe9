"""Sphinx settings: Markdown in, pages out that ask nothing of any other machine."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import sparserank  # noqa: E402
from site_pages import api, commands, files, gallery, installed, report, sections  # noqa: E402

project = "sparserank"
author = "the sparserank developers"
version = release = sparserank.__version__

extensions = ["myst_parser"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
highlight_language = "text"
smartquotes = False
add_module_names = False
python_maximum_signature_line_length = 100

html_theme = "furo"
html_title = f"sparserank {release}"
html_static_path = ["_static"]
html_extra_path = ["demo"]
html_css_files = ["site.css"]
html_show_copyright = html_show_sphinx = html_copy_source = False
html_show_search_summary = False  # it would be fetched, which pages opened from a disk may not do

MADE = {
    "demo-report": lambda: report.LINK,
    "installed": lambda: installed.table(HERE / "first-hour-transcript.md"),
}


def _expand(_app: Any, _name: str, source: list[str]) -> None:
    source[0] = sections.expanded(source[0], MADE)


def setup(app: Any) -> dict[str, bool]:
    files.write(HERE / "api", api.pages())
    files.write(HERE / "commands", {"index.md": commands.page()})
    files.write(HERE / "gallery", gallery.pages(HERE.parent / "examples"))
    report.write(HERE / "demo")
    app.connect("source-read", _expand)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
