"""C with a clock around it: what is called, and on which tasks."""

import ctypes

import numpy as np
import pytest

from benchmarks import timing
from benchmarks.timing import FEW, ROUNDS, TimedLibrary
from rbdhw.software.arrays import Array
from tests.support.marks import long

SOURCE = """
#include <stddef.h>
#define RBDHW_NAME(name) rbdhw_##name
size_t calls, columns;
void rbdhw_add(size_t tasks, const double *q, const double *Minv, double *tau)
{
    calls++, columns = 0;
    tau[0] = Minv ? 0.0 : q[0] + q[1] * (double)tasks;
}
void rbdhw_add_columns(size_t tasks, size_t stride, const double *q, const double *Minv, double *tau)
{
    calls++, columns = stride;
    tau[0] = Minv ? 0.0 : q[0] + q[stride] * (double)tasks;
}
"""

ARRAYS = {"add": ((Array("q", (2,), False), Array("Minv", (2, 2), True)), (Array("tau", (1,), False),))}


@pytest.fixture
def library(monkeypatch):
    monkeypatch.setattr(timing, "ROUND_SECONDS", 0.0)
    return TimedLibrary({"add.h": SOURCE}, "add.h", ARRAYS)


def count_of(library, name):
    return ctypes.c_size_t.in_dll(library._library, name)


def test_a_batch_is_called_in_rows_and_in_columns(library):
    """One call finds how often to call; the rounds follow."""
    calls = count_of(library, "calls")
    calls.value = 0
    assert library.seconds("add", {"q": np.ones((8, 2))}, 8) > 0.0
    assert calls.value == 2 * (1 + ROUNDS)
    assert count_of(library, "columns").value in (0, 8)


def test_single_tasks_are_in_rows(library):
    assert library.seconds("add", {"q": np.ones((FEW, 2))}) > 0.0
    assert count_of(library, "columns").value == 0


def test_threads_are_created_for_each_call():
    """Each of two threads takes half of the tasks in rows."""
    library = TimedLibrary({"add.h": SOURCE}, "add.h", ARRAYS, created=2)
    q, tau = np.arange(12.0).reshape(6, 2), np.zeros((6, 1))
    pointers = [q.ctypes.data, None, tau.ctypes.data]
    library._library.time_add(
        *map(ctypes.c_size_t, (6, 6, 1)), 0, *(ctypes.c_void_p(pointer) for pointer in pointers)
    )
    np.testing.assert_array_equal(tau[:, 0], [3.0, 0.0, 0.0, 27.0, 0.0, 0.0])


@pytest.mark.parametrize("threads", [long(False), True])
def test_more_work_takes_longer(monkeypatch, threads):
    monkeypatch.setattr(timing, "ROUND_SECONDS", 0.004)
    source = SOURCE.replace("calls++,", "for (volatile size_t k = 0; k < 1000 * tasks; k++); calls++,")
    slow = TimedLibrary({"add.h": source}, "add.h", ARRAYS, threads=threads)
    one, many = (slow.seconds("add", {"q": np.ones((FEW, 2))}, count) for count in (1, FEW))
    assert many > 8 * one
