"""The compilers of the generated C, and the warnings that it must not cause."""

import subprocess
import sys

from rbdhw.software.compiler import find_compiler

CLANG = (sys.executable, "-m", "ziglang", "cc")
COMPILERS = {"the host's": find_compiler(), "clang": CLANG}
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Wpedantic", "-Werror")


def assert_no_warning(folder, compiler, *options):
    """Compile all C files of a folder and check that the compiler prints nothing."""
    for source in sorted(folder.glob("*.c")):
        command = [*COMPILERS[compiler], *WARNINGS, *options, "-O0", "-c", source, "-o", folder / "made.o"]
        done = subprocess.run(command, capture_output=True, check=False)
        assert (done.returncode, done.stderr.decode()) == (0, "")
