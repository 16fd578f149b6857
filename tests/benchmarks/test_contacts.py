"""The tables of contacts: what they count, and how they are laid out."""

import pytest

from benchmarks import contacts
from benchmarks.contacts import (
    FUNCTIONS,
    Legged,
    contact_algorithms,
    contact_algorithms_layout,
    contact_builds_layout,
    contact_intervals_layout,
    contact_operations,
    contact_operations_layout,
    legged,
)
from benchmarks.forward_dynamics import snake
from rbdhw.frontend.read import load_mounted
from rbdhw.robot.link_frames import choose_contacts
from rbdhw.robots import path


def test_feet_are_frames_of_robots_that_float():
    hyq, humanoid = (load_mounted(each.urdf, each.mounting) for each in legged())
    assert (hyq.nv, humanoid.nv) == (6 + 12, 6 + 29)
    assert [contact.rows for contact in hyq.contacts.places] == [3, 3, 3, 3]
    assert [contact.rows for contact in humanoid.contacts.places] == [6, 6]


@pytest.mark.verify
def test_contacts_are_counted_beyond_free_dynamics(monkeypatch):
    monkeypatch.setattr(contacts, "FUNCTIONS", ("fd", "cfd", "com"))
    monkeypatch.setattr(
        contacts, "legged", lambda: [Legged("arm", path("iiwa14"), (("iiwa_link_7", "point"),))]
    )
    rows = contact_operations()
    free, held, com = (row["multiplications"] for row in rows)
    lines = contact_operations_layout(rows)
    assert lines == [
        {"": "fd", "arm": f"{free:,}"},
        {"": "cfd", "arm": f"{held:,} (+{held - free:,})"},
        {"": "com", "arm": f"{com:,}"},
    ]
    assert {"fd", "dfd"} < set(FUNCTIONS)


def test_contacts_are_counted_both_ways():
    robot = choose_contacts(snake(12), [("link_11@0.1:0.2:0.3", "point")])
    rows = contact_algorithms([("snake", robot)])
    factored, propagated = ((row["multiplications"], row["nanoseconds"]) for row in rows)
    assert factored[0] > propagated[0]
    assert factored[1] < propagated[1]
    (line,) = contact_algorithms_layout(rows)
    assert line["propagated"] == f"{propagated[0]:,}, {propagated[1]:.0f} ns"


def test_rates_are_in_millions():
    (line,) = contact_builds_layout([{"function": "cfd", "II": 1, "tasks/s": 125e6}])
    assert line == {"function": "cfd", "II": 1, "tasks/s": "125.00 M"}


def test_cores_have_shares_of_the_device():
    row = {"core": "pipeline", "bits": 24}
    row |= {"II": 8, "MHz": 125.0, "latency (cycles)": 123, "adders": 21281, "DSP blocks": 3394}
    row |= {"look-up tables": 949111}
    (line,) = contact_intervals_layout([row | {"shares": [0.496, 0.803]}])
    assert (line["DSP blocks"], line["look-up tables"]) == ("3,394 (49.6%)", "949,111 (80.3%)")
