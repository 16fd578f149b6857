"""The compilers of the generated C, and the warnings that it must not cause."""

import os
import subprocess
import sys
from itertools import product
from pathlib import Path

from rbdhw.software.compiler import find_compiler
from rbdhw.software.exact import model_files

CLANG = (sys.executable, "-m", "ziglang", "cc")
COMPILERS = {"the host's": find_compiler(), "clang": CLANG}
CPP, C = ("-xc++", "-std=c++17"), ("-std=c11",)
COMPILATIONS = tuple(product(COMPILERS, (CPP, C)))
"""Compilers and languages."""

WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wpedantic", "-Werror")


def assert_no_warning(folder, compiler, *options):
    """Compile all C files of a folder and check that the compiler prints nothing."""
    for source in sorted(folder.glob("*.c")):
        command = [*COMPILERS[compiler], *WARNINGS, *options, "-O0", "-c", source, "-o", folder / "made.o"]
        done = subprocess.run(command, capture_output=True, check=False)
        assert (done.returncode, done.stderr.decode()) == (0, "")


def assert_it_ends(script):
    """Check that a Python script ends well, in a process that undefined behaviour of its C would end."""
    root = str(Path(__file__).parents[2])
    environment = os.environ | {"PYTHONPATH": root}
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def compiled(folder, design, main, *flags):
    """Return the program of a main function and a model, compiled without any warning."""
    for name, text in model_files(design).items():
        (folder / name).write_text(text)
    (folder / "main.c").write_text(main)
    sources = [str(folder / "main.c"), str(folder / "model.c")]
    command = [*find_compiler(), "-std=c11", "-O0", *WARNINGS, *flags, *sources, "-lm"]
    subprocess.run([*command, "-o", str(folder / "main")], check=True)
    return str(folder / "main")
