"""Designs of the bundled toy whose inertial parameters are given at run time."""

from dataclasses import replace

from rbdhw.design.folder import Design
from rbdhw.options.build import BY_LOAD, BuildOptions, CoreRequest, Mounting
from rbdhw.pipeline import generate
from rbdhw.robots import path

SETS = 3
"""The sets of the design that loads its parameters."""

OPTIONS = BuildOptions(
    functions=("id", "fd"),
    ii=2,
    width=18,
    samples=512,
    data_width=64,
    mounting=Mounting(parameters="inertias"),
)


def toy_with_parameters(way: str) -> Design:
    """Return the design whose parameters come in one of the ways; loads have several sets and cores."""
    options = replace(OPTIONS, parameters_by=way)
    if way == BY_LOAD:
        cores = CoreRequest(("m",), 1), CoreRequest(("id", "fd"), 4)
        functions = ("id", "fd", "m")
        options = replace(options, functions=functions, cores=cores, ii=None, parameter_sets=SETS)
    return generate(path("toy"), options)
