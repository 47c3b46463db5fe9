"""A file is written whole or not at all, and keeps link, mode and device; locks; files without an end."""

import gzip
import os
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import sparserank as sr
from sparserank.data import text_lines as module
from sparserank.data.text_lines import text_lines
from sparserank.errors import DataFormatError, RunDirectoryError
from sparserank.files import PART, atomic_write, refuse_inputs
from sparserank.workdir import directory


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
def test_a_pipe_is_read_from_its_first_byte_and_written_to_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write(pipe)
    reader.join()
    assert read == ["new"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    writer = threading.Thread(target=pipe.write_text, args=("2 qid:1 1:0.5\n0 qid:1 1:0.25\n",))
    writer.start()
    assert sr.read(pipe).relevance.tolist() == [2.0, 0.0]
    writer.join()


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
def test_no_command_writes_over_what_it_reads(cli_here, tmp_path, args, written):
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


# -- locks of files by each way that a system has, and without any --------------------------------------------

IS_LOCKED = "import os, sys, time; from sparserank.workdir.directory import is_locked_elsewhere as f; "
OTHER = IS_LOCKED + "print(f(os.open(sys.argv[1], os.O_RDWR)))"


@pytest.fixture
def handle(tmp_path: Path) -> Iterator[int]:
    handle = os.open(tmp_path / "mark", os.O_RDWR | os.O_CREAT)
    os.write(handle, b"select\n")
    yield handle
    os.close(handle)


def seen_by_another(path: Path) -> str:
    done = subprocess.run([sys.executable, "-c", OTHER, path], capture_output=True, text=True, check=True, timeout=60)
    return done.stdout.strip()


@pytest.mark.skipif(directory.fcntl is None, reason="this system has no fcntl")
def test_another_process_sees_the_lock_until_the_file_is_closed(handle: int, tmp_path: Path) -> None:
    assert not directory.is_locked_elsewhere(handle)
    assert seen_by_another(tmp_path / "mark") == "True"
    duplicate = os.dup(handle)
    os.close(duplicate)
    assert seen_by_another(tmp_path / "mark") == "True"


class Msvcrt:
    """msvcrt.locking as it is documented: bytes from the current position on, which may lie beyond the end."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        self.held: set[tuple[int, int]] = set()

    def locking(self, handle: int, mode: int, n: int) -> None:
        assert mode == self.LK_NBLCK
        place = (os.fstat(handle).st_ino, os.lseek(handle, 0, os.SEEK_CUR))
        if place in self.held:
            raise PermissionError(13, "Permission denied")
        self.held.add(place)


def test_without_fcntl_a_byte_is_locked(handle: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "fcntl", None)
    monkeypatch.setattr(directory, "msvcrt", Msvcrt())
    os.lseek(handle, 3, os.SEEK_SET)
    assert not directory.is_locked_elsewhere(handle)
    assert os.lseek(handle, 0, os.SEEK_CUR) == 3
    other = os.open(tmp_path / "mark", os.O_RDWR)
    assert directory.is_locked_elsewhere(other)
    assert os.read(other, 100) == b"select\n"  # whose content stays readable
    os.close(other)
    assert (tmp_path / "mark").read_bytes() == b"select\n"


def test_without_any_locks_nothing_is_locked(handle: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory, "fcntl", None)
    monkeypatch.setattr(directory, "msvcrt", None)
    assert not directory.is_locked_elsewhere(handle)


# -- files without an end, where a file of a few lines is expected: read no further than it takes to refuse them ---

ROOT = Path(__file__).parents[2]  # of reproduction
MEMORY_BYTES = 4 << 30  # of addresses; what an endless file would take is more than any machine has
SYSTEM = "is a binary file; expected a model file, a run (lines"
COMMANDS = {
    "judgments": ("evaluate --qrels /dev/zero --system a.run", "is a binary file; expected lines 'qid 0 docno rel'."),
    "system": ("evaluate --qrels a.qrels --system /dev/zero", SYSTEM),
    "plan": ("run /dev/zero --out out", "cannot be read as TOML (it is larger than 16 MB)."),
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
        [sys.executable, "-m", program, *arguments.split()],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES)),
        env={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PATH": "/usr/bin:/bin", "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 1
    assert done.stderr.startswith(f"error: /dev/zero: {message}")
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def slowly(content: bytes) -> list[str]:
    """The lines, from the whole content at once."""
    if content[:2] == b"\x1f\x8b":
        content = gzip.decompress(content)
    lines = content.removeprefix(b"\xef\xbb\xbf").split(b"\n")
    return [line.rstrip(b"\r").decode() for line in (lines if lines[-1] else lines[:-1])]


CONTENTS = [b"", b"\n", b"a", b"a\n", b"a\nb", b"\xef\xbb\xbfa\nb\n", b"\xef\xbb\xbf", b"a\r\nb\r\n"]
CONTENTS += ["é\u2028x\nü\n".encode(), b"\n\na\n\n", b"ab\xef\xbb\xbf\nc"]


@pytest.mark.parametrize("block", [1, 2, 3, 1 << 20])
@pytest.mark.parametrize("zipped", [False, True])
def test_lines_do_not_depend_on_the_blocks(zipped, block, tmp_path, monkeypatch):
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
