"""The pages of `select`, `fuse` and `--for-model` in headless Chromium: nothing asked for, nothing in the
console, nothing cut or overlapping, on a phone and on a desk, light and dark and on paper."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from chromium import Browser, Visit, program, running

import sparserank as sr

PHONE, DESK = 390, 1280
LONG = "a_feature_whose_name_somebody_made_longer_than_any_column_" * 3
HOSTILE = ("<script>throw 1</script>", "<img src=http://127.0.0.1:9/x>", "$x_1$ & \x1b[31m")
PAGES = ("select", "steps", "fuse", "for_model")
RETRIEVERS = ("bm25", LONG[:90].replace("feature", "run"), "dense")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = program()
    if found is None:
        if os.environ.get("SPARSERANK_REQUIRE_BROWSER"):
            pytest.fail("needs Chromium (Debian's package chromium)")
        pytest.skip("Chromium is not installed")
    with running(found) as started:
        yield started


@pytest.fixture(scope="module")
def pages(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Each page as its command writes it, of features and documents with long and hostile names."""
    folder = tmp_path_factory.mktemp("pages")
    made = sr.datasets.make_ranking(90, (8, 14), 14, n_informative=6, n_redundant=3, noise=0.6, random_state=2).data
    own = sorted(made.feature_names or (), key=lambda name: not name.startswith("signal"))
    columns = [list(made.feature_names or ()).index(name) for name in own]
    names = [LONG, *HOSTILE, *own[len(HOSTILE) + 1 :]]
    frame = pd.DataFrame(np.exp(0.5 * made.X[:, columns]), columns=names).assign(
        label=made.relevance.astype(int),
        qid=made.qid,
        docno=[f"{HOSTILE[i % 3]}{LONG[:40]}{i}" for i in range(made.n_docs)],
    )
    last = frame["qid"] > sorted(set(frame["qid"]))[59]
    frame[~last].to_parquet(folder / "train.parquet")
    frame[last].to_parquet(folder / "test.parquet")
    for name, column in zip(RETRIEVERS, made.X.T, strict=False):
        lists = pd.DataFrame({"qid": made.qid, "docno": [f"d{i}" for i in range(made.n_docs)], "score": column})
        lists = lists.sort_values(["qid", "score"], ascending=[True, False]).groupby("qid").head(6)
        rank = lists.groupby("qid").cumcount() + 1
        rows = zip(lists["qid"], lists["docno"], rank, lists["score"], strict=True)
        (folder / f"{name}.run").write_text("".join(f"{q} Q0 {d} {r} {s} t\n" for q, d, r, s in rows))
    judged = zip(made.qid, range(made.n_docs), made.relevance.astype(int), strict=True)
    (folder / "judged.qrels").write_text("".join(f"{q} 0 d{i} {grade}\n" for q, i, grade in judged))
    quick = ("--folds", "2", "--seed", "1")
    commands = {
        "select": ("select", "train.parquet", "--test", "test.parquet", "--n-alphas", "15", *quick),
        "steps": ("select", "train.parquet", "--penalty", "steps", "--n-alphas", "10", *quick),
        "fuse": ("fuse", *(f"{name}.run" for name in RETRIEVERS), "--qrels", "judged.qrels", *quick),
        "for_model": (
            "select",
            "train.parquet",
            "--test",
            "test.parquet",
            "--for-model",
            "lightgbm",
            *quick,
        ),
    }
    for name, command in commands.items():
        call = [sys.executable, "-m", "sparserank", *command, "--out", name]
        done = subprocess.run(call, cwd=folder, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    return {name: folder / name / "report.html" for name in PAGES}


def faults(visit: Visit, width: int) -> dict[str, object]:
    """What is wrong with a page, by kind."""
    found = {
        "requests": visit.requests,
        "messages": visit.messages,
        "overflow": visit.width if visit.width > width else 0,
        "cut": visit.cut,
        "collided": visit.collided,
    }
    return {kind: what for kind, what in found.items() if what}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_whole_and_alone(
    browser: Browser, pages: dict[str, Path], name: str, width: int, dark: bool, tmp_path: Path
) -> None:
    for opened in (False, True):
        visit = browser.visit(pages[name], width, dark=dark, opened=opened)
        assert faults(visit, width) == {}
    assert browser.value("document.querySelectorAll('table').length") >= 2
    assert browser.value("document.querySelectorAll('figure svg').length") >= 1
    background, text = (
        sum(map(int, browser.value(f"getComputedStyle(document.body).{what}").strip("rgb()").split(",")))
        for what in ("backgroundColor", "color")
    )
    assert (background < text) is dark
    ink = browser.value("getComputedStyle(document.querySelector('figure svg text')).fill")
    assert (sum(map(int, ink.strip("rgb()").split(","))) > 3 * 128) is dark  # figures follow
    browser.screenshot(tmp_path / "page.png")
    assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")


PROSE = """[...document.querySelectorAll('header p, header li')].filter(e => e.checkVisibility() &&
  !e.closest('figure, .chips, nav') && !e.querySelector('code') && e.getBoundingClientRect().top < innerHeight)
  .map(e => Math.round(e.getBoundingClientRect().height / parseFloat(getComputedStyle(e).lineHeight)))"""


@pytest.mark.parametrize("name", PAGES)
def test_the_first_screen_is_a_heading_of_one_line_few_sentences_and_a_picture(
    browser: Browser, pages: dict[str, Path], name: str
) -> None:
    browser.visit(pages[name], DESK, opened=False)
    heading = "document.querySelector('h1')"
    assert len(browser.value(f"{heading}.textContent")) <= 60
    lines = f"{heading}.getBoundingClientRect().height / parseFloat(getComputedStyle({heading}).lineHeight)"
    assert round(browser.value(lines)) == 1
    prose = browser.value(PROSE)
    assert 1 <= sum(prose) <= 5
    if name in ("select", "steps", "fuse"):
        top = browser.value("document.querySelector('figure svg').getBoundingClientRect().top")
        assert top < 350
        # What is said of uncertainty is a table, closed at first.
        sure = "[...document.querySelectorAll('details')].find(d => d.textContent.startsWith('How sure'))"
        assert browser.value(f"{sure}.open") is False
        head = browser.value(f"[...{sure}.querySelectorAll('thead th')].map(c => c.textContent)")
        assert head == ["claim", "figure", "what it means"]


def test_on_the_page_of_a_fusion_a_retriever_is_called_so(browser: Browser, pages: dict[str, Path]) -> None:
    browser.visit(pages["fuse"], DESK)
    text = browser.value("document.body.textContent")
    text = text.replace(browser.value("document.querySelector('.explorer script').textContent"), "")
    assert "feature" not in text.replace(browser.value("document.querySelector('.explorer + script').textContent"), "")
    for norm in ("rrf", "minmax", "zscore"):
        assert f":{norm}" not in text
    assert "retriever" in text


def test_names_of_other_people_are_shown_whole(browser: Browser, pages: dict[str, Path]) -> None:
    browser.visit(pages["select"], PHONE)
    text = browser.value("document.body.textContent")
    for name in ("<script>throw 1</script>", "<img src=http://127.0.0.1:9/x>", r"$x_1$ & \x1b[31m", LONG):
        assert name in text


def test_wide_tables_scroll_in_boxes_that_the_keyboard_reaches(browser: Browser, pages: dict[str, Path]) -> None:
    browser.visit(pages["select"], PHONE)
    wide = "[...document.querySelectorAll('.scroll')].filter(box => box.scrollWidth > box.clientWidth)"
    assert browser.value(f"{wide}.length") > 3
    assert browser.value(f"{wide}.every(box => (box.scrollLeft = 1e6, box.scrollLeft > 0) && box.tabIndex === 0)")


def shown_on_paper(browser: Browser, page: Path) -> list[bool]:
    """Of each folded table, whether it is printed."""
    browser.visit(page, DESK, dark=True, opened=False)
    browser.call(
        "Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}]
    )
    return browser.value(
        "[...document.querySelectorAll('details table')].map(t => t.checkVisibility({contentVisibilityAuto: true}) && "
        "t.getBoundingClientRect().height > 0)"
    )


def test_paper_is_white_and_shows_what_is_folded(browser: Browser, pages: dict[str, Path], tmp_path: Path) -> None:
    shown = shown_on_paper(browser, pages["select"])
    assert len(shown) > 5
    assert all(shown)
    assert browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert browser.value("getComputedStyle(document.querySelector('nav')).display") == "none"
    browser.printed(tmp_path / "page.pdf")
    assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
    without = tmp_path / "folded.html"
    without.write_text(pages["select"].read_text().replace("details::details-content", "details::nothing"))
    assert not any(shown_on_paper(browser, without)[1:])  # the first, the matrix of sizes, is open from the start


A4 = (680, 1009)  # pixels of a sheet within its margins


def test_the_first_sheet_of_paper_is_enough_to_decide(browser: Browser, tmp_path: Path) -> None:
    """The heading, the picture and the model in words; what is for those who compute begins on the next sheet."""
    data = sr.datasets.make_ranking(80, (8, 14), 14, n_informative=9, random_state=3).data
    result = sr.select(data, penalties="l1", cv=3, half_samples=0, rival="none")
    assert result.chosen.n_features >= 6
    result.report(tmp_path / "page.html")
    browser.visit(tmp_path / "page.html", A4[0])
    browser.call("Emulation.setEmulatedMedia", media="print")
    words = "[...document.querySelectorAll('details')].find(d => d.textContent.includes('in words'))"
    assert browser.value(f"document.querySelector('.explorer figure').compareDocumentPosition({words}) & 4")
    assert browser.value(f"{words}.querySelectorAll('p').length") > 0
    assert browser.value(f"{words}.getBoundingClientRect().bottom") <= A4[1]
    assert browser.value(f"{words}.compareDocumentPosition(document.querySelector('.grid')) & 4")
    assert browser.value("getComputedStyle(document.querySelector('.grid')).breakBefore") == "page"


FAULTY = {
    "requests": '<img src="http://127.0.0.1:9/picture.png">',
    "messages": "<script>console.error('wrong')</script>",
    "overflow": '<div style="width: 1400px; background: red">wide</div>',
    "cut": '<div style="overflow: hidden"><p style="width: 3000px; text-align: right">beyond the window</p></div>',
    "collided": (
        '<figure><svg width="100" height="50"><text x="5" y="20">one</text><text x="6" y="21">two</text></svg></figure>'
    ),
}


@pytest.mark.parametrize("width", [PHONE, DESK])
@pytest.mark.parametrize("kind", FAULTY)
def test_each_fault_is_found(browser: Browser, tmp_path: Path, kind: str, width: int) -> None:
    page = tmp_path / "faulty.html"
    head = (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, '
        'initial-scale=1"><link rel="icon" href="data:,"><title>t</title></head>'
    )
    page.write_text(f"{head}<body><p>text</p></body></html>")
    assert faults(browser.visit(page, width), width) == {}
    page.write_text(f"{head}<body><p>text</p>{FAULTY[kind]}</body></html>")
    assert kind in faults(browser.visit(page, width), width)


@pytest.mark.parametrize(
    "fault",
    [
        "<script>throw new Error('thrown')</script>",
        "<style>@import 'http://127.0.0.1:9/a.css'</style>",
        "<script>fetch('http://127.0.0.1:9/')</script>",
    ],
)
def test_exceptions_and_requests_of_scripts_and_styles_are_found(browser: Browser, tmp_path: Path, fault: str) -> None:
    page = tmp_path / "faulty.html"
    page.write_text(f"<!doctype html><title>t</title><p>text</p>{fault}")
    found = faults(browser.visit(page, DESK), DESK)
    assert ("messages" if "throw" in fault else "requests") in found


def test_the_slider_shows_every_size(browser: Browser, pages: dict[str, Path]) -> None:
    """At both widths and in both colours; what it says is what the page's data say, and the console is silent."""
    move = (
        "(i => {const s = document.querySelector('.explorer input'); s.value = i; s.dispatchEvent(new Event('input'))})"
    )
    for width, dark in ((PHONE, True), (DESK, False)):
        browser.visit(pages["select"], width, dark=dark)
        facts = json.loads(browser.value("document.querySelector('.explorer script').textContent"))
        assert browser.value("!document.querySelector('.slide').hidden")
        chosen = set(facts["sizes"][facts["chosen"]]["features"])
        for i, size in enumerate(facts["sizes"]):
            browser.value(f"{move}({i})")
            assert browser.value("document.querySelector('.at').textContent") == size["title"] + size["worth"]
            assert browser.value("document.querySelector('.explorer code').textContent") == size["command"]
            assert not size["command"] or " select" in size["command"] or " export select" in size["command"]
            chips = browser.value("[...document.querySelectorAll('.chips li')].map(c => [c.className, c.textContent])")
            own = set(size["features"])
            names, lost = facts["names"], dict(zip(size["features"], size["lost"], strict=False))
            shown = {f: f"{names[f]} {lost[f]}" if f in lost else names[f] for f in own | chosen}
            assert {n for kind, n in chips if kind == "leave"} == {shown[f] for f in chosen - own}
            assert {n for kind, n in chips if kind == "enter"} == {shown[f] for f in own - chosen}
            assert len(chips) == len(own | chosen)
            for k, found in enumerate(size["beside"]):
                figure = f"document.querySelectorAll('.beside figure')[{k}]"
                assert browser.value(f"{figure}.querySelector('.said').textContent") == found["said"]
                assert browser.value(f"{figure}.querySelector('.won').getAttribute('d')") == found["won"]
                assert browser.value(f"{figure}.querySelector('.lost').getAttribute('d')") == found["lost"]
            marked = browser.value(
                "[...document.querySelectorAll('.matrix tr')].map(r => [...r.cells].findIndex(c => c.matches('.now')))"
            )
            assert set(marked) == {i + 1}
            assert browser.value("document.documentElement.scrollWidth") <= width
        assert browser.value("document.querySelector('.explorer input').getAttribute('aria-valuetext')") == (
            facts["sizes"][-1]["title"] + facts["sizes"][-1]["worth"]
        )
        browser.value("dispatchEvent(new Event('beforeprint'))")  # paper has the chosen size
        assert browser.value("+document.querySelector('.explorer input').value") == facts["chosen"]
