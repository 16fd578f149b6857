"""Assertions about reading a URDF text; ``load`` is the fixture."""

import pytest

from rbdhw.errors import InputError


def assert_refused(load, text, reason, remedy="", **options):
    """Check that the text is refused for this reason, of the file or of an element of it."""
    with pytest.raises(InputError) as refusal:
        load(text, **options)
    error = refusal.value
    assert f"{error.where}: {error.reason}" in (f"robot.urdf: {reason}", f"robot.urdf, {reason}")
    assert error.expected
    assert not remedy or error.remedy == remedy


def assert_taken(load, text, reason, taken, *, remarked=True):
    """Check that the text is accepted, with this remark first or none, and refused by a strict reading."""
    assert load(text).remarks[:1] == ((f"{reason}; taken {taken}",) if remarked else ())
    assert_refused(load, text, reason, f"leave out --strict (then taken {taken})", strict=True)
