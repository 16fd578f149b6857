"""The user's files: reading up to a maximum size, writing completely or not at all, devices and pipes."""

import os
import stat
import threading
from pathlib import Path

import numpy as np
import pytest

from rbdhw.design.folder import read as read_design
from rbdhw.design.folder import write
from rbdhw.errors import LONGEST_LINE, InputError, one_line
from rbdhw.runtime.files import check_file, check_folder, read, replace_file, write_text
from tests.support.designs import rail_design

NULL = Path(os.devnull)


def refusal_of(action, *arguments):
    with pytest.raises(InputError) as refusal:
        action(*arguments)
    return str(refusal.value)


def received(pipe: Path) -> tuple[threading.Thread, list[bytes]]:
    """Read a pipe; return its contents once it has ended."""
    contents: list[bytes] = []
    reader = threading.Thread(target=lambda: contents.append(pipe.read_bytes()))
    reader.start()
    return reader, contents


class TestReading:
    def test_files_and_pipes(self, tmp_path):
        file, pipe = tmp_path / "file", tmp_path / "pipe"
        file.write_bytes(b"abc")
        os.mkfifo(pipe)
        writer = threading.Thread(target=lambda: pipe.write_bytes(b"abc"))
        writer.start()
        assert read(pipe, "a file", 3) == read(file, "a file", 3) == b"abc"
        writer.join()

    def test_a_file_that_is_too_large(self, tmp_path):
        (tmp_path / "file").write_bytes(b"abcd")
        expected = f"{tmp_path / 'file'}: is larger than 3 bytes; expected a small file"
        assert refusal_of(read, tmp_path / "file", "a small file", 3) == expected


class TestWriting:
    def test_a_new_file_and_another_in_its_place(self, tmp_path):
        for text in ("first", "second"):
            write_text(tmp_path / "file", text)
            assert (tmp_path / "file").read_text() == text
        assert [entry.name for entry in tmp_path.iterdir()] == ["file"]

    def test_a_failure_leaves_the_earlier_file(self, tmp_path):
        file = tmp_path / "file.txt"
        file.write_text("earlier")

        def interrupted():
            with replace_file(file) as made:
                made.write_text("half")
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        assert [entry.read_text() for entry in tmp_path.iterdir()] == ["earlier"]

    def test_the_new_file_has_the_format_of_the_old_one(self, tmp_path):
        with replace_file(tmp_path / "plot.svg") as made:
            assert made.suffix == ".svg"
            assert made.parent == tmp_path
            made.write_text("")

    def test_a_link_stays_one(self, tmp_path):
        (tmp_path / "folder").mkdir()
        for name in ("there", "not yet there"):
            link = tmp_path / f"link to {name}"
            link.symlink_to(tmp_path / "folder" / name)
            write_text(link, name)
            assert link.is_symlink()
            assert (tmp_path / "folder" / name).read_text() == name

    def test_a_pipe_receives_the_content_and_stays(self, tmp_path):
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        reader, contents = received(pipe)
        check_file(pipe)
        write_text(pipe, "content")
        reader.join()
        assert contents == [b"content"]
        assert stat.S_ISFIFO(pipe.stat().st_mode)

    def test_a_pipe_that_is_opened_under_a_number(self):
        out, into = os.pipe()
        write_text(Path(f"/dev/fd/{into}"), "content")
        os.close(into)
        with os.fdopen(out) as end:
            assert end.read() == "content"

    def test_a_device_stays(self):
        before = NULL.stat()
        write_text(NULL, "content")
        assert os.path.samestat(before, NULL.stat())
        assert stat.S_ISCHR(before.st_mode)

    def test_a_device_without_room(self):
        expected = "/dev/full: cannot be written (No space left on device); expected a writable file"
        assert refusal_of(write_text, Path("/dev/full"), "content") == expected

    def test_the_standard_output_is_continued(self, capfd):
        """If it were opened again, later output would overwrite the file."""
        print("before")
        write_text(Path(f"/proc/{os.getpid()}/fd/1"), "content\n")
        print("behind")
        assert capfd.readouterr().out == "before\ncontent\nbehind\n"

    def test_a_file_that_cannot_be_written(self, tmp_path, monkeypatch):
        monkeypatch.setattr("os.access", lambda *_: False)
        expected = f"{tmp_path / 'file'}: {tmp_path} cannot be written; expected a writable folder"
        assert refusal_of(check_file, tmp_path / "file") == expected
        expected = f"{tmp_path / 'new'}: {tmp_path} cannot be written; expected a writable folder"
        assert refusal_of(check_folder, tmp_path / "new", "to plot to") == expected


@pytest.fixture(scope="module")
def rail(tmp_path_factory):
    """Return a folder with a small design."""
    folder = tmp_path_factory.mktemp("rail") / "design"
    write(rail_design(), folder)
    return folder


class TestCommands:
    """Every command follows these rules for writing."""

    def test_results_into_a_pipe(self, rbdhw, rail, tmp_path):
        states, pipe, file = tmp_path / "states.npz", tmp_path / "pipe", tmp_path / "file.npz"
        np.savez(states, **{name: np.ones((3, 1)) for name in "qva"})
        os.mkfifo(pipe)
        reader, contents = received(pipe)
        assert rbdhw("run", rail, "id", "--input", states, "--output", pipe)[0] == 0
        reader.join()
        assert stat.S_ISFIFO(pipe.stat().st_mode)
        assert rbdhw("run", rail, "id", "--input", states, "--output", file)[0] == 0
        assert contents == [file.read_bytes()]

    def test_results_into_a_device(self, rbdhw, rail, tmp_path):
        states = tmp_path / "states.npz"
        np.savez(states, **{name: np.ones((3, 1)) for name in "qva"})
        assert rbdhw("run", rail, "id", "--input", states, "--output", NULL)[0] == 0
        assert stat.S_ISCHR(NULL.stat().st_mode)

    def test_a_design_into_a_folder_that_is_a_link(self, tmp_path):
        (tmp_path / "there").mkdir()
        for name in ("there", "not yet there"):
            link = tmp_path / f"link to {name}"
            link.symlink_to(tmp_path / name)
            for _ in range(2):
                write(rail_design(), link)
            assert link.is_symlink()
            assert not (tmp_path / name).is_symlink()
            assert read_design(link).manifest == read_design(tmp_path / name).manifest
        assert len(list(tmp_path.iterdir())) == 4

    def test_a_name_that_is_no_unicode(self, rbdhw, rail, tmp_path):
        states, out = tmp_path / "states.npz", Path(os.fsdecode(bytes(tmp_path) + b"/\xff.npz"))
        np.savez(states, **{name: np.zeros((3, 1)) for name in "qva"})
        status, printed, _ = rbdhw("run", rail, "id", "--input", states, "--output", out)
        assert status == 0
        assert printed == f"3 tasks, 0 flagged -> {tmp_path}/\\udcff.npz\n"
        assert out.exists()


class TestLines:
    def test_control_characters_are_escaped(self):
        assert one_line("a\nb\tc\x1b[31md\x9be\udcff é λ") == "a\\nb\\tc\\x1b[31md\\x9be\\udcff é λ"

    def test_long_lines_keep_both_ends(self):
        line = one_line("file: " + 10_000_000 * "x" + "; expected less")
        assert line.startswith("file: xxx")
        assert line.endswith("xxx; expected less")
        assert len(line) == LONGEST_LINE + len(" ... ")
