"""Names of features, documents and files are shown as they are: never markup, mathematics or terminal commands."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import sparserank as sr
from sparserank.cli import screen
from sparserank.cli.selection_tables import show_selection
from sparserank.metrics import parse_metric
from sparserank.penalties import L1
from sparserank.report.svg import new_axes, picture_text, to_svg
from sparserank.selection.job import SelectionJob, SelectionPlan, SelectionProblem
from sparserank.selection.result_files import write_results
from sparserank.text import visible
from tests.support.command_line import Cli

HOSTILE = ["bm25[title]", "bm25[body]", "[/b]", "[bold red]x", "$\\badcmd$", "$a_b$", "$", "a$b", "_hidden", "__"]
HOSTILE += ["nolegend_", "esc\x1b[31mred", "bell\x07", "line\nbreak", "tab\tbed", "carriage\rreturn", "\x9b31mc1"]
HOSTILE += ["\u2028sep", "\u202eevil", "<script>alert(1)</script>", "a&b", "'q\"", "日本語", "naïve", "😀", "{{7*7}}"]
HOSTILE += ["%s%n", "\\", "a|b", "ok"]


def test_visible_leaves_writing_alone_and_shows_what_would_act() -> None:
    for plain in ("bm25[title]", "naïve 日本語 😀 \u0646\u200c\u062e", "a$b_c", ""):
        assert visible(plain) == plain
    assert visible("a\x1b[31m\n\u202e\ud800\x9b") == r"a\x1b[31m\n\u202e\ud800\x9b"


def test_a_table_shows_every_character_of_a_name(capsys: pytest.CaptureFixture[str]) -> None:
    names = [n for n in HOSTILE if len(n) < 30]
    screen.table("title [/i] \x1b[0m", ["name [x]", "[b]value"], [[n, "[/b]"] for n in names])
    out = capsys.readouterr().out
    for name in names:
        assert visible(name) in out
    assert "title [/i] \\x1b[0m" in out
    assert "\x1b" not in out
    assert out.count("[/b]") == len(names) + 1
    assert "[b]value" in out


@pytest.mark.usefixtures("pictures")
def test_screen_page_and_pictures_show_the_names_of_the_model(capsys, tmp_path):
    d = len(HOSTILE)
    data = sr.datasets.make_ranking(60, 15, d, n_informative=12, n_redundant=5, noise=0.2, random_state=2).data
    named = sr.RankingDataset(data.X, data.relevance, data.qid, None, HOSTILE)
    plan = SelectionPlan((L1(),), parse_metric("ndcg@10"), cv=2, margin=0.001, half_samples=10)
    result = SelectionJob(plan, SelectionProblem(named, test=named), n_threads=1).execute()
    write_results(result, tmp_path)
    show_selection(result, str(tmp_path), 60)
    features = json.loads((tmp_path / "model.json").read_text())["features"]
    assert len(features) > 8
    out = capsys.readouterr().out
    for feature in features:
        assert feature["name"] in HOSTILE
        assert visible(feature["name"])[:21] in out
    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f\x9b]", out) is None
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    pictures = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)
    assert len(pictures) == 3
    texts = [t.lstrip("\u200b") for svg in pictures for t in ET.fromstring(svg).itertext()]
    strongest = sorted(features, key=lambda f: -abs(f["coef"]))[:8]
    assert {visible(feature["name"]) for feature in strongest} <= set(texts)  # no bar is left out
    assert "<script>alert" not in page
    assert re.search("[\x00-\x08\x0b-\x1f\x7f\x9b\u202e]", page) is None


@pytest.mark.usefixtures("pictures")
@pytest.mark.parametrize("name", HOSTILE)
def test_a_picture_shows_any_name(name: str) -> None:
    figure, axes = new_axes("x", "y")
    axes.plot([0, 1], [0, 1], label=picture_text(name))
    axes.set_xticks([0], [picture_text(name)])
    axes.legend()
    texts = [t.lstrip("\u200b") for t in ET.fromstring(to_svg(figure, name)).itertext()]
    assert texts.count(visible(name)) >= 2


def test_terminal_escapes_in_files_and_their_names_are_not_printed(cli_here: Cli) -> None:
    evil = "\x1b]0;owned\x07"
    Path(f"{evil}.txt").write_text(f"1 qid:1 1:1 #docid = {evil}\n0 qid:1 1:{evil}\n")
    Path(f"ok{evil}.txt").write_text("1 qid:1 1:1\n0 qid:1 1:0\n")
    Path("names").write_text(f"{evil}\n")
    Path(f"s{evil}.txt").write_text("1\n0\n")
    for args in (
        ["inspect", f"{evil}.txt"],
        ["inspect", f"absent{evil}"],
        ["inspect", f"ok{evil}.txt", "--feature-names", "names"],
        ["fit", f"ok{evil}.txt", "--feature-names", "names", "--out", "model.json"],
        ["inspect", "model.json"],
        ["evaluate", f"ok{evil}.txt", "--system", f"{evil}.run"],
        ["evaluate", f"ok{evil}.txt", "--system", f"s{evil}.txt", "--format", "csv"],
        ["select", f"ok{evil}.txt", "--out", f"o{evil}"],
    ):
        outcome = cli_here(*args)
        shown = outcome.out + outcome.err
        assert shown
        assert "owned" in shown or args[0] in ("fit", "select") or args[1] == "model.json"
        assert "\x1b]0;" not in shown
        assert "\x07" not in shown


IN_OTHER_ENCODINGS = """
import os, sys
from sparserank.__main__ import main
for encoding in ("ascii", "latin-1", "utf-8"):  # the first is that of PYTHONIOENCODING
    sys.stdout.reconfigure(encoding=encoding, errors="strict")
    try:
        main()
    except SystemExit as stop:
        assert not stop.code, encoding
    sys.stdout.flush()
    os.write(1, b"next encoding")
"""


def test_names_that_the_output_cannot_encode_are_escaped(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("1 qid:1 1:1 2:0\n0 qid:1 1:0 2:0\n")
    (tmp_path / "names").write_text("日本語\nnaïve\n", encoding="utf-8")
    command = [sys.executable, "-c", IN_OTHER_ENCODINGS, "inspect", "a.txt", "--feature-names", "names"]
    encoding = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, env=encoding)
    assert done.returncode == 0, done.stderr
    shown = done.stdout.split(b"next encoding")[:-1]
    for expected, found in zip((b"na\\xefve", b"na\xefve", "naïve".encode()), shown, strict=True):
        assert expected in found


@pytest.mark.slow_but("/dev/full", "1>&-")
@pytest.mark.parametrize("redirect", ["1>&-", "2>&-", "1>&- 2>&-", "> /dev/full", "| head -c 1 > /dev/null"])
def test_closed_full_and_broken_outputs_are_no_traceback(tmp_path: Path, redirect: str) -> None:
    (tmp_path / "a.txt").write_text("1 qid:1 1:1 2:0\n0 qid:1 1:0 2:0\n")
    command = f"{sys.executable} -m sparserank inspect a.txt {redirect}"
    done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    if redirect == "> /dev/full":
        assert done.returncode == 1
        assert done.stderr == "error: input/output: No space left on device.\n"
    if "1>&-" in redirect:  # the output is lost
        assert done.returncode == 1
        assert done.stderr in ("", "error: standard output: Bad file descriptor; the output is lost.\n")
    if redirect == "2>&-":
        assert done.returncode == 0
    if "head" in redirect:
        assert done.stderr == ""
