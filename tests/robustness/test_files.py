"""One file is written whole or not at all; nobody's file, link, mode or device is lost on the way."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sparserank.errors import RunDirectoryError
from sparserank.files import PART, atomic_write, refuse_inputs
from tests.support.command_line import Cli


def write(path: Path, text: str = "new") -> None:
    with atomic_write(path) as out:
        out.write(text)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_an_existing_file_keeps_its_mode(tmp_path: Path) -> None:
    for mode in (0o600, 0o640, 0o755):
        file = tmp_path / f"{mode:o}"
        file.write_text("old")
        file.chmod(mode)
        write(file)
        assert (file.read_text(), mode_of(file)) == ("new", mode)


def test_a_new_file_gets_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        write(tmp_path / "a")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "a") == 0o600


def test_links_are_followed_and_stay_links(tmp_path: Path) -> None:
    real = tmp_path / "elsewhere" / "real"
    real.parent.mkdir()
    real.write_text("old")
    for link in (tmp_path / "link", tmp_path / "dangling"):
        link.symlink_to(real)
        write(link, link.name)
        assert link.is_symlink()
        assert real.read_text() == link.name
        real.unlink()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_is_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write(pipe)
    reader.join()
    assert read == ["new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_device_is_written_to_and_stays_a_device() -> None:
    before = os.stat("/dev/null")
    write(Path("/dev/null"))
    after = os.stat("/dev/null")
    assert stat.S_ISCHR(after.st_mode)
    assert (after.st_ino, after.st_mode) == (before.st_ino, before.st_mode)
    with pytest.raises(RunDirectoryError, match="/dev/full: cannot be written"):
        write(Path("/dev/full"))


@pytest.mark.parametrize(
    "when", ["the block raises", "the disk is full", "the place is a folder", "the folder is absent"]
)
def test_a_failed_write_leaves_what_was_there(tmp_path: Path, when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    file = folder / "file"
    file.write_text("old")
    if when == "the block raises":
        with pytest.raises(ZeroDivisionError), atomic_write(file) as out:
            out.write(str(out.write("half") / 0))
    elif when == "the disk is full":

        def full(handle: int) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(RunDirectoryError, match="No space left on device"):
            write(file)
    else:
        with pytest.raises(RunDirectoryError, match="cannot be written"):
            write(folder if when == "the place is a folder" else tmp_path / "absent" / "file")
    assert file.read_text() == "old"
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == [file]


def test_a_loop_of_links_is_an_error_and_stays(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(RunDirectoryError, match="cannot be written"):
        write(loop)
    assert loop.is_symlink()


def test_inputs_are_known_under_every_name(tmp_path: Path) -> None:
    source = tmp_path / "train.txt"
    source.write_text("1 qid:1 1:1\n")
    (tmp_path / "link").symlink_to(source)
    os.link(source, tmp_path / "hard")
    for name in ("train.txt", "link", "hard", "../" + tmp_path.name + "/train.txt"):
        with pytest.raises(RunDirectoryError, match="is also an input"):
            refuse_inputs(tmp_path / name, [tmp_path / "other", source])
    refuse_inputs(tmp_path / "new", [source])
    refuse_inputs("/dev/null", ["/dev/null"])


@pytest.mark.parametrize(
    ("args", "written"),
    [
        (("fit", "train.txt", "--out", "train.txt"), "train.txt"),
        (("fit", "train.txt", "--feature-names", "names.txt", "--out", "names.txt"), "names.txt"),
        (("predict", "model.json", "train.txt", "--out", "model.json"), "model.json"),
        (("predict", "model.json", "train.txt", "--run", "link.txt"), "train.txt"),
    ],
)
def test_no_command_writes_over_what_it_reads(
    cli_here: Cli, tmp_path: Path, args: tuple[str, ...], written: str
) -> None:
    (tmp_path / "train.txt").write_text("1 qid:1 1:1 2:0\n0 qid:1 1:0 2:1\n")
    (tmp_path / "names.txt").write_text("a\nb\n")
    (tmp_path / "model.json").write_text("{}")
    (tmp_path / "link.txt").symlink_to("train.txt")
    before = (tmp_path / written).read_bytes()
    done = cli_here(*args)
    assert done.code == 1
    assert "is also an input" in done.err
    assert done.err.count("\n") == 1
    assert (tmp_path / written).read_bytes() == before
    assert not list(tmp_path.rglob(PART))


@pytest.mark.parametrize("link", ["/dev/stdout", "/proc/self/fd/1", "chain"])
def test_an_open_descriptor_is_written_to_and_what_stood_there_stays(tmp_path: Path, link: str) -> None:
    (tmp_path / "chain").symlink_to("second")
    (tmp_path / "second").symlink_to("/proc/self/fd/1")
    (tmp_path / "log.txt").write_text("before\n")
    code = f"from sparserank.files import atomic_write\nwith atomic_write({link!r}) as out: out.write('after\\n')"
    with open(tmp_path / "log.txt", "a") as log:
        subprocess.run([sys.executable, "-c", code], stdout=log, cwd=tmp_path, check=True)
    assert (tmp_path / "log.txt").read_text() == "before\nafter\n"
    assert (tmp_path / "chain").is_symlink()
    assert Path("/dev/stdout").is_symlink()
