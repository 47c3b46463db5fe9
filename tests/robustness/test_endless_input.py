"""Files without an end, where a file of a few lines is expected: read no further than it takes to refuse them."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from sparserank.data import text_lines as module
from sparserank.data.text_lines import text_lines
from sparserank.errors import DataFormatError

ROOT = Path(__file__).parents[2]  # of reproduction
MEMORY_BYTES = 4 << 30  # of addresses; what an endless file would take is more than any machine has
COMMANDS = {
    "judgments": (
        ["evaluate", "--qrels", "/dev/zero", "--system", "a.run"],
        "/dev/zero: is a binary file; expected lines 'qid 0 docno rel'.",
    ),
    "system": (
        ["evaluate", "--qrels", "a.qrels", "--system", "/dev/zero"],
        "/dev/zero: is a binary file; expected a model file (JSON, or as LightGBM saves it), a run (lines",
    ),
    "plan": (
        ["run", "/dev/zero", "--out", "out"],
        "/dev/zero: cannot be read as TOML (it is larger than 16 MB).",
    ),
}


@pytest.mark.slow_but("plan")
@pytest.mark.parametrize("case", list(COMMANDS))
def test_commands_refuse_what_never_ends(case: str, tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    (tmp_path / "a.run").write_text("0 Q0 d1 1 1.0 x\n")
    (tmp_path / "a.qrels").write_text("0 0 d1 1\n")
    arguments, message = COMMANDS[case]
    program = "reproduction" if case == "plan" else "sparserank"
    done = subprocess.run(
        [sys.executable, "-m", program, *arguments],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES)),
        env={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: {message}")
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def slowly(content: bytes) -> list[str]:
    """The lines, from the whole content at once."""
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return [line.rstrip(b"\r").decode() for line in (lines if lines[-1] else lines[:-1])]


CONTENTS = [
    b"",
    b"\n",
    b"a",
    b"a\n",
    b"a\nb",
    b"\xef\xbb\xbfa\nb\n",
    b"\xef\xbb\xbf",
    b"a\r\nb\r\n",
    "é\u2028x\nü\n".encode(),
    b"\n\na\n\n",
    b"ab\xef\xbb\xbf\nc",
]


@pytest.mark.parametrize("block", [1, 2, 3, 1 << 20])
@pytest.mark.parametrize("zipped", [False, True])
def test_lines_do_not_depend_on_the_blocks(
    zipped: bool, block: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BLOCK_BYTES", block)
    for content in CONTENTS:
        held = gzip.compress(content) if zipped else content
        (tmp_path / "a.txt").write_bytes(held)
        found = list(text_lines(tmp_path / "a.txt", "lines"))
        assert [text for _, text in found] == slowly(held)
        assert [number for number, _ in found] == list(range(1, len(found) + 1))


def test_damaged_gzip_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"a\n" * 1000)[:-9])
    with pytest.raises(DataFormatError, match=r"a\.gz: cannot be read \(damaged gzip file: .*\); expected lines"):
        list(text_lines(tmp_path / "a.gz", "lines"))
