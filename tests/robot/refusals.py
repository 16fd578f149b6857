"""What reading a URDF text should say of it: ``load`` is the fixture."""

import pytest

from rbdhw.errors import InputError


def assert_refused(load, text, line, *remarks):
    """Refused with one line; leniently where a list for remarks is given."""
    with pytest.raises(InputError) as refusal:
        load(text, *remarks)
    assert str(refusal.value) == f"robot.urdf: {line}"


def assert_remarked(load, text, remark):
    """Taken by the lenient reading, with one remark."""
    remarks = []
    load(text, remarks)
    assert remarks == [remark]
