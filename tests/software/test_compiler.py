import pytest

from rbdhw.errors import InputError
from rbdhw.software.compiler import load_library


def test_a_library_that_the_system_does_not_load(tmp_path):
    """As from a cache on a file system that is mounted with noexec."""
    library = tmp_path / "some.so"
    library.write_text("not a library")
    with pytest.raises(InputError, match="the system does not load it") as refusal:
        load_library(library)
    assert refusal.value.where == str(library)
    assert "XDG_CACHE_HOME" in refusal.value.remedy
