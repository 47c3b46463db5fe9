"""The documentation site: built with warnings as errors, every link leads somewhere,
and no page asks anything of another machine."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from chromium import Browser, Visit, program, running
from tests.support.doc_blocks import PAGES, blocks, run_page

import sparserank as sr

ROOT = Path(__file__).parents[1]
CHROMIUM = program()
DESK = 1280
LOADED = {
    "link": "href",
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
    "object": "data",
    "use": "href",
    "image": "href",
}


class Page(HTMLParser):
    """What a page loads, where it links to, and the places that may be linked to."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.loads: set[str] = set()
        self.links: set[str] = set()
        self.ids: set[str] = set()
        self.feed(text)
        self.loads |= styled(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        if LOADED.get(tag) in given and given.get("rel") not in (
            "canonical",
            "index",
            "search",
            "next",
            "prev",
            "author",
        ):
            self.loads.add(given[LOADED[tag]])
        self.loads |= {part.split()[0] for part in given.get("srcset", "").split(",") if part.strip()}


def styled(text: str) -> set[str]:
    """What style sheets, or styles within a page, load."""
    found = re.findall(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)", text)
    return {a or b for a, b in found}


def outside(target: str) -> bool:
    return target.startswith("//") or urlsplit(target).scheme not in ("", "data")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("site")
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "--fail-on-warning",
        "--keep-going",
        "--quiet",
        "-d",
        str(out / "doctrees"),
    ]
    done = subprocess.run(
        [*command, str(ROOT / "docs"), str(out / "html")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return out / "html"


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}


def test_every_page_and_every_public_name_is_there(site: Path, pages: dict[Path, Page]) -> None:
    shown = {str(path.relative_to(site).with_suffix(".md")) for path in pages}
    assert set(PAGES) <= shown
    ids = set().union(*(page.ids for path, page in pages.items() if path.parent.name == "api"))
    assert {f"sparserank.{name}" for name in sr._HOME} <= ids


def test_every_link_leads_somewhere(pages: dict[Path, Page]) -> None:
    broken = []
    for path, page in pages.items():
        for link in page.links:
            if outside(link):
                continue
            place, _, anchor = link.partition("#")
            target = (path.parent / unquote(place)).resolve() if place else path
            known = pages[target].ids if target in pages else None
            if not target.is_file() or (anchor and known is not None and unquote(anchor) not in known):
                broken.append(f"{path.name}: {link}")
    assert not broken


def test_nothing_is_loaded_from_outside(site: Path, pages: dict[Path, Page]) -> None:
    assert Page(
        '<link rel="stylesheet" href="https://fonts.example/css"><img srcset="//a.example/x.png 2x">'
    ).loads == {
        "https://fonts.example/css",
        "//a.example/x.png",
    }
    loads = {(path, target) for path, page in pages.items() for target in page.loads}
    loads |= {(path, target) for path in site.rglob("*.css") for target in styled(path.read_text(encoding="utf-8"))}
    assert len(loads) > len(pages)
    assert not [(path.name, target) for path, target in loads if outside(target)]
    local = [(path, target) for path, target in loads if not target.startswith(("data:", "#"))]
    assert not [
        (path.name, target) for path, target in local if not (path.parent / unquote(urlsplit(target).path)).is_file()
    ]


@pytest.fixture
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium: apt-get install chromium")
    with running(CHROMIUM) as started:
        yield started


def outside_of(visit: Visit) -> set[str]:
    """The addresses on other machines that a page asked for."""
    return {url for url in visit.requests if outside(url) and urlsplit(url).scheme != "file"}


def test_a_browser_asks_for_nothing_outside(browser: Browser, site: Path, tmp_path: Path) -> None:
    bad = tmp_path / "bad.html"
    bad.write_text('<script src="http://elsewhere.example/x.js"></script>', encoding="utf-8")
    assert outside_of(browser.visit(bad, DESK)) == {"http://elsewhere.example/x.js"}
    for name in ("index.html", "api/rankers.html", "scale.html"):
        visit = browser.visit(site / name, DESK)
        assert visit.requests  # its style sheets and scripts
        assert outside_of(visit) == set()
    found = "document.querySelector('#search-results a[href*=\"choosing.html\"]') !== null"
    query = "?q=within-query-std"
    assert outside_of(browser.visit(site / "search.html", DESK, query=query, until=found)) == set()
    assert browser.value(found)  # the search works from a disk


@pytest.mark.parametrize("page", [page for page in PAGES if any(block.kind == "needs" for block in blocks(page))])
def test_the_blocks_of_a_page_that_need_data_run(
    page: str, data_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After those before them, in the same name space."""
    monkeypatch.chdir(tmp_path)
    run_page(page, needs=(None, "the data sets"))
