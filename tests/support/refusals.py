"""Assertions about reading a URDF text; ``load`` is the fixture."""

import pytest

from rbdhw.errors import InputError


def assert_refused(load, text, line, **options):
    """Check that the text is refused with this line, about the file or an element of it."""
    with pytest.raises(InputError) as refusal:
        load(text, **options)
    assert str(refusal.value) in (f"robot.urdf: {line}", f"robot.urdf, {line}")


def assert_taken(load, text, line, taken, *, remarked=True):
    """Check that the text is accepted, with this remark first or none, and refused by a strict reading."""
    reason = line.partition("; expected ")[0]
    assert load(text).remarks[:1] == ((f"{reason}; taken {taken}",) if remarked else ())
    assert_refused(load, text, f"{line}; leave out --strict (then taken {taken})", strict=True)
