"""A program in place of a tool: of equal runs only the first runs the tool; the others copy what it wrote.

Runs are equal if their arguments are, and the files that these name, and the files that those name. The tool
writes into its working folder. A run that fails is not kept, nor is one that reads its standard input.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path

PRINTED = "printed"
"""The file of what the tool printed, among those that it wrote."""


def remember(tool: str, folder: Path) -> Path:
    """Return a program that runs ``tool``, and keeps what it writes in ``folder``."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / "program"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -IS "{__file__}" "{tool}" "{folder}" "$@"\n')
    program.chmod(0o755)
    return program


def main(tool: str, folder: str, *arguments: str) -> int:
    """Run the program; return its exit status."""
    if arguments[-1:] == ("-",):  # what the tool reads from its standard input is unknown
        os.execv(tool, [tool, *arguments])
    kept = Path(folder) / _digest(arguments)
    if not kept.exists():
        before = _times()
        run = subprocess.run(
            [tool, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        if run.returncode:
            sys.stdout.write(run.stdout)
            return run.returncode
        _keep(kept, run.stdout, [path for path, time in _times().items() if before.get(path) != time])
    for path in kept.iterdir():
        if path.name != PRINTED:
            shutil.copyfile(path, path.name)
    sys.stdout.write((kept / PRINTED).read_text())
    return 0


def _digest(arguments: tuple[str, ...]) -> str:
    """Return the digest of the arguments and of all files that the tool reads."""
    digest = hashlib.sha256("\0".join(arguments).encode())
    written = [after for option, after in pairwise(arguments) if option == "-l"]
    scripts = _files(" ".join(arguments), without=written)
    for path in [*scripts, *(file for script in scripts for file in _files(script.read_text(), written))]:
        digest.update(b"\0".join([str(path).encode(), path.read_bytes()]))
    return digest.hexdigest()


def _files(text: str, without: list[str]) -> list[Path]:
    """Return the files that a text names."""
    words = re.findall(r"[^\s\"';]+", text)
    return [Path(word) for word in dict.fromkeys(words) if word not in without and Path(word).is_file()]


def _times() -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in Path().iterdir() if path.is_file()}


def _keep(kept: Path, printed: str, written: list[Path]) -> None:
    """Copy the files of a run aside, then give the folder its name, as another process may do the same."""
    aside = Path(tempfile.mkdtemp(dir=kept.parent))
    (aside / PRINTED).write_text(printed)
    for path in written:
        shutil.copyfile(path, aside / path.name)
    try:
        aside.rename(kept)
    except OSError:
        shutil.rmtree(aside)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
