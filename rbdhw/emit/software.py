"""The software of a prepared robot: sources and manifest."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from rbdhw.design.software_manifest import SoftwareManifest
from rbdhw.emit.manifest import coordinates_entry, operation_counts, robot_entry
from rbdhw.frontend.build_graph import Model
from rbdhw.software.arrays import Array
from rbdhw.software.cuda import cuda_files
from rbdhw.software.floating import Source, dynamics_files, float_arrays
from rbdhw.software.folder import Software


def emit_software(model: Model, sources: Sequence[Source], target: str) -> Software:
    """Return the software of the functions of a prepared robot for a target."""
    robot = model.source
    inputs = {name for source in sources for name in source.graph.inputs}
    functions = {
        source.function: operation_counts(source.graph) | _arrays_entry(model, source) for source in sources
    }
    manifest = {
        "target": target,
        "robot": robot_entry(robot),
        "functions": functions,
        "fext": list(model.fext),
        "algorithms": model.choice.json() | {"rewrites": list(model.rewrites)},
        "coordinates": coordinates_entry(robot, inputs),
        "versions": {name: version(name) for name in ("rbdhw", "numpy")},
        "remarks": [*robot.remarks, *model.remarks],
        "roots": [],
    }
    SoftwareManifest.model_validate(manifest)
    write = cuda_files if target == "cuda" else dynamics_files
    return Software(robot, write(robot, sources, model.fext), manifest)


def _arrays_entry(model: Model, source: Source) -> dict[str, Any]:
    """Return the entries on a function's arrays."""
    inputs, outputs = float_arrays(
        model.source, source.function, bool(model.fext), source.extended is not None
    )
    return {"inputs": [_entry(array) for array in inputs], "outputs": [_entry(array) for array in outputs]}


def _entry(array: Array) -> dict[str, Any]:
    return {
        "name": array.name,
        "shape": list(array.shape),
        "unit": array.meaning,
        "optional": array.optional,
    }
