"""The report of `sparserank demo`, a page of the site as the command writes it, made when the site is built.

`python -m site_pages.report` in docs/ makes it and, with Chromium, the picture of its head for README.md.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import sparserank

DOCS = Path(__file__).parents[1]
NAME = "demo-report.html"
LINK = f'The whole page is <a href="{NAME}">part of this site</a>.'  # for pages beside it
SIZE = "1240,720"


def write(folder: Path) -> Path:
    """Run the demo and put its report into the folder, unless one is there that is newer than every file of the
    package."""
    target = folder / NAME
    files = Path(sparserank.__file__).parent.rglob("*")
    newest = max(file.stat().st_mtime for file in files if file.suffix in (".py", ".j2", ".js", ".css"))
    if target.is_file() and target.stat().st_mtime > newest:
        return target
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "sparserank", "demo", "--out", "demo-run"]
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"sparserank demo ended with {done.returncode}: {done.stderr}")
        page = Path(place, "demo-run/run/report.html").read_text(encoding="utf-8")
    folder.mkdir(exist_ok=True)
    target.write_text(page, encoding="utf-8")
    return target


def take_picture(page: Path, to: Path) -> None:
    """The head of a page, as a window of SIZE shows it."""
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command = ["chromium", *options, f"--window-size={SIZE}", f"--screenshot={to}", page.as_uri()]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    take_picture(write(DOCS / "demo"), DOCS / "_static/report.png")
