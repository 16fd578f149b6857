"""How remarks name what they are about, and where they go."""

import pytest

from rbdhw.remarks import subject, warn


@pytest.mark.parametrize(
    ("names", "text"),
    [
        (["a"], "joint 'a'"),
        (["a", "b"], "joints 'a' and 'b'"),
        (["a", "b", "c"], "joints 'a', 'b' and 'c'"),
        (["a", "b", "c", "d", "e"], "joints 'a', 'b', 'c' and 2 more"),
    ],
)
def test_many_elements_are_counted(names, text):
    assert subject("joint", names) == text


def test_warnings_go_to_the_error_stream(capsys):
    warn(["joint 'a': odd; taken as even", "another"])
    out, err = capsys.readouterr()
    assert (out, err) == ("", "rbdhw: joint 'a': odd; taken as even\nrbdhw: another\n")
