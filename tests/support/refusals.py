"""What reading a URDF text should say of it: ``load`` is the fixture."""

import pytest

from rbdhw.errors import InputError


def assert_refused(load, text, line, **options):
    """Refused with one line."""
    with pytest.raises(InputError) as refusal:
        load(text, **options)
    assert str(refusal.value) == f"robot.urdf: {line}"


def assert_taken(load, text, line, taken, *, remarked=True):
    """Taken with this remark first, or with none; a strict reading refuses it and names the remedy."""
    reason = line.partition("; expected ")[0]
    assert load(text).remarks[:1] == ((f"{reason}; taken {taken}",) if remarked else ())
    assert_refused(load, text, f"{line}, or no --strict (then taken {taken})", strict=True)
