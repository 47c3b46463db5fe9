"""Names of features, documents and files are shown as they are: never markup, mathematics or terminal commands."""

from __future__ import annotations

import io
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
from sparserank.cli.app import main
from sparserank.text import visible

HOSTILE = [
    "bm25[title]",
    "bm25[body]",
    "[/b]",
    "[bold red]x",
    "$\\badcmd$",
    "$a_b$",
    "$",
    "a$b",
    "_hidden",
    "__",
    "nolegend_",
    "esc\x1b[31mred",
    "bell\x07",
    "line\nbreak",
    "tab\tbed",
    "carriage\rreturn",
    "\x9b31mc1",
    "\u2028sep",
    "\u202eevil",
    "<script>alert(1)</script>",
    "a&b",
    "'q\"",
    "日本語",
    "naïve",
    "😀",
    "{{7*7}}",
    "%s%n",
    "\\",
    "a|b",
    "ok",
]


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


@pytest.fixture(autouse=True, scope="module")
def reports_without_pictures() -> None:
    """Here pictures are looked at."""


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A finished selection on features with hostile names, with test data; and what it printed."""
    folder = tmp_path_factory.mktemp("names")
    d = len(HOSTILE)
    data = sr.datasets.make_ranking(60, 15, d, n_informative=12, n_redundant=5, noise=0.2, random_state=2).data
    named = sr.RankingDataset(data.X, data.relevance, data.qid, None, HOSTILE)
    from sparserank.jobs.result_files import write_results
    from sparserank.jobs.selection_job import SelectionJob, SelectionPlan
    from sparserank.metrics import parse_metric
    from sparserank.penalties import parse_penalty

    plan = SelectionPlan((parse_penalty("l1"),), parse_metric("ndcg@10"), cv=2, margin=0.001, half_samples=10)
    result = SelectionJob(plan, named, None, named, n_threads=1).execute()
    write_results(result, folder)
    out = io.StringIO()
    from sparserank.cli.selection_tables import show_selection

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdout", out)
        show_selection(result, str(folder), 60)
    return folder, out.getvalue()


def test_the_screen_names_what_the_model_holds(run: tuple[Path, str]) -> None:
    folder, out = run
    chosen = [f["name"] for f in json.loads((folder / "model.json").read_text())["features"]]
    assert len(chosen) > 8
    assert set(chosen) <= set(HOSTILE)
    for name in chosen:
        assert visible(name)[:21] in out
    assert re.search(r"[\x00-\x09\x0b-\x1f\x7f\x9b]", out) is None


def test_pictures_are_well_formed_and_their_legends_complete(run: tuple[Path, str]) -> None:
    page = (run[0] / "report.html").read_text(encoding="utf-8")
    pictures = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)
    assert len(pictures) == 5
    texts = [t for svg in pictures for t in ET.fromstring(svg).itertext()]
    strongest = sorted(json.loads((run[0] / "model.json").read_text())["features"], key=lambda f: -abs(f["coef"]))[:8]
    shown = [t.lstrip("\u200b") for t in texts]
    for feature in strongest:
        assert visible(feature["name"]) in shown
    assert "<script>alert" not in page
    assert re.search("[\x00-\x08\x0b-\x1f\x7f\x9b\u202e]", page) is None


@pytest.mark.parametrize("name", HOSTILE)
def test_any_name_can_stand_in_a_picture(name: str) -> None:
    from sparserank.reporting.plots import new_axes, picture_text, to_svg

    figure, axes = new_axes("x", "y")
    axes.plot([0, 1], [0, 1], label=picture_text(name))
    axes.set_xticks([0], [picture_text(name)])
    axes.legend()
    texts = [t.lstrip("\u200b") for t in ET.fromstring(to_svg(figure, name)).itertext()]
    assert texts.count(visible(name)) >= 2


def terminal_output(args: list[str], cwd: Path) -> str:
    """What a command writes to a terminal."""
    master, slave = pytest.importorskip("pty").openpty()
    process = subprocess.Popen(args, cwd=cwd, stdout=slave, stderr=slave, stdin=subprocess.DEVNULL)
    os.close(slave)
    shown = b""
    try:
        while block := os.read(master, 65536):
            shown += block
    except OSError:
        pass  # the other side is closed
    finally:
        os.close(master)
    process.wait()
    return shown.decode()


ONE_AFTER_ANOTHER = """
import json, sys
from sparserank.__main__ import main
for number, arguments in enumerate(json.loads(sys.argv[1])):
    if number:
        print("next command", flush=True)
    sys.argv = ["sparserank", *arguments]
    try:
        main()
    except SystemExit:
        sys.stderr.flush()
"""


def test_terminal_escapes_in_files_and_their_names_do_not_reach_a_terminal(tmp_path: Path) -> None:
    evil = "\x1b]0;owned\x07"
    (tmp_path / f"{evil}.txt").write_text(f"1 qid:1 1:1 #docid = {evil}\n0 qid:1 1:{evil}\n")
    (tmp_path / f"ok{evil}.txt").write_text("1 qid:1 1:1\n0 qid:1 1:0\n")
    (tmp_path / "names").write_text(f"{evil}\n")
    commands = [
        ["inspect", f"{evil}.txt"],
        ["inspect", f"absent{evil}"],
        ["inspect", f"ok{evil}.txt", "--feature-names", "names"],
        ["fit", f"ok{evil}.txt", "--feature-names", "names", "--out", "model.json"],
        ["inspect", "model.json"],
        ["evaluate", f"ok{evil}.txt", "--system", f"{evil}.run"],
        ["select", f"ok{evil}.txt", "--out", f"o{evil}"],
    ]
    lines = terminal_output([sys.executable, "-c", ONE_AFTER_ANOTHER, json.dumps(commands)], tmp_path)
    said = lines.split("next command\r\n")
    assert len(said) == len(commands)
    for args, shown in zip(commands, said, strict=True):
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
    done = subprocess.run(
        [sys.executable, "-c", IN_OTHER_ENCODINGS, "inspect", "a.txt", "--feature-names", "names"],
        cwd=tmp_path,
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert done.returncode == 0, done.stderr
    shown = done.stdout.split(b"next encoding")[:-1]
    for expected, found in zip((b"na\\xefve", b"na\xefve", "naïve".encode()), shown, strict=True):
        assert expected in found


@pytest.mark.slow_but("/dev/full", "1>&-")
@pytest.mark.parametrize("redirect", ["1>&-", "2>&-", "1>&- 2>&-", "> /dev/full", "| head -c 1 > /dev/null"])
def test_closed_full_and_broken_outputs_are_no_traceback(tmp_path: Path, redirect: str) -> None:
    (tmp_path / "a.txt").write_text("1 qid:1 1:1 2:0\n0 qid:1 1:0 2:0\n")
    done = subprocess.run(
        f"{sys.executable} -m sparserank inspect a.txt {redirect}",
        shell=True,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
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


def test_a_csv_row_on_the_screen_is_escaped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "a.txt").write_text("1 qid:1 1:1\n0 qid:1 1:0\n")
    scores = tmp_path / "s\x1b[1m.txt"
    scores.write_text("1\n0\n")
    args = ["evaluate", tmp_path / "a.txt", "--system", scores, "--format", "csv"]
    monkeypatch.setattr(sys, "argv", ["sparserank", *map(str, args)])
    with pytest.raises(SystemExit):
        main()
    out = capsys.readouterr().out
    assert r"s\x1b[1m.txt" in out
    assert "\x1b" not in out
