"""Robots whose functions are written in C and CUDA, and the results that these have to give."""

from functools import cache

import numpy as np

from rbdhw import golden
from rbdhw.domain.bounds import input_domain
from rbdhw.domain.graph_inputs import graph_inputs
from rbdhw.domain.sampling import sample
from rbdhw.errors import InputError
from rbdhw.frontend.build_graph import prepare
from rbdhw.frontend.read import mount
from rbdhw.frontend.solvability import WITHOUT_INVERSE, check_solvable
from rbdhw.graph.interpret import interpret
from rbdhw.model.interface import unflatten
from rbdhw.options.build import Mounting
from rbdhw.protocol import DEFAULT_FUNCTIONS
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path
from rbdhw.software.cuda import cuda_files
from rbdhw.software.cuda_library import CudaLibrary
from rbdhw.software.float_library import FloatLibrary
from rbdhw.software.floating import dynamics_files, float_arrays, trace_sources

ALL = DEFAULT_FUNCTIONS
TOLERANCE = {"float64": 1e-13, "float32": 2e-5}
"""The largest error of a result, relative to the array's largest element."""

ROBOTS = {
    "toy": lambda: load_urdf(path("toy")),
    "loaded": lambda: mount(load_urdf(path("toy")), Mounting(base="given", gravity="task")),
    "floating": lambda: load_urdf(path("toy")).with_floating_base(),
}


class Built:
    """The C and CUDA of a robot's functions, and the graphs that they were written from."""

    def __init__(self, robot, functions=ALL, fext="none", forced=None):
        self.robot = robot
        self.model = prepare(robot, functions, fext, forced=forced or {})
        self.sources = {source.function: source for source in trace_sources(self.model, functions)}
        self.texts = dynamics_files(robot, list(self.sources.values()), self.model.fext)
        self.cuda = cuda_files(robot, list(self.sources.values()), self.model.fext)
        self.arrays = {
            name: float_arrays(robot, name, bool(self.model.fext), source.extended is not None)
            for name, source in self.sources.items()
        }

    def library(self, number="float64", flags=()):
        return FloatLibrary(self.texts, self.arrays, number, flags=["-O0", *flags])

    def cuda_library(self, number="float64", flags=()):
        return CudaLibrary(self.cuda, self.arrays, number, flags)

    def tasks(self, count, seed=0):
        """Return arrays of random tasks, with inverses of mass matrices that are none."""
        rng = np.random.default_rng(seed)
        drawn = sample(self.robot, input_domain(self.robot), count, rng, self.model.fext)
        half = rng.normal(size=(count, self.robot.nv, self.robot.nv))
        return {**drawn, "Minv": half + half.swapaxes(1, 2)}

    def expected(self, function, tasks, supplied=False):
        """Return the results of the interpreter; quaternions of the tasks need not have unit length."""
        source = self.sources[function]
        graph = source.extended if supplied else source.graph
        arrays = {array.name: np.zeros((len(tasks["q"]), *array.shape)) for array in self.arrays[function][1]}
        numbers = {name: array.astype(np.float64) for name, array in tasks.items()}
        numbers["q"] = golden.with_unit_quaternions(self.robot, numbers["q"])
        inputs = graph_inputs(self.robot, numbers)
        unflatten(arrays, interpret(graph, inputs).items(), self.robot.nv)
        return arrays


@cache
def built(name):
    forced = {"products": "dense"} if name == "toy" else {}
    robot = ROBOTS[name]()
    return Built(robot, solvable_functions(robot), "all" if name == "loaded" else "none", forced)


def solvable_functions(robot):
    """Return the default functions, without those that need an inverse that the robot's mass matrix lacks."""
    try:
        check_solvable(robot, ALL)
    except InputError:
        return WITHOUT_INVERSE
    return ALL


def compute(built, library, function, tasks, supplied=False, columns=False):
    """Return the results of the library for rows or columns of tasks."""
    inputs, outputs = built.arrays[function]
    taken = [array for array in inputs if supplied or not array.optional]
    layout = by_columns if columns else np.ascontiguousarray
    given = {array.name: layout(tasks[array.name].astype(library.dtype)) for array in taken}
    count = len(tasks["q"])
    results = {array.name: layout(np.full((count, *array.shape), np.nan, library.dtype)) for array in outputs}
    library.compute(function, given, results)
    return results


def assert_computes_its_graphs(software, library):
    """Compare every function of a library with the interpreter, without and with optional inputs."""
    number = np.dtype(library.dtype).name
    tasks = {name: array.astype(library.dtype) for name, array in software.tasks(200).items()}
    for function, source in software.sources.items():
        for supplied in (False, True)[: 1 + (source.extended is not None)]:
            computed = compute(software, library, function, tasks, supplied)
            assert_close(computed, software.expected(function, tasks, supplied), TOLERANCE[number])


def by_columns(array):
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 0, -1)), -1, 0)


def assert_close(results, expected, tolerance):
    for name, array in expected.items():
        largest = np.abs(array).reshape(len(array), -1).max(axis=1, initial=1e-3)
        error = np.abs(results[name] - array).reshape(len(array), -1).max(axis=1, initial=0.0)
        assert (error <= tolerance * largest).all(), (name, (error / largest).max())
