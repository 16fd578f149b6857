"""Text of C sources: what names of robots do to comments."""

import subprocess

import pytest

from rbdhw.software.c_text import comment


@pytest.mark.parametrize("name", ["a/*b", "a*/b", "a/*/b", "*/*/", "/*", "**//", "x//y", 'say "*/"'])
def test_a_name_neither_ends_nor_opens_a_comment(tmp_path, name):
    source = tmp_path / "named.c"
    source.write_text(f"{comment([f'the robot {name}', name])}typedef int named;\n")
    done = subprocess.run(
        ["gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
