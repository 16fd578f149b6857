"""Builds of some functions in a sweep: those that no algorithms bring into the budget."""

import pytest

from benchmarks import robot_subsets
from benchmarks.robot_subsets import SUBSETS, check_subsets
from rbdhw.domain.bounds import input_domain
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.robot.frames import align_axes
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path


@pytest.fixture(scope="module")
def robot():
    return load_urdf(path("toy"))


def check(robot, functions=DEFAULT_FUNCTIONS):
    return check_subsets(robot, align_axes(robot), input_domain(robot), functions)


def test_subsets_that_meet_the_budget_are_not_mentioned(robot):
    assert check(robot) == []


@pytest.mark.verify
def test_a_subset_that_no_algorithms_bring_into_the_budget_has_its_reason(robot, monkeypatch):
    monkeypatch.setattr(robot_subsets, "DEFAULT_MAX_ERROR", 1e-9)
    lines = check(robot)
    assert [line.partition(": ")[0] for line in lines] == [",".join(subset) for subset in SUBSETS]
    assert "1e-09 is not met at a width of 32 bits" in lines[0]
    assert "this is by " in lines[0]


def test_only_functions_that_can_be_computed_are_built(robot, monkeypatch):
    monkeypatch.setattr(robot_subsets, "DEFAULT_MAX_ERROR", 1e-9)
    assert check(robot, ("id", "m", "did")) == []
