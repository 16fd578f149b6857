"""C and CUDA in floating point: every function computes the numbers of its graph."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.combinations import pairwise
from tests.support.marks import long
from tests.support.software import (
    ROBOTS,
    TOLERANCE,
    Built,
    assert_close,
    assert_computes_its_graphs,
    built,
    compute,
)
from tests.support.strategies import ALL_KINDS, random_states, robots

pytestmark = pytest.mark.usefixtures("cuda_on_host")

LIBRARIES = {"c": Built.library, "cuda": Built.cuda_library}


@pytest.mark.parametrize(
    ("language", "number", "robot"),
    [
        long(*case) if case[0] == "cuda" or case[2] == "floating" else case
        for case in pairwise(list(LIBRARIES), list(TOLERANCE), list(ROBOTS))
    ],
)
def test_every_function_computes_its_graph(language, number, robot):
    assert_computes_its_graphs(built(robot), LIBRARIES[language](built(robot), number))


@pytest.mark.parametrize("language", list(LIBRARIES))
@pytest.mark.parametrize("length", [long(0.5), 1.1, long(1e3)])
def test_quaternions_are_brought_to_unit_length(language, length):
    software = built("floating")
    library = LIBRARIES[language](software)
    for count in (1, 21):
        tasks = software.tasks(count)
        tasks["q"][:, 3:7] *= length
        for columns in (False, True):
            results = compute(software, library, "did", tasks, columns=columns)
            assert_close(results, software.expected("did", tasks), TOLERANCE["float64"])
    tasks["q"][4, 3:7] = 0.0
    rows = np.isfinite(compute(software, library, "did", tasks)["dtau_dq"]).all(axis=(1, 2))
    assert np.flatnonzero(~rows).tolist() == [4]


@settings(max_examples=1, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(robots(max_bodies=4, kinds=ALL_KINDS, mimics=True), st.integers(0, 2**32 - 1))
def test_random_trees(robot, seed):
    software = Built(robot, ("id", "did"))
    tasks = random_states(robot, 40, seed)
    for make_library in LIBRARIES.values():
        library = make_library(software)
        for function in software.sources:
            expected = software.expected(function, tasks)
            assert_close(compute(software, library, function, tasks), expected, TOLERANCE["float64"])
