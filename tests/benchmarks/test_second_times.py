"""Times of second derivatives over the links: the complex step, a URDF for CasADi, and slopes."""

import numpy as np
import pytest

from benchmarks import casadi_steps, second_times
from benchmarks.casadi_steps import random_tasks
from benchmarks.second_order import SHAPES, binary_tree
from benchmarks.second_times import (
    Way,
    by_complex_step,
    second_times_layout,
    software_of_links,
    urdf_of,
)
from rbdhw import golden
from rbdhw.robot.urdf import load_urdf
from tests.support.marks import long

POWERS = {"id": 1, "fd": 1.5, "did": 2, "sid, by columns": 2.5}


def row_of(shape, links):
    figures = {
        title: {"us": 0.1 * links**power, "lines": 100 * links, "compiling": 2.0 * links}
        for title, power in POWERS.items()
        if title != "did" or links < 8
    }
    return {"shape": shape, "links": links, "figures": figures}


def test_slopes_are_powers_of_the_links():
    lines = second_times_layout([row_of(shape, links) for shape in SHAPES for links in (2, 4, 8)])
    ends = [f"chain{end}" for end in (" of 2", " of 4", " of 8", ", slope", ", the longest")]
    assert [line[""] for line in lines[:5]] == ends
    assert (lines[1]["did"], lines[2]["did"]) == ("1.6 µs", "-")
    slopes = dict(lines[3])
    assert slopes.pop("sid, differences of did") == "3.0"
    assert slopes.pop("sid, second differences of id") == "3.0"
    assert slopes.pop("sfd, second differences of fd") == "3.5"
    assert slopes == {"": "chain, slope"} | {name: f"{power:.1f}" for name, power in POWERS.items()}
    assert lines[9]["did"] == "4: 0.4 k lines, 8 s"
    assert lines[9]["sid, differences of did"] == "-"


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(casadi_steps, "ROUNDS", 1)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize(("function", "derivatives"), [("id", "did"), long("fd", "dfd")])
def test_the_complex_step_is_golden(function, derivatives):
    robot = binary_tree(3)
    slopes = by_complex_step(software_of_links(robot, function), function).results["slopes"]
    truth = golden.evaluate(robot, derivatives, random_tasks(robot.nv))
    x = {"id": "tau", "fd": "a"}[function]
    for slope, by in zip(np.split(slopes, 2, axis=2), "qv", strict=True):
        np.testing.assert_allclose(slope, truth[f"d{x}_d{by}"], rtol=0.0, atol=1e-11)


def test_the_urdf_is_the_robot(tmp_path):
    robot, path = binary_tree(3), tmp_path / "robot.urdf"
    path.write_text(urdf_of(robot))
    tasks = random_tasks(robot.nv)
    expected, read = (golden.evaluate(each, "id", tasks)["tau"] for each in (robot, load_urdf(path)))
    np.testing.assert_allclose(read, expected, rtol=0.0, atol=1e-12)


@pytest.mark.verify
@pytest.mark.usefixtures("quick")
def test_a_row_has_all_ways_that_go_as_far(monkeypatch):
    monkeypatch.setattr(
        second_times,
        "INVERSE",
        {
            "id": Way("id", (2, 2)),
            "sid, differentiated": Way("sid", (2, 2), "differentiated"),
            "sid, complex step of did": Way("did", (1, 2), kind="complex step"),
        },
    )
    chain, tree = second_times.second_times([2])
    assert list(chain["figures"]) == ["id", "sid, differentiated"]
    assert list(tree["figures"]) == [*chain["figures"], "sid, complex step of did"]
    assert all(figures["us"] > 0.0 and figures["lines"] for figures in tree["figures"].values())
