"""Small builds of every kind for the bit-exact model in C."""

from functools import cache

from rbdhw.frontend.read import mount
from rbdhw.options.build import BuildOptions, Mounting
from rbdhw.pipeline import build_design
from rbdhw.robot.urdf import load_urdf
from rbdhw.robots import path

ALL = ("id", "fd", "m", "minv", "did", "dfd", "difd")


TOY = {"functions": ("id", "fd", "dfd", "difd"), "width": 18, "samples": 256}


BUILDS = {
    "pipeline": ("toy", {**TOY, "ii": 4}),
    "array": ("toy", {**TOY, "ii": 8, "core": "array"}),
    "float32": ("toy", {**TOY, "ii": 8, "number": "float32", "data_width": 64, "functions": ("dfd",)}),
    "32 bits": ("toy", {**TOY, "ii": 8, "width": 32, "functions": ("fd", "did")}),
    "proven": ("toy", {**TOY, "ii": 4, "functions": ("id", "did"), "prove": True}),
    "by task": (
        "toy",
        {"functions": ("id",), "width": 18, "samples": 256, "fext": "all", "number": "float32"}
        | {"mounting": Mounting(base="given", gravity="task")},
    ),
    "floating": (
        "toy",
        {"functions": ("id", "did"), "width": 18, "samples": 256, "mounting": Mounting(base="floating")},
    ),
}


@cache
def built(name):
    robot, options = BUILDS[name]
    options = BuildOptions(**options)
    return build_design(mount(load_urdf(path(robot)), options.mounting), options)
